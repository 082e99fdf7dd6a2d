"""Another's draft: whatever is asked of it, the answer is that of a draft that is not there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from ibi.deposits.service.ledger import Depositor
from ibi.people.model.account import Role, Scope, person_account
from ibi.standard.label import parse
from tests.support.asgi_client import Answer, ask
from tests.support.depositing_person import DepositingPerson
from tests.support.memory.people import MemoryPeople
from tests.support.records_app import RecordsApp, records_app

UNKNOWN: Final = "draft-aaaaaaaaaaaaaaaa"
LIA: Final = Depositor(person_account("lia"), "lia")
_JSON: Final = {"content-type": "application/json"}
_TUS: Final = {
    "tus-resumable": "1.0.0",
    "upload-length": "3",
    "upload-offset": "0",
    "upload-metadata": "filename YS50eHQ=",
    "content-type": "application/offset+octet-stream",
}
_UPLOAD: Final = f"/uploads/{'0' * 32}"
API: Final = (
    *((method, "/api/items/{}", b"{}", _JSON) for method in ("GET", "HEAD", "PUT", "DELETE", "POST", "PATCH")),
    ("POST", "/api/items/{}/publish", b"{}", _JSON),
    ("GET", "/api/items/{}/files", b"", {}),
    *((method, "/api/items/{}/files/a.txt", b"", {}) for method in ("GET", "HEAD", "PUT", "DELETE")),
    *((method, "/api/items/{}/uploads", b"", _TUS) for method in ("GET", "POST")),
    *((method, "/api/items/{}" + _UPLOAD, b"", _TUS) for method in ("HEAD", "PATCH", "DELETE")),
    ("PUT", "/api/items/{}/owner", b'{"owner": "rui"}', _JSON),
    ("GET", "/api/reviews/{}", b"", {}),
    *(("POST", f"/api/reviews/{{}}/{act}", b'{"text": "x"}', _JSON) for act in ("comments", "return", "withdraw")),
)
PAGES: Final = (
    ("GET", "/deposit/{}"),
    ("POST", "/deposit/{}"),
    ("GET", "/deposit/{}/files"),
    ("GET", "/account/drafts/{}/review"),
    ("POST", "/account/drafts/{}/review"),
    ("GET", "/review/{}"),
    ("POST", "/review/{}"),
)


@pytest.fixture
def people() -> MemoryPeople:
    return MemoryPeople()


@pytest.fixture
async def app(tmp_path: Path, people: MemoryPeople) -> AsyncIterator[RecordsApp]:
    async with records_app(tmp_path, people=people, is_reviewed=True) as made:
        yield made


@pytest.fixture
async def drafts(app: RecordsApp, people: MemoryPeople) -> dict[str, str]:
    """Drafts of Lia's in each state, the first one of which is busy while a test runs."""
    lia, bia = DepositingPerson(app, people), DepositingPerson(app, people, "bia", Role.LIBRARIAN)
    found = {}
    for state in ("busy", "open", "refused", "waiting", "published"):
        place = await lia.begin([("a.txt", b"one")], title=state)
        found[state] = place.removeprefix("/deposit/")
        if state == "refused":
            await lia.send(place, {"date": "31/02/2026", "act": "save"})
        if state in {"waiting", "published"}:
            await lia.send(place, {"act": "publish"})
        if state == "published":
            assert (await bia.send(place, {"act": "publish"})).headers["location"].startswith("/col/")
    return found


def told(answer: Answer, draft: str) -> tuple[int, str, dict[str, str]]:
    """What an answer says, whichever draft was asked for."""
    headers = {
        name: value.replace(draft, "DRAFT")
        for name, value in answer.headers.items()
        if name not in {"date", "request-id", "x-request-id", "content-length"}
    }
    return answer.status, answer.body.decode().replace(draft, "DRAFT"), headers


@pytest.mark.parametrize(("method", "place", "body", "headers"), API, ids=lambda value: str(value)[:40])
async def test_another_token_learns_nothing_of_a_draft(
    app: RecordsApp, drafts: dict[str, str], method: str, place: str, body: bytes, headers: Mapping[str, str]
) -> None:
    sent = {**headers, **app.bearer(Scope.DEPOSIT, "rui")}
    expected = told(await ask(app.app, method, place.format(UNKNOWN), sent, body), UNKNOWN)
    with ExitStack() as held:
        held.enter_context(app.drafts.uploads.files.alone_on(drafts["busy"]))
        for state, draft in drafts.items():
            assert told(await ask(app.app, method, place.format(draft), sent, body), draft) == expected, state


@pytest.mark.parametrize(("method", "place"), PAGES)
async def test_another_person_learns_nothing_of_a_draft(
    app: RecordsApp, people: MemoryPeople, drafts: dict[str, str], method: str, place: str
) -> None:
    rui = DepositingPerson(app, people, "rui")

    async def asked(draft: str) -> tuple[int, str, dict[str, str]]:
        path = place.format(draft)
        if method == "GET":
            return told(await rui.get(path), draft)
        if path.startswith("/deposit"):
            return told(await rui.send(path, {"title": "Mine", "act": "save"}), draft)
        fields = f"csrf={rui.csrf}&act=withdraw&text=x".encode()
        headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", **rui.cookie}
        return told(await ask(app.app, "POST", path, {"accept": "text/html", **headers}, fields), draft)

    expected = await asked(UNKNOWN)
    assert expected[0] in {403, 404}
    with app.drafts.uploads.files.alone_on(drafts["busy"]):
        for state, draft in drafts.items():
            assert await asked(draft) == expected, state


async def test_a_draft_of_an_item_of_another_is_unknown_to_all_methods_but_the_one_that_begins_it(
    app: RecordsApp, drafts: dict[str, str]
) -> None:
    publication = app.drafts.find(LIA, drafts["published"]).record.publication
    assert publication is not None
    label = str(publication.labels.labels[0])
    headers = {**_JSON, **app.bearer(Scope.DEPOSIT, "rui")}
    place = f"/api/items/{label}/draft"

    async def answers() -> dict[str, tuple[int, str, dict[str, str]]]:
        methods = ("GET", "PUT", "DELETE", "POST")
        bodies = {"PUT": b"{}", "POST": b"{}"}
        return {
            each: told(await ask(app.app, each, place, headers, bodies.get(each, b"")), UNKNOWN) for each in methods
        }

    before = await answers()
    app.drafts.begin_update(LIA, parse(label))
    assert await answers() == before
    assert before["GET"] == before["PUT"] == before["DELETE"]
    assert "urn:ibi:problem:unknown-draft" in before["PUT"][1]
    assert before["POST"][0] == 403  # nothing is told of a draft: the item is another's


async def test_a_put_that_opens_the_item_of_another_says_to_a_librarian_who_may(
    app: RecordsApp, people: MemoryPeople
) -> None:
    lia, bia = DepositingPerson(app, people), DepositingPerson(app, people, "bia", Role.LIBRARIAN)
    place = await lia.begin([("a.txt", b"one")], title="Uma", networks="10.0.0.0/8")
    await lia.send(place, {"act": "publish"})
    label = (await bia.send(place, {"act": "publish"})).headers["location"].split("/")[2:-1]
    headers = {**_JSON, **app.bearer(Scope.EDIT, "bia")}
    answer = await ask(app.app, "PUT", f"/api/items/{'/'.join(label)}/draft", headers, b"{}")
    assert (answer.status, json.loads(answer.body)["type"]) == (403, "urn:ibi:problem:not-your-item")
