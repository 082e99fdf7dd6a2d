"""The feed of changes through the API."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ibi.items.service import feed_readers
from tests.support.archive_app import BASE
from tests.support.asgi_client import Answer, ask
from tests.support.records_app import RECORDS, RecordsApp, records_app
from tests.unit.reading.test_records import DOCUMENT, check


async def get(app: RecordsApp, query: str = "", **headers: str) -> Answer:
    """Without a token: the feed is public."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return await ask(app.app, "GET", f"/api/changes{query}", named)


async def read_all(app: RecordsApp, most: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    place = f"?most={most}"
    while True:
        page = (await get(app, place)).json()
        if not page["changes"]:
            return entries
        entries += page["changes"]
        assert page["links"]["next"].startswith(f"{BASE}/api/changes?")
        place = f"?most={most}&" + page["links"]["next"].partition("?")[2]


@pytest.fixture
def version() -> list[int]:
    return [0]


async def test_the_feed_lists_deposits_relations_and_deletions_in_order(tmp_path: Path, version: list[int]) -> None:
    async with records_app(tmp_path, changes=lambda: version[0]) as app:
        old, new = (await app.deposit())["rep"], (await app.deposit())["rep"]
        assert (await app.ask("POST", f"{RECORDS}/{old}/relations", {"next_edition": new})).status == 200
        assert (await app.ask("DELETE", f"{RECORDS}/{new}?reason=why")).status == 200
        answer = await get(app)
        check(answer.json(), DOCUMENT["components"]["schemas"]["Changes"])
        page = answer.json()
        told = [(each["number"], each["label"], each["kind"], each["version"]) for each in page["changes"]]
        assert told[:2] == [(1, old, "put", 1), (2, new, "put", 1)]
        assert {told[2][1:], told[3][1:]} == {(old, "put", 2), (new, "put", 2)}
        assert told[4] == (5, new, "deleted", 3)
        tombstone = (await app.ask("GET", f"{RECORDS}/{new}")).json()
        assert page["changes"][4]["ibip"] == tombstone["labels"]["ibip"]
        assert not any("ibip" in each for each in page["changes"][:4])
        assert (page["after"], page["end"]) == (5, 5)
        assert await read_all(app, 2) == page["changes"]


async def test_a_reader_that_has_everything_is_told_so(tmp_path: Path, version: list[int]) -> None:
    async with records_app(tmp_path, changes=lambda: version[0]) as app:
        await app.deposit()
        first = await get(app)
        tag = first.headers["etag"]
        assert (await get(app, if_none_match=tag)).status == 304
        await app.deposit()
        assert (await get(app, if_none_match=tag)).status == 200


async def test_full_pages_may_be_kept_and_others_not(tmp_path: Path, version: list[int]) -> None:
    async with records_app(tmp_path, changes=lambda: version[0]) as app:
        await app.deposit()
        full = await get(app, "?most=1")
        assert full.headers["cache-control"] == "public, max-age=60"
        assert (await get(app)).headers["cache-control"] == "no-cache"
        await app.deposit()
        assert (await get(app, "?most=1", if_none_match=full.headers["etag"])).status == 304


async def test_another_epoch_is_gone_and_says_which_there_is(tmp_path: Path, version: list[int]) -> None:
    async with records_app(tmp_path, changes=lambda: version[0]) as app:
        await app.deposit()
        epoch = (await get(app)).json()["epoch"]
        app.store.rebuild()
        for query in (f"?epoch={epoch}&after=1", "?after=99"):
            answer = await get(app, query)
            assert (answer.status, answer.json()["type"]) == (410, "urn:ibi:problem:epoch-ended")
        now = (await get(app, "?after=0")).json()
        assert now["epoch"] != epoch
        assert now["epoch"] in answer.json()["detail"]
        assert [each["number"] for each in now["changes"]] == [1]


@pytest.mark.parametrize(
    "query", ["?after=-1", "?after=x", "?after=1e3", "?most=0", "?most=1001", "?wait=31", "?after=" + "9" * 40, "?a=1"]
)
async def test_parameters_that_make_no_sense_are_refused_by_name(
    tmp_path: Path, query: str, version: list[int]
) -> None:
    async with records_app(tmp_path, changes=lambda: version[0]) as app:
        answer = await get(app, query)
        assert (answer.status, answer.json()["type"]) == (400, "urn:ibi:problem:invalid-parameter")


async def test_a_reader_that_waits_is_answered_with_the_next_change(tmp_path: Path, version: list[int]) -> None:
    async with records_app(tmp_path, changes=lambda: version[0]) as app:
        waiting = asyncio.create_task(get(app, "?wait=30"))
        rep = (await app.deposit())["rep"]
        version[0] += 1
        page = (await asyncio.wait_for(waiting, 20)).json()
        assert [each["label"] for each in page["changes"]] == [rep]


async def test_a_reader_that_waits_is_answered_when_the_server_stops(tmp_path: Path, version: list[int]) -> None:
    async with records_app(tmp_path, changes=lambda: version[0]) as app:
        waiting = asyncio.create_task(get(app, "?wait=30"))
        while not waiting.done():
            await asyncio.sleep(0)
            app.app.state.ending()
        assert (await waiting).json()["changes"] == []


async def test_more_readers_than_may_wait_are_answered_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: list[int]
) -> None:
    monkeypatch.setattr(feed_readers, "MOST_WAITING", 0)
    async with records_app(tmp_path, changes=lambda: version[0]) as app:
        assert (await asyncio.wait_for(get(app, "?wait=30"), 20)).json()["changes"] == []
