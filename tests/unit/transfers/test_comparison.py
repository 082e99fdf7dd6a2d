"""Chains are compared with states: what backups left behind is repaired, and nothing that this Archive did not sign is
believed (E102)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.items.model.content import Bytes, Change, Keep
from ibi.items.model.item import Item
from ibi.items.rules.provenance import NO_CHAIN, countersign, sign_release
from ibi.items.service.stored_item import name_of
from ibi.items.store.catalogue.catalog import FILE_NAME
from ibi.standard.instant import Instant
from ibi.standard.signing import SigningKey
from ibi.standard.vocabulary import State
from ibi.storage.state import empty_part
from ibi.transfers.model import OpenProblem, ReceiverStage, SenderStage
from ibi.transfers.rules.transfer_messages import Offer, sign_offer
from ibi.transfers.service.worker import LateWitnesses
from tests.support.deposit_samples import CountedLabels, deposits, put
from tests.support.transfer_archives import RESOLVER, TransferArchive, TransferNetwork, give, put_back

NOW = Instant(1_800_000_000)


@pytest.fixture
def network() -> TransferNetwork:
    return TransferNetwork()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class Restorable:
    """Archives on one network that are opened again and again; each was backed up before the first item moved."""

    def __init__(self, network: TransferNetwork, folder: Path, opened: ExitStack, names: str = "ab") -> None:
        self.network, self.folder, self.opened, self.names = network, folder, opened, names
        with ExitStack() as first:
            archives = [self._open(name, first, is_new=True) for name in names]
            self.item = put(deposits(archives[0].store))
        for name in names:
            shutil.copytree(folder / name, folder / f"backup-{name}")

    def _open(self, name: str, opened: ExitStack, *, is_new: bool = False) -> TransferArchive:
        return TransferArchive(self.network, name, self.folder, opened, resolver=RESOLVER, is_new=is_new)

    def begin(self) -> list[TransferArchive]:
        """Open all, for the rest of the test."""
        return [self._open(name, self.opened) for name in self.names]

    def give(self, *, is_countersigned: bool = True) -> None:
        """Move the item from the first to the second; all are closed afterwards."""
        with ExitStack() as opened:
            a, b = (self._open(name, opened) for name in self.names[:2])
            if is_countersigned:
                assert give(a, b, self.item) is SenderStage.DONE
                b.worker.step()
            else:
                a.sending.begin(self.item, b.url, "agreed")
                b.receiving.go_on(self.item.rep)
                a.sending.go_on(self.item.rep)
                assert b.state(self.item.rep) is State.COPY
            a.worker.step()

    def restore(self, *names: str) -> None:
        for name in names:
            put_back(self.folder, name)


def settle(*archives: TransferArchive) -> None:
    """Let all go on until nothing more can be done; at no moment two have the Original."""
    for _ in range(8):
        for each in archives:
            each.now += 120
            each.worker._ask_at = 0.0
            each.worker.step()
            for out in each.ledger.list_outgoing(SenderStage.OFFERED, SenderStage.RELEASED):
                each.sending.go_on(out.rep)  # without the wait after a failure
            for come in each.ledger.list_incoming(ReceiverStage.ACCEPTED, ReceiverStage.HELD):
                each.receiving.go_on(come.rep)


def states(item: Item, *archives: TransferArchive) -> list[State | None]:
    return [each.state(item.rep) for each in archives]


@pytest.mark.parametrize("restored", ["", "a", "b", "ab"])
@pytest.mark.parametrize("is_countersigned", [True, False])
def test_one_original_is_left_whoever_is_restored(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, restored: str, *, is_countersigned: bool
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give(is_countersigned=is_countersigned)
    archives.restore(*restored)
    a, b = archives.begin()
    settle(a, b)
    assert states(archives.item, a, b) == [State.COPY, State.ORIGINAL]
    assert a.ledger.open_items() == b.ledger.open_items() == ()
    assert a.chains.chain(archives.item.rep) == b.chains.chain(archives.item.rep)
    assert len(network.told[str(archives.item.rep)]) == 2


@pytest.mark.parametrize("lost", ["a", "b", "ab"])
def test_a_ledger_that_is_lost_is_made_anew_from_the_objects(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, lost: str
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give(is_countersigned=False)
    for name in lost:
        empty_part(tmp_path / name, "transfers")
    a, b = archives.begin()
    settle(a, b)
    assert states(archives.item, a, b) == [State.COPY, State.ORIGINAL]
    assert len(a.ledger.chain(archives.item.rep)) == 2


def test_a_receiver_that_was_restored_awaits_the_original_until_it_has_it(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    archives.restore("b")
    network.off = {"http://a.example"}
    a, b = archives.begin()
    settle(b)
    b.tracking.follow()
    item = archives.item
    assert len(item.labels.labels) == 2
    assert all(b.tracking.open_items.is_awaited((label,)) for label in item.labels.labels)
    assert not b.tracking.open_items.is_awaited(a.service.labels)
    network.off = set()
    settle(a, b)
    b.tracking.follow()
    assert states(item, b) == [State.ORIGINAL]
    assert not b.tracking.open_items.is_awaited(item.labels.labels)


def test_the_giver_is_asked_soon_after_the_resolver_lists_it(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    """Both were restored and start together: the giver is not switched on at the first look of the receiver."""
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    archives.restore("b")
    network.unlisted = network.off = {"http://a.example"}
    _, b = archives.begin()
    b.worker.step()
    assert [each.problem for each in b.ledger.open_items()] == [OpenProblem.NOT_FETCHED]
    network.unlisted = network.off = set()
    for _ in range(10):
        b.now += 1
        b.worker.step()
    assert states(archives.item, b) == [State.ORIGINAL]


def test_a_giver_does_not_await_the_original_that_the_receiver_has_not_taken(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give(is_countersigned=False)
    archives.restore("a")
    network.off = {"http://b.example"}
    a, b = archives.begin()
    b.worker._tell(RESOLVER, int(b.now))
    settle(a)
    a.tracking.follow()
    item = a.item(archives.item.rep)
    assert item is not None
    assert (item.state, item.transferred_to) == (State.COPY, b.service.labels[0])
    assert [each.problem for each in a.ledger.open_items()] == [OpenProblem.NOT_TAKEN]
    assert not a.tracking.open_items.is_awaited(item.labels.labels, item.transferred_to)


def test_the_receiver_takes_the_bytes_from_a_third_archive_where_the_giver_has_dropped_them(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened, "abc")
    with ExitStack() as before:
        a, c = (archives._open(name, before) for name in "ac")
        c.bring(archives.item.rep, a.url)
    archives.give()
    archives.restore("b")
    a, b, c = archives.begin()
    a._copying.drop(archives.item.rep, "Ana")
    settle(a, b, c)
    assert states(archives.item, a, b, c) == [None, State.ORIGINAL, State.COPY]
    assert len(b.chains.chain(archives.item.rep).links) == 2


def test_an_item_stays_open_while_no_archive_has_its_bytes(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    archives.restore("b")
    a, b = archives.begin()
    a._copying.drop(archives.item.rep, "Ana")
    settle(a, b)
    assert b.state(archives.item.rep) is None
    (open_item,) = b.ledger.open_items()
    assert open_item.problem is OpenProblem.NOT_FETCHED
    assert open_item.asked[0].startswith("http://a.example: ")


def test_an_item_that_no_archive_has_keeps_no_other_from_being_fetched(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    with ExitStack() as before:
        a, b = (archives._open(name, before) for name in "ab")
        made = deposits(a.store, CountedLabels(20))
        items = [put(made) for _ in range(4)]
        for item in items:
            assert give(a, b, item) is SenderStage.DONE
        first = min(items, key=lambda each: str(each.rep))
        a._copying.drop(first.rep, "Ana")
    archives.restore("b")
    a, b = archives.begin()
    settle(a, b)
    assert [b.state(item.rep) for item in items] == [None if item is first else State.ORIGINAL for item in items]
    assert [each.rep for each in b.ledger.open_items()] == [first.rep]


def test_bytes_that_do_not_fit_the_release_are_not_taken(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened, "abc")
    with ExitStack() as before:
        a, c = (archives._open(name, before) for name in "ac")
        c.bring(archives.item.rep, a.url)
    archives.give()
    archives.restore("b")
    a, b, c = archives.begin()
    a._copying.drop(archives.item.rep, "Ana")
    spoil(c, archives.item)
    settle(a, b, c)
    assert b.state(archives.item.rep) is None
    (open_item,) = b.ledger.open_items()
    assert any("not those that were released" in each for each in open_item.asked)


@pytest.mark.parametrize("restored", ["before", "under way", "store alone"])
@pytest.mark.parametrize("is_giver_restored", [False, True])
def test_an_original_that_came_back_changed_is_not_kept_as_it_was_before(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, restored: str, *, is_giver_restored: bool
) -> None:
    """The Original went away, was changed there and came back; then its Archive is put back from before it went."""
    archives = Restorable(network, tmp_path, opened)
    if restored != "under way":
        archives.give()
    else:
        archives.give(is_countersigned=False)
        shutil.rmtree(tmp_path / "backup-a")
        shutil.copytree(tmp_path / "a", tmp_path / "backup-a")
        with ExitStack() as first:
            settle(*(archives._open(name, first) for name in "ab"))
    with ExitStack() as second:
        b = archives._open("b", second)
        spoil(b, archives.item)
    shutil.rmtree(tmp_path / "backup-b")
    shutil.copytree(tmp_path / "b", tmp_path / "backup-b")
    with ExitStack() as third:
        a, b = (archives._open(name, third) for name in "ab")
        assert give(b, a, archives.item) is SenderStage.DONE
        a.worker.step()
        released = archive_record(a, archives.item)
    archives.restore(*("b" if is_giver_restored else ""))
    if restored == "store alone":
        restore_store(tmp_path, "a")
    else:
        archives.restore("a")
    a, b = archives.begin()
    settle(a, b)
    assert states(archives.item, a, b) == [State.ORIGINAL, State.COPY]
    assert archive_record(a, archives.item) == released
    assert a.ledger.open_items() == b.ledger.open_items() == ()


def test_an_original_whose_newer_bytes_are_nowhere_is_open_and_no_original(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    with ExitStack() as before:
        a, b = (archives._open(name, before) for name in "ab")
        spoil(b, archives.item)
        assert give(b, a, archives.item) is SenderStage.DONE
        a.worker.step()
    archives.restore("a", "b")
    a, b = archives.begin()
    settle(a, b)
    assert states(archives.item, a, b) == [State.COPY, None]
    (open_item,) = a.ledger.open_items()
    assert open_item.problem is OpenProblem.NOT_FETCHED


@pytest.mark.parametrize("is_source", [False, True])
def test_a_receiver_asks_a_giver_that_was_away_when_it_was_restored(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, *, is_source: bool
) -> None:
    """The resolver was not told before the giver was switched off; the giver says nothing when it is back."""
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    network.told.clear()
    archives.restore("b")
    network.off = {"http://a.example"}
    b = archives._open("b", opened)
    if is_source:
        b.tracking.sources = lambda: ["http://a.example/"]
    settle(b)
    assert (b.tracking.in_doubt, b.state(archives.item.rep)) == (False, None)
    a = archives._open("a", opened)
    network.off = set()
    if is_source:
        network.unlisted = {"http://a.example"}
    settle(b)
    assert states(archives.item, a, b) == [State.COPY, State.ORIGINAL]


def test_a_receiver_that_was_away_asks_no_more_a_day_after_its_restore(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    archives.restore("b")
    network.told.clear()
    network.off = {"http://a.example"}
    b = archives._open("b", opened)
    settle(b)
    assert b.tracking.is_recent(b.now)
    b.now += 86_400
    network.off, asked = set(), network.messages
    b.worker.step()
    assert (b.tracking.is_recent(b.now), network.messages) == (False, asked)


def test_a_witness_that_takes_long_to_be_silent_is_asked_less_often(network: TransferNetwork) -> None:
    late = LateWitnesses(network, None, "http://b.example")  # type: ignore[arg-type]
    assert list(late.due(0.0, ["http://a.example"])) == []
    late.begin()
    assert list(late.due(0.0, ["http://a.example", "http://b.example", "http://c.example/"])) == [
        "http://a.example",
        "http://c.example",
    ]
    late.note_silent("http://a.example", 0.0, 0.1)
    late.note_silent("http://c.example", 0.0, 15.0)
    assert list(late.due(60.0, ["http://a.example", "http://c.example/"])) == ["http://a.example"]
    assert list(late.due(600.0, ["http://c.example/"])) == ["http://c.example"]
    late.note_heard("http://c.example")
    assert list(late.due(1200.0, ["http://c.example/"])) == []


def test_a_giver_that_starts_tells_a_receiver_that_was_restored_meanwhile(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    archives.restore("b")
    network.told.clear()
    network.off = network.unlisted = {"http://a.example"}
    b = archives._open("b", opened)
    settle(b)
    network.cut = {b.url}
    network.off = set()
    a = archives._open("a", opened)
    b.tracking.sources = tuple
    settle(a)
    assert a.ledger.open_items() == ()
    network.cut = set()
    a.repair(600.0)
    assert b.ledger.open_items()[0].hint == a.url
    network.unlisted = set()
    b.repair()
    assert states(archives.item, a, b) == [State.COPY, State.ORIGINAL]
    settle(a, b)
    assert a.ledger.open_items() == b.ledger.open_items() == ()


def test_a_giver_asks_once_what_a_receiver_knows_that_has_it_all(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    a, b = archives.begin()
    settle(a, b)
    asked = network.messages
    a.repair()
    assert (network.messages, a.ledger.open_items()) == (asked, ())


def restore_store(folder: Path, name: str) -> None:
    """Put the objects of an Archive back, and not its ledger."""
    for each in ("store", FILE_NAME):
        place, source = folder / name / each, folder / f"backup-{name}" / each
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        shutil.copytree(source, place) if source.is_dir() else shutil.copy(source, place)


def spoil(archive: TransferArchive, item: Item) -> None:
    """Have another text in a Copy, with its record."""
    stored = archive.store.read(name_of(item))
    kept = archive.store.content.read(name_of(item))
    files = {path: Keep(path) for path in kept.head.files}
    record = Bytes(archive_record(archive, item) + b"\n")
    archive.store.content.update(
        name_of(item), {**files, "item.json": record}, Change("Ana", "x", NOW), head=stored.head
    )


def archive_record(archive: TransferArchive, item: Item) -> bytes:
    head = archive.store.content.read(name_of(item)).head.number
    with archive.store.open_record(name_of(item), "item.json", head) as record:
        return record.read_all()


def test_the_object_is_mended_from_the_ledger_where_the_store_alone_is_older(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    restore_store(tmp_path, "a")
    network.told.clear()
    a, b = archives.begin()
    assert a.state(archives.item.rep) is State.ORIGINAL
    a.comparison.step()
    assert states(archives.item, a, b) == [State.COPY, State.ORIGINAL]


def test_nothing_is_taken_back_before_the_resolver_was_heard(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    archives.restore("a", "b")
    network.cut = {RESOLVER}
    a, b = archives.begin()
    settle(a, b)
    assert b.state(archives.item.rep) is None
    assert a.tracking.is_silent
    network.cut = set()
    settle(a, b)
    assert states(archives.item, a, b) == [State.COPY, State.ORIGINAL]


def test_a_release_that_another_key_signed_changes_nothing(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened, "abc")
    a, b, c = archives.begin()
    liar, item = SigningKey(b"l" * 32), archives.item
    here = a.chains.here(item.rep)
    forged = sign_release(
        NO_CHAIN,
        item.labels,
        a.service.labels[0],
        c.service.labels[0],
        c.keys.signing_key().public,
        here.manifest or "",
        NOW,
        liar,
    )
    for texts in (forged.texts, countersign(forged, c.keys.signing_key()).texts):
        network.told[str(item.rep)] = texts
        a.worker.tell_again()
        settle(a, b)
    assert states(item, a, b) == [State.ORIGINAL, None]
    assert a.ledger.open_items() == ()


def test_no_original_is_pushed_on_an_archive_that_did_not_agree(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    a, b = archives.begin()
    item, here = archives.item, a.chains.here(archives.item.rep)
    given = sign_release(
        NO_CHAIN,
        item.labels,
        a.service.labels[0],
        b.service.labels[0],
        b.keys.signing_key().public,
        here.manifest or "",
        NOW,
        a.keys.signing_key(),
    )
    a.chains.keep_chain(item.rep, given, "test")
    settle(a, b)
    assert b.state(item.rep) is None
    (waiting,) = b.ledger.list_incoming()
    assert waiting.stage.value == "waiting"
    (open_item,) = a.ledger.open_items()
    assert (open_item.problem, open_item.reason) == (OpenProblem.NOT_TAKEN, "waiting")
    assert b.ledger.open_items() == ()
    b.receiving.accept(item.rep)
    settle(a, b)
    assert states(item, a, b) == [State.COPY, State.ORIGINAL]


def test_an_older_release_that_is_shown_again_changes_nothing(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened, "abc")
    archives.give()
    a, b, c = archives.begin()
    rep = archives.item.rep
    old = b.chains.chain(rep).texts
    item = b.store.find(rep)
    assert give(b, c, item) is SenderStage.DONE
    settle(a, b, c)
    b._copying.drop(rep, "Ana")
    network.told[str(rep)] = old
    offer = Offer(item.labels, 1, a.service.labels[0], a.url, b.url, a.chains.here(rep).manifest or "", released=True)
    b.receiving.take_offer(sign_offer(offer, a.keys.signing_key()), agreed=False)
    b.worker.tell_again()
    settle(a, b, c)
    assert states(archives.item, a, b, c) == [State.COPY, None, State.ORIGINAL]


def test_what_was_yielded_in_a_dispute_is_not_taken_back(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give()
    archives.restore("b")
    a, b = archives.begin()
    network.settled[str(archives.item.rep)] = frozenset(a.service.labels)
    settle(a, b)
    assert b.state(archives.item.rep) is None
    (open_item,) = b.ledger.open_items()
    assert open_item.problem is OpenProblem.CONTRADICTED
    assert "a dispute over it was settled" in open_item.reason


def test_the_chain_of_a_copy_tells_its_giver_of_a_release_that_all_others_forgot(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    archives = Restorable(network, tmp_path, opened, "abc")
    archives.give()
    with ExitStack() as before:
        b, c = (archives._open(name, before) for name in "bc")
        c.bring(archives.item.rep, b.url)
        c.worker.step()
    archives.restore("a", "b")
    network.told.clear()
    a, b, c = archives.begin()
    settle(a, b, c)
    assert states(archives.item, a, b, c) == [State.COPY, State.ORIGINAL, State.COPY]


def test_several_items_are_compared_in_slices(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ibi.transfers.service.comparison._SLICE", 2)
    archives = Restorable(network, tmp_path, opened)
    a, b = archives.begin()
    made = deposits(a.store, CountedLabels(20))
    items = [put(made) for _ in range(5)]
    for item in items:
        give(a, b, item)
        a.ledger.note_chain(item.rep, (), ())
    a.repair(90_000)
    assert [len(a.ledger.chain(item.rep)) for item in items] == [2] * 5
    assert a.ledger.open_items() == ()


def test_a_release_outlives_the_copy_of_its_giver(network: TransferNetwork, tmp_path: Path, opened: ExitStack) -> None:
    archives = Restorable(network, tmp_path, opened)
    archives.give(is_countersigned=False)
    a, b = archives.begin()
    a._copying.drop(archives.item.rep, "Ana")
    settle(a, b)
    assert states(archives.item, a, b) == [None, State.ORIGINAL]
