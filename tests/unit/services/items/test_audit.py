"""What the audit log says of changes of items, tokens and people."""

from __future__ import annotations

import json
from pathlib import Path

from ibi.composition.archive_store import open_store
from ibi.instant import Instant
from ibi.model.account import Actor, AuditEntry, Role, Scope
from ibi.ports.errors import StorageError
from ibi.services.accounts.account_admin import LocalTokenAdmin, PersonAdmin
from ibi.services.accounts.sign_in import SecretHasher
from ibi.services.items.deposits import Deposits
from ibi.services.items.relating import ItemClaims, Relating
from ibi.storage.audit_log import FileAuditLog
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
    tokens.revoke_token(str(made["id"]))
    persons.set_password("ana", "another horse battery")
    persons.disable("ana")
    log.close()
    subject = f"token:{made['id']}"
    assert acts(tmp_path) == [
        ("create person", "person:ana", None),
        ("make sign-in link", "person:ana", None),
        ("create token", subject, "person:adm"),
        ("revoke token", subject, "person:adm"),
        ("set password", "person:ana", None),
        ("disable person", "person:ana", None),
    ]
    written = (tmp_path / "audit" / "audit.log").read_text()
    assert not any(secret in written for secret in (link, str(made["token"]).split("_")[2], "horse"))
    assert all(json.loads(line) for line in written.splitlines())


class _FullOnce:
    """An audit log whose disk is full for a while."""

    def __init__(self) -> None:
        self.is_full, self.lines = True, list[AuditEntry]()

    def append(self, entries: tuple[AuditEntry, ...]) -> None:
        if self.is_full:
            raise StorageError
        self.lines += entries


def test_lines_that_a_full_disk_refuses_come_with_the_next_change(tmp_path: Path) -> None:
    log = _FullOnce()
    with open_store(tmp_path) as store:
        store._audit = log  # type: ignore[assignment]
        made = Deposits(store, CountedLabels(), SetClocks())
        first = put(made)
        log.is_full = False
        second = put(made)
    assert [entry.subject for entry in log.lines] == [str(first.rep), str(second.rep)]
