"""The rights of the four roles over HTTP, with a token and with a session: every cell of the table, and every refusal
in the audit log."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
from argon2 import PasswordHasher

from ibi.people.model.account import ROLE_SCOPE, ROLE_SCOPES, AuditEntry, Person, Role, Scope, person_account
from ibi.people.rules.sign_in import RANDOM_BYTES, csrf_of, new_session
from ibi.people.service.account_admin import LocalTokenAdmin
from ibi.people.service.refusals import LINES_OF_NETWORK, REFUSE, STRANGER
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.web.reader import SESSION_COOKIE
from tests.support.archive_app import NOW
from tests.support.asgi_client import Answer, ask
from tests.support.memory.people import MemoryPeople
from tests.support.people_site import KeptAudit
from tests.support.records_app import RECORDS, RecordsApp, records_app
from tests.support.rights_cells import (
    ALLOWED,
    OPENING,
    OWNERS,
    PUBLIC,
    RESTRICTED,
    UNCHANGING,
    Cell,
    Owner,
    RightsWorld,
    cells,
)
from tests.support.set_clocks import SetClocks
from tests.unit.web.test_rights import ELSEWHERE, attempt, attempt_draft

NAMES = {Role.READER: "Rui Leitão", Role.DEPOSITOR: "João Ávila", Role.LIBRARIAN: "王小明", Role.ADMIN: "Наталья"}
FORM = "application/x-www-form-urlencoded"


@dataclass
class RoleWorld:
    """An Archive with a person of each role."""

    app: RecordsApp
    people: MemoryPeople
    audit: KeptAudit
    admin: LocalTokenAdmin

    def __post_init__(self) -> None:
        self._numbers, self._tokens = itertools.count(1), dict[tuple[Role, Scope], str]()

    def bearer(self, role: Role, scope: Scope | None = None) -> dict[str, str]:
        wanted = scope or ROLE_SCOPE[role]
        if (role, wanted) not in self._tokens:
            made = self.admin.create_token(str(wanted), "", None, NAMES[role])
            self._tokens[role, wanted] = made.token
        return {"authorization": f"Bearer {self._tokens[role, wanted]}"}

    def session(self, role: Role) -> tuple[str, dict[str, str]]:
        """What the cookie of a new session holds, and the headers that its browser sends."""
        person = self.people.find(NAMES[role])
        assert person is not None
        text, session = new_session(
            next(self._numbers).to_bytes(RANDOM_BYTES, "big"), person, self.app.clocks.read().wall
        )
        self.people.open_session(session, person)
        return text, {"cookie": f"{SESSION_COOKIE}={text}", "accept": "text/html"}

    async def post(self, role: Role, path: str, **fields: str) -> Answer:
        text, headers = self.session(role)
        body = urlencode({"csrf": csrf_of(text), **fields}).encode()
        return await ask(self.app.app, "POST", path, {**headers, "content-type": FORM}, body)

    def refusals(self) -> list[AuditEntry]:
        return [entry for entry in self.audit.entries() if entry.act == REFUSE]


@asynccontextmanager
async def role_world(data: Path) -> AsyncIterator[RoleWorld]:
    people, clocks = MemoryPeople(), SetClocks(NOW)
    hasher = SecretHasher(PasswordHasher(1, 8, 1))
    for role, name in NAMES.items():
        people.add(Person(name, role, NOW))
    audit = KeptAudit()
    options = {"sign_in": SignIn(people, clocks, hasher), "people": people, "audit": audit}
    async with records_app(data, app_options=options) as app:
        yield RoleWorld(app, people, audit, LocalTokenAdmin(app.tokens, app.clocks, people))
    hasher.close()


def role_cells(role: Role) -> Iterator[Cell]:
    return (cell for cell in cells() if cell.scope is ROLE_SCOPE[role])


async def run_cell(world: RoleWorld, items: RightsWorld, role: Role, cell: Cell) -> Answer:
    item, bearer = items.item(cell.owner, cell.visibility, cell.act), world.bearer(role)
    if cell.act == "draft":
        return await attempt_draft(world.app, cell.scope, items.draft(cell.owner, cell.visibility), bearer)
    if cell.act == "answer":
        said = {"item": str(item.rep), "claimant": str(items.claimant(item).rep), "answer": "decline"}
        return await world.app.ask("POST", f"{RECORDS}/claims", said, bearer)
    return await attempt(world.app, cell, item, bearer)


@pytest.mark.parametrize("role", Role)
async def test_each_act_of_each_role_is_done_or_refused_and_each_refusal_is_in_the_audit_log(
    tmp_path: Path, role: Role
) -> None:
    account = person_account(NAMES[role])
    owners: dict[Owner, str | None] = {**OWNERS, "own": account}
    async with role_world(tmp_path) as world:
        items, seen = RightsWorld(world.app, owners), 0
        for cell in role_cells(role):
            item, before = items.item(cell.owner, cell.visibility, cell.act), len(world.refusals())
            answer = await run_cell(world, items, role, cell)
            assert (answer.status in {200, 201}) is cell.is_allowed, (str(cell), answer.status, answer.body)
            lines = world.refusals()[before:]
            if cell.is_allowed:
                assert lines == [], str(cell)
                if cell.act == "relate":
                    query = f"{RECORDS}/{item.rep}/relations?next_edition={ELSEWHERE}"
                    await world.app.ask("DELETE", query, headers=world.bearer(Role.ADMIN))
                if cell.act not in UNCHANGING:
                    items.note_changed(cell)
            else:
                assert {line.account for line in lines} == {account}, str(cell)
                assert all(line.token is not None and line.detail for line in lines)
                assert len(lines) == (5 if cell.act == "draft" else 1), str(cell)
            seen += 1
        assert seen == sum(len(owned) * (1 if act in OPENING else 2) for act, owned in ALLOWED.items())


async def test_a_refusal_about_an_item_is_found_by_the_name_of_the_item(tmp_path: Path) -> None:
    async with role_world(tmp_path) as world:
        item = RightsWorld(world.app).item("another's", PUBLIC)
        place = f"{RECORDS}/{item.rep}?reason=x"
        assert (await world.app.ask("DELETE", place, headers=world.bearer(Role.DEPOSITOR))).status == 403
        (line,) = world.refusals()
    assert (line.subject, line.account) == (str(item.rep), "person:João Ávila")
    assert line.detail == f"DELETE {RECORDS}/{item.rep}: not-your-item"


@pytest.mark.parametrize("role", Role)
async def test_a_token_never_allows_more_than_its_role(tmp_path: Path, role: Role) -> None:
    """Also when the role was greater once."""
    async with role_world(tmp_path) as world:
        world.people.change(NAMES[role], lambda now: Person(now.name, Role.ADMIN, now.created))
        bearers = {scope: world.bearer(role, scope) for scope in Scope}
        world.people.change(NAMES[role], lambda now: Person(now.name, role, now.created))
        item = RightsWorld(world.app).item("another's", RESTRICTED)
        for scope, bearer in bearers.items():
            listed = await world.app.ask("GET", "/api/tokens", headers=bearer)
            assert (listed.status == 200) is (scope is Scope.ADMIN and role is Role.ADMIN)
            read = await world.app.ask("GET", f"{RECORDS}/{item.rep}/files/a.txt", headers=bearer)
            reads = {Scope.EDIT, Scope.ADMIN, Scope.COPY} & ROLE_SCOPES[role]
            assert (read.status == 200) is (scope in {Scope.EDIT, Scope.ADMIN, Scope.COPY} and bool(reads))


# --- over a session ---------------------------------------------------------------------------------------------------

PAGES = {
    "/account": Role.READER,
    "/account/claims": Role.READER,
    "/jobs": Role.LIBRARIAN,
    "/admin/people": Role.ADMIN,
}
"""The least role for which there is a page."""


@pytest.mark.parametrize("role", Role)
async def test_each_page_is_for_the_roles_that_it_is_for(tmp_path: Path, role: Role) -> None:
    async with role_world(tmp_path) as world:
        for path, least in PAGES.items():
            before = len(world.refusals())
            answer = await ask(world.app.app, "GET", path, world.session(role)[1])
            assert answer.status == (200 if role >= least else 403), (path, role)
            accounts = [line.account for line in world.refusals()[before:]]
            assert accounts == ([] if role >= least else [person_account(NAMES[role])])


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("owner", ["own", "another's", "archive's", "service"])
async def test_a_claim_is_answered_over_a_session_as_with_a_token(tmp_path: Path, role: Role, owner: Owner) -> None:
    owners: dict[Owner, str | None] = {**OWNERS, "own": person_account(NAMES[role])}
    is_allowed = ROLE_SCOPE[role] in ALLOWED["answer"][owner]
    async with role_world(tmp_path) as world:
        items = RightsWorld(world.app, owners)
        item = items.item(owner, PUBLIC)
        claimant = items.claimant(item)
        answer = await world.post(
            role, "/account/claims", here="1", answer="decline", item=str(item.rep), claimant=str(claimant.rep)
        )
        assert (answer.status == 303) is is_allowed, answer.body
        assert [line.account for line in world.refusals()] == ([] if is_allowed else [person_account(NAMES[role])])


async def test_a_session_is_no_key_to_the_api(tmp_path: Path) -> None:
    async with role_world(tmp_path) as world:
        _, headers = world.session(Role.ADMIN)
        for path in ("/api/tokens", f"{RECORDS}/claims"):
            assert (await ask(world.app.app, "GET", path, headers)).status == 401


# --- what ends at once ------------------------------------------------------------------------------------------------


async def test_a_revoked_token_a_disabled_person_and_an_ended_session_are_refused_at_the_next_request(
    tmp_path: Path,
) -> None:
    async with role_world(tmp_path) as world:
        bearer = world.bearer(Role.ADMIN)
        assert (await world.app.ask("GET", "/api/tokens", headers=bearer)).status == 200
        world.admin.revoke_token(bearer["authorization"].split("_")[1])
        assert (await world.app.ask("GET", "/api/tokens", headers=bearer)).status == 401
        # That the token is theirs is known, though it is not valid any more.
        assert world.refusals()[-1].account == person_account(NAMES[Role.ADMIN])

        name, (_, headers), token = NAMES[Role.LIBRARIAN], world.session(Role.LIBRARIAN), world.bearer(Role.LIBRARIAN)
        assert (await ask(world.app.app, "GET", "/jobs", headers)).status == 200
        world.people.change(name, lambda now: Person(now.name, now.role, now.created, disabled=NOW))
        assert (await ask(world.app.app, "GET", "/jobs", headers)).status == 303
        assert (await world.app.ask("GET", f"{RECORDS}/claims", headers=token)).status == 401

        _, headers = world.session(Role.DEPOSITOR)
        assert (await ask(world.app.app, "GET", "/account", headers)).status == 200
        for session in world.people.sessions_of(NAMES[Role.DEPOSITOR]):
            world.people.end_session(session.digest)
        assert (await ask(world.app.app, "GET", "/account", headers)).status == 303


# --- strangers --------------------------------------------------------------------------------------------------------


async def test_refusals_of_strangers_are_written_and_bounded(tmp_path: Path) -> None:
    async with role_world(tmp_path) as world:
        for number in range(100):
            headers = {"authorization": f"Bearer ibi_{'a' * 16}_{'b' * 51}{'2' if number % 2 else '3'}"}
            assert (await ask(world.app.app, "GET", "/api/tokens", headers)).status == 401
        lines = world.refusals()
    assert LINES_OF_NETWORK <= len(lines) <= LINES_OF_NETWORK + 5
    assert {line.account for line in lines} == {STRANGER}
    assert all("b" * 51 not in line.detail and "b" * 51 not in line.subject for line in lines)


async def test_no_line_about_a_refusal_tells_the_secret_of_a_link(tmp_path: Path) -> None:
    async with role_world(tmp_path) as world:
        for path in (f"/sign-in/{'a' * 52}", f"/sign-in/invitation/{'a' * 52}", f"/sign-in/password/{'a' * 52}"):
            assert (await ask(world.app.app, "GET", path, {"accept": "text/html"})).status == 403
        lines = world.refusals()
    assert [line.subject for line in lines] == ["path:/sign-in/…"] * 3
    assert all("aaa" not in line.detail for line in lines)


async def test_a_draft_of_another_is_a_refusal_and_one_that_is_not_there_is_none(tmp_path: Path) -> None:
    async with role_world(tmp_path) as world:
        draft = RightsWorld(world.app).draft("another's", PUBLIC)
        for identity in (draft, f"draft-{'a' * 16}"):
            answer = await world.app.ask("GET", f"{RECORDS}/{identity}", headers=world.bearer(Role.DEPOSITOR))
            assert answer.status == 404
            assert "is_denied" not in answer.body.decode()
        (line,) = world.refusals()
    assert line.detail.endswith("unknown-draft")
