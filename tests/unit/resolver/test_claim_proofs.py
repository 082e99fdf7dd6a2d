"""Disputes that signed releases settle, and those that they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.items.rules.provenance import Chain, countersign, sign_release
from ibi.membership.model.registration import ClaimKind, Settlement, Succession
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.service.disputes import ClaimProofs
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey, SigningKey
from ibi.transfers.service.release_register import ReleaseRegister
from ibi.transfers.store.releases import SqliteChainStore
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.running_jobs import running
from tests.support.scripted_archives import archive

ITEM = parse("example.org/home/2009/01.01.00.00")
HOME, HEIR, LIAR = archive("home"), archive("heir"), archive("liar")
KEYS = {each.service.labels[0]: SigningKey(bytes([number]) * 32) for number, each in enumerate((HOME, HEIR, LIAR))}


def label_of(archive: ArchiveRef) -> Label:
    return archive.service.labels[0]


def given(to: ArchiveRef, by: ArchiveRef = HOME) -> tuple[str, ...]:
    """The chain of an item that `by` gave to `to`."""
    giver, taker = label_of(by), label_of(to)
    key = KEYS[taker].public
    chain = sign_release(Chain(), LabelForms.of(ITEM), giver, taker, key, "0" * 128, Instant(1), KEYS[giver])
    return countersign(chain, KEYS[taker]).texts


class Resolver:
    """Its register has the keys of all, and HOME for the prefix of the item."""

    def __init__(self, data: Path) -> None:
        self.beliefs, self.store = MemoryBeliefs(), SqliteChainStore(data)
        self.told: dict[ArchiveRef, tuple[str, ...] | None] = {}
        self.asked: list[ArchiveRef] = []
        self.heard = asyncio.Event()
        self.releases = ReleaseRegister(self.store, self.beliefs, self._is_key, self._is_home, lambda: 5.0)
        self.proofs = ClaimProofs(self.beliefs, self.releases, self, lambda: (HOME, HEIR, LIAR), lambda: 9.0)

    @staticmethod
    def _is_key(who: Label, key: PublicKey) -> bool:
        return KEYS[who].public == key

    @staticmethod
    def _is_home(service: Label, _prefix: str) -> bool:
        return service == label_of(HOME)

    async def read_provenance(self, archive: ArchiveRef, label: Label) -> tuple[str, ...] | None:
        assert label == ITEM
        self.asked.append(archive)
        if archive == HOME:
            self.heard.set()
        return self.told.get(archive)

    def claim(self, by: ArchiveRef, against: ArchiveRef) -> None:
        self.beliefs.record_claim(ITEM, label_of(by), label_of(against), ClaimKind.ORIGINAL, 1)

    def settled(self) -> dict[Label, Settlement | None]:
        return {each.claim.claimant: each.settled_by for each in self.beliefs.disputes(10)}


@pytest.fixture
def resolver(tmp_path: Path) -> Iterator[Resolver]:
    made = Resolver(tmp_path)
    yield made
    made.store.close()


async def test_who_has_the_release_of_the_home_is_believed_against_its_word(resolver: Resolver) -> None:
    """The home was put back from a backup, say, and the resolver was never told."""
    resolver.claim(HEIR, HOME)
    resolver.told = {HOME: (), HEIR: given(HEIR)}
    await resolver.proofs.look()
    assert resolver.asked == [HEIR, HOME]
    assert resolver.beliefs.succession(ITEM) == Succession((label_of(HEIR),), is_signed=True)
    assert resolver.settled() == {label_of(HEIR): Settlement.TRANSFER}


async def test_who_claims_it_against_the_release_is_not_believed_and_the_dispute_is_over(resolver: Resolver) -> None:
    resolver.releases.hear(given(HEIR))
    resolver.claim(LIAR, HEIR)
    resolver.told = {LIAR: given(LIAR, by=LIAR)[:0], HEIR: given(HEIR)}
    await resolver.proofs.look()
    assert resolver.settled() == {label_of(LIAR): Settlement.PROOF}
    resolver.claim(LIAR, HEIR)  # once more
    assert resolver.beliefs.disputes(10, settled=False) == ()


async def test_a_claim_without_any_release_stays_open(resolver: Resolver) -> None:
    resolver.claim(LIAR, HOME)
    resolver.told = {HOME: (), LIAR: ("nonsense",)}
    await resolver.proofs.look()
    assert resolver.settled() == {label_of(LIAR): None}
    assert resolver.beliefs.succession(ITEM) == Succession()


async def test_who_does_not_answer_may_know_more(resolver: Resolver) -> None:
    resolver.releases.hear(given(HEIR))
    resolver.claim(LIAR, HEIR)
    resolver.told = {HEIR: given(HEIR), LIAR: None}
    await resolver.proofs.look()
    assert resolver.settled() == {label_of(LIAR): None}


async def test_two_releases_of_one_original_are_left_to_people(resolver: Resolver) -> None:
    resolver.releases.hear(given(HEIR))
    resolver.claim(LIAR, HEIR)
    resolver.told = {HEIR: given(HEIR), LIAR: given(LIAR)}
    await resolver.proofs.look()
    assert resolver.settled() == {label_of(LIAR): None}
    assert resolver.beliefs.successors(ITEM) == (label_of(HEIR),)


async def test_a_new_claim_is_looked_at_while_the_server_runs(resolver: Resolver) -> None:
    resolver.told = {HOME: (), HEIR: given(HEIR)}
    resolver.claim(HEIR, HOME)
    async with running(*resolver.proofs.jobs()), asyncio.timeout(20):
        resolver.proofs.note()
        await resolver.heard.wait()
    assert resolver.asked[:2] == [HEIR, HOME]
