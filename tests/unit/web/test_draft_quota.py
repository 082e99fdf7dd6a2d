"""`/api/items`: what one depositor may have in drafts, how it is told, and the way out."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ibi.deposits.rules.drafts import DraftQuota
from ibi.people.model.account import Scope
from ibi.settings import SETTINGS
from tests.support.asgi_client import Answer
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app
from tests.unit.reading.test_records import DOCUMENT, check

QUOTA = DraftQuota(drafts=2, size=1000)
LIST = f"{RECORDS}?state=draft"


def told(answer: Answer) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status, answer.json()["type"].removeprefix("urn:ibi:problem:")


def check_described(answer: Answer, method: str, path: str = "") -> None:
    response = DOCUMENT["paths"][f"/api/items{path}"][method]["responses"][str(int(answer.status))]
    check(answer.json(), response["content"][answer.headers["content-type"]]["schema"])


async def quota(app: RecordsApp, **headers: str) -> dict[str, Any]:
    found = (await app.ask("GET", LIST, headers=headers)).json()["quota"]
    assert isinstance(found, dict)
    return found


async def test_one_draft_too_many_is_refused_with_a_way_out(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=QUOTA) as app:
        for _ in range(2):
            await app.begin()
        refused = await app.ask("POST", RECORDS, SAID)
        assert told(refused) == (409, "too-many-drafts")
        detail = refused.json()["detail"]
        assert "You have 2 drafts" in detail
        assert "at most 2" in detail
        assert "publish or discard one" in detail
        assert LIST in detail
        listed = (await app.ask("GET", LIST)).json()
        assert [draft["size"] for draft in listed["drafts"]] == [0, 0]
        gone = listed["drafts"][0]["links"]["self"].partition("/api/")[2]
        assert (await app.ask("DELETE", f"/api/{gone}")).status == 204
        await app.begin()


async def test_a_draft_that_changes_an_item_is_one_of_them(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=QUOTA) as app:
        rep = (await app.deposit())["rep"]
        for _ in range(2):
            assert (await app.ask("POST", f"{RECORDS}/{rep}/draft")).status == 201
        assert told(await app.ask("POST", f"{RECORDS}/{rep}/draft")) == (409, "too-many-drafts")
        assert (await app.ask("PUT", f"{RECORDS}/{rep}/draft", SAID)).status == 200
        assert (await app.ask("DELETE", f"{RECORDS}/{rep}/draft")).status == 204
        assert (await quota(app))["drafts"] == 1


async def test_a_byte_too_many_is_refused_with_a_way_out(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=QUOTA) as app:
        one, two = await app.begin(), await app.begin()
        await app.send(one, "a.txt", b"x" * 900)
        refused = await app.send(two, "b.txt", b"x" * 101)
        assert told(refused) == (413, "drafts-too-large")
        detail = refused.json()["detail"]
        assert "The drafts of ana hold 900 bytes" in detail
        assert "the 1000 that this Archive keeps of one depositor" in detail
        assert "publish or discard a draft" in detail
        assert refused.json()["field"] == "body"
        assert (await app.ask("GET", f"{two}/files")).json()["files"] == []
        await app.publish(one)
        assert (await app.send(two, "b.txt", b"x" * 101)).status == 201
        assert await quota(app) == {"drafts": 1, "most_drafts": 2, "size": 101, "most_size": 1000}


async def test_what_was_announced_is_refused_before_a_byte_is_asked_for(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=QUOTA) as app:
        draft = await app.begin()
        path = f"{draft}/files/a.txt"
        refused = await app.ask("PUT", path, headers={"content-length": "1001"}, body=b"never looked at")
        assert told(refused) == (413, "drafts-too-large")
        assert "with 1001 of 'a.txt'" in refused.json()["detail"]
        assert (await app.ask("GET", f"{draft}/files")).json()["files"] == []


async def test_a_file_is_removed_to_make_room_for_another(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=QUOTA) as app:
        draft = await app.begin()
        await app.send(draft, "a.txt", b"x" * 1000)
        assert told(await app.send(draft, "b.txt", b"x")) == (413, "drafts-too-large")
        assert (await app.ask("DELETE", f"{draft}/files/a.txt")).status == 204
        assert (await app.send(draft, "b.txt", b"x" * 1000)).status == 201


async def test_files_sent_at_once_are_not_too_many_together(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=QUOTA) as app:
        drafts = [await app.begin(), await app.begin()]
        parts = [b"x" * 50] * 4
        sent = [app.send(drafts[number % 2], f"{number}.txt", parts, content_length="200") for number in range(12)]
        statuses = sorted(answer.status for answer in await asyncio.gather(*sent))
        assert statuses == [201] * 5 + [413] * 7
        assert (await quota(app))["size"] == 1000


async def test_who_sees_all_has_a_quota_of_their_own(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=QUOTA) as app:
        for _ in range(2):
            await app.begin()
        admin = app.bearer(Scope.ADMIN, "root")
        listed = (await app.ask("GET", LIST, headers=admin)).json()
        assert (len(listed["drafts"]), listed["quota"]["drafts"]) == (2, 0)
        for status in (201, 201, 409):
            assert (await app.ask("POST", RECORDS, SAID, headers=admin)).status == status


async def test_no_bound_is_told_as_none(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        await app.begin()
        assert await quota(app) == {"drafts": 1, "most_drafts": None, "size": 0, "most_size": None}


async def test_a_disk_with_nothing_to_spare_is_told_as_such(tmp_path: Path) -> None:
    async with records_app(tmp_path, quota=DraftQuota(reserve=10**18)) as app:
        refused = await app.ask("POST", RECORDS, SAID)
        assert told(refused) == (507, "disk-nearly-full")
        assert "has room for 0 more bytes of drafts" in refused.json()["detail"]
        assert "tell the administrator of this server" in refused.json()["detail"]


async def test_a_disk_with_nothing_to_spare_takes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with records_app(tmp_path, quota=DraftQuota(reserve=1)) as app:
        draft = await app.begin()
        assert (await app.send(draft, "a.txt")).status == 201
        monkeypatch.setattr("ibi.deposits.store.draft_files.DraftFiles.free", lambda _: 0)
        assert told(await app.send(draft, "b.txt")) == (507, "disk-nearly-full")
        assert (await app.publish(draft))["version"] == 1


# --- the description of the API ---


async def test_the_answers_are_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with records_app(tmp_path, quota=DraftQuota(1, 10, 1)) as app:
        draft = await app.begin()
        check_described(await app.ask("GET", draft), "get", "/{label}")
        check_described(await app.ask("GET", LIST), "get")
        check_described(await app.ask("POST", RECORDS, SAID), "post")
        check_described(await app.send(draft, "a", b"x" * 11), "put", "/{label}/files/{path}")
        monkeypatch.setattr("ibi.deposits.store.draft_files.DraftFiles.free", lambda _: 0)
        full = await app.send(draft, "a")
        assert full.status == 507
        check_described(full, "put", "/{label}/files/{path}")


def test_the_settings_that_it_names_are_settings() -> None:
    named = set(re.findall(r"archive\.[a-z_]+", json.dumps(DOCUMENT)))
    assert named >= {"archive.most_drafts", "archive.most_draft_bytes", "archive.disk_reserve"}
    assert named <= {setting.name for setting in SETTINGS}
