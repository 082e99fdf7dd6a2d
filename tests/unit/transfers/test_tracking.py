"""Several processes of one Archive that may have been put back from a backup: one asks, and all go by it (E90)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.items.model.item import Item
from ibi.items.service.relating import Relating
from ibi.items.service.versions import Restoring
from ibi.people.model.account import Actor, Scope
from ibi.standard.vocabulary import State
from ibi.storage.machine import MachineClocks
from ibi.transfers.model import SenderStage
from ibi.transfers.service.worker import ItemInDoubt
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, labels, put, sources
from tests.support.transfer_archives import RESOLVER, TransferArchive, TransferNetwork, give


@pytest.fixture
def network() -> TransferNetwork:
    return TransferNetwork()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def item(network: TransferNetwork, tmp_path: Path) -> Item:
    """An item that was given away, so that there are two who know of it: the resolver, and the receiver."""
    with ExitStack() as opened:
        a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER)
        b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER)
        item = put(deposits(a.store))
        assert give(a, b, item) is SenderStage.DONE
    return item


def worker(network: TransferNetwork, folder: Path, opened: ExitStack, *, lost: bool = False) -> TransferArchive:
    """One process of the first Archive."""
    return TransferArchive(network, "a", folder, opened, resolver=RESOLVER, is_new=False, lost=lost)


def test_all_processes_speak_again_once_one_has_asked_after_a_reboot(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
) -> None:
    shutil.rmtree(tmp_path / "locks")
    TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER, is_new=False)
    holder, other = worker(network, tmp_path, opened), worker(network, tmp_path, opened)
    assert (holder.tracking.is_silent, other.tracking.is_silent) == (True, True)
    holder.worker.step()
    other.tracking.follow()
    assert (holder.tracking.in_doubt, other.tracking.in_doubt) == (False, False)


def test_all_processes_speak_again_while_a_receiver_that_was_tried_is_silent(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
) -> None:
    shutil.rmtree(tmp_path / "locks")
    network.cut = {"http://b.example"}
    holder, other = worker(network, tmp_path, opened), worker(network, tmp_path, opened)
    holder.worker.step()
    other.tracking.follow()
    assert (holder.tracking.is_silent, holder.tracking.in_doubt) == (False, True)
    assert (other.tracking.is_silent, other.tracking.in_doubt) == (False, True)
    late = worker(network, tmp_path, opened)
    assert (late.tracking.is_silent, late.tracking.in_doubt) == (False, True)
    network.cut = {RESOLVER, "http://b.example"}
    late.worker.step()  # it holds the lock now, and goes by what it has heard itself
    other.tracking.follow()
    assert (late.tracking.is_silent, other.tracking.is_silent) == (True, True)


def test_what_one_process_noticed_all_others_know_and_the_next_start_as_well(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
) -> None:
    network.cut = {RESOLVER, "http://b.example"}
    with ExitStack() as earlier:
        holder = worker(network, tmp_path, earlier)
        assert not holder.tracking.in_doubt
        other = worker(network, tmp_path, earlier, lost=True)
        holder.tracking.follow()
        assert (holder.tracking.is_silent, other.tracking.is_silent) == (True, True)
        holder.worker.step()
        assert holder.tracking.is_silent
    again = worker(network, tmp_path, opened)
    assert again.tracking.is_silent


def test_a_process_that_has_not_looked_since_gives_nothing_away(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
) -> None:
    holder = worker(network, tmp_path, opened)
    b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER, is_new=False)
    second = put(deposits(holder.store, CountedLabels(7)))
    holder.sending.begin(second, b.url, "agreed")
    b.receiving.go_on(second.rep)
    worker(network, tmp_path, opened, lost=True)
    holder.sending.go_on(second.rep)
    assert (holder.state(second.rep), holder.tracking.in_doubt) == (State.ORIGINAL, True)


def test_trust_of_a_command_ends_the_doubt_of_all(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
) -> None:
    shutil.rmtree(tmp_path / "locks")
    network.cut = {RESOLVER, "http://b.example"}
    holder, command = worker(network, tmp_path, opened), worker(network, tmp_path, opened)
    holder.worker.step()
    assert holder.tracking.is_silent
    command.tracking.trust()
    holder.tracking.follow()
    assert not holder.tracking.in_doubt


def test_who_was_not_heard_is_known_to_all_processes_until_the_doubt_ends(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
) -> None:
    shutil.rmtree(tmp_path / "locks")
    network.cut = {"http://b.example"}
    holder, other = worker(network, tmp_path, opened), worker(network, tmp_path, opened)
    assert list(other.tracking.unheard) == ["http://b.example", RESOLVER]
    holder.worker.step()
    other.tracking.follow()
    assert [*holder.tracking.unheard, *other.tracking.unheard] == ["http://b.example"] * 2
    holder.tracking.trust()
    other.tracking.follow()
    assert (other.tracking.unheard, other.ledger.unheard()) == ((), frozenset())


def test_no_item_is_changed_while_its_original_may_have_been_given_away(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    with ExitStack() as earlier:
        before = TransferArchive(network, "a", tmp_path, earlier, resolver=RESOLVER)
        made = deposits(before.store)
        item = made.update(put(made).rep, draft("b.txt"), sources(b=b"second"), WHO).item
    shutil.rmtree(tmp_path / "locks")
    network.cut = {RESOLVER}
    archive = worker(network, tmp_path, opened)
    archive.store.guard_changes(archive.tracking.require_changeable, archive.service)
    made = deposits(archive.store, CountedLabels(7))
    for change in (
        lambda: made.update(item.rep, draft("c.txt"), sources(c=b"third"), WHO),
        lambda: made.delete(item.rep, "wrong", WHO),
        lambda: made.delete(item.rep, "wrong", WHO, purge=True),
        lambda: made.give(item.rep, "ana", WHO),
        lambda: Relating(archive.store, made).record_next_edition(item.rep, labels(9).labels[0], WHO),
        lambda: Restoring(archive.store, made, MachineClocks()).restore(item.rep, 1, WHO),
        lambda: put(made, edition_of=item.labels),
    ):
        with pytest.raises(ItemInDoubt, match=f"{item.rep} takes no change.*{RESOLVER}.*`ibi transfers trust`"):
            change()
    assert archive.item(item.rep) == item
    new = put(made)  # of a new item there is nothing to be in doubt about
    network.cut = set()
    archive.worker.step()
    made.delete(item.rep, "wrong", WHO)
    assert (archive.state(item.rep), archive.state(new.rep)) == (State.DELETED, State.ORIGINAL)


def test_a_stranger_may_claim_an_edition_of_an_item_in_doubt_which_changes_nothing_of_it(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    with ExitStack() as earlier:
        before = TransferArchive(network, "a", tmp_path, earlier, resolver=RESOLVER)
        item = put(deposits(before.store))
    shutil.rmtree(tmp_path / "locks")
    network.cut = {RESOLVER}
    archive = worker(network, tmp_path, opened)
    archive.store.guard_changes(archive.tracking.require_changeable, archive.service)
    stranger = Actor("rita", Scope.DEPOSIT)
    claiming = put(deposits(archive.store, CountedLabels(7), actor=stranger), edition_of=item.labels)
    assert (claiming.edition_of, archive.item(item.rep)) == (item.labels, item)


def test_the_archives_own_item_follows_it_even_in_doubt(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    with ExitStack() as earlier:
        before = TransferArchive(network, "a", tmp_path, earlier, resolver=RESOLVER)
        item = put(deposits(before.store))
    shutil.rmtree(tmp_path / "locks")
    network.cut = {RESOLVER}
    archive = worker(network, tmp_path, opened)
    archive.store.guard_changes(archive.tracking.require_changeable, item.labels)
    updated = deposits(archive.store).update(item.rep, draft("b.txt"), sources(b=b"second"), WHO)
    assert updated.item.version == 2
