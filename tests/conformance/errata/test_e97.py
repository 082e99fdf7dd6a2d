"""E97: the successor of a lost Archive has the Original of what it has a Copy of, by a release of the resolver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.items.model.item import Tombstone
from ibi.items.rules import life_cycle
from ibi.items.rules.provenance import NO_CHAIN, InvalidProvenance, check_chain, sign_release
from ibi.membership.model.registration import ClaimKind, FailedContact, NotLost, Registration, Ruling
from ibi.membership.rules.membership import RegistrationChange, after_inclusion
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, Label, RepositoryName
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.answers import resolver_service
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey, SigningKey
from ibi.standard.vocabulary import State
from ibi.transfers.cli.rulings import copies_of
from ibi.transfers.model import ReceiverStage
from ibi.transfers.ports import PeerRefused
from ibi.transfers.rules.standing import RegisteredArchive
from ibi.transfers.rules.transfer import TransferRefused
from ibi.transfers.rules.transfer_messages import TransferAcceptance, sign_acceptance
from ibi.transfers.service.release_register import ReleaseNotBelieved, ReleaseRegister
from ibi.transfers.store.releases import SqliteChainStore
from tests.support.deposit_samples import deposits, put
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.keys import MemoryKeyStore
from tests.support.transfer_archives import RESOLVER, TransferArchive, TransferNetwork, give, network_keys
from tests.unit.membership.test_rules_membership import REGISTERED, REQUEST

LOST_AT = Instant(1_800_000_000)


class World:
    """Three Archives, of which the first is lost and the second its successor; and a resolver."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.network, self.folder = TransferNetwork(), folder
        self.keys, self.beliefs = MemoryKeyStore(b"r" * 32), MemoryBeliefs()
        key = self.network.resolver_key = self.keys.signing_key().public
        self.lost, self.heir, self.third = (
            TransferArchive(self.network, name, folder, opened, resolver=RESOLVER, resolver_keys=(key,))
            for name in "abc"
        )
        self.registration: Registration | None = None
        self.store = opened.enter_context(closing(SqliteChainStore(folder / "resolver")))
        self.register = self.new_register()
        self.network.register = self.register
        self.item = put(deposits(self.lost.store))

    def new_register(self) -> ReleaseRegister:
        return ReleaseRegister(
            self.store,
            self.beliefs,
            network_keys(self.network),
            lambda service, _prefix: service in self.lost.service.labels,
            lambda: 1.0,
            keys=self.keys,
            lost_to=self._lost_to,
        )

    def _lost_to(self, successor: Label) -> list[Registration]:
        found = self.registration
        is_named = found is not None and found.successor is not None and successor in found.successor.labels
        return [found] if found is not None and is_named else []

    def burn(self) -> None:
        """The Archive does not come back, and its administrator says so."""
        self.network.cut.add(self.lost.url)
        prefixes = frozenset(map(home_prefix, self.item.labels.labels))
        self.registration = Registration(
            self.lost.service, "", Instant(0), prefixes=prefixes, successor=self.heir.service, lost=LOST_AT
        )

    def ask(self, archive: TransferArchive) -> None:
        item = archive.item(self.item.rep)
        assert item is not None
        archive.worker.ask_for_lost(item)

    def states(self) -> list[State | None]:
        return [each.state(self.item.rep) for each in (self.lost, self.heir, self.third)]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as opened:
        yield World(tmp_path, opened)


def test_the_successor_has_the_original_and_all_can_check_why(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    world.ask(world.heir)
    assert world.heir.state(world.item.rep) is State.ORIGINAL
    world.heir.worker.step()  # it tells the resolver the countersignature
    chain = check_chain(world.register.chain(world.item.rep), lambda *_: True)
    first = chain.first_release
    assert first is not None
    assert (first.giver, first.to, first.by) == (world.lost.service.rep, world.heir.service.rep, resolver_service())
    assert (first.at, chain.links[0].signer) == (LOST_AT, world.keys.signing_key().public)
    assert not chain.is_under_way
    assert world.beliefs.succession(world.item.rep) == ((world.heir.service.rep,), True)


def test_the_new_original_can_be_given_on(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    world.ask(world.heir)
    item = world.heir.item(world.item.rep)
    assert item is not None
    give(world.heir, world.third, item)
    assert world.states()[1:] == [State.COPY, State.ORIGINAL]


def test_nothing_is_given_unless_the_administrator_says_so_and_to_no_other(world: World) -> None:
    for each in (world.heir, world.third):
        each.bring(world.item.rep, world.lost.url)
    with pytest.raises(PeerRefused, match="has not named"):
        world.ask(world.heir)
    world.burn()
    with pytest.raises(PeerRefused, match="has not named"):
        world.ask(world.third)
    assert world.states() == [State.ORIGINAL, State.COPY, State.COPY]


def test_who_has_no_copy_or_one_of_a_deleted_item_gets_nothing(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    copy = world.heir.item(world.item.rep)
    assert copy is not None
    deleted = life_cycle.outlive(copy, Tombstone(Instant(1_700_000_000), "wrong"))
    with pytest.raises(TransferRefused, match="never returns"):
        world.heir.worker.ask_for_lost(deleted)
    with pytest.raises(TransferRefused, match="no Copy"):
        world.lost.worker.ask_for_lost(world.item)


def test_a_release_can_be_asked_for_again_and_what_was_stopped_goes_on_by_itself(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    acceptance = _acceptance(world, world.heir.keys.signing_key(), world.heir.service.labels[0])
    first = world.register.give_lost(acceptance, ())
    assert world.register.give_lost(acceptance, ()) == first
    assert world.heir.state(world.item.rep) is State.COPY  # it was killed before it heard
    world.heir.worker.step()
    assert world.heir.state(world.item.rep) is State.ORIGINAL
    world.heir.worker.step()
    assert len(world.register.chain(world.item.rep)) == 2


def test_what_the_lost_one_gave_away_before_is_not_given_again(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    give(world.lost, world.third, world.item)
    world.lost.worker.step()  # the resolver is told
    world.burn()
    with pytest.raises(PeerRefused, match="has not named"):
        world.ask(world.heir)
    assert world.states()[1:] == [State.COPY, State.ORIGINAL]


def test_what_the_administrator_settled_otherwise_stands(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    third = world.third.service.labels[0]
    world.beliefs.rule(Ruling(world.item.rep, third, frozenset({third}), 1, "Ana"))
    with pytest.raises(PeerRefused, match="the Original is at"):
        world.ask(world.heir)


@pytest.mark.parametrize("form", [0, 1])
def test_what_is_known_by_either_label_of_the_item_stands(world: World, form: int) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    label, third = world.item.labels.labels[form], world.third.service.labels[0]
    world.beliefs.record_claim(label, third, world.lost.service.labels[0], ClaimKind.ORIGINAL, 1)
    with pytest.raises(PeerRefused, match=r"is not given to the Archive that asks for it: .* is in dispute"):
        world.ask(world.heir)
    world.beliefs.rule(Ruling(label, third, frozenset({third}), 1, "Ana"))
    with pytest.raises(PeerRefused, match="the Original is at"):
        world.ask(world.heir)
    assert world.register.chain(world.item.rep) == ()


@pytest.mark.parametrize("form", [0, 1])
def test_what_was_given_on_without_a_signature_by_either_label_is_not_given_again(world: World, form: int) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    world.beliefs.record_successors(world.item.labels.labels[form], (world.third.service.labels[0],), 1)
    with pytest.raises(PeerRefused, match="the Original is at"):
        world.ask(world.heir)


def test_an_acceptance_of_another_transfer_gets_nothing(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    key, to = world.heir.keys.signing_key(), world.heir.service.labels[0]
    for number, giver, reason in (
        (1, world.lost.keys.signing_key().public, "not a release of this resolver"),
        (3, world.keys.signing_key().public, "what it follows from is not known"),
    ):
        manifest = world.heir.chains.here(world.item.rep).manifest
        assert manifest is not None
        said = TransferAcceptance(world.item.labels, number, giver, to, manifest)
        with pytest.raises(ReleaseNotBelieved, match=reason):
            world.register.give_lost(sign_acceptance(said, key), ())
    assert world.register.chain(world.item.rep) == ()


def test_the_successor_can_ask_for_another_release_until_it_has_countersigned_one(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    key, to = world.heir.keys.signing_key(), world.heir.service.labels[0]
    earlier = TransferAcceptance(world.item.labels, 1, world.keys.signing_key().public, to, "0" * 128)
    first = world.register.give_lost(sign_acceptance(earlier, key), ())  # of a Copy that has changed since
    world.ask(world.heir)
    assert world.heir.state(world.item.rep) is State.ORIGINAL
    assert world.register.give_lost(sign_acceptance(earlier, key), ()) == first  # that of before came late
    world.heir.worker.step()
    assert world.register.chain(world.item.rep) == world.heir.chains.chain(world.item.rep).texts
    assert world.register.give_lost(sign_acceptance(earlier, key), ()) == world.register.chain(world.item.rep)


def test_a_successor_whose_copy_came_without_the_chain_is_told_it_and_asks_again(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    give(world.lost, world.third, world.item)
    there = world.third.item(world.item.rep)
    assert there is not None
    give(world.third, world.lost, there)
    world.lost.worker.step()
    world.burn()
    world.ask(world.heir)
    assert world.heir.state(world.item.rep) is State.ORIGINAL
    assert len(world.heir.chains.chain(world.item.rep).links) == 6


def test_the_lost_one_learns_it_when_it_comes_back(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    world.ask(world.heir)
    world.network.cut.clear()
    assert world.lost.state(world.item.rep) is State.ORIGINAL
    world.lost.worker.step()
    item = world.lost.item(world.item.rep)
    assert item is not None
    assert (item.state, item.transferred_to) == (State.COPY, world.heir.service.rep)


def test_what_the_resolver_signed_with_a_key_that_it_has_replaced_stays_signed(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    world.ask(world.heir)
    before, now = world.keys.signing_key().public, world.keys.replace().public
    for each in (world.lost, world.heir):
        each.resolver_keys = (now, before)
    world.network.cut.clear()
    world.lost.worker.step()
    assert world.states() == [State.COPY, State.ORIGINAL, None]
    item = world.heir.item(world.item.rep)
    assert item is not None
    give(world.heir, world.third, item)
    assert world.states() == [State.COPY, State.COPY, State.ORIGINAL]


def test_a_link_that_is_kept_is_not_judged_again_by_a_resolver_that_is_known_by_another_key(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    world.ask(world.heir)
    item = world.heir.item(world.item.rep)
    assert item is not None
    give(world.heir, world.third, item)
    world.heir.resolver_keys = (SigningKey(b"n" * 32).public,)
    back = world.third.item(world.item.rep)
    assert back is not None
    give(world.third, world.heir, back)
    assert world.states()[1:] == [State.ORIGINAL, State.COPY]


def test_an_archive_that_knows_the_resolver_by_no_key_takes_over_what_it_gave(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    world.ask(world.heir)
    item = world.heir.item(world.item.rep)
    assert item is not None
    world.third.resolver_keys = ()
    world.heir.sending.begin(item, world.third.url, "agreed")
    world.third.receiving.go_on(item.rep)
    world.heir.sending.go_on(item.rep)
    kept = world.third.receiving.go_on(item.rep)
    assert kept.stage is ReceiverStage.TAKEN


def test_one_that_comes_back_gives_nothing_away_before_it_has_asked(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    world.ask(world.heir)
    world.network.cut = {world.third.url}
    world.lost.sending.begin(world.item, world.third.url, "agreed")
    world.network.cut.clear()
    world.lost.worker.step()
    world.third.worker.step()
    assert world.states() == [State.COPY, State.ORIGINAL, None]


def test_a_release_in_its_place_by_any_other_key_is_not_believed(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    heir, forger = world.heir, SigningKey(b"f" * 32)
    for key in (forger, heir.keys.signing_key()):
        texts = _forged(world, key)
        with pytest.raises(InvalidProvenance, match="is not a key of"):
            world.register.hear(texts)
        with pytest.raises(InvalidProvenance, match="is not a key of"):
            heir.receiving.take_lost(world.item.labels, texts, RESOLVER)
        world.network.told[str(world.item.rep)] = texts
        world.lost.worker.step()
    assert world.states() == [State.ORIGINAL, State.COPY, None]


def test_an_acceptance_by_any_other_key_gets_nothing(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    world.burn()
    with pytest.raises(ReleaseNotBelieved, match="is not the key of"):
        world.register.give_lost(_acceptance(world, SigningKey(b"f" * 32), world.heir.service.labels[0]), ())
    assert world.register.chain(world.item.rep) == ()


def test_one_that_answers_is_not_lost_and_one_that_is_included_again_neither() -> None:
    included = after_inclusion(REGISTERED, REQUEST, LOST_AT)
    lost, heir = RegistrationChange(lost=True), LabelForms(RepositoryName.parse("b.example/ibi/2020/01.01.00.00"))
    with pytest.raises(NotLost, match="as its successor"):
        lost.apply(included, None, LOST_AT)
    with pytest.raises(NotLost, match="it answered"):
        lost.apply(included, heir, LOST_AT)
    silent = lost.apply(replace(included, failed=FailedContact("timed-out", LOST_AT)), heir, LOST_AT)
    assert (silent.lost, silent.inclusion) == (LOST_AT, None)
    assert lost.apply(silent, None, Instant(LOST_AT.seconds + 1)) == silent
    assert after_inclusion(silent, REQUEST, LOST_AT).lost is None
    for change in (RegistrationChange(lost=False), RegistrationChange(no_successor=True)):
        assert change.apply(silent, None, LOST_AT).lost is None


def _acceptance(world: World, key: SigningKey, to: Label) -> str:
    manifest = world.heir.chains.here(world.item.rep).manifest
    assert manifest is not None
    resolver: PublicKey = world.keys.signing_key().public
    return sign_acceptance(TransferAcceptance(world.item.labels, 1, resolver, to, manifest), key)


def _forged(world: World, key: SigningKey) -> tuple[str, ...]:
    heir, labels = world.heir, world.item.labels
    manifest = heir.chains.here(world.item.rep).manifest
    assert manifest is not None
    public = heir.keys.signing_key().public
    giver, to, by = world.lost.service.labels[0], heir.service.labels[0], resolver_service()
    return sign_release(NO_CHAIN, labels, giver, to, public, manifest, LOST_AT, key, by=by).texts


def test_copies_of_what_the_lost_one_had_received_are_among_its_own(world: World) -> None:
    """`ibi transfers take-lost --of` finds them by their chains: their labels have the prefix of another Archive."""
    give(world.lost, world.third, world.item)
    world.heir.bring(world.item.rep, world.third.url)
    third, chains = world.third.service.labels[0], world.heir.chains
    assert [each.rep for each in copies_of(world.heir.store, chains, third)] == [world.item.rep]
    assert list(copies_of(world.heir.store, chains, world.heir.service.labels[0])) == []


def test_copies_of_a_lost_archive_are_found_by_either_form_of_its_label(world: World) -> None:
    """Chains and labels have one form; the register knows both, and of which prefixes the Archive is the home."""
    give(world.lost, world.third, world.item)
    world.heir.bring(world.item.rep, world.third.url)
    chains, other = world.heir.chains, Ibip.parse("8JMKD3MGP5W/35MMLL8")
    assert list(copies_of(world.heir.store, chains, other)) == []
    known = RegisteredArchive((*world.third.service.labels, other), frozenset())
    assert [each.rep for each in copies_of(world.heir.store, chains, other, known)] == [world.item.rep]
    home = RegisteredArchive((other,), frozenset({home_prefix(world.item.rep)}))
    assert [each.rep for each in copies_of(world.heir.store, chains, other, home)] == [world.item.rep]


def test_refusals_say_what_happened_to_what_and_what_to_do(world: World) -> None:
    world.heir.bring(world.item.rep, world.lost.url)
    with pytest.raises(PeerRefused) as refused:
        world.ask(world.heir)
    heir = world.heir.service.labels[0]
    assert f"The Original of {world.item.rep} is not given to the Archive that asks for it" in str(refused.value)
    assert f"has not named {heir}" in str(refused.value)
    assert f"`ibi resolver set LOST_SERVICE_IBI --successor {heir} --lost`" in str(refused.value)
    included = after_inclusion(REGISTERED, REQUEST, LOST_AT)
    with pytest.raises(NotLost) as unnamed:
        RegistrationChange(lost=True).apply(included, None, LOST_AT)
    assert "protocol" not in str(unnamed.value)
    assert f"{REGISTERED.labels[0]} is not taken for lost" in str(unnamed.value).replace("'", "")
    assert "--successor SERVICE_IBI" in str(unnamed.value)
