"""The ports of transfers, on every adapter: what is kept is there afterwards, and nothing is kept of what failed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.items.model.transfer_record import ToldChain
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import SigningKey
from ibi.storage.database import DatabaseSession
from ibi.transfers.model import IncomingTransfer, OpenItem, OpenProblem, OutgoingTransfer, ReceiverStage, SenderStage
from ibi.transfers.ports import ChainStore, TransferLedger
from ibi.transfers.store.releases import SqliteChainStore
from ibi.transfers.store.transfers import SqliteTransferLedger
from tests.support.deposit_samples import labels

A, B = (RepositoryName.parse(f"{name}.example/ibi/2020/01.01.00.00") for name in "ab")
KEY = SigningKey(b"k" * 32).public


def outgoing(number: int = 0, **others: object) -> OutgoingTransfer:
    return replace(OutgoingTransfer(labels(number), "http://b.example", "http://a.example"), **others)  # type: ignore[arg-type]


def incoming(number: int = 0, **others: object) -> IncomingTransfer:
    made = IncomingTransfer(labels(number), A, KEY, "http://a.example", 1, "0" * 128)
    return replace(made, **others)  # type: ignore[arg-type]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[TransferLedger]:
    made = SqliteTransferLedger(tmp_path / "data", tmp_path / "locks")
    yield made
    made.close()


@pytest.fixture
def chains(tmp_path: Path) -> Iterator[ChainStore]:
    made = SqliteChainStore(tmp_path / "data")
    yield made
    made.close()


def test_records_are_kept_whole(ledger: TransferLedger) -> None:
    sent = outgoing(
        stage=SenderStage.RELEASED, remote=ReceiverStage.HELD, to=B, token="t", acceptance="x", due=7, reason="why"
    )
    come = incoming(stage=ReceiverStage.HELD, begun=5, token="t", acceptance="x", attempts=3, since=9)
    assert ledger.change_outgoing(sent.rep, lambda known: sent if known is None else known) == sent
    assert ledger.change_incoming(come.rep, lambda known: come if known is None else known) == come
    assert (ledger.outgoing(sent.rep), ledger.incoming(come.rep)) == (sent, come)


def test_the_spelling_of_a_name_does_not_matter(ledger: TransferLedger) -> None:
    ledger.change_outgoing(labels(0).rep, lambda _: outgoing())  # type: ignore[arg-type]
    assert ledger.outgoing(RepositoryName.parse(str(labels(0).rep).upper().replace("/2009/", "/2009/"))) is not None


def test_what_fails_changes_nothing(ledger: TransferLedger) -> None:
    kept = outgoing()
    ledger.change_outgoing(kept.rep, lambda _: kept)

    def fail(_: OutgoingTransfer | None) -> OutgoingTransfer:
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        ledger.change_outgoing(kept.rep, fail)
    assert ledger.outgoing(kept.rep) == kept


def test_lists_are_by_stage_and_name(ledger: TransferLedger) -> None:
    for number, stage in enumerate((ReceiverStage.WAITING, ReceiverStage.HELD, ReceiverStage.WAITING)):
        ledger.change_incoming(labels(number).rep, lambda _, n=number, s=stage: incoming(n, stage=s))  # type: ignore[misc, arg-type]
    found = ledger.list_incoming(ReceiverStage.WAITING)
    assert [each.rep for each in found] == [labels(0).rep, labels(2).rep]
    assert ledger.list_incoming(ReceiverStage.WAITING, after=str(labels(0).rep)) == found[1:]
    assert (len(ledger.list_incoming(most=2)), ledger.count_waiting()) == (2, 2)


def test_what_is_due_is_neither_at_an_end_nor_with_a_librarian(ledger: TransferLedger) -> None:
    for number, stage in enumerate(ReceiverStage):
        ledger.change_incoming(labels(number).rep, lambda _, n=number, s=stage: incoming(n, stage=s, due=10 - n))  # type: ignore[misc, arg-type]
    assert [each.stage for each in ledger.due_incoming(10, 9)] == [ReceiverStage.HELD, ReceiverStage.ACCEPTED]
    assert [each.stage for each in ledger.due_incoming(8, 9)] == [ReceiverStage.HELD]
    ledger.change_outgoing(labels(0).rep, lambda _: outgoing(due=3))  # type: ignore[arg-type]
    assert (len(ledger.due_outgoing(2, 9)), len(ledger.due_outgoing(3, 9))) == (0, 1)


def test_offers_that_came_to_nothing_are_forgotten_and_no_others(ledger: TransferLedger) -> None:
    kept = [
        *({"stage": stage} for stage in (ReceiverStage.ACCEPTED, ReceiverStage.HELD, ReceiverStage.TAKEN)),
        {"stage": ReceiverStage.ENDED, "acceptance": "x"},
        {"stage": ReceiverStage.ENDED, "since": 50},
        {"stage": ReceiverStage.DECLINED, "due": 51},
        {"stage": ReceiverStage.WAITING, "since": 1, "due": 20},
    ]
    gone = [
        {"stage": ReceiverStage.ENDED, "since": 49, "due": 1},
        {"stage": ReceiverStage.DECLINED, "due": 49},
        {"stage": ReceiverStage.WAITING, "since": 19},
    ]
    for number, each in enumerate((*kept, *gone)):
        ledger.change_incoming(labels(number).rep, lambda _, n=number, e=each: incoming(n, **e))  # type: ignore[misc, arg-type]
    ledger.change_outgoing(labels(0).rep, lambda _: outgoing(stage=SenderStage.DECLINED))  # type: ignore[arg-type]
    assert ledger.forget_offers(ended=50, waiting=20, most=9) == len(gone)
    assert {each.rep for each in ledger.list_incoming()} == {labels(number).rep for number in range(len(kept))}
    assert len(ledger.list_outgoing()) == 1
    assert ledger.forget_offers(ended=0, waiting=0, most=1) == 1
    assert ledger.incoming(labels(4).rep) is None  # type: ignore[arg-type]


def test_items_are_found_by_the_other_archive(ledger: TransferLedger) -> None:
    ledger.change_incoming(labels(1).rep, lambda _: incoming(1))  # type: ignore[arg-type]
    ledger.change_outgoing(labels(2).rep, lambda _: outgoing(2, to=A))  # type: ignore[arg-type]
    ledger.change_outgoing(labels(3).rep, lambda _: outgoing(3))  # type: ignore[arg-type]
    assert ledger.with_peer(A) == (labels(1).rep, labels(2).rep)
    assert ledger.with_peer(A, str(labels(1).rep)) == (labels(2).rep,)
    assert ledger.with_peer(B) == ()


def test_peers_and_what_is_untold_are_remembered(ledger: TransferLedger) -> None:
    rep = labels(0).rep
    assert rep is not None
    for _ in range(2):
        ledger.add_peer("http://b.example")
        ledger.note_untold(rep)
    assert (ledger.peers(), ledger.untold(9)) == (frozenset({"http://b.example"}), (rep,))
    ledger.forget_untold(rep)
    assert ledger.untold(9) == ()


def test_a_directory_that_is_put_back_is_noticed(tmp_path: Path) -> None:
    data, locks = tmp_path / "data", tmp_path / "locks"

    def lost() -> bool:
        ledger = SqliteTransferLedger(data, locks)
        try:
            return ledger.has_lost_track()
        finally:
            ledger.close()

    def keep() -> None:
        ledger = SqliteTransferLedger(data, locks)
        ledger.keep_track()
        ledger.close()

    assert lost()
    keep()
    assert not lost()
    shutil.copytree(data, tmp_path / "backup")
    keep()
    assert not lost()
    for each in data.iterdir():
        each.unlink()
    shutil.copytree(tmp_path / "backup", data, dirs_exist_ok=True)
    assert lost()
    shutil.rmtree(locks)
    keep()
    assert not lost()
    data.rename(tmp_path / "elsewhere")
    shutil.copytree(tmp_path / "elsewhere", data)
    assert lost()


def test_track_that_is_lost_is_lost_for_all_processes_until_it_is_kept(tmp_path: Path, ledger: TransferLedger) -> None:
    with closing(SqliteTransferLedger(tmp_path / "data", tmp_path / "locks")) as other:
        ledger.keep_track()
        assert (other.has_lost_track(), other.renew_track()) == (False, True)
        other.lose_track()
        assert (ledger.has_lost_track(), ledger.renew_track(), ledger.has_lost_track()) == (True, False, True)
        other.keep_track()
        assert not ledger.has_lost_track()


def test_a_note_that_others_were_asked_is_good_for_one_loss_of_track(tmp_path: Path, ledger: TransferLedger) -> None:
    with closing(SqliteTransferLedger(tmp_path / "data", tmp_path / "locks")) as other:
        assert not ledger.were_asked()
        other.note_asked(asked=True)
        assert (ledger.were_asked(), ledger.has_lost_track()) == (True, True)
        other.note_asked(asked=False)
        assert not ledger.were_asked()
        other.note_asked(asked=True)
        ledger.lose_track()
        assert not other.were_asked()
        other.note_asked(asked=True)
        ledger.keep_track()
        assert not other.were_asked()


def test_two_processes_that_keep_track_at_once_lose_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, locks = tmp_path / "data", tmp_path / "locks"
    with closing(SqliteTransferLedger(data, locks)) as first, closing(SqliteTransferLedger(data, locks)) as second:
        change = first._database.change

        @contextmanager
        def change_and_be_overtaken() -> Iterator[DatabaseSession]:
            monkeypatch.setattr(first._database, "change", change)
            with change() as session:
                yield session
            second.keep_track()

        monkeypatch.setattr(first._database, "change", change_and_be_overtaken)
        first.keep_track()
        assert not first.has_lost_track()


def test_chains_are_found_by_any_label_and_by_archive(chains: ChainStore) -> None:
    forms: LabelForms = labels(0)
    assert chains.chain(forms.labels[0]) == ()
    rep = forms.labels[0]
    assert chains.change(rep, lambda known: ToldChain(forms.labels, (*known, "one"), (A, B))) == ("one",)
    assert chains.change(rep, lambda known: ToldChain(forms.labels, (*known, "two"), (A, B))) == ("one", "two")
    assert chains.change(forms.labels[1], lambda _: None) == ("one", "two")
    assert [chains.chain(label) for label in forms.labels] == [("one", "two")] * 2
    assert chains.with_service(B) == ((str(forms.rep).lower(), ("one", "two")),)
    assert chains.with_service(B, str(forms.rep)) == ()


def test_who_was_not_heard_is_noted_until_track_is_kept(ledger: TransferLedger) -> None:
    assert ledger.unheard() == frozenset()
    ledger.lose_track()
    for unheard in (["http://b.example", "http://a.example"], ["http://b.example"]):
        ledger.note_unheard(unheard)
        assert ledger.unheard() == frozenset(unheard)
    ledger.keep_track()
    assert ledger.unheard() == frozenset()


def test_the_newest_chain_of_an_item_replaces_the_one_before_and_is_found_by_its_archives(
    ledger: TransferLedger,
) -> None:
    rep = outgoing().rep
    ledger.note_chain(rep, ("one",), (A,))
    ledger.note_chain(rep, ("one", "two"), (B,))
    assert ledger.chain(rep) == ("one", "two")
    assert (ledger.chains_of(A), [texts for _, texts in ledger.chains_of(B)]) == ((), [("one", "two")])
    assert ledger.chains_of(B, after=str(rep)) == ()
    ledger.note_chain(rep, (), ())
    assert (ledger.chain(rep), ledger.chains_of(B)) == ((), ())


def test_open_items_are_kept_whole_and_come_when_they_are_due(ledger: TransferLedger) -> None:
    rep = outgoing().rep
    item = OpenItem(rep, OpenProblem.NOT_FETCHED, "b", "none has it", ("http://b.example: silent",), "http://c", 5, 9)
    assert ledger.change_open(rep, lambda known: item if known is None else known) == item
    assert ledger.open_items() == ledger.due_open(9, 10) == (item,)
    assert ledger.due_open(8, 10) == ledger.open_items(after=str(rep)) == ()
    assert ledger.change_open(rep, lambda _known: None) is None
    assert ledger.open_items() == ()
