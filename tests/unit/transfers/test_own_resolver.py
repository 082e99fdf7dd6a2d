"""An Archive that is the resolver of the others, in one process, and was put back from a backup: whom it asks (E90)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.items.model.item import Item
from ibi.items.rules.provenance import Chain
from ibi.standard.label import RepositoryName
from ibi.standard.vocabulary import State
from ibi.transfers.model import SenderStage
from ibi.transfers.service.worker import ItemInDoubt, StillInDoubt
from tests.support.deposit_samples import deposits, put
from tests.support.transfer_archives import RESOLVER, TransferArchive, TransferNetwork, give, put_back

HERE, RECEIVER = "http://a.example", "http://b.example"


@pytest.fixture
def network() -> TransferNetwork:
    return TransferNetwork()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def given(network: TransferNetwork, tmp_path: Path, opened: ExitStack) -> tuple[TransferArchive, Item, Chain]:
    """The Archive as it was before it gave an item away, the item, and its chain: the resolver knows nothing of it."""
    with ExitStack() as before:
        a = TransferArchive(network, "a", tmp_path, before, resolves=True)
        item = put(deposits(a.store))
    shutil.copytree(tmp_path / "a", tmp_path / "backup-a")
    with ExitStack() as before:
        a = TransferArchive(network, "a", tmp_path, before, resolves=True, is_new=False)
        b = TransferArchive(network, "b", tmp_path, before, resolver=HERE)
        assert give(a, b, item) is SenderStage.DONE
        chain = b.chains.chain(item.rep)
    put_back(tmp_path, "a")
    network.told.clear()
    TransferArchive(network, "b", tmp_path, opened, resolver=HERE, is_new=False)
    return TransferArchive(network, "a", tmp_path, opened, resolves=True, is_new=False), item, chain


def test_the_archives_of_its_register_are_asked(given: tuple[TransferArchive, Item, Chain]) -> None:
    a, item, chain = given
    assert a.ledger.peers() == frozenset()
    assert (a.tracking.is_silent, a.tracking.unheard) == (True, (HERE, RECEIVER))
    with pytest.raises(ItemInDoubt):
        a.tracking.require_changeable(str(item.rep))
    a.worker.step()
    assert (a.tracking.in_doubt, a.state(item.rep), a.chains.chain(item.rep)) == (False, State.COPY, chain)


def test_items_are_not_blocked_by_an_archive_that_does_not_answer(
    network: TransferNetwork, given: tuple[TransferArchive, Item, Chain]
) -> None:
    a, item, _ = given
    network.cut = {RECEIVER}
    a.worker.step()
    a.tracking.require_changeable(str(item.rep))  # it was tried
    with pytest.raises(StillInDoubt, match=RECEIVER):
        a.tracking.require_sure()
    network.cut = set()
    a.tracking.ask(a.chains, a.receiving)
    a.tracking.require_sure()
    assert a.state(item.rep) is State.COPY


def test_the_releases_of_its_own_resolver_are_learned_while_no_other_answers(
    network: TransferNetwork, given: tuple[TransferArchive, Item, Chain]
) -> None:
    a, item, chain = given
    network.cut, network.told = {RECEIVER}, {str(item.rep): chain.texts}
    a.worker.step()
    assert (a.tracking.is_silent, a.state(item.rep)) == (False, State.COPY)


def test_a_chain_that_its_resolver_is_told_is_taken_in_at_once(given: tuple[TransferArchive, Item, Chain]) -> None:
    a, item, chain = given
    a.tracking.trust()
    assert a.state(item.rep) is State.ORIGINAL
    for nonsense in ((), ("nonsense",), chain.texts[1:], (chain.texts[0], chain.texts[0])):
        a.worker.take_told(nonsense)
    assert a.state(item.rep) is State.ORIGINAL
    a.worker.take_told(chain.texts)
    assert (a.state(item.rep), a.chains.chain(item.rep)) == (State.COPY, chain)


def test_a_server_without_other_archives_is_in_no_doubt(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    a = TransferArchive(network, "a", tmp_path, opened, resolves=True, is_new=False, lost=True)
    assert (a.tracking.in_doubt, a.tracking.is_silent, a.tracking.unheard) == (False, False, ())


def test_a_resolver_that_was_started_again_is_told_what_it_lost(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    a, b = (TransferArchive(network, name, tmp_path, opened, resolver=RESOLVER) for name in "ab")
    item = put(deposits(a.store))
    assert give(a, b, item) is SenderStage.DONE
    seconds = float(b.worker._now())
    b.worker._now = lambda: seconds
    b.worker.step()
    known = dict(network.told)
    assert RepositoryName.parse(next(iter(known))) == item.rep
    network.told.clear()
    seconds += 20
    b.worker.step()
    assert network.told == {}  # the same run lost nothing
    network.run = "second"
    seconds += 20
    b.worker.step()
    assert network.told == known
