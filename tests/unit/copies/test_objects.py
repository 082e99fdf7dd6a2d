"""What other Archives make Copies of, and who gets it."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from ibi.copies.api import MOST_OBJECTS
from ibi.copies.model import read_object
from ibi.items.model.content import Bytes, Keep
from ibi.people.model.account import Scope
from ibi.standard.vocabulary import State
from tests.support.archive_app import SERVICE
from tests.support.records_app import RECORDS, SAID, RecordsApp, records_app

INSIDE = {"visibility": {"networks": ["10.0.0.0/8"]}}
UNLISTED = {"visibility": {"listing": False}}
NO_TOKEN = {"authorization": ""}
SEVERAL = f"{RECORDS}/objects"


async def deposited(app: RecordsApp, said: dict[str, Any] | None = None, **files: bytes) -> str:
    item = await app.deposit({**SAID, **(said or {})}, **files)
    return str(item["rep"])


async def test_an_object_is_the_record_byte_for_byte_and_what_is_beside_it(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await deposited(app, a=b"some bytes")
        kept = app.store.content.read(rep).head
        files = {path: Keep(path) for path in kept.files}
        app.store.content.update(rep, {**files, "provenance/1.json": Bytes(b"{}")}, kept.change)
        answer = await app.ask("GET", f"{RECORDS}/{rep}/object", headers=NO_TOKEN)
        with app.store.open_record(rep, "item.json", 1) as record:
            item_json = record.read_all()
    assert answer.status == 200
    found = read_object(answer.body)
    assert (found.state, found.head, found.item_json) == (State.ORIGINAL, 2, item_json)
    assert (found.others, found.contents) == ({"provenance/1.json": b"{}"}, {})
    assert found.service == SERVICE
    assert str(found.original().rep) == rep


async def test_a_deleted_item_tells_when_and_why(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = await deposited(app)
        await app.ask("DELETE", f"{RECORDS}/{rep}?reason=withdrawn")
        found = read_object((await app.ask("GET", f"{RECORDS}/{rep}/object", headers=NO_TOKEN)).body)
    assert (found.state, found.item_json) == (State.DELETED, None)
    assert found.tombstone is not None
    assert found.tombstone.why == "withdrawn"


@pytest.mark.parametrize(
    ("said", "scope", "status"),
    [
        (INSIDE, None, 401),
        (INSIDE, Scope.READ, 403),
        (INSIDE, Scope.COPY, 200),
        (INSIDE, Scope.EDIT, 200),
        (UNLISTED, None, 403),
        (UNLISTED, Scope.READ, 200),
        ({}, None, 200),
    ],
)
async def test_what_is_restricted_takes_a_token_of_the_scope_copy(
    tmp_path: Path, said: dict[str, Any], scope: Scope | None, status: int
) -> None:
    async with records_app(tmp_path) as app:
        rep = await deposited(app, said)
        headers = NO_TOKEN if scope is None else app.bearer(scope, "bea")
        assert (await app.ask("GET", f"{RECORDS}/{rep}/object", headers=headers)).status == status
        line = json.loads((await app.ask("POST", SEVERAL, {"labels": [rep]}, headers=headers)).body)
        assert line.get("problem", {}).get("status", 200) == status


async def test_several_come_in_one_answer_with_their_small_files(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        one, large = await deposited(app, a=b"one"), await deposited(app, a=b"x" * 1_100_000)
        unknown = "lab.br/arq/2001/01.01.01.01"
        answer = await app.ask("POST", SEVERAL, {"labels": [one, unknown, large]}, headers=NO_TOKEN)
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert [line["label"] for line in lines] == [one, unknown, large]
    assert {path: b64decode(text) for path, text in lines[0]["object"]["contents"].items()} == {"a.txt": b"one"}
    assert lines[1]["problem"]["type"] == "urn:ibi:problem:unknown-item"
    assert "contents" not in lines[2]["object"]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"labels": "x"},
        {"labels": [1]},
        {"labels": ["no label"]},
        {"other": 1},
        {"labels": ["x/y"] * (MOST_OBJECTS + 1)},
    ],
)
async def test_a_request_for_several_that_cannot_be_read_is_refused(tmp_path: Path, said: object) -> None:
    async with records_app(tmp_path) as app:
        assert (await app.ask("POST", SEVERAL, said, headers=NO_TOKEN)).status == 400


async def test_items_of_a_sandbox_are_given_to_the_same_machine_alone(tmp_path: Path) -> None:
    async with records_app(tmp_path, is_sandbox=True) as app:
        rep = await deposited(app)
        answer = await app.ask("GET", f"{RECORDS}/{rep}/object")
    assert (answer.status, answer.json()["type"]) == (403, "urn:ibi:problem:sandbox-item")


async def test_an_unknown_item_has_no_object(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        assert (await app.ask("GET", f"{RECORDS}/lab.br/arq/2001/01.01.01.01/object")).status == 404
