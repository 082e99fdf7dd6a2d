"""The feed of all items: each is found by going back from the newest part, however many there are."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Tree

import pytest

from ibi.harvesting.api import listings
from ibi.items.model.change import Revision
from tests.support.archive_app import BASE
from tests.support.asgi_client import ask
from tests.support.catalog_samples import item
from tests.support.records_app import RECORDS, RecordsApp, records_app

ATOM, HISTORY = "{http://www.w3.org/2005/Atom}", "{http://purl.org/syndication/history/1.0}"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "FEED_PART", 5)


async def get(app: RecordsApp, place: str = f"{BASE}/items.atom") -> Tree.Element:
    answer = await ask(app.app, "GET", place.removeprefix(BASE))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/atom+xml; charset=utf-8")
    return Tree.fromstring(answer.body)


def link(feed: Tree.Element, relation: str) -> str | None:
    found = [each.get("href") for each in feed.findall(f"{ATOM}link") if each.get("rel") == relation]
    assert len(found) <= 1
    return found[0] if found else None


def pages(feed: Tree.Element) -> list[str]:
    found = feed.findall(f"{ATOM}entry/{ATOM}link[@rel='alternate']")
    return [(each.get("href") or "").removeprefix(f"{BASE}/col/").removesuffix("/metadata") for each in found]


async def read_back(app: RecordsApp) -> tuple[list[str], int]:
    """Every page in the order in which a reader meets it, and how many parts there are."""
    feed = await get(app)
    found, number, later = pages(feed), 0, None
    while (place := link(feed, "prev-archive")) is not None:
        feed, number = await get(app, place), number + 1
        assert feed.find(f"{HISTORY}archive") is not None
        assert (link(feed, "self"), link(feed, "current"), link(feed, "next-archive")) == (
            place,
            f"{BASE}/items.atom",
            later,
        )
        assert feed.findtext(f"{ATOM}id") == f"{BASE}/items.atom"
        found, later = [*found, *pages(feed)], place
    return found, number


async def test_going_back_from_the_newest_gives_every_item(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert await read_back(app) == ([], 0)
        app.store.catalog.put_all(item(minute) for minute in range(23))
        app.store.catalog.put(item(0, "Another title"), Revision(2, item(0).updated))
        found, parts = await read_back(app)
        assert set(found) == {str(item(minute).rep) for minute in range(23)}
        assert found[0] == str(item(0).rep)
        assert parts == 4
        newest = await get(app)
        assert newest.find(f"{HISTORY}archive") is None
        assert pages(newest) == [str(item(minute).rep) for minute in (0, 22, 21, 20, 19, 18, 17, 16, 15)]


async def test_a_part_is_the_same_until_one_of_its_items_changes(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        app.store.catalog.put_all(item(minute) for minute in range(12))
        place = link(await get(app), "prev-archive")
        assert place is not None
        before = pages(await get(app, place))
        app.store.catalog.put_all(item(minute) for minute in range(12, 30))
        assert pages(await get(app, place)) == before
        app.store.catalog.put(item(6, "Another title"), Revision(2, item(6).updated))
        assert pages(await get(app, place)) == [each for each in before if each != str(item(6).rep)]
        assert pages(await get(app))[0] == str(item(6).rep)


async def test_deleted_items_are_left_out(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit())["rep"]
        assert pages(await get(app)) == [rep]
        assert (await app.ask("DELETE", f"{RECORDS}/{rep}?reason=why")).status == 200
        assert pages(await get(app)) == []


@pytest.mark.parametrize(
    ("query", "status"),
    [("after=3", 400), ("after=x", 400), ("after=-5", 400), ("after=0", 404), ("after=0&epoch=ab", 404)],
)
async def test_a_part_that_no_link_leads_to_is_refused(tmp_path: Path, query: str, status: int) -> None:
    async with records_app(tmp_path) as app:
        app.store.catalog.put_all(item(minute) for minute in range(12))
        assert (await ask(app.app, "GET", f"/items.atom?{query}")).status == status


async def test_a_part_that_is_not_whole_or_of_another_epoch_is_not_there(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        app.store.catalog.put_all(item(minute) for minute in range(12))
        place = link(await get(app), "prev-archive") or ""
        assert (await ask(app.app, "GET", f"{place.removeprefix(BASE).partition('after=')[0]}after=10")).status == 404
        app.store.rebuild()
        assert (await ask(app.app, "GET", place.removeprefix(BASE))).status == 404
