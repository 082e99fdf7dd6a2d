"""The port `Beliefs`, tried on every adapter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ibi.membership.model.registration import (
    ClaimKind,
    FalseClaim,
    KnownDeletion,
    LabelBeliefs,
    NamedCopies,
    Ruling,
    Settlement,
    Succession,
)
from ibi.resolver.ports import HOLDER_AGE, Beliefs
from ibi.resolver.store import beliefs as in_sqlite
from ibi.resolver.store.beliefs import SqliteBeliefs
from ibi.standard.label import Label, parse
from ibi.standard.messages.holders import CopyHolder
from tests.support.memory import beliefs as in_memory
from tests.support.memory.beliefs import MemoryBeliefs

ITEM, OTHER = parse("lab.br/arq/2009/07.21.14.43"), parse("lab.br/arq/2010/10.10.10.10")
A, B, C = (parse(f"example.org/{name}/2008/03.17.15.17") for name in "abc")
NOW = 1_800_000_000

ADAPTERS: dict[str, Callable[[Path], Beliefs]] = {"memory": lambda _: MemoryBeliefs(), "sqlite": SqliteBeliefs}


def label(number: int, prefix: str = "lab.br/arq") -> Label:
    return parse(f"{prefix}/{2000 + number // 1000}/01.01.{number // 60 % 24:02}.{number % 60:02}")


@pytest.fixture(params=ADAPTERS)
def beliefs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Beliefs]:
    store = ADAPTERS[request.param](tmp_path / "data")
    yield store
    store.close()


def test_a_new_store_believes_nothing(beliefs: Beliefs) -> None:
    assert beliefs.successors(ITEM) == ()
    assert beliefs.holder(ITEM, NOW) is None
    assert beliefs.copies(A).services == frozenset()
    assert beliefs.claims() == ()
    beliefs.forget_holder(ITEM)


def test_a_chain_of_successors_is_kept_replaced_and_forgotten(beliefs: Beliefs) -> None:
    beliefs.record_successors(ITEM, (A, B), NOW)
    beliefs.record_successors(OTHER, (C,), NOW)
    assert beliefs.successors(ITEM) == (A, B)
    beliefs.record_successors(ITEM, (C,), NOW + 1)
    assert beliefs.successors(ITEM) == (C,)
    beliefs.record_successors(ITEM, (), NOW + 2)
    assert beliefs.successors(ITEM) == ()
    assert beliefs.successors(OTHER) == (C,)


def test_what_is_not_signed_never_replaces_signed_successors(beliefs: Beliefs) -> None:
    beliefs.record_successors(ITEM, (C,), NOW)
    beliefs.record_signed_successors(ITEM, (A, B), NOW)
    for said in ((C,), (A, B, C), ()):
        beliefs.record_successors(ITEM, said, NOW + 1)
        assert beliefs.succession(ITEM) == Succession((A, B), is_signed=True)
    beliefs.record_signed_successors(ITEM, (), NOW + 2)  # the home has it again
    beliefs.record_successors(ITEM, (C,), NOW + 3)
    assert beliefs.succession(ITEM) == Succession((), is_signed=True)
    assert beliefs.given_on("lab.br/arq") == 0


def test_the_administrator_decides_also_where_successors_are_signed(beliefs: Beliefs) -> None:
    beliefs.record_signed_successors(ITEM, (A,), NOW)
    beliefs.rule(Ruling(ITEM, C, frozenset({A, C}), NOW + 1, "ana"))
    beliefs.record_successors(ITEM, (C,), NOW + 1)
    assert beliefs.succession(ITEM) == Succession((C,))


def test_all_that_is_believed_of_a_label_is_told_with_its_times(beliefs: Beliefs) -> None:
    assert beliefs.about(ITEM) == LabelBeliefs()
    beliefs.record_successors(ITEM, (A, B), NOW)
    beliefs.record_holder(OTHER, C, NOW + 1)
    beliefs.record_claim(ITEM, C, A, ClaimKind.ORIGINAL, NOW + 2)
    beliefs.record_claim(ITEM, C, A, ClaimKind.DELETED, NOW + 3)
    beliefs.record_claim(OTHER, C, A, ClaimKind.DELETED, NOW + 4)
    claims = tuple(claim for claim in beliefs.claims() if claim.label == ITEM)
    assert beliefs.about(ITEM) == LabelBeliefs((A, B), NOW, None, None, claims)
    assert beliefs.about(OTHER)[:4] == ((), None, C, NOW + 1)
    assert [claim.kind for claim in claims] == [ClaimKind.DELETED, ClaimKind.ORIGINAL]


def test_copies_are_told_with_the_time_and_successions_are_counted_by_prefix(beliefs: Beliefs) -> None:
    assert beliefs.named_copies(A) == NamedCopies()
    beliefs.record_copies(A, frozenset({B, C}), NOW)
    assert beliefs.named_copies(A) == NamedCopies(frozenset({CopyHolder(B), CopyHolder(C)}), NOW)
    beliefs.record_successors(ITEM, (A,), NOW)
    beliefs.record_successors(OTHER, (A,), NOW)
    beliefs.record_successors(OTHER, (), NOW)
    assert beliefs.given_on("lab.br/arq") == 1
    assert beliefs.given_on("lab.br/other") == 0


def test_a_successor_is_of_one_label_whatever_the_case_of_its_spelling(beliefs: Beliefs) -> None:
    beliefs.record_successors(ITEM, (A,), NOW)
    assert beliefs.successors(parse("LAB.br/ARQ/2009/07.21.14.43")) == (A,)
    assert beliefs.successors(parse("lab.br/arq.80/2009/07.21.14.43")) == ()


def test_a_deletion_is_kept_until_the_item_is_there_again(beliefs: Beliefs, monkeypatch: pytest.MonkeyPatch) -> None:
    assert beliefs.deletion(ITEM) is None
    beliefs.forget_deletion(ITEM)
    beliefs.record_deletion(ITEM, KnownDeletion(A), NOW)
    assert beliefs.deletion(parse(str(ITEM).upper())) == KnownDeletion(A)
    beliefs.record_deletion(ITEM, KnownDeletion(B, NOW - 5), NOW + 1)
    assert (beliefs.deletion(ITEM), beliefs.deletion(OTHER)) == (KnownDeletion(B, NOW - 5), None)
    for module in (in_memory, in_sqlite):
        monkeypatch.setattr(module, "MOST_SUCCESSIONS", 2)
    for number in range(2):
        beliefs.record_deletion(label(number), KnownDeletion(A), NOW)
    beliefs.flush()
    assert [beliefs.deletion(each) is None for each in (ITEM, label(0), label(1))] == [True, False, False]
    beliefs.forget_deletion(label(0))
    assert beliefs.deletion(label(0)) is None


def test_a_holder_is_believed_for_a_day(beliefs: Beliefs) -> None:
    beliefs.record_holder(ITEM, A, NOW)
    assert beliefs.holder(ITEM, NOW + HOLDER_AGE - 1) == A
    assert beliefs.holder(ITEM, NOW + HOLDER_AGE) is None
    assert beliefs.holder(OTHER, NOW) is None


def test_a_holder_is_replaced_and_forgotten(beliefs: Beliefs) -> None:
    beliefs.record_holder(ITEM, A, NOW)
    beliefs.record_holder(ITEM, B, NOW + 10)
    assert beliefs.holder(ITEM, NOW + HOLDER_AGE) == B
    beliefs.forget_holder(ITEM)
    assert beliefs.holder(ITEM, NOW + 10) is None


def test_the_holders_of_copies_are_those_that_the_home_named_last(beliefs: Beliefs) -> None:
    beliefs.record_copies(A, frozenset({B, C}), NOW)
    assert beliefs.copies(A).services == {B, C}
    assert beliefs.copies(B).services == frozenset()
    beliefs.record_copies(A, frozenset(), NOW + 1)
    assert beliefs.copies(A).services == frozenset()


def test_false_claims_are_counted_and_listed_the_latest_first(beliefs: Beliefs) -> None:
    assert beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW)
    assert beliefs.record_claim(ITEM, A, C, ClaimKind.DELETED, NOW + 1)
    assert beliefs.record_claim(OTHER, B, C, ClaimKind.ORIGINAL, NOW + 2)
    assert not beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW + 3)
    assert beliefs.claims() == (
        FalseClaim(ITEM, A, C, ClaimKind.ORIGINAL, NOW, NOW + 3, 2),
        FalseClaim(OTHER, B, C, ClaimKind.ORIGINAL, NOW + 2, NOW + 2, 1),
        FalseClaim(ITEM, A, C, ClaimKind.DELETED, NOW + 1, NOW + 1, 1),
    )
    assert len(beliefs.claims(most=1)) == 1


def test_claims_to_an_original_are_disputes_until_they_are_settled(beliefs: Beliefs) -> None:
    beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW)
    beliefs.record_claim(OTHER, B, C, ClaimKind.DELETED, NOW + 1)
    beliefs.record_claim(OTHER, B, C, ClaimKind.NEXT_EDITION, NOW + 2)
    later, earlier = beliefs.disputes(100)
    assert (later.claim.label, later.holder, later.told, later.settled_by) == (OTHER, C, None, None)
    assert (earlier.claim.claimant, earlier.ruling) == (A, None)
    assert beliefs.disputes(most=1) == (later,)
    assert beliefs.disputes(100, ITEM) == (earlier,)


def test_when_the_administrators_were_told_stays_with_the_claim(beliefs: Beliefs) -> None:
    beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW)
    beliefs.record_told(ITEM, A, NOW + 1)
    beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW + 2)
    (dispute,) = beliefs.disputes(100)
    assert (dispute.told, dispute.claim.last_seen) == (NOW + 1, NOW + 2)


def test_a_transfer_to_the_claimant_settles_its_claim(beliefs: Beliefs) -> None:
    beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW)
    beliefs.record_claim(ITEM, B, C, ClaimKind.ORIGINAL, NOW)
    beliefs.record_successors(ITEM, (B, A), NOW + 1)
    settled = {dispute.claim.claimant: dispute.settled_by for dispute in beliefs.disputes(100)}
    assert settled == {A: Settlement.TRANSFER, B: None}
    assert [dispute.claim.claimant for dispute in beliefs.disputes(100, settled=False)] == [B]
    beliefs.record_successors(ITEM, (A,), NOW + 1)
    assert [dispute.claim.claimant for dispute in beliefs.disputes(100, settled=False)] == [B]
    beliefs.record_successors(ITEM, (B,), NOW + 1)
    assert [dispute.claim.claimant for dispute in beliefs.disputes(100, settled=False)] == [A]
    assert {dispute.holder for dispute in beliefs.disputes(100)} == {B}


def test_a_ruling_settles_the_claims_of_its_parties_and_no_later_one(beliefs: Beliefs) -> None:
    beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW)
    ruling = Ruling(ITEM, C, frozenset({A, C}), NOW + 1, "ana")
    beliefs.rule(ruling)
    beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW + 2)
    beliefs.record_claim(ITEM, B, C, ClaimKind.ORIGINAL, NOW + 3)
    open_one, settled = beliefs.disputes(100)
    assert (settled.settled_by, settled.ruling) == (Settlement.ADMINISTRATOR, ruling)
    assert beliefs.about(ITEM).ruling == ruling
    assert (open_one.claim.claimant, open_one.settled_by) == (B, None)
    assert beliefs.disputes(100, settled=False) == (open_one,)


def test_a_ruling_names_the_holder_for_good_until_there_is_another(beliefs: Beliefs) -> None:
    beliefs.record_holder(ITEM, A, NOW)
    beliefs.rule(Ruling(ITEM, B, frozenset({A, B}), NOW, "ana"))
    assert beliefs.holder(ITEM, NOW + 2 * HOLDER_AGE) == B
    beliefs.rule(Ruling(ITEM, A, frozenset({A, B}), NOW, "ana"))
    assert beliefs.holder(ITEM, NOW + 2 * HOLDER_AGE) == A


def test_a_dispute_that_signed_releases_settle_stays_settled(beliefs: Beliefs) -> None:
    beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW)
    beliefs.record_proof(ITEM, A, NOW + 1)
    beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW + 2)
    (dispute,) = beliefs.disputes(10)
    assert (dispute.settled_by, dispute.proven) == (Settlement.PROOF, NOW + 1)
    assert beliefs.disputes(10, settled=False) == ()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (in_memory, in_sqlite):
        for name in ("MOST_SUCCESSIONS", "MOST_HOLDINGS", "MOST_CLAIMS"):
            monkeypatch.setattr(module, name, 3)


@pytest.mark.usefixtures("few")
def test_many_that_are_not_signed_push_out_none_that_is(beliefs: Beliefs) -> None:
    beliefs.record_signed_successors(ITEM, (A,), NOW)
    for number in range(10):
        beliefs.record_successors(label(number), (B,), NOW + number)
    assert beliefs.succession(ITEM) == Succession((A,), is_signed=True)


@pytest.mark.usefixtures("few")
def test_what_one_causes_to_be_recorded_pushes_out_only_its_own(beliefs: Beliefs) -> None:
    beliefs.record_successors(ITEM, (A,), NOW)
    beliefs.record_holder(ITEM, A, NOW)
    beliefs.record_claim(ITEM, A, C, ClaimKind.ORIGINAL, NOW)
    for number in range(10):
        foreign = label(number, "evil.br/arq")
        beliefs.record_successors(foreign, (B,), NOW + number)
        beliefs.record_holder(foreign, B, NOW + number)
        beliefs.record_claim(foreign, B, C, ClaimKind.ORIGINAL, NOW + number)
    beliefs.flush()
    assert beliefs.successors(ITEM) == (A,)
    assert beliefs.holder(ITEM, NOW) == A
    assert [claim.claimant for claim in beliefs.claims()].count(A) == 1
    for number, stays in ((6, False), (7, True), (9, True)):
        foreign = label(number, "evil.br/arq")
        assert (beliefs.successors(foreign) == (B,)) is stays
        assert (beliefs.holder(foreign, NOW) == B) is stays
        assert any(claim.label == foreign for claim in beliefs.claims()) is stays


class TestSqlite:
    """What only a file can promise."""

    def test_what_another_process_recorded_is_seen(self, tmp_path: Path) -> None:
        one, other = SqliteBeliefs(tmp_path), SqliteBeliefs(tmp_path)
        try:
            assert one.successors(ITEM) == ()
            assert one.holder(OTHER, NOW) is None
            other.record_successors(ITEM, (A,), NOW)
            other.record_holder(OTHER, B, NOW)
            other.record_copies(A, frozenset({B}), NOW)
            other.flush()
            one._looked = float("-inf")  # ten milliseconds later
            assert one.successors(ITEM) == (A,)
            assert one.copies(A).services == {B}
            assert one.holder(OTHER, NOW) == B
            other.forget_holder(OTHER)
            other.flush()
            one._looked = float("-inf")
            assert one.holder(OTHER, NOW) is None
        finally:
            one.close()
            other.close()

    def test_what_was_written_is_there_after_a_sigkill(self, tmp_path: Path) -> None:
        script = f"""
import os, signal
from pathlib import Path
from ibi.standard.label import parse
from ibi.membership.model.registration import ClaimKind
from ibi.resolver.store.beliefs import SqliteBeliefs
beliefs = SqliteBeliefs(Path({str(tmp_path)!r}))
item, other, a, b = map(parse, {[str(ITEM), str(OTHER), str(A), str(B)]!r})
beliefs.record_successors(item, (a, b), {NOW})
beliefs.record_holder(item, a, {NOW})
beliefs.record_copies(a, frozenset({{b}}), {NOW})
beliefs.record_claim(item, b, a, ClaimKind.ORIGINAL, {NOW})
beliefs.flush()
beliefs.record_holder(other, a, {NOW})
beliefs.record_signed_successors(other, (b,), {NOW})
os.kill(os.getpid(), signal.SIGKILL)
"""
        killed = subprocess.run([sys.executable, "-c", script], env={**os.environ}, check=False)
        assert killed.returncode == -signal.SIGKILL
        after = SqliteBeliefs(tmp_path)
        try:
            assert after.successors(ITEM) == (A, B)
            assert after.holder(ITEM, NOW) == A
            assert after.copies(A).services == {B}
            assert [claim.claimant for claim in after.claims()] == [B]
            assert after.holder(OTHER, NOW) is None  # learned anew from the next answer
            assert after.succession(OTHER) == Succession((B,), is_signed=True)
        finally:
            after.close()

    def test_one_group_is_written_for_many_changes_and_a_long_one_goes_on_later(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[None] = []
        beliefs = SqliteBeliefs(tmp_path)
        try:
            beliefs.watch(lambda: told.append(None))
            version = beliefs._version
            for number in range(50):
                beliefs.record_holder(label(number), A, NOW)
            assert len(told) == 1
            beliefs.write_group()
            beliefs.copies(A)
            assert beliefs._version in {version + 1, 1}
            monkeypatch.setattr(in_sqlite, "_LONGEST_WRITE", 0.0)
            for number in range(3):
                beliefs.record_holder(label(number), B, NOW)
            told.clear()
            beliefs.write_group()
            assert len(told) == 1  # two are left
            assert [beliefs.holder(label(number), NOW) for number in range(3)] == [B, B, B]
        finally:
            beliefs.close()
        after = SqliteBeliefs(tmp_path)
        try:
            assert [after.holder(label(number), NOW) for number in range(4)] == [B, B, B, A]
        finally:
            after.close()

    def test_the_oldest_change_that_waits_is_dropped_where_too_many_wait(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(in_sqlite, "_MOST_WAITING", 3)
        beliefs = SqliteBeliefs(tmp_path)
        try:
            for number in range(5):
                beliefs.record_holder(label(number), A, NOW)
            assert [beliefs.holder(label(number), NOW) for number in range(5)] == [None, None, A, A, A]
        finally:
            beliefs.close()
