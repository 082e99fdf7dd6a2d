"""The register that an Archive keeps of its resolver, and whether the resolver is there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ibi.membership.model.membership import FetchedRegister, OfferedKey, ResolverStanding
from ibi.membership.model.registration import RemovedArchive
from ibi.membership.rules.authority import ArchiveRef, Home
from ibi.membership.rules.signed_register import (
    ListedArchive,
    etag_of,
    read_register,
    register_entries,
    sign_register,
)
from ibi.membership.store.key_files import PublishedRegisterFile, RegisterFiles
from ibi.resolver.service.register_publication import RegisterPublication
from ibi.resolver.service.standby import FETCH_EVERY, KeptRegister, ResolverPresence
from ibi.standard.label import parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.signatures import sign_key_change
from ibi.standard.signing import PublicKey, SigningKey, read_statement
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.keys import MemoryKeyStore
from tests.support.memory.registers import MemoryRegisterStore
from tests.support.memory.registry import MemoryRegistry
from tests.unit.membership.test_rules_membership import REGISTERED

HERE = "http://resolver.example.org"
KEY, FORGED = SigningKey(b"r" * 32), SigningKey(b"f" * 32)
OWN, OTHER, THIRD = (
    ArchiveRef(LabelForms.of(parse(f"{name}.br/arq/2009/07.21.14.43")), f"{name}.br")
    for name in ("own", "other", "third")
)


def statement(*archives: ArchiveRef, issued: int = 100, key: SigningKey = KEY) -> str:
    return sign_register(register_entries(map(ListedArchive.of_own, archives)), HERE, issued, key)


class Resolver:
    """What the resolver says when it is asked; None if it is away."""

    def __init__(self, says: str | None = None) -> None:
        self.says, self.is_up = says, says is not None
        self.asked: list[str | None] = []
        self.looks = 0

    async def fetch(self, etag: str | None) -> FetchedRegister:
        self.asked.append(etag)
        if self.says is None:
            return FetchedRegister(is_there=False)
        if etag == etag_of(self.says):
            return FetchedRegister(is_there=True, is_known=True)
        return FetchedRegister(is_there=True, statement=self.says)

    async def offered_key(self, known: PublicKey | None, within: float) -> OfferedKey:
        return OfferedKey(ResolverStanding.THERE, known)

    async def is_there(self, within: float) -> bool:
        self.looks += 1
        await asyncio.sleep(0)
        return self.is_up


def kept(resolver: Resolver, store: MemoryRegisterStore) -> KeptRegister:
    found = KeptRegister(resolver, store, HERE, OWN)
    found.load()
    return found


async def test_a_register_is_kept_for_the_next_process() -> None:
    store = MemoryRegisterStore()
    first = kept(Resolver(statement(OWN, OTHER)), store)
    assert first.archives() == (OWN,)
    assert await first.fetch()
    second = kept(Resolver(), store)
    assert second.archives() == (OWN, OTHER)
    assert [home.archive for home in second.homes().of(parse("other.br/arq/2020/01.01.01.01"))] == [OTHER]
    assert not await second.fetch()
    assert second.archives() == (OWN, OTHER)


async def test_the_entry_of_the_archive_itself_leads_to_this_process_whatever_address_the_list_has() -> None:
    moved = ArchiveRef(OWN.service, "former.br")
    register = kept(Resolver(statement(OTHER, moved)), MemoryRegisterStore())
    await register.fetch()
    assert register.archives() == (OWN, OTHER)
    assert register.archives()[0] is OWN
    assert [home.archive for home in register.homes().of(parse("own.br/arq/2020/01.01.01.01"))] == [OWN]


async def test_an_archive_that_is_not_in_the_list_knows_itself() -> None:
    register = kept(Resolver(statement(OTHER)), MemoryRegisterStore())
    await register.fetch()
    assert register.archives() == (OWN, OTHER)
    assert register.homes().of(parse("own.br/arq/2020/01.01.01.01"))[0].archive is OWN


async def test_what_is_known_already_is_not_sent_again() -> None:
    resolver = Resolver(statement(OTHER))
    register = kept(resolver, MemoryRegisterStore())
    assert await register.fetch()
    assert await register.fetch()
    assert resolver.asked == [None, etag_of(resolver.says or "")]


@pytest.mark.parametrize(
    "says",
    [statement(THIRD, issued=200, key=FORGED), statement(THIRD, issued=99), "garbage", "", statement(THIRD)[:-5]],
    ids=["another key", "older", "garbage", "empty", "cut"],
)
async def test_what_may_not_be_believed_changes_nothing(says: str) -> None:
    resolver, store = Resolver(statement(OTHER)), MemoryRegisterStore()
    register = kept(resolver, store)
    await register.fetch()
    resolver.says = says
    assert not await register.fetch()
    assert register.archives() == (OWN, OTHER)
    assert kept(Resolver(), store).archives() == (OWN, OTHER)


async def test_a_newer_list_takes_the_place_of_the_one_before() -> None:
    resolver = Resolver(statement(OTHER))
    register = kept(resolver, MemoryRegisterStore())
    await register.fetch()
    resolver.says = statement(THIRD, issued=101)
    assert await register.fetch()
    assert register.archives() == (OWN, THIRD)


async def test_a_list_by_a_key_that_the_known_one_named_is_taken_and_then_none_by_the_old_one() -> None:
    resolver, store = Resolver(statement(OTHER)), MemoryRegisterStore()
    register = kept(resolver, store)
    await register.fetch()
    new = SigningKey(b"n" * 32)
    entries = register_entries(map(ListedArchive.of_own, (THIRD,)))
    resolver.says = sign_register(entries, HERE, 101, new, [sign_key_change(KEY, new.public, 1)])
    assert await register.fetch()
    assert store.resolver_key(HERE) == new.public
    resolver.says = statement(OTHER, issued=102)
    assert not await register.fetch()
    assert register.archives() == (OWN, THIRD)


async def test_a_kept_list_of_another_key_is_not_used() -> None:
    store = MemoryRegisterStore()
    store.pin(HERE, KEY.public)
    store.write(statement(OTHER, key=FORGED))
    assert kept(Resolver(), store).archives() == (OWN,)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_readers_who_come_together_share_one_look() -> None:
    resolver = Resolver("x")
    presence = ResolverPresence(resolver, Clock())
    assert await asyncio.gather(*(presence.is_away() for _ in range(10))) == [False] * 10
    assert resolver.looks == 1


async def test_a_resolver_that_ends_is_noticed_by_the_next_reader() -> None:
    resolver, clock = Resolver("x"), Clock()
    presence = ResolverPresence(resolver, clock)
    assert not await presence.is_away()
    resolver.is_up = False
    clock.now += 1
    assert await presence.is_away()


async def test_no_reader_waits_for_a_resolver_that_is_known_to_be_away() -> None:
    resolver, clock = Resolver("x"), Clock()
    resolver.is_up = False
    presence = ResolverPresence(resolver, clock)
    assert await presence.is_away()
    clock.now += 1
    assert await presence.is_away()
    assert resolver.looks == 1
    resolver.is_up = True
    clock.now += 10
    assert await presence.is_away()  # looked for beside the reader
    for _ in range(5):
        await asyncio.sleep(0)
    assert resolver.looks == 2
    assert not await presence.is_away()
    await presence.close()


# --- the register as it is published ----------------------------------------------------------------------------------


class Publications:
    """Processes of one resolver, on one register."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.keys, self.wall = folder, MemoryKeyStore(b"r" * 32), 1000.0
        self.registry, self.beliefs = MemoryRegistry(), MemoryBeliefs()

    def process(self) -> RegisterPublication:
        return RegisterPublication(
            self.registry,
            self.beliefs,
            self.keys,
            resolver_url=HERE,
            own=OWN,
            published=PublishedRegisterFile(self.folder),
            wall=lambda: self.wall,
        )


def test_all_processes_of_a_resolver_give_the_same_text_and_the_next_start_does(tmp_path: Path) -> None:
    world = Publications(tmp_path)
    one, two = world.process(), world.process()
    first = one.current()
    world.wall += 7
    assert two.current() == first
    world.registry.add(REGISTERED)
    second = two.current()
    world.wall += 7
    assert second != first
    assert one.current() == second
    world.wall = 5.0  # the clock was set back
    assert world.process().current() == second
    world.keys.replace()
    third = read_register(world.process().current()[0])
    assert third.issued > read_register(second[0]).issued


def test_a_register_is_published_though_it_cannot_be_kept(tmp_path: Path) -> None:
    world = Publications(tmp_path)
    (tmp_path / "membership").write_bytes(b"in the way")
    publication = world.process()
    first = read_register(publication.current()[0])
    world.wall = 5.0
    world.registry.add(REGISTERED)
    assert read_register(publication.current()[0]).issued > first.issued


def test_a_published_register_that_is_damaged_is_published_anew(tmp_path: Path) -> None:
    world = Publications(tmp_path)
    first = world.process().current()
    (tmp_path / "membership" / "published.jws").write_bytes(b"no.statement.atall")
    assert world.process().current() == first


# --- who answers in the place of the resolver -------------------------------------------------------------------------


def listing(
    *archives: ArchiveRef,
    issued: int = 100,
    key: SigningKey = KEY,
    awaits_key: bool = False,
    url: str = HERE,
    removed: tuple[RemovedArchive, ...] = (),
) -> str:
    """A register of Archives that were registered, and not of the resolver's own server."""
    listed = (
        ListedArchive(Home(each.service, each), frozenset(), registered=1, awaits_key=awaits_key) for each in archives
    )
    return sign_register(register_entries(listed), url, issued, key, removed=removed)


class Standing:
    """A register that is kept of a resolver whose key is known, and that resolver."""

    def __init__(self) -> None:
        self.resolver, self.store, self.clock = Resolver(listing(OWN, OTHER)), MemoryRegisterStore(), Clock()
        self.offered, self.run = ResolverStanding.THERE, "first"
        self.resolver.offered_key = self._offer  # type: ignore[method-assign]
        self.register = kept(self.resolver, self.store)
        self.presence = self.register.presence = ResolverPresence(
            self.resolver, self.clock, known_key=lambda: self.store.resolver_key(HERE), admit=self.register.admit
        )
        self.unlisted = 0
        self.register.on_unlisted = self._count

    def _count(self) -> None:
        self.unlisted += 1

    async def _offer(self, known: PublicKey | None, within: float) -> OfferedKey:
        assert known == KEY.public
        return OfferedKey(self.offered, known, run=self.run)

    async def is_alone(self) -> bool:
        """Whether it resolves by itself, once all looks that this causes are done."""
        self.clock.now += 60
        await self.register.is_alone()
        await self.presence.find_out()
        return await self.register.is_alone()


@pytest.mark.parametrize("offered", [ResolverStanding.SILENT, ResolverStanding.OTHER_KEY, ResolverStanding.UNPROVEN])
async def test_a_server_that_does_not_prove_the_known_key_is_not_the_resolver(offered: ResolverStanding) -> None:
    world = Standing()
    await world.register.look()
    assert not await world.is_alone()
    world.offered = offered
    assert await world.is_alone()
    await world.register.look()
    assert world.register.standing is world.store.standing is offered
    world.offered = ResolverStanding.THERE
    assert not await world.is_alone()
    await world.register.look()
    assert world.register.standing is world.store.standing is None


@pytest.mark.parametrize("says", [listing(issued=900), listing(OWN, issued=99), listing(OWN, issued=900, key=FORGED)])
async def test_a_resolver_that_is_back_with_a_register_that_is_not_taken_is_not_there(says: str) -> None:
    world = Standing()
    await world.register.look()
    world.offered = ResolverStanding.SILENT
    assert await world.is_alone()
    world.offered, world.resolver.says = ResolverStanding.THERE, says
    assert await world.is_alone()
    assert world.register.standing is ResolverStanding.REGISTER_REFUSED
    assert world.register.archives() == (OWN, OTHER)
    world.resolver.says = listing(OWN, OTHER, THIRD, issued=901)
    assert not await world.is_alone()
    assert world.register.archives() == (OWN, OTHER, THIRD)


@pytest.mark.parametrize("says", [listing(issued=900), listing(OWN, issued=99)], ids=["empty", "older"])
async def test_a_resolver_that_was_started_again_unseen_is_trusted_once_its_register_is_taken(says: str) -> None:
    """E94: it proves the known key, and may have lost its register meanwhile."""
    world = Standing()
    await world.register.look()
    assert not await world.register.is_alone()
    world.run, world.resolver.says = "second", says
    world.clock.now += 1
    assert await world.register.is_alone()
    assert world.register.standing is ResolverStanding.REGISTER_REFUSED
    world.resolver.says = listing(OWN, OTHER, THIRD, issued=901)
    assert not await world.is_alone()
    assert world.register.archives() == (OWN, OTHER, THIRD)


async def test_the_register_is_asked_for_once_for_each_run_of_the_resolver() -> None:
    world = Standing()
    await world.register.look()
    for _ in range(3):
        world.clock.now += 1
        assert not await world.register.is_alone()
    asked = len(world.resolver.asked)
    world.run = "second"
    for _ in range(3):
        world.clock.now += 1
        assert not await world.register.is_alone()
    assert len(world.resolver.asked) == asked + 1


async def test_a_list_of_no_archives_is_not_taken_in_the_place_of_one_that_has_some() -> None:
    world = Standing()
    await world.register.fetch()
    world.resolver.says = listing(issued=200)
    assert not await world.register.fetch()
    assert "ibi resolver recover" in (world.register.refusal or "")
    assert kept(Resolver(), world.store).archives() == (OWN, OTHER)


async def test_a_list_that_lost_an_archive_is_not_taken_and_the_one_before_is_kept() -> None:
    world = Standing()
    world.resolver.says = listing(OWN, OTHER, THIRD, issued=101)
    await world.register.fetch()
    world.resolver.says = listing(OWN, THIRD, issued=200)
    assert not await world.register.fetch()
    assert str(OTHER.service.labels[0]) in (world.register.refusal or "")
    assert "ibi resolver recover" in (world.register.refusal or "")
    assert world.register.archives() == (OWN, OTHER, THIRD)
    world.resolver.says = listing(OWN, OTHER, THIRD, issued=300)
    assert await world.register.fetch()
    assert world.register.refusal is None


@pytest.mark.parametrize(("at", "is_taken"), [(50, True), (1, True), (0, False)])
async def test_a_list_may_lack_an_archive_that_was_removed_after_it_was_registered(at: int, *, is_taken: bool) -> None:
    world = Standing()
    await world.register.fetch()
    world.resolver.says = listing(OWN, issued=200, removed=(RemovedArchive(OTHER.service, at),))
    assert await world.register.fetch() is is_taken
    assert world.register.archives() == ((OWN,) if is_taken else (OWN, OTHER))
    former = world.register.read_former()
    assert former is not None
    assert len(read_register(former).archives) == 2


async def test_the_list_of_another_resolver_may_lack_any_archive() -> None:
    world, other = Standing(), "http://other.example.org"
    await world.register.fetch()
    joined = KeptRegister(world.resolver, world.store, other, OWN)
    joined.load()
    world.resolver.says = listing(OWN, issued=200, key=FORGED, url=other)
    assert await joined.fetch()
    assert joined.archives() == (OWN,)


async def test_a_list_that_lost_an_archive_is_taken_by_the_word_of_an_operator_in_all_processes() -> None:
    world = Standing()
    await world.register.fetch()
    world.resolver.says = listing(OWN, issued=200)
    assert not await world.register.fetch()
    told = KeptRegister(world.resolver, world.store, HERE, OWN, takes_losses=True)
    told.load()
    assert await told.fetch()
    assert await world.register.fetch()
    assert world.register.archives() == (OWN,)


def test_the_fullest_of_the_former_registers_is_kept_whatever_comes_after(tmp_path: Path) -> None:
    files = RegisterFiles(tmp_path)
    for issued, archives in [(10, 3), (11, 9), *((issued, 2) for issued in range(20, 40))]:
        files.keep_former(f"text{issued}.x.y", issued, archives)
    assert [text.partition(".")[0] for text in files.former()] == ["text11", "text39", "text38", "text37", "text36"]


def test_the_register_says_which_archives_were_removed_until_they_are_registered_again(tmp_path: Path) -> None:
    world = Publications(tmp_path)
    process, files = world.process(), PublishedRegisterFile(tmp_path)
    world.registry.add(REGISTERED)
    assert "removed" not in read_statement(process.current()[0], "register").claims
    files.note_removed(REGISTERED.service, 1000)
    world.registry.forget(REGISTERED.labels[0])
    assert read_register(process.current()[0]).removed == (RemovedArchive(REGISTERED.service, 1000),)
    world.registry.add(REGISTERED)
    assert read_register(process.current()[0]).removed == ()


@pytest.mark.parametrize(
    ("says", "times"),
    [
        (listing(OWN, OTHER, issued=200), 0),
        (listing(OTHER, issued=200), 1),
        (listing(OWN, OTHER, issued=200, awaits_key=True), 1),
    ],
    ids=["listed", "not listed", "waits for its key"],
)
async def test_an_archive_that_the_register_lacks_is_told_once(says: str, times: int) -> None:
    world = Standing()
    await world.register.fetch()
    assert world.unlisted == 0
    world.resolver.says = says
    await world.register.fetch()
    assert world.unlisted == 0  # an inclusion may have been under way
    for _ in range(3):
        await world.register.look()
    assert world.unlisted == times


async def test_an_archive_that_was_included_meanwhile_is_not_told() -> None:
    world = Standing()
    for issued, says in ((100, listing(OTHER)), (200, listing(OTHER, OWN, issued=200))):
        world.resolver.says = says
        wait = await world.register.look()
        assert (wait == FETCH_EVERY) is (issued == 200)  # it looks again soon
    await world.register.look()
    assert world.unlisted == 0


async def test_a_register_that_a_former_key_signed_serves_until_there_is_another() -> None:
    world = Standing()
    await world.register.fetch()
    world.store.pin(HERE, FORGED.public)  # the administrator trusts another key
    again = kept(world.resolver, world.store)
    assert again.archives() == (OWN, OTHER)
    world.resolver.says = listing(OWN, issued=500)
    assert not await again.fetch()  # what the former key signs now is not taken
    world.resolver.says = listing(OWN, OTHER, THIRD, issued=1, key=FORGED)
    assert await again.fetch()
    assert again.archives() == (OWN, OTHER, THIRD)
