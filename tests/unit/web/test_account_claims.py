"""The page of claims: who sees it, what it shows of strangers, and what its forms do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlencode

from ibi.claims.rules import Party, Sender, announcement_document
from ibi.items.model.related_link import ClaimRelation
from ibi.people.model.account import Person, Role
from ibi.people.rules.sign_in import csrf_of, new_session
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.standard.instant import Instant
from ibi.web.reader import SESSION_COOKIE, SESSIONS, Sessions
from tests.support.archive_app import BASE
from tests.support.asgi_client import Answer, ask
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import read_page
from tests.support.records_app import RecordsApp, records_app
from tests.unit.claims.test_inbox import CLAIMANT, HOSTILE, TARGET, offer, post

PAGE = "/account/claims"
FORM = "application/x-www-form-urlencoded"


class Visitor:
    """A person who is signed in, or none."""

    def __init__(self, app: RecordsApp, role: Role | None) -> None:
        self._app, self._people = app, MemoryPeople()
        self._cookie: dict[str, str] = {}
        self.csrf = ""
        if role is not None:
            person = Person("lia", role, Instant(0))
            self._people.add(person)
            text, session = new_session(bytes(32), person, app.clocks.read().wall)
            self._people.open_session(session, person)
            self._cookie, self.csrf = {"cookie": f"{SESSION_COOKIE}={text}"}, csrf_of(text)
        self._sessions = Sessions(SignIn(self._people, app.clocks, SecretHasher()), "http://arq.lab.br")

    async def get(self) -> Answer:
        return await self._ask("GET", {"accept": "text/html", **self._cookie})

    async def answer(self, **fields: str) -> Answer:
        headers = {"content-type": FORM, "accept": "text/html", "sec-fetch-site": "same-origin", **self._cookie}
        return await self._ask("POST", headers, urlencode(fields).encode())

    async def _ask(self, method: str, headers: dict[str, str], body: bytes = b"") -> Answer:
        async def app(scope: dict[str, object], receive: object, send: object) -> None:
            scope[SESSIONS] = self._sessions
            route = next(each for each in self._app.app.routes if getattr(each, "path", "") == PAGE)
            await route.app(scope, receive, send)  # type: ignore[attr-defined]

        return await ask(app, method, PAGE, headers, body)  # type: ignore[arg-type]


async def test_who_is_not_signed_in_is_asked_to(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        answer = await Visitor(app, None).get()
        assert (answer.status, answer.headers["location"]) == (303, f"/sign-in?to={PAGE}")


async def test_what_strangers_wrote_is_shown_as_text(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        sender = Sender("https://r.example", "https://r.example/inbox", HOSTILE)
        review = announcement_document(
            sender,
            Party(BASE, TARGET.inbox),
            "urn:uuid:r",
            ClaimRelation.REVIEW,
            "https://r.example/1",
            f"{BASE}/{item}",
        )
        assert (await post(app, review)).status == 201
        page = (await Visitor(app, Role.LIBRARIAN).get()).body.decode()
        read_page(page.encode())
        assert "&lt;script&gt;" in page
        assert "<script>alert" not in page
        assert "https://r.example/1" in page


async def test_a_librarian_accepts_by_the_form_and_a_depositor_sees_nothing_of_others(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        item = (await app.deposit())["rep"]
        await post(app, offer(item))
        stranger = Visitor(app, Role.DEPOSITOR)
        assert CLAIMANT not in (await stranger.get()).body.decode()
        said = {"item": item, "claimant": CLAIMANT, "answer": "accept"}
        assert (await stranger.answer(**said, csrf=stranger.csrf)).status == 403
        visitor = Visitor(app, Role.LIBRARIAN)
        assert CLAIMANT in (await visitor.get()).body.decode()
        answer = await visitor.answer(**said, csrf=visitor.csrf)
        assert (answer.status, answer.headers["location"]) == (303, PAGE)
        record = json.loads((await ask(app.app, "GET", f"/api/items/{item}", {})).body)
        assert record["next_edition"] == {"rep": CLAIMANT}
        assert re.search("Answered claims", (await visitor.get()).body.decode())


async def test_all_claims_of_one_network_are_declined_by_one_button(tmp_path: Path) -> None:
    async with records_app(tmp_path, has_inbox=True) as app:
        items = [(await app.deposit())["rep"] for _ in range(3)]
        for number, item in enumerate(items):
            assert (await post(app, offer(item, number))).status == 201
        visitor = Visitor(app, Role.LIBRARIAN)
        page = read_page((await visitor.get()).body)
        buttons = [each for each in page.all("button") if each.attrib.get("value") == "decline-network"]
        assert [each.text for each in buttons] == ["Decline all 3 from this network"] * 3
        said = {"item": items[0], "claimant": CLAIMANT, "answer": "decline-network", "csrf": visitor.csrf}
        assert (await visitor.answer(**said)).status == 303
        page = read_page((await visitor.get()).body)
        assert "There are none." in page.text
        answered = page.one("section", **{"aria-labelledby": "answered"})
        assert len(answered.findall(".//tbody/tr")) == 3


async def test_claims_inside_the_archive_are_answered_on_the_same_page(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        item = (await app.deposit())["rep"]
        other = app.bearer(name="bia")
        draft = await app.begin({"metadata": {"title": "Nova"}, "edition_of": item}, headers=other)
        await app.send(draft, "a.txt", authorization=other["authorization"])
        claimant = (await app.ask("POST", f"{draft}/publish", headers=other)).json()["rep"]
        visitor = Visitor(app, Role.LIBRARIAN)
        assert claimant in (await visitor.get()).body.decode()
        said = {"item": item, "claimant": claimant, "answer": "accept", "here": "1", "csrf": visitor.csrf}
        assert (await visitor.answer(**said)).status == 303
        record = json.loads((await ask(app.app, "GET", f"/api/items/{item}", {})).body)
        assert record["next_edition"]["rep"] == claimant
