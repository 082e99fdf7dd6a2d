"""`/col/<rep>.zip`: all files of an item in one."""

from __future__ import annotations

import random
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest

from ibi.items.model.item import Item
from ibi.items.model.visibility import Visibility
from ibi.standard.instant import Instant
from ibi.standard.networks import network
from ibi.usage.model import Usage
from tests.support.archive_app import BASE, OTHER, REP, ArchiveApp, archive_app, deleted, kept

FILES = {
    "a.txt": ("text/plain", b"0123456789"),
    "data/Relatório.csv": ("text/csv", b"a;b\n" * 60_000),
    "data/empty": ("application/octet-stream", b""),
}
PLACE = f"/col/{REP}.zip"
FOLDER = REP.replace("/", "-")


def app_of(**others: Any) -> ArchiveApp:
    return archive_app(kept(REP, files=FILES, **others))


async def test_a_download_has_every_file_below_one_folder() -> None:
    answer = await app_of().get(PLACE)
    assert answer.status == 200
    with ZipFile(BytesIO(answer.body)) as opened:
        assert opened.testzip() is None
        assert {each: opened.read(each) for each in opened.namelist()} == {
            f"{FOLDER}/{path}": content for path, (_, content) in FILES.items()
        }
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{FOLDER}.zip"')
    assert answer.headers["accept-ranges"] == "bytes"
    assert "repr-digest" not in answer.headers


async def test_a_download_has_the_same_bytes_twice_and_goes_on_at_any_of_them() -> None:
    app = app_of()
    whole = await app.get(PLACE)
    etag = whole.headers["etag"]
    assert not etag.startswith("W/")
    assert (await app_of().get(PLACE)).headers["etag"] == etag
    chance = random.Random(7)
    for _ in range(60):
        first = chance.randrange(len(whole.body))
        last = min(chance.randrange(first, first + 200_000), len(whole.body) - 1)
        part = await app.get(PLACE, {"range": f"bytes={first}-{last}", "if-range": etag})
        assert part.status == 206
        assert part.headers["content-range"] == f"bytes {first}-{last}/{len(whole.body)}"
        assert part.body == whole.body[first : last + 1]


async def test_a_part_of_other_bytes_is_not_sent() -> None:
    app = app_of()
    whole = await app.get(PLACE)
    again = await app.get(PLACE, {"range": "bytes=5-", "if-range": '"another"'})
    assert (again.status, again.body) == (200, whole.body)
    assert (await app.get(PLACE, {"range": f"bytes={len(whole.body)}-"})).status == 416
    assert (await app.get(PLACE, {"if-none-match": whole.headers["etag"]})).status == 304
    assert (await app.get(PLACE, {"if-match": '"another"'})).status == 412


async def test_head_tells_the_length() -> None:
    app = app_of()
    head, whole = await app.get(PLACE, method="HEAD"), await app.get(PLACE)
    assert head.body == b""
    assert {name: head.headers[name] for name in ("content-length", "etag")} == {
        "content-length": str(len(whole.body)),
        "etag": whole.headers["etag"],
    }


async def test_a_zip_counts_as_one_download() -> None:
    app = app_of()
    await app.get(PLACE, method="HEAD")
    await app.get(PLACE, {"range": "bytes=5-"})
    assert app.usage.counts() == {}
    await app.get(PLACE)
    await app.get(PLACE)
    assert list(app.usage.counts().values()) == [Usage(downloads=1)]


@pytest.mark.parametrize(
    "visibility",
    [Visibility(networks=(network("198.51.100.0/24"),)), Visibility(embargo=Instant.parse("2090-01-01T00:00:00Z"))],
)
async def test_a_reader_who_may_not_have_the_files_gets_none(visibility: Visibility) -> None:
    app = app_of(visibility=visibility)
    answer = await app.get(PLACE)
    assert (answer.status, answer.headers["location"]) == (302, f"{BASE}/col/{REP}/metadata")
    assert answer.body == b""


async def test_a_reader_of_the_right_network_gets_them_and_no_cache_keeps_them() -> None:
    app = app_of(visibility=Visibility(networks=(network("198.51.100.0/24"),)))
    answer = await app.get(PLACE, client="198.51.100.7")
    assert (answer.status, answer.headers["cache-control"]) == (200, "private, no-cache")


async def test_files_that_are_not_listed_are_not_in_one() -> None:
    assert (await app_of(visibility=Visibility(listing=False)).get(PLACE)).status == 403


async def test_a_deleted_item_has_none_and_so_has_one_without_files() -> None:
    app = archive_app(deleted(REP), kept(OTHER, files={}))
    assert (await app.get(PLACE)).status == 410
    assert (await app.get(f"/col/{OTHER}.zip")).status == 404


async def test_an_item_elsewhere_leads_to_its_page() -> None:
    app = archive_app(kept(OTHER), resolver="http://urlib.net")
    assert (await app.get(PLACE)).headers["location"] == f"http://urlib.net/{REP}:"


async def test_bytes_are_on_the_host_of_content() -> None:
    app = archive_app(kept(REP, files=FILES), content_url="http://content.lab.br")
    answer = await app.get(PLACE, {"host": "arq.lab.br"})
    assert (answer.status, answer.headers["location"]) == (302, f"http://content.lab.br{PLACE}")
    assert (await app.get(PLACE, {"host": "content.lab.br"})).status == 200


async def test_no_script_is_run_out_of_it() -> None:
    assert (await app_of().get(PLACE, {"sec-fetch-dest": "script"})).status == 404


def without_crcs(item: Item) -> bool:
    return all(file.crc32 is None for file in item.files)


async def test_files_of_earlier_versions_are_read_through_once() -> None:
    item, _ = kept(REP, files=FILES)
    assert without_crcs(item), "as in records of schema 1"
    app = app_of()
    first, second = await app.get(PLACE), await app.get(PLACE)
    assert first.body == second.body
