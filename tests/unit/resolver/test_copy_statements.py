"""A resolver reads who holds Copies when a home is included, and again when its feed announces something else."""

from __future__ import annotations

from ibi.items.model.change import AnnouncedCopies, FollowedPage
from ibi.membership.model.registration import Registration
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.service.feed_following import CopyStatements
from ibi.standard.instant import Instant
from ibi.standard.messages.holders import CopyHolder, sign_copies
from tests.conformance.errata.test_e84 import ALL, HOME, SERVICE
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.registry import MemoryRegistry
from tests.support.signing_member import NOW, seed


class Feed:
    """A home that announces what it says."""

    def __init__(self) -> None:
        self.at = NOW
        self.holders: tuple[CopyHolder, ...] = (CopyHolder(ALL.service.labels[0]),)
        self.key, self.is_down, self.asked = seed("a"), False, 0

    def page(self) -> FollowedPage:
        return FollowedPage("one", 1, 1, (), AnnouncedCopies(self.at, "/api/archive/copies"))

    async def read_feed(self, _: ArchiveRef, after: int | None, epoch: str, wait: int) -> FollowedPage | None:
        return None if self.is_down else self.page()

    async def read_copies(self, _: ArchiveRef, path: str) -> str | None:
        assert path == "/api/archive/copies"
        self.asked += 1
        return None if self.is_down else sign_copies(SERVICE, self.holders, self.at, self.key)


class World:
    def __init__(self) -> None:
        self.feed, self.beliefs, registry = Feed(), MemoryBeliefs(), MemoryRegistry()
        registry.add(Registration(SERVICE, "", Instant(0), key=seed("a").public))
        self.statements = CopyStatements(self.feed, registry, self.beliefs, lambda: NOW / 1000)

    @property
    def holders(self) -> frozenset[object]:
        return self.beliefs.copies(SERVICE.labels[0]).services

    async def note(self) -> None:
        self.statements.note(HOME, self.feed.page())
        await self.statements.settle()


async def test_the_statement_is_read_at_the_inclusion() -> None:
    world = World()
    await world.statements.learn(HOME)
    assert world.holders == {ALL.service.labels[0]}


async def test_a_page_that_announces_the_same_causes_no_question_and_another_one_does() -> None:
    world = World()
    await world.note()
    await world.note()
    assert world.feed.asked == 1
    world.feed.at, world.feed.holders = NOW + 5, ()
    await world.note()
    assert world.feed.asked == 2
    assert world.holders == frozenset()


async def test_what_is_not_believed_is_not_asked_for_again_and_again() -> None:
    world = World()
    world.feed.key = seed("t")
    for _ in range(3):
        await world.note()
    assert world.feed.asked == 1
    assert world.holders == frozenset()


async def test_a_statement_that_could_not_be_read_is_asked_for_at_the_next_page() -> None:
    world = World()
    world.feed.is_down = True
    await world.note()
    world.feed.is_down = False
    await world.note()
    assert world.holders == {ALL.service.labels[0]}


async def test_an_archive_without_a_feed_or_with_a_silent_one_is_left_alone() -> None:
    world = World()
    world.feed.is_down = True
    await world.statements.learn(HOME)
    await world.statements.learn(ALL)
    assert world.feed.asked == 0
    await world.statements.close()
