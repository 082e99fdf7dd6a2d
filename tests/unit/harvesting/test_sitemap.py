"""The sitemap: every page of an item is in one of its parts, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Tree

import pytest

from ibi.harvesting.api import listings
from ibi.items.model.change import Revision
from tests.support.archive_app import BASE, OTHER, archive_app, kept
from tests.support.asgi_client import Answer, ask
from tests.support.catalog_samples import item
from tests.support.records_app import RECORDS, RecordsApp, records_app

NAME = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "PART", 10)
    monkeypatch.setattr(listings, "_A_READING", 3)


async def get(app: RecordsApp, query: str = "") -> Answer:
    return await ask(app.app, "GET", f"/sitemap.xml{query}")


def entries(answer: Answer, root: str, child: str) -> dict[str, str]:
    """The address and the date of each."""
    assert (answer.status, answer.headers["content-type"]) == (200, "application/xml")
    document = Tree.fromstring(answer.body)
    assert document.tag == f"{NAME}{root}"
    assert [each.tag for each in document] == [f"{NAME}{child}"] * len(document)
    assert all([part.tag for part in each] == [f"{NAME}loc", f"{NAME}lastmod"] for each in document)
    assert len(document) > 0
    return {str(each[0].text): str(each[1].text) for each in document}


async def read_all(app: RecordsApp) -> dict[str, str]:
    found: dict[str, str] = {}
    for place in entries(await get(app), "sitemapindex", "sitemap"):
        assert place.startswith(f"{BASE}/sitemap.xml?after=")
        part = entries(await get(app, place.removeprefix(f"{BASE}/sitemap.xml")), "urlset", "url")
        assert len(part) <= 10
        assert not part.keys() & found.keys()
        found |= part
    return found


async def test_every_item_is_in_one_part_with_the_date_of_its_record(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        app.store.catalog.put_all(item(minute) for minute in range(25))
        for minute in (0, 3, 4):
            app.store.catalog.put(item(minute, "Another title"), Revision(2, item(minute).updated))
        found = await read_all(app)
        assert found == {f"{BASE}/col/{item(minute).rep}/metadata": "2023-11-14T22:13:20Z" for minute in range(25)}


async def test_deleted_items_are_left_out_and_so_are_parts_without_any_other(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        assert len(await read_all(app)) == 1
        assert (await app.ask("DELETE", f"{RECORDS}/{rep}?reason=why")).status == 200
        for query in ("", "?after=0", "?after=10"):
            assert (await get(app, query)).status == 404


@pytest.mark.parametrize("query", ["?after=", "?after=-1", "?after=7", "?after=x", f"?after={'9' * 30}"])
async def test_a_part_that_the_index_cannot_name_is_refused(tmp_path: Path, query: str) -> None:
    async with records_app(tmp_path) as app:
        await app.deposit()
        assert (await get(app, query)).status == 400


async def test_crawlers_are_told_of_it_where_there_is_one(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert f"Sitemap: {BASE}/sitemap.xml\n".encode() in (await ask(app.app, "GET", "/robots.txt")).body
    without = archive_app(kept(OTHER))
    assert b"Sitemap" not in (await without.get("/robots.txt")).body
    assert (await without.get("/sitemap.xml")).status == 404


async def test_an_address_of_the_sitemap_is_that_of_a_page(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        await app.deposit()
        (url,) = await read_all(app)
        answer = await ask(app.app, "GET", url.removeprefix(BASE), {"accept": "text/html"})
        assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (200, "text/html")
