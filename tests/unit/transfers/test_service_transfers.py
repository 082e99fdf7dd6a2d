"""Originals that move between Archives on real stores: what each has, before, between and after."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.copies.rules.copies import NotTheOriginal
from ibi.items.model.content import Bytes, Keep
from ibi.items.model.item import Item
from ibi.items.rules.errors import ServiceItemStays, UntransferableItem
from ibi.items.rules.provenance import NO_CHAIN, check_chain, countersign, encode_link, link_path, sign_release
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.signing import SigningKey
from ibi.standard.vocabulary import State
from ibi.transfers.model import ReceiverStage, SenderStage
from ibi.transfers.rules.transfer import TransferRefused
from ibi.transfers.rules.transfer_messages import Offer, sign_offer
from ibi.transfers.service.provenance_check import ProvenanceCheck
from ibi.transfers.service.worker import StillInDoubt
from tests.support.deposit_samples import CountedLabels, deposits, draft, put, sources
from tests.support.transfer_archives import RESOLVER, TransferArchive, TransferNetwork, give, network_keys, put_back


@pytest.fixture
def network() -> TransferNetwork:
    return TransferNetwork()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def a(network: TransferNetwork, tmp_path: Path, opened: ExitStack) -> TransferArchive:
    return TransferArchive(network, "a", tmp_path, opened)


@pytest.fixture
def b(network: TransferNetwork, tmp_path: Path, opened: ExitStack) -> TransferArchive:
    return TransferArchive(network, "b", tmp_path, opened)


@pytest.fixture
def item(a: TransferArchive) -> Item:
    return put(deposits(a.store))


def test_an_original_moves(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    assert give(a, b, item) is SenderStage.DONE
    left, come = a.item(item.rep), b.item(item.rep)
    assert left is not None
    assert come is not None
    assert (left.state, left.transferred_to) == (State.COPY, b.service.rep)
    assert (come.state, come.source, come.transferred_to) == (State.ORIGINAL, None, None)
    assert (come.files, come.metadata, come.labels) == (item.files, item.metadata, item.labels)
    assert a.chains.chain(item.rep) == b.chains.chain(item.rep)


def test_before_the_release_the_sender_has_the_original_and_afterwards_the_receiver(
    a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    a.sending.begin(item, b.url, "agreed")
    assert (a.state(item.rep), b.state(item.rep)) == (State.ORIGINAL, None)
    b.receiving.go_on(item.rep)
    assert (a.state(item.rep), b.state(item.rep)) == (State.ORIGINAL, State.COPY)
    a.sending.go_on(item.rep)
    assert (a.state(item.rep), b.state(item.rep)) == (State.COPY, State.COPY)
    b.receiving.go_on(item.rep)
    assert (a.state(item.rep), b.state(item.rep)) == (State.COPY, State.ORIGINAL)


def test_the_chain_can_be_checked_by_all(
    network: TransferNetwork, a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    give(a, b, item)
    chain = check_chain(b.chains.chain(item.rep).texts, network_keys(network), item.labels)
    assert chain.successors == (b.service.rep,)
    for each in (a, b):
        check = ProvenanceCheck(each.store, each.service, (each.keys.signing_key().public,), network_keys(network))
        assert [found.problems for found in check.check_all()] == [()]


def test_a_second_move_goes_on_from_the_first(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack, a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    c = TransferArchive(network, "c", tmp_path, opened)
    give(a, b, item)
    moved = b.item(item.rep)
    assert moved is not None
    assert give(b, c, moved) is SenderStage.DONE
    assert [each.state(item.rep) for each in (a, b, c)] == [State.COPY, State.COPY, State.ORIGINAL]
    assert c.chains.chain(item.rep).successors == (b.service.rep, c.service.rep)


def plant(b: TransferArchive, item: Item, files: dict[str, bytes]) -> None:
    """Have files of a stranger in the Copy."""
    kept = b.store.content.read(str(item.rep)).head
    old = {path: Keep(path) for path in kept.files if not path.startswith("provenance/")}
    given = {path: Bytes(content) for path, content in files.items()}
    b.store.content.update(str(item.rep), {**old, **given}, kept.change)


def forged(item: Item) -> dict[str, bytes]:
    evil, key = RepositoryName.parse("evil.example/ibi/2020/01.01.00.00"), SigningKey(b"e" * 32)
    giver = RepositoryName.parse("a.example/ibi/2020/01.01.00.00")
    chain = sign_release(NO_CHAIN, item.labels, giver, evil, key.public, "0" * 128, Instant(1_800_000_000), key)
    return {link_path(link.said.number): encode_link(link) for link in countersign(chain, key).links}


@pytest.mark.parametrize("is_garbage", [False, True])
@pytest.mark.parametrize("is_held", [False, True])
def test_the_true_chain_wins_over_one_that_came_with_a_copy(
    a: TransferArchive, b: TransferArchive, item: Item, *, is_garbage: bool, is_held: bool
) -> None:
    files = {"provenance/1.json": b"{}"} if is_garbage else forged(item)
    if is_held:
        a.sending.begin(item, b.url, "agreed")
        b.receiving.go_on(item.rep)
    else:
        b.bring(item.rep, a.url)
    plant(b, item, files)
    if is_garbage:
        assert "provenance" in str(b.chains.tell(item.rep)[1])
    assert give(a, b, item) is SenderStage.DONE
    assert (a.state(item.rep), b.state(item.rep)) == (State.COPY, State.ORIGINAL)
    assert b.chains.chain(item.rep).successors == (b.service.rep,)
    kept = b.store.content.read(str(item.rep)).head.files
    assert {path for path in kept if path.startswith("provenance/")} == {"provenance/1.json", "provenance/2.json"}


def test_what_came_with_a_copy_is_not_proven(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    b.bring(item.rep, a.url)
    plant(b, item, forged(item))
    check = ProvenanceCheck(b.store, b.service, (b.keys.signing_key().public,))
    assert [(found.problems, found.unproven) for found in check.check_all()] == [((), (1, 2))]
    plant(b, item, {"provenance/1.json": b"{}"})
    (found,) = check.check_all()
    assert "provenance/1.json" in found.problems[0]
    assert give(a, b, item) is SenderStage.DONE
    for each in (a, b):
        check = ProvenanceCheck(each.store, each.service, (each.keys.signing_key().public,))
        assert [(found.problems, found.unproven) for found in check.check_all()] == [((), ())]


def test_no_source_takes_away_the_proof_that_the_original_was_given(
    a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    give(a, b, item)
    before = a.chains.chain(item.rep)
    plant(b, item, {})
    a.bring(item.rep, b.url)
    assert a.chains.chain(item.rep) == before


def test_files_of_an_original_that_are_no_chain_are_told_with_the_reason(a: TransferArchive, item: Item) -> None:
    plant(a, item, {"provenance/1.json": b"{}"})
    chain, problem = a.chains.tell(item.rep)
    assert chain == NO_CHAIN
    assert "provenance" in str(problem)


def test_an_original_comes_home(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    give(a, b, item)
    moved = b.item(item.rep)
    assert moved is not None
    assert give(b, a, moved) is SenderStage.DONE
    assert (a.state(item.rep), b.state(item.rep)) == (State.ORIGINAL, State.COPY)


def test_updates_on_the_way_are_brought_before_the_release(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    a.sending.begin(item, b.url, "agreed")
    b.receiving.go_on(item.rep)
    given = sources(a=b"corrected")
    deposits(a.store).update(item.rep, draft(*given), given, "Ana")
    for _ in range(4):
        a.sending.go_on(item.rep)
        b.receiving.go_on(item.rep)
    come = b.item(item.rep)
    assert come is not None
    assert (come.state, come.version) == (State.ORIGINAL, 2)


def test_a_receiver_that_does_not_answer_is_left_alone_for_longer_each_time(
    network: TransferNetwork, a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    network.cut.add(b.url)
    first = a.sending.begin(item, b.url, "agreed")
    second = a.sending.go_on(item.rep, "agreed")
    assert a.ledger.outgoing(item.rep) == second
    assert (first.attempts, second.attempts, second.due > first.due) == (1, 2, True)
    assert b.url in second.reason


def test_an_original_stays_with_a_reason_where_the_other_server_knows_no_transfers(
    network: TransferNetwork, a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    network.strangers.add(b.url)
    kept = a.sending.begin(item, b.url)
    assert kept.stage is SenderStage.WITHDRAWN
    assert "takes no transfers" in kept.reason
    assert a.state(item.rep) is State.ORIGINAL
    network.strangers.clear()
    assert give(a, b, item) is SenderStage.DONE


def test_an_offer_that_nobody_answered_can_be_abandoned_and_one_that_was_answered_stays(
    network: TransferNetwork, a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    network.cut.add(b.url)
    kept = a.sending.begin(item, b.url)
    assert (kept.stage, kept.remote) == (SenderStage.OFFERED, None)
    assert a.sending.abandon(kept).stage is SenderStage.WITHDRAWN
    network.cut.clear()
    kept = a.sending.begin(item, b.url)
    assert a.sending.abandon(kept) == kept
    assert give(a, b, item) is SenderStage.DONE


def test_a_transfer_under_way_waits_while_a_stranger_answers_in_the_place_of_the_receiver(
    network: TransferNetwork, a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    assert a.sending.begin(item, b.url).remote is ReceiverStage.WAITING
    network.strangers.add(b.url)
    assert a.sending.go_on(item.rep).stage is SenderStage.OFFERED
    network.strangers.clear()
    assert give(a, b, item) is SenderStage.DONE


def test_an_offer_with_a_token_that_is_not_taken_waits_at_once_and_says_why(
    a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    kept = a.sending.begin(item, b.url, "unknown")
    assert (kept.stage, kept.remote) == (SenderStage.OFFERED, ReceiverStage.WAITING)
    assert "no such token" in kept.reason
    (offered,) = b.ledger.list_incoming(ReceiverStage.WAITING)
    assert offered.rep == item.rep


def test_a_receiver_that_waits_for_the_release_complains_of_nothing(
    a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    a.sending.begin(item, b.url, "agreed")
    b.receiving.go_on(item.rep)
    held = b.receiving.go_on(item.rep)
    assert (held.stage, held.reason) == (ReceiverStage.HELD, "")


def test_without_a_token_a_librarian_is_asked(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    kept = a.sending.begin(item, b.url)
    assert kept.remote is ReceiverStage.WAITING
    b.worker.step()
    assert b.state(item.rep) is None
    assert b.receiving.accept(item.rep).stage is ReceiverStage.HELD
    a.sending.go_on(item.rep)
    assert b.receiving.go_on(item.rep).stage is ReceiverStage.TAKEN


def test_what_is_declined_stays(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    a.sending.begin(item, b.url)
    b.receiving.decline(item.rep)
    assert a.sending.go_on(item.rep).stage is SenderStage.DECLINED
    assert a.state(item.rep) is State.ORIGINAL


def test_an_archive_that_holds_the_copy_does_not_decline_any_more(
    a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    a.sending.begin(item, b.url, "agreed")
    b.receiving.go_on(item.rep)
    with pytest.raises(TransferRefused, match="may be on its way"):
        b.receiving.decline(item.rep)


def test_what_is_withdrawn_stays_and_ends_at_the_receiver(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    a.sending.begin(item, b.url, "agreed")
    b.receiving.go_on(item.rep)
    a.sending.withdraw(item.rep)
    assert b.receiving.go_on(item.rep).stage is ReceiverStage.ENDED
    assert a.sending.go_on(item.rep).stage is SenderStage.WITHDRAWN
    assert a.state(item.rep) is State.ORIGINAL


@pytest.mark.parametrize("is_first_heard", [False, True])
def test_a_withdrawal_that_comes_late_does_not_end_the_transfer_that_was_begun_after_it(
    network: TransferNetwork, a: TransferArchive, b: TransferArchive, item: Item, *, is_first_heard: bool
) -> None:
    network.cut = set() if is_first_heard else {b.url}
    a.sending.begin(item, b.url)
    known = a.ledger.outgoing(item.rep)
    assert known is not None
    labels, manifest = item.labels, str(a.chains.here(item.rep).manifest)
    late = Offer(labels, 1, a.service.labels[0], a.url, b.url, manifest, known.since, withdrawn=True)
    network.cut = {b.url}
    a.sending.withdraw(item.rep)
    network.cut = set()
    a.sending.begin(item, b.url, "agreed")
    b.receiving.take_offer(sign_offer(late, a.keys.signing_key()), agreed=False)
    for _ in range(3):
        b.receiving.go_on(item.rep)
        a.sending.go_on(item.rep)
    assert (a.state(item.rep), b.state(item.rep)) == (State.COPY, State.ORIGINAL)


def test_a_sender_that_has_lost_a_withdrawal_learns_of_it_from_the_receiver(
    a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    before = a.sending.begin(item, b.url, "agreed")
    a.sending.withdraw(item.rep)
    a.ledger.change_outgoing(item.rep, lambda _: before)  # as a backup that is put back has it
    after = a.sending.go_on(item.rep)
    assert (after.stage, after.reason) == (SenderStage.WITHDRAWN, "the sender has withdrawn it")
    assert give(a, b, item) is SenderStage.DONE  # one that is begun after it goes its way


def test_a_release_that_was_kept_and_not_listed_is_listed_before_it_is_told(
    a: TransferArchive, b: TransferArchive, item: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process leaves it that dies between the two."""

    def end(_: object) -> None:
        raise SystemExit

    a.sending.begin(item, b.url, "agreed")
    b.receiving.go_on(item.rep)
    with monkeypatch.context() as patched:
        patched.setattr(a.store, "list", end)
        with pytest.raises(SystemExit):
            a.sending.go_on(item.rep)
    assert a.state(item.rep) is State.ORIGINAL
    chain, _ = a.chains.tell(item.rep)
    assert chain.is_under_way
    assert a.state(item.rep) is State.COPY


def test_what_is_released_cannot_be_withdrawn(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    give(a, b, item)
    with pytest.raises(TransferRefused):
        a.sending.withdraw(item.rep)


def test_a_release_of_a_transfer_that_was_withdrawn_meanwhile_is_not_kept(
    a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    from ibi.transfers.rules.transfer import KeepRelease, sender_hears
    from ibi.transfers.rules.transfer_messages import read_reply

    a.sending.begin(item, b.url, "agreed")
    b.receiving.go_on(item.rep)
    kept, here = a.ledger.outgoing(item.rep), a.chains.here(item.rep)
    assert kept is not None
    offer = Offer(item.labels, 1, a.service.labels[0], a.url, b.url, str(here.manifest))
    reply = read_reply(b.network.send_offer(b.url, sign_offer(offer, a.keys.signing_key())))
    _, step = sender_hears(kept, here, reply, 0)
    assert isinstance(step, KeepRelease)
    a.sending.withdraw(item.rep)
    assert not a.chains.keep_release(item.rep, step, "x", lambda: False)
    assert a.state(item.rep) is State.ORIGINAL


def test_what_may_not_go_is_refused(a: TransferArchive, b: TransferArchive) -> None:
    made = deposits(a.store, CountedLabels(5))
    given = sources(a=b"x")
    item = made.deposit(draft(*given), given, "Ana", transferable=False)
    with pytest.raises(UntransferableItem):
        a.sending.check(item, b.url)
    with pytest.raises(IbiError, match="this Archive itself"):
        a.sending.check(put(deposits(a.store, CountedLabels(6))), a.url)
    a.chains.service = item.labels
    with pytest.raises(ServiceItemStays):
        a.sending.check(item, b.url)


def test_an_offer_to_another_address_is_refused(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    offer = Offer(item.labels, 1, a.service.labels[0], a.url, "http://c.example", "0" * 128)
    with pytest.raises(TransferRefused, match="was offered to"):
        b.receiving.take_offer(sign_offer(offer, a.keys.signing_key()), agreed=True)


def test_an_original_is_not_offered_to_who_has_it(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    offer = Offer(item.labels, 1, b.service.labels[0], b.url, a.url, "0" * 128)
    with pytest.raises(TransferRefused, match="the Original is here"):
        a.receiving.take_offer(sign_offer(offer, b.keys.signing_key()), agreed=True)


def test_another_cannot_end_a_transfer(a: TransferArchive, b: TransferArchive, item: Item) -> None:
    a.sending.begin(item, b.url, "agreed")
    b.receiving.go_on(item.rep)
    forged = Offer(item.labels, 1, a.service.labels[0], a.url, b.url, "0" * 128, withdrawn=True)
    with pytest.raises(TransferRefused):
        b.receiving.take_offer(sign_offer(forged, SigningKey(b"z" * 32)), agreed=False)
    assert give(a, b, item) is SenderStage.DONE


def test_a_lost_answer_changes_nothing(
    network: TransferNetwork, a: TransferArchive, b: TransferArchive, item: Item
) -> None:
    network.losses = {1, 3, 4, 6}
    for _ in range(6):
        give(a, b, item)
    assert give(a, b, item) is SenderStage.DONE
    assert (a.state(item.rep), b.state(item.rep)) == (State.COPY, State.ORIGINAL)


def test_the_resolver_is_told(network: TransferNetwork, tmp_path: Path, opened: ExitStack) -> None:
    a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER)
    b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER)
    item = put(deposits(a.store))
    give(a, b, item)
    b.worker.step()
    assert network.told[str(item.rep)] == b.chains.chain(item.rep).texts
    assert b.ledger.untold(10) == ()


def test_the_resolver_is_told_in_the_step_after_a_transfer_however_soon_that_is(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER)
    b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER)
    made = deposits(a.store, CountedLabels(5))
    for item in (put(made), put(made)):
        give(a, b, item)
        b.worker.step()  # in the same second
        assert network.told[str(item.rep)] == b.chains.chain(item.rep).texts


def test_a_resolver_that_lost_what_it_was_told_is_told_again(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER)
    b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER)
    item = put(deposits(a.store))
    give(a, b, item)
    for each in (a, b):
        each.worker.step()
    whole = b.chains.chain(item.rep).texts
    some: dict[str, tuple[str, ...]] = {str(item.rep): whole[:1]}
    for lost in ({}, some):  # all of it, or what came after a backup
        for each in (a, b):
            network.told = dict(lost)
            each.worker.step()
            assert network.told == lost  # it is asked from time to time
            each.worker.tell_again()  # as when it has included this Archive
            each.worker.step()
            assert network.told == {str(item.rep): whole}


def test_a_release_that_is_not_believed_keeps_no_other_from_being_told(
    network: TransferNetwork, tmp_path: Path, opened: ExitStack
) -> None:
    a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER)
    b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER)
    made = deposits(a.store, CountedLabels(5))
    first, second = sorted((put(made), put(made)), key=lambda each: str(each.rep).lower())
    network.disbelieved = {str(first.rep)}
    for item in (first, second):
        give(a, b, item)
    b.worker.step()
    assert set(network.told) == {str(second.rep)}
    assert b.ledger.untold(10) == (first.rep,)


class TestABackupThatIsPutBack:
    """The directory of the sender, or of the receiver, is put back as it was before the transfer."""

    @pytest.fixture
    def item(self, network: TransferNetwork, tmp_path: Path) -> Item:
        with ExitStack() as opened:
            a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER)
            TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER)
            item = put(deposits(a.store))
        for name in "ab":
            shutil.copytree(tmp_path / name, tmp_path / f"backup-{name}")
        with ExitStack() as opened:
            a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER, is_new=False)
            b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER, is_new=False)
            assert not a.tracking.in_doubt
            assert give(a, b, item) is SenderStage.DONE
            b.worker.step()
        return item

    def test_the_sender_asks_before_it_says_original(
        self, network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
    ) -> None:
        put_back(tmp_path, "a")
        TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER, is_new=False)
        network.cut = {RESOLVER}
        a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER, is_new=False)
        assert a.tracking.is_silent
        a.worker.step()
        assert a.tracking.is_silent
        network.cut = set()
        assert not a.tracking.ask(a.chains, a.receiving)
        assert not bool(a.tracking.is_silent)
        assert a.state(item.rep) is State.COPY
        assert a.chains.chain(item.rep).successors == (RepositoryName.parse("b.example/ibi/2020/01.01.00.00"),)

    def test_the_sender_releases_nothing_a_second_time(
        self, network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
    ) -> None:
        put_back(tmp_path, "a")
        network.told.clear()  # a resolver that has just started
        network.cut = {"http://b.example"}
        TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER, is_new=False)
        c = TransferArchive(network, "c", tmp_path, opened, resolver=RESOLVER)
        a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER, is_new=False)
        a.tracking.ask(a.chains, a.receiving)
        assert not a.tracking.is_silent  # all were tried
        with pytest.raises(StillInDoubt, match=r"b\.example"):
            a.tracking.require_sure()
        a.sending.begin(item, c.url, "agreed")
        assert c.ledger.incoming(item.rep) is None
        network.cut = set()
        a.tracking.ask(a.chains, a.receiving)
        assert (a.state(item.rep), a.tracking.in_doubt) == (State.COPY, False)

    def test_the_receiver_takes_the_original_again(
        self, network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
    ) -> None:
        put_back(tmp_path, "b")
        a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER, is_new=False)
        before = a.chains.chain(item.rep)
        b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER, is_new=False)
        assert b.state(item.rep) is None
        b.tracking.ask(b.chains, b.receiving)
        b.repair()
        assert b.state(item.rep) is State.ORIGINAL
        assert b.chains.chain(item.rep) == before

    def test_a_release_that_was_under_way_is_taken_up_without_the_copy_of_before(
        self, network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
    ) -> None:
        with ExitStack() as before:
            a = TransferArchive(network, "a", tmp_path, before, resolver=RESOLVER, is_new=False)
            b = TransferArchive(network, "b", tmp_path, before, resolver=RESOLVER, is_new=False)
            second = put(deposits(a.store, CountedLabels(7)))
            a.sending.begin(second, b.url, "agreed")
            b.receiving.go_on(second.rep)
            a.sending.go_on(second.rep)
            assert (a.state(second.rep), b.state(second.rep)) == (State.COPY, State.COPY)
        put_back(tmp_path, "b")
        a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER, is_new=False)
        b = TransferArchive(network, "b", tmp_path, opened, resolver=RESOLVER, is_new=False)
        b.tracking.ask(b.chains, b.receiving)
        a.sending.go_on(second.rep)
        b.receiving.go_on(second.rep)
        assert (a.state(second.rep), b.state(second.rep)) == (State.COPY, State.ORIGINAL)

    def test_a_copy_that_was_released_to_another_is_no_source(
        self, network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
    ) -> None:
        TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER, is_new=False)
        c = TransferArchive(network, "c", tmp_path, opened, resolver=RESOLVER)
        with pytest.raises(NotTheOriginal):
            c.bring(item.rep, "http://a.example")

    def test_a_directory_that_was_not_put_back_is_not_in_doubt(
        self, network: TransferNetwork, tmp_path: Path, opened: ExitStack, item: Item
    ) -> None:
        a = TransferArchive(network, "a", tmp_path, opened, resolver=RESOLVER, is_new=False)
        assert not a.tracking.in_doubt
