"""The bytes of items and their manifest, for programs."""

from __future__ import annotations

from hashlib import sha512
from pathlib import Path
from typing import Any

import pytest

from ibi.people.model.account import Scope
from ibi.web.request import repr_digest
from tests.support.archive_app import BASE
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app
from tests.unit.reading.test_records import DOCUMENT, check

INSIDE = {"visibility": {"networks": ["10.0.0.0/8"]}}
EMBARGOED = {"visibility": {"embargo": "2099-01-01T00:00:00Z"}}
UNLISTED = {"visibility": {"listing": False}}
NO_TOKEN = {"authorization": ""}


async def deposited(app: RecordsApp, said: dict[str, Any] | None = None, **files: bytes) -> str:
    item = await app.deposit({**SAID, **(said or {})}, **files)
    return f"{RECORDS}/{item['rep']}"


async def test_a_public_file_is_for_every_program(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = await deposited(app, a__b=b"some bytes")
        answer = await app.ask("GET", f"{item}/files/a/b.txt", headers=NO_TOKEN)
    assert (answer.status, answer.body) == (200, b"some bytes")
    digest = sha512(b"some bytes").hexdigest()
    assert answer.headers["repr-digest"] == repr_digest(digest)
    assert answer.headers["etag"] == f'"{digest[:64]}"'
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["content-length"] == "10"
    assert answer.headers["cache-control"] == "no-cache"


async def test_a_file_is_saved_and_never_shown_or_run(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "page.html", b"<script>alert(1)</script>")
        item = f"{RECORDS}/{(await app.publish(draft))['rep']}"
        answer = await app.ask("GET", f"{item}/files/page.html")
        assert answer.headers["content-disposition"].startswith('attachment; filename="page.html"')
        assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        run = await app.ask("GET", f"{item}/files/page.html", headers={"sec-fetch-dest": "script"})
        assert run.status == 404


@pytest.mark.parametrize("said", [INSIDE, EMBARGOED], ids=["restricted", "embargoed"])
@pytest.mark.parametrize("rest", ["files/a.txt", "files/nothing.txt", "manifest"])
async def test_what_is_not_public_takes_a_token_wherever_the_program_is(
    tmp_path: Path, said: dict[str, Any], rest: str
) -> None:
    async with records_app(tmp_path) as app:
        item = await deposited(app, said)
        for headers in (NO_TOKEN, {**NO_TOKEN, "x-forwarded-for": "10.0.0.1"}):
            refused = await app.ask("GET", f"{item}/{rest}", headers=headers)
            assert (refused.status, refused.json()["type"]) == (401, "urn:ibi:problem:not-authenticated")
        for scope, name in ((Scope.READ, "ana"), (Scope.DEPOSIT, "another")):
            refused = await app.ask("GET", f"{item}/{rest}", headers=app.bearer(scope, name))
            assert refused.status == 403
        for scope, name in ((Scope.DEPOSIT, "ana"), (Scope.EDIT, "r"), (Scope.ADMIN, "r"), (Scope.COPY, "r")):
            answer = await app.ask("GET", f"{item}/{rest}", headers=app.bearer(scope, name))
            assert answer.status == (404 if "nothing" in rest else 200)
            if answer.status == 200:
                assert (answer.headers["cache-control"], answer.headers["vary"]) == (
                    "private, no-cache",
                    "Authorization",
                )
        assert (await app.ask("GET", f"{item}/{rest}", headers={"authorization": "Bearer x"})).status == 401


async def test_parts_and_conditions(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        place = f"{await deposited(app, a=b'0123456789')}/files/a.txt"
        whole = await app.ask("GET", place)
        tag = whole.headers["etag"]
        part = await app.ask("GET", place, headers={"range": "bytes=3-5", "if-range": tag})
        assert (part.status, part.body, part.headers["content-range"]) == (206, b"345", "bytes 3-5/10")
        assert part.headers["repr-digest"] == whole.headers["repr-digest"]
        assert (await app.ask("GET", place, headers={"range": "bytes=3-5", "if-range": '"other"'})).status == 200
        assert (await app.ask("GET", place, headers={"range": "bytes=10-"})).status == 416
        assert (await app.ask("GET", place, headers={"if-none-match": tag})).status == 304
        assert (await app.ask("GET", place, headers={"if-match": '"other"'})).status == 412
        head = await app.ask("HEAD", place)
        assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "10")


async def test_a_manifest_has_every_file_with_its_digest_and_where_it_is(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = await deposited(app, a=b"one", b__c=b"three")
        answer = await app.ask("GET", f"{item}/manifest", headers=NO_TOKEN)
        manifest = answer.json()
        again = await app.ask("GET", f"{item}/manifest", headers={"if-none-match": answer.headers["etag"]})
        for file in manifest["files"]:
            got = await app.ask("GET", file["url"].removeprefix(BASE), headers=NO_TOKEN)
            assert (sha512(got.body).hexdigest(), len(got.body)) == (file["sha512"], file["size"])
    check(manifest, DOCUMENT["components"]["schemas"]["Manifest"])
    assert [file["path"] for file in manifest["files"]] == ["a.txt", "b/c.txt"]
    assert (manifest["size"], manifest["version"], again.status) == (8, 1, 304)
    assert manifest["links"] == {"self": f"{BASE}{item}/manifest", "item": f"{BASE}{item}"}


async def test_files_that_may_not_be_listed_are_given_by_name_and_listed_with_a_token(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = await deposited(app, UNLISTED)
        assert (await app.ask("GET", f"{item}/files/a.txt", headers=NO_TOKEN)).status == 200
        refused = await app.ask("GET", f"{item}/manifest", headers=NO_TOKEN)
        assert (refused.status, refused.json()["type"]) == (403, "urn:ibi:problem:listing-not-permitted")
        assert (await app.ask("GET", f"{item}/manifest", headers=app.bearer(Scope.READ, "r"))).status == 200


@pytest.mark.parametrize("rest", ["files/a.txt", "manifest"])
async def test_of_a_deleted_item_nothing_is_left_to_read(tmp_path: Path, rest: str) -> None:
    async with records_app(tmp_path) as app:
        item = await deposited(app, INSIDE)
        assert (await app.ask("DELETE", f"{item}?reason=gone")).status == 200
        answer = await app.ask("GET", f"{item}/{rest}", headers={**NO_TOKEN, "accept": "text/html"})
    assert (answer.status, answer.json()["type"]) == (410, "urn:ibi:problem:item-deleted")


async def test_a_file_of_a_draft_is_not_read_here(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt")
        answer = await app.ask("GET", f"{draft}/files/a.txt")
        assert (answer.status, answer.headers["allow"]) == (405, "DELETE, PUT")
        assert (await app.ask("GET", f"{draft}/manifest")).status == 404


async def test_a_download_by_a_program_counts_as_use(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = await deposited(app)
        await app.ask("GET", f"{item}/files/a.txt", headers={"user-agent": "Mozilla/5.0"})
        days = (await app.ask("GET", f"{item}/usage")).json()["days"]
    assert [day["downloads"] for day in days] == [1]


async def test_damaged_bytes_are_not_sent(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = await deposited(app, a=b"whole bytes")
        (kept,) = [path for path in (tmp_path / "store").rglob("a.txt") if path.is_file()]
        kept.chmod(0o600)
        kept.write_bytes(b"wrong bytes")
        answer = await app.ask("GET", f"{item}/files/a.txt")
    assert answer.status >= 500
    assert b"wrong" not in answer.body


async def test_the_manifest_of_an_unlisted_item_is_as_open_as_the_list_of_its_files(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = await deposited(app, UNLISTED)
        reading = app.bearer(Scope.READ, "reader")
        for rest in ("files", "manifest"):
            refused = await app.ask("GET", f"{item}/{rest}", headers=NO_TOKEN)
            assert (refused.status, refused.json()["type"]) == (403, "urn:ibi:problem:listing-not-permitted")
            assert "With a token they are listed" in refused.json()["detail"]
            assert (await app.ask("GET", f"{item}/{rest}", headers=reading)).status == 200
        assert (await app.ask("GET", f"{item}/files/a.txt", headers=NO_TOKEN)).status == 200


@pytest.mark.parametrize(
    "path",
    ["versions", "versions/1", "versions/1/restore", "versions/1/files/a", "a/versions", "a/versions/1", "a/files/b",
     "manifest", "a/usage", "a/relations", "a/draft", "a/publish", "a/owner", "a/manifest", "files/a"],
)  # fmt: skip
async def test_a_file_may_be_called_as_a_part_of_the_api_is(tmp_path: Path, path: str) -> None:
    async with records_app(tmp_path) as app:
        draft = await app.begin()
        assert (await app.send(draft, path, b"other")).status == 201
        assert (await app.ask("DELETE", f"{draft}/files/{path}")).status == 204
        assert (await app.send(draft, path, b"content")).status == 201
        item = f"{RECORDS}/{(await app.publish(draft))['rep']}"
        for place in (f"{item}/files/{path}", f"{item}/versions/1/files/{path}"):
            answer = await app.ask("GET", place)
            assert (answer.status, answer.body) == (200, b"content"), place
        assert (await app.ask("GET", f"{item}/versions")).json()["versions"][0]["number"] == 1
