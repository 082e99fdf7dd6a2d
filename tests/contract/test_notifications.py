"""The port `Notifications`, tried on every adapter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.claims.model import (
    DeliveryState,
    OutgoingKind,
    OutgoingNotification,
    ReceivedClaim,
    RemoteClaimState,
    SentClaim,
)
from ibi.claims.ports import Notifications
from ibi.claims.store import SqliteNotifications
from ibi.items.model.related_link import ClaimRelation
from ibi.storage.connection import STATE
from ibi.storage.errors import StateDamaged

ADAPTERS: dict[str, Callable[[Path], Notifications]] = {"sqlite": SqliteNotifications}
NAME, OTHER = "b.br/arq/2009/07.21.13.23", "b.br/arq/2010/07.21.13.23"
NOW = 1_800_000_000


def received(number: int, item: str = NAME, network: str = "192.0.2.0/24") -> ReceivedClaim:
    return ReceivedClaim(
        id=f"urn:uuid:{number}",
        digest="d",
        item=item,
        object=f"http://urlib.net/{item}",
        relation=ClaimRelation.EDITION_OF,
        url="http://urlib.net/a.br/arq/2026/11.16.10.00",
        claimant=("a.br/arq/2026/11.16.10.00",),
        is_offer=True,
        origin="https://a.example",
        origin_inbox="https://a.example/inbox",
        network=network,
        received=NOW,
        due=NOW + number,
    )


def sent(number: int) -> SentClaim:
    relation, item = ClaimRelation.DESCRIBES, ("a.br/arq/2026/11.16.10.00",)
    return SentClaim(id=f"urn:uuid:{number}", claimant=NAME, relation=relation, item=item, made=NOW)


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Notifications]:
    made = ADAPTERS[request.param](tmp_path / "data")
    yield made
    made.close()


def test_rows_are_numbered_and_found_by_number_id_and_item(store: Notifications) -> None:
    first, second = store.received.add(received(1)), store.received.add(received(2, OTHER))
    assert (first.number, second.number) == (1, 2)
    assert store.received.find(2) == second
    assert store.received.find_id("urn:uuid:1") == first
    assert store.received.about(OTHER) == (second,)
    assert (store.received.find(3), store.received.find_id("x"), store.sent.about(NAME)) == (None, None, ())


def test_rows_are_listed_by_state_page_by_page(store: Notifications) -> None:
    rows = [store.received.add(received(number)) for number in range(1, 6)]
    store.received.change(2, lambda row: replace(row, state=RemoteClaimState.DECLINED))
    pending = {RemoteClaimState.PENDING}
    assert store.received.list(pending, 0, 2) == (rows[0], rows[2])
    assert store.received.list(pending, 3, 2) == (rows[3], rows[4])
    assert store.received.list(pending, 5) == ()


def test_what_is_due_comes_in_the_order_of_its_time(store: Notifications) -> None:
    for number in (3, 1, 2):
        store.received.add(received(number))
    assert [row.id for row in store.received.due(NOW + 2, 10)] == ["urn:uuid:1", "urn:uuid:2"]
    assert [row.id for row in store.received.due(NOW + 9, 2)] == ["urn:uuid:1", "urn:uuid:2"]
    store.received.change(1, lambda row: replace(row, due=None))
    assert [row.id for row in store.received.due(NOW + 9, 9)] == ["urn:uuid:1", "urn:uuid:2"]


def test_changes_are_made_together_or_not_at_all(store: Notifications) -> None:
    store.sent.add(sent(1))
    with pytest.raises(ZeroDivisionError):
        _change_in_vain(store)
    assert (store.sent.find(1), store.outgoing.find(1), store.position()) == (replace(sent(1), number=1), None, ("", 0))
    with store.together():
        store.note_position("e", 7)
    assert store.position() == ("e", 7)


def _change_in_vain(store: Notifications) -> None:
    with store.together():
        store.sent.change(1, lambda row: replace(row, delivery=DeliveryState.DELIVERED))
        store.outgoing.add(OutgoingNotification(id="o", kind=OutgoingKind.OFFER, about=1, made=NOW, due=NOW))
        store.note_position("e", 7)
        raise ZeroDivisionError


def test_waiting_claims_are_counted_in_all_and_by_network(store: Notifications) -> None:
    for number in range(3):
        store.received.add(received(number, network="192.0.2.0/24" if number else "198.51.100.0/24"))
    assert store.waiting("192.0.2.0/24") == (3, 2)
    store.received.change(1, lambda row: replace(row, state=RemoteClaimState.WITHDRAWN))
    assert store.waiting("192.0.2.0/24") == (2, 2)
    assert store.waiting("203.0.113.0/24") == (2, 0)


def test_claims_that_registered_archives_signed_count_for_their_archive_alone(store: Notifications) -> None:
    for number, network in enumerate(("archive a.br/arq", "192.0.2.0/24", "archive b.br/arq")):
        store.received.add(received(number, network=network))
    assert store.waiting("192.0.2.0/24") == (1, 1)
    assert store.waiting("archive a.br/arq") == (1, 1)
    assert [each.network for each in store.pending()] == ["192.0.2.0/24"]
    assert [each.network for each in store.pending("archive b.br/arq")] == ["archive b.br/arq"]
    assert store.pending("203.0.113.0/24") == ()


def test_what_is_settled_is_forgotten_in_time_and_nothing_else(store: Notifications) -> None:
    for number in range(1, 4):
        store.received.add(received(number))
    store.received.change(1, lambda row: replace(row, state=RemoteClaimState.WITHDRAWN, due=None))
    store.received.change(2, lambda row: replace(row, state=RemoteClaimState.ACCEPTED, due=None))
    assert store.forget(NOW) == 0
    assert store.forget(NOW + 1) == 1
    assert [row.number for row in store.received.list(tuple(RemoteClaimState))] == [2, 3]


def test_one_process_at_a_time_sends(tmp_path: Path) -> None:
    script = f"""
import sys, time
from pathlib import Path
from ibi.claims.store import SqliteNotifications
store = SqliteNotifications(Path({str(tmp_path)!r}))
print(store.hold(), flush=True)
sys.stdin.read()
"""
    other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        store = SqliteNotifications(tmp_path)
        assert not store.hold()
        os.kill(other.pid, signal.SIGKILL)
        other.wait(30)
        assert store.hold()
        assert store.hold()
        store.close()
    finally:
        other.kill()
        other.communicate()


def test_what_was_committed_is_there_after_a_kill(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from tests.contract.test_notifications import sent
from ibi.claims.store import SqliteNotifications
store = SqliteNotifications(Path({str(tmp_path)!r}))
with store.together():
    store.sent.add(sent(1))
    store.note_position("e", 1)
with store.together():
    store.sent.add(sent(2))
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script], check=False, timeout=60, cwd=Path(__file__).parents[2])
    store = SqliteNotifications(tmp_path)
    assert [row.id for row in store.sent.about(NAME)] == ["urn:uuid:1"]
    assert store.position() == ("e", 1)
    store.close()


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    SqliteNotifications(tmp_path).close()
    (tmp_path / STATE.file_name).write_bytes(b"x" * 5000)
    with pytest.raises(StateDamaged, match="state-copies"):
        SqliteNotifications(tmp_path)
