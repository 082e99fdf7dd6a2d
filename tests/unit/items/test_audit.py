"""What the audit log says of changes of items, tokens and people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibi.items.opening.archive_store import open_store
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_claims import ItemClaims
from ibi.items.service.relating import Relating
from ibi.people.model.account import Actor, Role, Scope
from ibi.people.service.account_admin import LocalTokenAdmin, PersonAdmin
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.store.audit_log import FileAuditLog
from ibi.standard.instant import Instant
from tests.support.deposit_samples import WHO, CountedLabels, draft, labels, put, sources
from tests.support.memory.people import MemoryPeople
from tests.support.memory.tokens import MemoryTokens
from tests.support.records_app import RECORDS, SAID, records_app
from tests.support.set_clocks import SetClocks

ANA = Actor("service:ana", Scope.DEPOSIT, "tokenid", "192.0.2.7")
BIA = Actor("service:bia", Scope.DEPOSIT, "other", "192.0.2.8")
ADMIN = Actor("person:adm", Scope.ADMIN, "admin", "192.0.2.9")


def acts(data: Path) -> list[tuple[str, str, str | None]]:
    return [(entry.act, entry.subject, entry.account) for entry in FileAuditLog(data).entries()]


def test_each_change_of_an_item_leaves_a_line(tmp_path: Path) -> None:
    counted = CountedLabels()
    with open_store(tmp_path) as store:
        ana, bia, admin = (Deposits(store, counted, SetClocks(), actor=who) for who in (ANA, BIA, ADMIN))
        given = sources(a=b"content")
        item = ana.deposit(draft(*given), given, WHO, owner=ANA.account)
        claimant = bia.deposit(draft(*given, edition_of=item.labels), given, WHO, owner=BIA.account)
        ana.update(item.rep, draft(*given), given, WHO, "Corrected")
        Relating(store, ana).record_metadata_item(item.rep, labels(99).labels[0], WHO)
        ItemClaims(store, ana, ANA).decline(item.rep, claimant.rep, WHO)
        ItemClaims(store, ana, ANA).accept(item.rep, claimant.rep, WHO)
        admin.give(item.rep, "person:eva", WHO)
        bia.delete(claimant.rep, "by request", WHO)
        admin.delete(claimant.rep, "by law", WHO, purge=True)
    one, other = str(item.rep), str(claimant.rep)
    assert acts(tmp_path) == [
        ("publish", one, "service:ana"),
        ("publish", other, "service:bia"),
        ("update", one, "service:ana"),
        ("relate", one, "service:ana"),
        ("decline", one, "service:ana"),
        ("accept", one, "service:ana"),
        ("give", one, "person:adm"),
        ("delete", other, "service:bia"),
        ("purge", other, "person:adm"),
    ]
    first = next(FileAuditLog(tmp_path).entries())
    assert (first.token, first.address, first.detail) == ("tokenid", "192.0.2.7", "Deposited")


async def test_a_change_over_http_tells_the_token_and_the_address(tmp_path: Path) -> None:
    async with records_app(tmp_path) as app:
        rep = (await app.deposit({**SAID, "visibility": {"networks": ["10.0.0.0/8"]}}))["rep"]
        begun = await app.ask("POST", f"{RECORDS}/{rep}/draft", SAID)
        await app.ask("POST", f"{RECORDS}/{begun.json()['id']}/publish")
        refused = await app.ask("DELETE", f"{RECORDS}/{rep}?reason=x", headers=app.bearer(name="bia"))
        assert refused.status == 403
        entries = list(FileAuditLog(tmp_path).entries())
        identity = app.bearer()["authorization"].split("_")[1]
    assert [entry.act for entry in entries] == ["publish", "update", "visibility"]
    assert {(entry.account, entry.token, entry.address) for entry in entries} == {
        ("service:ana", identity, "192.0.2.77")
    }
    assert entries[-1].detail == "all networks"


def test_changes_of_tokens_and_people_are_told_without_a_secret(tmp_path: Path) -> None:
    log, people, clocks = FileAuditLog(tmp_path), MemoryPeople(), SetClocks(Instant(1_700_000_000))
    persons = PersonAdmin(people, clocks, SecretHasher(), audit=log)
    persons.create("ana", Role.DEPOSITOR.value, "correct horse battery")
    link = persons.link("ana")
    tokens = LocalTokenAdmin(MemoryTokens(), clocks, people, audit=log).acting_as(ADMIN)
    made = tokens.create_token("deposit", "laptop", None, "ana")
    tokens.revoke_token(made.id)
    persons.set_password("ana", "another horse battery")
    persons.disable("ana")
    log.close()
    subject = f"token:{made.id}"
    assert acts(tmp_path) == [
        ("create person", "person:ana", None),
        ("make sign-in link", "person:ana", None),
        ("create token", subject, "person:adm"),
        ("revoke token", subject, "person:adm"),
        ("set password", "person:ana", None),
        ("disable person", "person:ana", None),
    ]
    written = (tmp_path / "audit" / "audit.log").read_text()
    assert not any(secret in written for secret in (link, made.token.split("_")[2], "horse"))
    assert all(json.loads(line) for line in written.splitlines())


def test_changes_are_made_and_told_though_the_log_cannot_be_written_just_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new token above all: its text is shown once, and it would be valid though no person had it."""
    log, people, clocks = FileAuditLog(tmp_path), MemoryPeople(), SetClocks(Instant(1_700_000_000))
    tokens = LocalTokenAdmin(MemoryTokens(), clocks, people, audit=log)
    with open_store(tmp_path) as store, monkeypatch.context() as full:
        full.setattr(FileAuditLog, "_add", _refuse)
        made = tokens.create_token("deposit", "laptop", None)
        item = put(Deposits(store, CountedLabels(), SetClocks()))
        full.undo()
        tokens.revoke_token(made.id)
    log.close()
    assert made.token.startswith("ibi_")
    subject = f"token:{made.id}"
    assert {act for act, said, _ in acts(tmp_path) if said == subject} == {"create token", "revoke token"}
    assert ("publish", str(item.rep), None) in acts(tmp_path)


def _refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")
