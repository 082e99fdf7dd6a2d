"""Acts on an item from its page: who may do what, what each does, and what hostile forms get."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest

from ibi.deposits.pages.item_actions import PLACE, ItemActionPages, PageAct, page_actions
from ibi.items.rules.rights import ItemAct, Whose, least_scope
from ibi.people.model.account import COMMAND, ROLE_SCOPE, Person, Role, person_account
from ibi.people.rules.sign_in import csrf_of, new_session
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.reading.pages.item_page import ItemPage
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.transfers.service.worker import ItemInDoubt
from ibi.web.page_answers import refusal
from ibi.web.reader import SESSION_COOKIE, SESSIONS, Sessions
from ibi.web.sites import ItemOffers
from tests.support.archive_app import SERVICE
from tests.support.asgi_client import Answer, ask
from tests.support.memory.people import MemoryPeople
from tests.support.page_reader import read_page
from tests.support.records_app import RecordsApp, records_app

FORM = "application/x-www-form-urlencoded"
RIGHTS = {
    PageAct.EDIT: ItemAct.UPDATE,
    PageAct.EDITION: ItemAct.DEPOSIT,
    PageAct.TRANSLATION: ItemAct.DEPOSIT,
    PageAct.METADATA: ItemAct.DEPOSIT,
    PageAct.ACCESS: ItemAct.UPDATE,
    PageAct.DELETE: ItemAct.DELETE,
}
FILLED: dict[PageAct, dict[str, str]] = {
    PageAct.EDIT: {},
    PageAct.EDITION: {},
    PageAct.TRANSLATION: {"language": "English", "title": "A thesis"},
    PageAct.METADATA: {},
    PageAct.ACCESS: {"embargo": "2099-01-31", "embargo_reason": "A patent", "networks": "", "version": "1"},
    PageAct.DELETE: {"reason": "By request", "confirm": "yes"},
}


class Desk:
    """A person at a browser, who is signed in or not."""

    def __init__(self, app: RecordsApp, role: Role | None, name: str = "lia") -> None:
        self._app, people = app, MemoryPeople()
        self.account = person_account(name)
        self._cookie: dict[str, str] = {}
        self.csrf = ""
        if role is not None:
            person = Person(name, role, Instant(0))
            people.add(person)
            text, session = new_session(bytes(32), person, app.clocks.read().wall)
            people.open_session(session, person)
            self._cookie, self.csrf = {"cookie": f"{SESSION_COOKIE}={text}"}, csrf_of(text)
        self._sessions = Sessions(SignIn(people, app.clocks, SecretHasher()), "http://arq.lab.br")
        (self._route,) = ItemActionPages(app.site, app.services).routes()

    async def get(self, label: str, act: str) -> Answer:
        return await self._ask("GET", f"{PLACE}/{label}/{act}", {})

    async def send(self, label: str, act: str, **fields: str) -> Answer:
        headers = {"content-type": FORM, "sec-fetch-site": "same-origin"}
        said = {"csrf": self.csrf, **fields}
        return await self._ask("POST", f"{PLACE}/{label}/{act}", headers, urlencode(said).encode())

    async def page(self, label: str) -> Answer:
        """The page of the item, as they see it."""
        item = next(each for each in self._app.store.catalog.items() if str(each.rep) == label)

        async def app(scope: dict[str, Any], receive: object, send: object) -> None:
            scope[SESSIONS] = self._sessions
            answer = await ItemPage(self._app.site, ItemOffers(self._app.services)).answer(item, scope)
            await answer(scope, receive, send)  # type: ignore[arg-type]

        return await ask(app, "GET", "/", {"accept": "text/html", **self._cookie})  # type: ignore[arg-type]

    async def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Answer:
        async def app(scope: dict[str, Any], receive: object, send: object) -> None:
            scope[SESSIONS] = self._sessions
            _, found = self._route.matches(scope)
            scope.update(found)
            try:
                await self._route.handle(scope, receive, send)  # type: ignore[arg-type]
            except IbiError as error:
                await refusal(error, scope)(scope, receive, send)  # type: ignore[arg-type]

        sent = {"accept": "text/html", **headers, **self._cookie}
        return await ask(app, method, path, sent, body)  # type: ignore[arg-type]


async def item_of(app: RecordsApp, desk: Desk | None = None, said: object = None) -> str:
    """The label of an item; it belongs to the person at the desk, or to another."""
    label = str((await app.deposit(said))["rep"])
    if desk is not None:
        services = app.services
        assert services is not None
        services.deposits_of(COMMAND).give(find(app, label).rep, desk.account, "test")
    return label


def find(app: RecordsApp, label: str) -> Any:
    return next(each for each in app.store.catalog.items() if str(each.rep) == label)


async def record(app: RecordsApp, label: str) -> Any:
    return json.loads((await ask(app.app, "GET", f"/api/items/{label}", {})).body)


def drafts(app: RecordsApp) -> list[Any]:
    services = app.services
    assert services is not None
    from ibi.deposits.service.ledger import Depositor
    from ibi.people.model.account import Scope

    return [view.record for view in services.drafts.list(Depositor("person:all", "all", Scope.ADMIN, None, "x"))]


# --- rights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("whose", [Whose.OWN, Whose.ANOTHERS])
async def test_an_act_is_done_by_those_who_may_and_shown_to_them_alone(
    tmp_path: Path, role: Role, whose: Whose
) -> None:
    async with records_app(tmp_path) as app:
        for act in PageAct:
            desk = Desk(app, role)
            label = await item_of(app, desk if whose is Whose.OWN else None)
            is_allowed = role >= Role.DEPOSITOR and ROLE_SCOPE[role].includes(least_scope(RIGHTS[act], whose))
            assert (f'{PLACE}/{label}/{act}"' in (await desk.page(label)).body.decode()) == is_allowed, act
            version = str(find(app, label).version)
            fields = {**FILLED[act], **({"version": version} if "version" in FILLED[act] else {})}
            before = len(drafts(app))
            assert (await desk.get(label, act)).status == (200 if is_allowed else 403), act
            assert (await desk.send(label, act, **fields)).status == (303 if is_allowed else 403), act
            if not is_allowed:
                assert (find(app, label).tombstone, find(app, label).visibility.is_public) == (None, True)
                assert len(drafts(app)) == before


async def test_who_is_not_signed_in_is_asked_to_and_shown_nothing(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        label, desk = await item_of(app), Desk(app, None)
        assert "Edit description and files" not in (await desk.page(label)).body.decode()
        for act in PageAct:
            for answer in (await desk.get(label, act), await desk.send(label, act, **FILLED[act])):
                assert answer.status == 303
                assert answer.headers["location"] == f"/sign-in?to={PLACE}/{label}/{act}"
        assert (drafts(app), find(app, label).tombstone) == ([], None)


@pytest.mark.parametrize("act", PageAct)
async def test_a_form_of_another_site_does_nothing(tmp_path: Path, act: PageAct) -> None:
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.ADMIN)
        label = await item_of(app, desk)
        for csrf in ("", "x", csrf_of("another session")):
            assert (await desk.send(label, act, **{**FILLED[act], "csrf": csrf})).status == 403
        assert (drafts(app), find(app, label).tombstone) == ([], None)


async def test_what_is_no_item_or_no_act_is_not_found(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.ADMIN)
        label = await item_of(app, desk)
        for place in ("purge", "", "edit/x", "Edit", "../edit", "delete%00"):
            assert (await desk.get(label, place)).status == 404, place
        for other in ("lab.br/arq/1999/01.01.00.00", "nonsense", "draft-aaaaaaaaaaaaaaaa", "%2e%2e", "x" * 5000):
            for act in PageAct:
                assert (await desk.get(other, act)).status == 404
        assert (await desk._ask("GET", f"{PLACE}/", {})).headers["location"] == PLACE


async def test_a_librarian_narrows_the_item_of_another_and_does_not_open_it(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        label, desk = await item_of(app), Desk(app, Role.LIBRARIAN)
        assert (await desk.send(label, "access", **FILLED[PageAct.ACCESS])).status == 303
        assert (await record(app, label))["visibility"]["embargo_reason"] == "A patent"
        opened = await desk.send(label, "access", version="2")
        assert opened.status == 403
        assert "making it more visible" in opened.body.decode()
        assert "the role administrator" in opened.body.decode()
        assert find(app, label).visibility.embargo is not None
        assert drafts(app) == [], "a change that is refused leaves no draft"


async def test_the_item_of_the_archive_itself_is_edited_and_nothing_else(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        label, desk = await item_of(app), Desk(app, Role.ADMIN)
        services, item = app.services, find(app, label)
        assert services is not None
        assert SERVICE is not None
        object.__setattr__(services, "service", item.labels)
        scope: Any = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "headers": [(name.encode(), text.encode()) for name, text in desk._cookie.items()],
            "query_string": b"",
            SESSIONS: desk._sessions,
        }
        assert page_actions(app.site, app.services, item, scope) == (PageAct.EDIT,)


# --- what they do -----------------------------------------------------------------------------------------------------


async def test_edit_goes_on_with_the_draft_that_was_begun(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.DEPOSITOR)
        label = await item_of(app, desk)
        first = await desk.send(label, "edit")
        assert (await desk.send(label, "edit")).headers["location"] == first.headers["location"]
        (draft,) = drafts(app)
        assert first.headers["location"] == f"/deposit/{draft.id}"
        assert (draft.owner, draft.base, len(draft.kept)) == (desk.account, find(app, label).version, 1)


async def test_a_librarian_does_not_land_in_the_draft_of_another(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        owner, librarian = Desk(app, Role.DEPOSITOR), Desk(app, Role.LIBRARIAN, "bia")
        label = await item_of(app, owner)
        assert (await owner.send(label, "edit")).status == (await librarian.send(label, "edit")).status == 303
        assert sorted(draft.owner for draft in drafts(app)) == sorted((owner.account, librarian.account))


async def test_editions_translations_and_metadata_begin_with_what_is_known(tmp_path: Path) -> None:
    said = {
        "metadata": {"title": "Uma tese", "creator": "Silva, Ana", "date": "2020", "identifier": "ISBN 1"},
        "language": "pt",
    }
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.DEPOSITOR)
        label = await item_of(app, desk, said)
        for act in ("edition", "translation", "metadata"):
            assert (await desk.send(label, act, **FILLED[PageAct(act)])).status == 303
        found = {
            name: draft.description
            for draft in drafts(app)
            for name in ("edition_of", "translation_of", "describes")
            if getattr(draft.description, name) is not None
        }
        assert all(str(getattr(each, name).rep) == label for name, each in found.items())
        assert found["edition_of"].metadata.titles() == ("Uma tese",)
        assert found["translation_of"].metadata.titles() == ("A thesis",)
        assert str(found["translation_of"].language) == "en"
        for each in found.values():
            assert [str(agent) for agent in each.metadata.creator] == ["Silva, Ana"]
            assert (each.metadata.date, each.metadata.identifier) == ((), ())


async def test_a_second_edition_and_a_second_text_in_a_language_are_refused_before_a_draft_is_begun(
    tmp_path: Path,
) -> None:
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.LIBRARIAN)
        label = await item_of(app, None, {"metadata": {"title": "Uma"}, "language": "pt"})
        await app.deposit({"metadata": {"title": "Duas"}, "edition_of": label})
        await app.deposit({"metadata": {"title": "One"}, "translation_of": label, "language": "en"})
        assert f"/{label}/edition" not in (await desk.page(label)).body.decode()
        assert (await desk.send(label, "edition")).status == 409
        offered = await desk.get(label, "edition")
        assert offered.status == 409
        assert "has a next edition already" in read_page(offered.body).text
        assert "Begin the draft" not in read_page(offered.body).text
        again = await desk.send(label, "translation", language="en", title="One again")
        assert again.status == 409
        assert 'value="One again"' in again.body.decode(), "nothing that was typed is lost"
        own = await desk.send(label, "translation", language="português", title="Uma")
        assert own.status == 409
        assert drafts(app) == []


async def test_an_embargo_with_its_reason_and_networks_are_recorded_as_one_version(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.DEPOSITOR)
        label = await item_of(app, desk)
        said = {**FILLED[PageAct.ACCESS], "networks": "150.163.0.0/16\r\n2001:db8::/32", "unlisted": "yes"}
        answer = await desk.send(label, "access", **said)
        assert answer.headers["location"] == f"{PLACE}/{label}/access?done=saved"
        found = await record(app, label)
        assert found["visibility"] == {
            "networks": ["150.163.0.0/16", "2001:db8::/32"],
            "embargo": "2099-01-31T00:00:00Z",
            "listing": False,
            "embargo_reason": "A patent",
        }
        assert (found["version"], drafts(app)) == (2, [])
        page = (await desk.get(label, "access")).body
        read_page(page)
        assert b'value="2099-01-31"' in page
        assert (await desk.send(label, "access", version="2")).status == 303, "its owner opens it again"
        assert "visibility" not in await record(app, label)


@pytest.mark.parametrize(
    ("field", "text", "told"),
    [
        ("embargo", "2001-01-01", "This date is in the past"),
        ("embargo", "2099-02-30", "no day 30"),
        ("embargo", "soon", "enter a date such as"),
        ("embargo", "2099-01-31T00:00:00Z", "enter a date such as"),
        ("embargo", "", "A reason needs an embargo"),
        ("embargo_reason", "x" * 10_001, "longer than 10,000"),
        ("embargo_reason", "a\x00b", "cannot be shown"),
        ("networks", "150.163.0.1/16", "is not a network"),
        ("networks", "<script>alert(1)</script>", "is not a network"),
        ("networks", "10.0.0.1 " * 1001, "more than 1,000"),
        ("version", "7", "was changed meanwhile"),
    ],
)
async def test_an_access_that_cannot_be_is_refused_beside_its_field(
    tmp_path: Path, field: str, text: str, told: str
) -> None:
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.DEPOSITOR)
        label = await item_of(app, desk)
        version = str(find(app, label).version)
        answer = await desk.send(label, "access", **{**FILLED[PageAct.ACCESS], "version": version, field: text})
        page = answer.body.decode()
        read_page(answer.body)
        assert 400 <= answer.status < 500
        assert told in page
        assert "<script>alert" not in page
        assert find(app, label).visibility.is_public
        assert (drafts(app), 'aria-invalid="true"' in page) == ([], field != "version")


async def test_nothing_is_offered_while_the_state_of_an_item_is_not_confirmed(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.DEPOSITOR)
        label = await item_of(app, desk)
        assert "Edit description and files" in (await desk.page(label)).body.decode()
        open_items = SimpleNamespace(find=lambda _: None)
        tracking = SimpleNamespace(in_doubt=True, is_silent=True, unheard=("https://b.example",), open_items=open_items)
        object.__setattr__(app.site, "tracking", tracking)
        page = (await desk.page(label)).body.decode()
        assert "Edit description and files" not in page
        assert "State being confirmed" in page


async def test_a_deletion_says_why_and_what_takes_its_place(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.DEPOSITOR)
        label, other = await item_of(app, desk), await item_of(app)
        said = {"reason": "A newer one is there", "replaced_by": f"https://ibi.example/{other}+", "confirm": "yes"}
        answer = await desk.send(label, "delete", **said)
        assert (answer.status, answer.headers["location"].endswith(f"/col/{label}/metadata")) == (303, True)
        tombstone = (await record(app, label))["tombstone"]
        assert (tombstone["why"], tombstone["replaced_by"]["rep"]) == ("A newer one is there", other)
        assert (await desk.send(label, "delete", **said)).status == 409, "what is gone is not deleted again"
        for act in PageAct:
            assert (await desk.get(label, act)).status == 409
        assert "Edit description and files" not in (await desk.page(label)).body.decode()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"reason": ""}, "Enter the reason for the deletion"),
        ({"reason": "  \r\n "}, "Enter the reason for the deletion"),
        ({"reason": "x" * 10_001}, "longer than 10,000"),
        ({"reason": "a\x00"}, "cannot be shown"),
        ({"confirm": ""}, "Confirm the deletion"),
        ({"confirm": "no"}, "Confirm the deletion"),
        ({"replaced_by": "<b>x</b>"}, "is not an IBI"),
        ({"replaced_by": "lab.br/arq/1999/01.01.00.00 lab.br/arq/1999/01.01.00.01"}, "enter one IBI"),
        ({"replaced_by": "itself"}, "cannot replace itself"),
    ],
)
async def test_a_deletion_that_is_not_meant_so_is_refused_and_keeps_what_was_typed(
    tmp_path: Path, fields: dict[str, str], told: str
) -> None:
    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.DEPOSITOR)
        label = await item_of(app, desk)
        said = {**FILLED[PageAct.DELETE], **fields}
        if said.get("replaced_by") == "itself":
            said["replaced_by"] = label
        answer = await desk.send(label, "delete", **said)
        page = answer.body.decode()
        read_page(answer.body)
        assert 400 <= answer.status < 500
        assert told in page
        assert "<b>x</b>" not in page
        assert find(app, label).tombstone is None
        if said["reason"].strip() == "By request":
            assert "By request</textarea>" in page


async def test_where_there_is_review_withholding_counts_at_once_and_opening_waits(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        label = await item_of(app, Desk(app, Role.DEPOSITOR))
    async with records_app(tmp_path, is_reviewed=True) as app:
        desk = Desk(app, Role.DEPOSITOR)

        async def send(**said: str) -> str:
            fields = {**FILLED[PageAct.ACCESS], "version": str(find(app, label).version), **said}
            return (await desk.send(label, "access", **fields)).headers["location"].rpartition("=")[2]

        assert await send() == "saved"
        assert str(find(app, label).visibility.embargo) == "2099-01-31T00:00:00Z"
        assert await send(networks="10.0.0.0/8", unlisted="yes") == "saved"
        assert await send(networks="10.1.0.0/16", unlisted="yes", embargo="2099-12-31") == "saved"
        assert drafts(app) == []
        version, closed = find(app, label).version, find(app, label).visibility
        for said in (
            {"networks": "10.1.0.0/16", "unlisted": "yes", "embargo": "2099-12-30"},
            {"networks": "10.0.0.0/8", "unlisted": "yes", "embargo": "2099-12-31"},
            {"networks": "10.1.0.0/16", "unlisted": "", "embargo": "2099-12-31"},
            {"networks": "", "unlisted": "yes", "embargo": "2100-01-31"},
        ):
            assert await send(**said) == "waits"
        assert (find(app, label).version, find(app, label).visibility) == (version, closed)
        assert len(drafts(app)) == 4


@pytest.mark.parametrize("act", [PageAct.ACCESS, PageAct.DELETE])
async def test_an_item_in_doubt_is_not_changed_and_the_page_says_why(tmp_path: Path, act: PageAct) -> None:
    def refuse(name: str) -> None:
        raise ItemInDoubt(label=name, witnesses="https://resolver.example")

    async with records_app(tmp_path) as app:
        desk = Desk(app, Role.LIBRARIAN)
        label = await item_of(app, desk)
        before = find(app, label)
        app.store.guard_changes(refuse)
        answer = await desk.send(label, act.value, **FILLED[act])
        assert (answer.status, find(app, label)) == (503, before)
        assert "takes no change at the moment" in read_page(answer.body).text
