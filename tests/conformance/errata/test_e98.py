"""E98: the loser of a settled dispute becomes a Copy of what the winner has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.copies.rules.copies import NotTheOriginal
from ibi.items.model.item import Item
from ibi.items.rules.errors import NotAllowedNow
from ibi.standard.vocabulary import State
from ibi.transfers.rules.transfer import TransferRefused
from ibi.transfers.service.provenance_check import ProvenanceCheck
from tests.support.deposit_samples import deposits, put
from tests.support.flat_items import replace
from tests.support.transfer_archives import RESOLVER, TransferArchive, TransferNetwork, give


class Dispute:
    """Two Archives that each have the Original of one label, by deposits of their own."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.network = TransferNetwork()
        self.winner, self.loser, self.third = (
            TransferArchive(self.network, name, folder, opened, resolver=RESOLVER) for name in "abc"
        )
        self.item = put(deposits(self.winner.store), title="As the winner has it")
        self.lost: Item = put(deposits(self.loser.store), title="As the loser has it")
        assert self.item.rep == self.lost.rep
        self.network.leads_to = self.winner.url

    def settle(self, holder: TransferArchive) -> None:
        self.network.settled[str(self.item.rep)] = frozenset({holder.service.labels[0]})

    def give_up(self, archive: TransferArchive) -> None:
        item = archive.item(self.item.rep)
        assert item is not None
        archive.worker.yield_original(item, archive)


@pytest.fixture
def dispute(tmp_path: Path) -> Iterator[Dispute]:
    with ExitStack() as opened:
        yield Dispute(tmp_path, opened)


def test_the_loser_has_a_copy_and_its_own_bytes_stay_among_the_versions(dispute: Dispute) -> None:
    dispute.settle(dispute.winner)
    dispute.give_up(dispute.loser)
    item = dispute.loser.item(dispute.item.rep)
    assert item is not None
    assert (item.state, item.source_url) == (State.COPY, dispute.winner.url)
    assert item.metadata == dispute.item.metadata != dispute.lost.metadata
    assert item.transferred_to == dispute.winner.service.rep
    assert dispute.winner.state(item.rep) is State.ORIGINAL
    assert len(dispute.loser.store.content.read(str(item.rep)).versions) == 3


def test_the_chain_of_what_was_yielded_is_sound_without_a_release(dispute: Dispute) -> None:
    """The object tells that a dispute was settled; nothing was released."""
    dispute.settle(dispute.winner)
    dispute.give_up(dispute.loser)
    item, loser = dispute.loser.item(dispute.item.rep), dispute.loser
    assert item is not None
    check = ProvenanceCheck(loser.store, loser.service, (loser.keys.signing_key().public,))
    assert check.check(item).problems == ()
    assert check.check(replace(item, transferred_to=dispute.third.service.rep)).problems != ()


def test_an_open_dispute_and_one_that_was_won_change_nothing(dispute: Dispute) -> None:
    with pytest.raises(TransferRefused, match="no dispute over it was settled"):
        dispute.give_up(dispute.loser)
    dispute.settle(dispute.loser)
    with pytest.raises(TransferRefused, match="no dispute over it was settled"):
        dispute.give_up(dispute.loser)
    assert dispute.loser.state(dispute.item.rep) is State.ORIGINAL


def test_the_original_is_given_up_only_to_the_one_who_has_it(dispute: Dispute) -> None:
    dispute.settle(dispute.third)
    with pytest.raises(TransferRefused, match="is not"):
        dispute.give_up(dispute.loser)
    dispute.settle(dispute.winner)
    give(dispute.winner, dispute.third, dispute.item)
    with pytest.raises(NotTheOriginal):
        dispute.give_up(dispute.loser)
    assert dispute.loser.state(dispute.item.rep) is State.ORIGINAL


def test_a_chain_that_contradicts_the_winner_is_not_kept(dispute: Dispute) -> None:
    give(dispute.loser, dispute.third, dispute.lost)
    lost = dispute.third
    dispute.settle(dispute.winner)
    dispute.give_up(lost)
    assert lost.state(dispute.item.rep) is State.COPY
    assert lost.chains.chain(dispute.item.rep).links == ()


def test_a_copy_has_nothing_to_yield(dispute: Dispute) -> None:
    dispute.settle(dispute.winner)
    dispute.give_up(dispute.loser)
    with pytest.raises(NotAllowedNow, match="it is a Copy"):
        dispute.give_up(dispute.loser)
