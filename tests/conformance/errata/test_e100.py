"""E100: a receiver takes an Original only from the Archive whose it is by the register of the resolver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ibi.items.model.content import Bytes, Change, Keep, Source
from ibi.items.rules.provenance import NO_CHAIN, countersign, encode_link, link_path, sign_release
from ibi.items.service.stored_item import name_of
from ibi.standard.instant import Instant
from ibi.standard.label.search import home_prefix
from ibi.standard.signing import PublicKey, SigningKey
from ibi.standard.vocabulary import State
from ibi.transfers.model import ReceiverStage, SenderStage
from ibi.transfers.rules.standing import KnownArchives, RegisteredArchive, SenderStanding
from ibi.transfers.rules.transfer import TransferRefused
from ibi.transfers.rules.transfer_messages import Offer, sign_offer
from ibi.transfers.service.provenance_check import ProvenanceCheck
from ibi.transfers.service.senders import Senders
from tests.support.deposit_samples import deposits, put
from tests.support.memory.keys import MemoryKeyStore
from tests.support.transfer_archives import TransferArchive, TransferNetwork, give, incoming_document

FORGER = SigningKey(b"f" * 32)


class World:
    """The home of an item, a receiver, and a third Archive, which are registered; and a resolver."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.network, self.resolver = TransferNetwork(), SigningKey(b"r" * 32)
        self.home, self.receiver, self.third = (
            TransferArchive(self.network, name, folder, opened, resolver_keys=(self.resolver.public,)) for name in "abc"
        )
        self.item = put(deposits(self.home.store))
        self.register(*(self.entry(each) for each in (self.home, self.receiver, self.third)))

    def register(self, *archives: RegisteredArchive) -> None:
        self.network.registered = KnownArchives(archives, (self.resolver.public,))

    def entry(
        self, archive: TransferArchive, key: PublicKey | None = None, former: tuple[PublicKey, ...] = ()
    ) -> RegisteredArchive:
        labels = archive.service.labels
        prefixes = frozenset(map(home_prefix, labels))
        if archive is self.home:
            prefixes |= frozenset(map(home_prefix, self.item.labels.labels))
        return RegisteredArchive(labels, prefixes, key or archive.keys.signing_key().public, former)

    def offer(self, archive: TransferArchive) -> None:
        archive.sending.begin(self.item, self.receiver.url, "agreed")

    def forge(self, archive: TransferArchive) -> None:
        """Have the Copy of an Archive be an Original there, by a chain that it has made up."""
        archive.bring(self.item.rep, self.home.url)
        to, manifest = archive.service.labels[0], archive.chains.here(self.item.rep).manifest
        assert manifest is not None
        key = archive.keys.signing_key()
        giver, at = self.home.service.labels[0], Instant(1_800_000_000)
        chain = sign_release(NO_CHAIN, self.item.labels, giver, to, key.public, manifest, at, FORGER)
        name = name_of(self.item)
        head = archive.store.content.read(name).head
        files: dict[str, Source] = {path: Keep(path) for path in head.files}
        links = {link_path(link.said.number): Bytes(encode_link(link)) for link in countersign(chain, key).links}
        archive.store.content.update(name, {**files, **links}, Change("x", "", at), head=head.number)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as opened:
        yield World(tmp_path, opened)


def test_the_home_gives_its_item_with_a_token(world: World) -> None:
    assert give(world.home, world.receiver, world.item) is SenderStage.DONE
    assert world.receiver.state(world.item.rep) is State.ORIGINAL


def test_one_that_has_another_key_than_the_register_is_refused_with_a_token_too(world: World) -> None:
    """A copy of the directory, somewhere else, with keys of its own."""
    world.home.keys = world.home.chains.keys = MemoryKeyStore(b"n" * 32)
    with pytest.raises(TransferRefused, match="another key than the register has of it"):
        world.offer(world.home)
    assert world.receiver.ledger.incoming(world.item.rep) is None


def test_one_that_is_not_registered_is_refused_with_a_token_too(world: World) -> None:
    world.register(world.entry(world.receiver))
    with pytest.raises(TransferRefused, match="not registered at the resolver"):
        world.offer(world.home)


def test_one_that_is_registered_and_is_not_the_home_is_refused(world: World) -> None:
    own = put(deposits(world.third.store))
    with pytest.raises(TransferRefused, match="neither the home of the item nor its holder"):
        world.third.sending.begin(own, world.receiver.url, "agreed")


def test_a_chain_that_the_home_has_not_signed_is_refused_before_the_copy_here_is_replaced(world: World) -> None:
    world.receiver.bring(world.item.rep, world.home.url)
    before = world.receiver.chains.here(world.item.rep)
    world.forge(world.third)
    kept = _accepted_from_third(world)
    after = world.receiver.receiving.go_on(world.item.rep)
    assert (kept, after.stage) == (ReceiverStage.ACCEPTED, ReceiverStage.DECLINED)
    assert "is not a key of" in after.reason
    assert world.receiver.chains.here(world.item.rep) == before


def _accepted_from_third(world: World) -> ReceiverStage:
    manifest = world.third.chains.here(world.item.rep).manifest
    assert manifest is not None
    third, to = world.third, world.receiver.url
    offer = Offer(world.item.labels, 3, third.service.labels[0], third.url, to, manifest, 1)
    reply = world.receiver.receiving.take_offer(sign_offer(offer, third.keys.signing_key()), agreed=True)
    return reply.stage


def test_the_holder_by_signed_releases_gives_the_item_on(world: World) -> None:
    assert give(world.home, world.third, world.item) is SenderStage.DONE
    assert give(world.third, world.receiver, world.item) is SenderStage.DONE
    assert world.receiver.state(world.item.rep) is State.ORIGINAL


def test_releases_by_a_key_that_the_home_had_before_count(world: World) -> None:
    assert give(world.home, world.third, world.item) is SenderStage.DONE
    former = world.home.keys.signing_key().public
    entries = (world.entry(each) for each in (world.receiver, world.third))
    world.register(world.entry(world.home, SigningKey(b"n" * 32).public, (former,)), *entries)
    assert give(world.third, world.receiver, world.item) is SenderStage.DONE


def test_a_way_through_an_archive_that_left_the_register_is_the_librarians_to_judge(world: World) -> None:
    assert give(world.home, world.third, world.item) is SenderStage.DONE
    world.register(world.entry(world.receiver), world.entry(world.third))
    world.third.sending.begin(world.item, world.receiver.url, "agreed")
    waiting = world.receiver.receiving.go_on(world.item.rep)
    assert waiting.stage is ReceiverStage.WAITING
    assert "through an Archive that the register does not know" in waiting.reason
    world.receiver.receiving.agree(world.item.rep)
    for _ in range(3):
        world.receiver.receiving.go_on(world.item.rep)
        world.third.sending.go_on(world.item.rep)
    assert world.receiver.state(world.item.rep) is State.ORIGINAL


def test_of_an_archive_whose_key_is_not_known_a_token_is_not_enough_and_a_librarian_is(world: World) -> None:
    """One that signs nothing at the resolver: the register has no key that could prove it, or contradict it."""
    world.register(world.entry(world.home)._replace(key=None), world.entry(world.receiver))
    world.offer(world.home)
    kept = world.receiver.ledger.incoming(world.item.rep)
    assert kept is not None
    assert (kept.stage, kept.reason) == (
        ReceiverStage.WAITING,
        "the sender is unproven: the register has no key of it; a librarian has to accept it",
    )
    standing = world.receiver.receiving.senders.judge_kept(kept)
    assert standing is SenderStanding.NO_KEY
    assert incoming_document(kept, standing)["sender"] == "no-key"
    world.receiver.receiving.agree(world.item.rep)
    assert give(world.home, world.receiver, world.item) is SenderStage.DONE


def test_a_librarian_cannot_accept_what_the_register_contradicts_by_now(world: World) -> None:
    registered, world.network.registered = world.network.registered, None
    world.home.sending.begin(world.item, world.receiver.url)
    world.network.registered = KnownArchives((world.entry(world.receiver),))
    with pytest.raises(TransferRefused, match="not registered"):
        world.receiver.receiving.agree(world.item.rep)
    world.network.registered = registered
    assert world.receiver.receiving.agree(world.item.rep).stage is ReceiverStage.ACCEPTED


def test_without_a_register_a_token_is_enough_and_the_sender_is_called_unproven(world: World) -> None:
    world.network.registered = None
    assert give(world.home, world.receiver, world.item) is SenderStage.DONE
    kept = world.receiver.ledger.incoming(world.item.rep)
    assert kept is not None
    assert Senders().judge_kept(kept) is SenderStanding.NO_REGISTER


def test_a_check_names_links_by_keys_that_the_register_does_not_have(world: World) -> None:
    """What was taken over before there was a register, or by another rule, is not called sound."""
    registered, world.network.registered = world.network.registered, None
    world.home.keys = world.home.chains.keys = MemoryKeyStore(b"n" * 32)
    assert give(world.home, world.receiver, world.item) is SenderStage.DONE
    item, keys = world.receiver.item(world.item.rep), (world.receiver.keys.signing_key().public,)
    assert item is not None
    for register, unproven in ((registered, (1,)), (None, ())):
        check = ProvenanceCheck(world.receiver.store, world.receiver.service, keys, register=register)
        assert (check.check(item).unproven, check.check(item).problems) == (unproven, ())


def test_a_check_names_a_first_release_of_another_than_the_home(world: World) -> None:
    registered, world.network.registered = world.network.registered, None
    own = put(deposits(world.third.store))
    assert give(world.third, world.receiver, own) is SenderStage.DONE
    item, keys = world.receiver.item(own.rep), (world.receiver.keys.signing_key().public,)
    assert item is not None
    check = ProvenanceCheck(world.receiver.store, world.receiver.service, keys, register=registered)
    assert check.check(item).unproven == (1,)


def test_what_an_archive_signed_with_a_key_that_it_lost_stays_signed_by_the_register(world: World) -> None:
    """The administrator of the resolver has given it its new key; the old one is on record there alone."""
    assert give(world.home, world.receiver, world.item) is SenderStage.DONE
    former, new = world.home.keys.signing_key().public, SigningKey(b"n" * 32).public
    entries = world.entry(world.home, new, (former,)), world.entry(world.receiver)
    item = world.home.item(world.item.rep)
    assert item is not None
    check = ProvenanceCheck(world.home.store, world.home.service, (new,), register=KnownArchives(entries))
    found = check.check(item)
    assert (found.problems, found.unproven) == ((), ())
