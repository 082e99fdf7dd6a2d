"""Copies stay what their Originals are, whatever happens in between."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.following.model.subscription import (
    Follow,
    FollowedState,
    FollowKind,
    FollowTarget,
    SourceAddress,
    SourcePage,
)
from ibi.following.ports.subscriptions import SourceAway, SourceUnusable
from ibi.following.service.follow_worker import _MOST_STEPS, WAIT, FollowWorker, _Lane, _LaneKey
from ibi.following.service.subscriptions import FollowAdmin
from ibi.following.store.follows import SqliteFollows
from ibi.items.model.change import ChangeKind
from ibi.jobs.runner import JobRunner
from ibi.standard.label import RepositoryName
from ibi.standard.vocabulary import State
from tests.support.flat_items import replace
from tests.support.followed_source import SOURCE, FollowedSource, MemoryBringer, item_named, name_of

NOW = 1_800_000_000
A, B, C, D = (name_of(number) for number in range(1, 5))


class World:
    """A follower of one source."""

    def __init__(self, data: Path) -> None:
        self.now = float(NOW)
        self.store = SqliteFollows(data)
        with self.store._database.read() as connection:  # no power fails here
            connection.execute("PRAGMA synchronous = OFF")
        self.source = FollowedSource()
        self.bringer = MemoryBringer(self.source)
        self.worker = self.restarted()

    def restarted(self) -> FollowWorker:
        self.worker = FollowWorker(
            self.store,
            self.source,
            self.bringer,
            self.bringer,  # type: ignore[arg-type]
            now=lambda: self.now,
            chance=lambda: 0.5,
        )
        return self.worker

    def follow(self, kind: FollowKind = FollowKind.ALL, text: str = "", **members: Any) -> None:
        target = FollowTarget.of(kind, text)
        self.store.add(Follow(id=str(target), target=target, source=SOURCE, created=NOW, **members))

    def step(self, times: int = 1) -> None:
        async def run() -> None:
            for _ in range(times):
                await self.worker.step(self.store.all(), asyncio.Event())

        asyncio.run(run())

    def settle(self) -> None:
        """Let all be done that can be: a poll for each page of the feed, and the work that it brings."""
        self.step(len(self.source.entries) + 4)

    @property
    def titles(self) -> dict[str, str]:
        return {label: str(item.metadata.title[0]) for label, item in self.bringer.held.items()}

    @property
    def states(self) -> dict[FollowedState, int]:
        return next(iter(self.store.counts().values())).states

    @property
    def behind(self) -> int:
        (follow,) = self.store.all()
        waiting = self.store.counts().get(follow.id)
        return follow.end - follow.position + (0 if waiting is None else waiting.waiting)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.store.close()


def test_a_whole_archive_is_brought_and_each_change_after_it(world: World) -> None:
    for number, label in enumerate((A, B, C, D)):
        world.source.put(label, f"title {number}")
    world.follow()
    world.settle()
    assert world.titles == {A: "title 0", B: "title 1", C: "title 2", D: "title 3"}
    assert world.behind == 0
    world.source.put(B, "another title")
    world.step(2)
    assert world.titles[B] == "another title"
    assert world.bringer.fetched == [A, B, C, D, B]
    assert world.store.all()[0].current == NOW


def test_what_is_deleted_at_the_source_keeps_its_bytes_and_says_so(world: World) -> None:
    world.source.put(A, "kept")
    world.follow()
    world.settle()
    world.source.delete(A)
    world.settle()
    copy = world.bringer.held[A]
    assert copy.state is State.COPY
    assert copy.original_tombstone is not None
    assert world.states == {FollowedState.DELETED: 1}
    world.source.delete(A, purge=True)
    world.settle()
    assert world.states == {FollowedState.PURGED: 1}
    assert world.titles == {A: "kept"}


def test_what_was_deleted_before_it_could_be_brought_is_no_item_of_the_follow(world: World) -> None:
    world.source.put(A, "short")
    world.source.delete(A)
    world.follow()
    world.settle()
    assert world.titles == {}
    assert world.behind == 0


@pytest.mark.parametrize(
    ("kind", "state"), [(ChangeKind.REMOVED, FollowedState.GONE), (ChangeKind.MOVED, FollowedState.MOVED)]
)
def test_a_copy_stays_that_its_source_does_not_have_any_more(
    world: World, kind: ChangeKind, state: FollowedState
) -> None:
    world.source.put(A, "kept")
    world.follow()
    world.settle()
    world.source.lose(A, kind)
    for _ in range(12):
        world.settle()
        world.now += 6 * 3_600
    assert world.titles == {A: "kept"}
    assert world.states == {state: 1}
    assert world.behind == 0


def test_an_item_that_moved_is_followed_where_it_is_now(world: World) -> None:
    world.source.put(A, "first")
    world.source.put(B, "other")
    world.follow()
    world.settle()
    world.source.lose(A, ChangeKind.MOVED)
    world.settle()
    assert world.behind == 1  # until it is known where it is
    world.bringer.holder = "https://b.example"
    world.now += 30
    world.step()
    old, new = world.store.all()
    assert (new.target.kind, new.source.url) == (FollowKind.MOVED, "https://b.example")
    assert not new.source.is_named_by_operator
    there = world.source = FollowedSource()
    there.put(A, "second")
    there.put(C, "not followed")
    world.store.remove(old.id)
    world.bringer.source = there
    world.restarted()
    world.settle()
    assert world.titles == {A: "second", B: "other"}
    there.put(A, "third")
    world.settle()
    assert world.titles[A] == "third"


def moves(world: World, url: str) -> None:
    """The source answers at another address from now on, and the old one is found out to be silent."""
    world.source.url = world.bringer.holder = url
    asyncio.run(world.worker._follow(_Lane(_LaneKey(world.store.all()[0].source))))


@pytest.mark.parametrize(
    ("url", "keeps_token", "is_named"),
    [
        ("http://a.example:8765", "secret", True),
        ("https://a.example", "secret", True),
        ("http://a.example.org", None, False),
        ("http://b.example", None, False),
    ],
)
def test_a_source_that_moved_is_followed_where_it_is_and_keeps_what_is_known(
    world: World, url: str, keeps_token: str | None, *, is_named: bool
) -> None:
    world.source.put(A, "first")
    world.follow(token="secret")
    world.follow(FollowKind.PREFIX, "lab.br/arq")
    world.settle()
    moves(world, url)
    one, other = world.store.all()
    assert (one.source, other.source) == (SourceAddress(url, is_named), SourceAddress(url, is_named))
    assert (one.token, one.failing, one.epoch) == (keeps_token, None, "e1")
    world.bringer.fetched.clear()
    world.source.put(B, "second")
    world.settle()
    assert (world.titles, world.bringer.fetched.count(A)) == ({A: "first", B: "second"}, 0)


def test_a_follow_that_was_added_at_the_new_address_is_the_one_that_stays(world: World) -> None:
    world.source.put(A, "first")
    world.follow()
    world.settle()
    target = FollowTarget.of(FollowKind.ALL, "")
    world.store.add(Follow(id="new", target=target, source=SourceAddress("http://b.example"), created=NOW))
    moves(world, "http://b.example")
    assert [each.id for each in world.store.all()] == ["new"]


@pytest.mark.parametrize("archive", ["", "lab.br/other/2008/03.17.15.17"])
def test_another_archive_at_the_new_address_is_not_followed(world: World, archive: str) -> None:
    world.source.put(A, "first")
    world.follow()
    world.settle()
    world.source.archive = archive
    for _ in range(3):
        moves(world, "http://b.example")
        assert world.store.all()[0].source == SOURCE


def test_an_item_that_was_given_to_this_archive_is_not_followed_at_its_own_address(world: World) -> None:
    world.source.put(A, "first")
    world.follow()
    world.settle()
    world.worker._items._own_url = world.bringer.holder = "https://here.example"
    world.source.lose(A, ChangeKind.MOVED)
    world.settle()
    assert len(world.store.all()) == 1
    assert world.states == {FollowedState.OWN: 1}


def test_an_original_of_this_archive_is_never_asked_for(world: World) -> None:
    world.bringer.held[A] = item_named(A, "ours")
    world.source.put(A, "theirs")
    world.source.put(B, "theirs")
    world.follow()
    world.settle()
    assert world.titles == {A: "ours", B: "theirs"}
    assert world.bringer.fetched == [B]
    assert world.states == {FollowedState.OWN: 1, FollowedState.COPY: 1}


def test_a_copy_that_was_dropped_here_is_not_brought_again(world: World) -> None:
    world.source.put(A, "first")
    world.follow()
    world.settle()
    del world.bringer.held[A]
    world.source.put(A, "second")
    world.settle()
    assert world.titles == {}
    assert world.states == {FollowedState.DROPPED: 1}
    world.follow()
    world.settle()
    assert world.titles == {A: "second"}


def test_an_item_is_followed_alone_and_from_where_the_feed_ends(world: World) -> None:
    for label in (A, B, C, D):
        world.source.put(label, "first")
    world.follow(FollowKind.ITEM, B)
    world.settle()
    assert world.titles == {B: "first"}
    world.source.put(B, "second")
    world.source.put(C, "second")
    world.settle()
    assert world.titles == {B: "second"}
    assert all(after is None or after >= 4 for after, _ in world.source.asked)


def test_the_own_item_of_a_source_is_not_copied(world: World) -> None:
    world.source.put(world.source.archive, "Archive service")
    world.source.put(A, "a")
    world.follow()
    world.settle()
    assert world.titles == {A: "a"}


def test_a_copy_from_elsewhere_is_no_item_of_a_follow_whose_source_has_no_original(world: World) -> None:
    world.source.put(A, "a")
    world.bringer.held[A] = replace(item_named(A, "from elsewhere"), state=State.COPY, source="c.example")
    world.bringer.broken = {A}
    world.follow()
    world.settle()
    world.bringer.broken = set()
    world.source.lose(A)
    world.settle()
    assert world.titles == {A: "from elsewhere"}
    assert world.store.counts() == {}


def test_a_prefix_is_followed(world: World) -> None:
    other = "lab.br/other/2009/07.21.14.43"
    world.source.put(A, "a")
    world.source.put(other, "b")
    world.follow(FollowKind.PREFIX, "lab.br/other")
    world.settle()
    assert world.titles == {other: "b"}


def test_a_search_is_followed_by_what_it_finds_now_and_later(world: World) -> None:
    world.source.put(A, "rain forest")
    world.source.put(B, "desert")
    world.follow(FollowKind.SEARCH, "rain")
    world.settle()
    assert world.titles == {A: "rain forest"}
    world.source.put(B, "desert with rain")
    world.source.put(C, "desert too")
    world.source.put(A, "found no more, and followed all the same")
    world.settle()
    assert world.titles == {B: "desert with rain", A: "found no more, and followed all the same"}


def test_a_restricted_item_waits_alone_and_comes_with_a_token(world: World) -> None:
    world.bringer.restricted = {A}
    world.source.put(A, "restricted")
    world.source.put(B, "open")
    world.follow()
    world.settle()
    assert world.titles == {B: "open"}
    (counts,) = world.store.counts().values()
    assert (counts.waiting, counts.refused, counts.reason) == (1, 1, f"{A} is restricted.")
    world.follow(token="t0ken")
    world.settle()
    assert world.titles == {A: "restricted", B: "open"}


def test_a_refused_item_is_tried_again_after_a_while_that_doubles(world: World) -> None:
    world.bringer.restricted = {A}
    world.source.put(A, "restricted")
    world.follow()
    world.settle()
    first = world.store.next_due([world.store.all()[0].id])
    assert first == NOW + 30
    world.now += 30
    world.step()
    assert world.store.next_due([world.store.all()[0].id]) == NOW + 30 + 60


def test_a_source_that_is_away_is_told_and_one_poll_after_healing_all_is_here(world: World) -> None:
    world.source.put(A, "first")
    world.follow()
    world.settle()
    world.source.is_away = True
    with pytest.raises(SourceAway):
        world.step()
    world.source.put(A, "second")
    world.source.put(B, "new")
    world.source.is_away = False
    world.step(2)  # the poll, and the work that it brings
    assert world.titles == {A: "second", B: "new"}
    assert world.behind == 0


def rests(world: World, most: int) -> list[float]:
    """How long the job of the source rests after each of its first steps, up to so many rests."""
    follow = world.worker._follow
    lane = _Lane(_LaneKey(SOURCE))

    async def run() -> list[float]:
        found: list[float] = []
        while len(found) < most:
            found += [rest] if (rest := await follow(lane)) else []
        return found

    return asyncio.run(run())


def test_a_source_that_does_not_wait_is_asked_ever_more_rarely(world: World) -> None:
    world.follow()
    assert rests(world, 7) == [1, 2, 4, 8, 16, WAIT, WAIT]
    assert world.source.asked == [(None, 0)] + [(0, WAIT)] * 7


def test_follows_that_a_source_keeps_apart_do_not_ask_it_without_end(world: World) -> None:
    """One stands where the other has been, and the source tells neither of them anything."""
    world.follow()
    world.step()
    world.source.put(A, "held back")
    world.follow(FollowKind.ITEM, B)
    world.source.entries_told = 0
    assert rests(world, 3) == [1, 2, 4]


def test_a_source_that_tells_something_is_asked_again_at_once(world: World) -> None:
    for label in (A, B, C, D):
        world.source.put(label, "x")
    world.follow()
    rests(world, 1)
    assert [after for after, _ in world.source.asked] == [None, 0, 3, 4]


def test_a_connection_that_breaks_off_loses_nothing(world: World) -> None:
    for label in (A, B, C, D):
        world.source.put(label, "x")
    world.follow()
    world.bringer.fail = iter([False, True, True, True] * 50).__next__
    for _ in range(40):
        world.now += 60
        world.step()
    assert set(world.titles) == {A, B, C, D}


def test_an_item_that_always_breaks_off_keeps_nothing_else_waiting(world: World) -> None:
    world.bringer.broken = {A}
    world.source.put(A, "x")
    world.follow()
    world.settle()
    world.source.put(B, "y")
    world.settle()
    assert world.titles == {B: "y"}
    assert world.behind == 1


def test_a_feed_that_was_begun_again_is_compared_and_nothing_is_fetched_twice(world: World) -> None:
    for label in (A, B, C):
        world.source.put(label, "first")
    world.follow()
    world.settle()
    world.source.put(C, "second")
    world.source.lose(B)
    world.source.put(D, "new")
    del world.bringer.fetched[:]
    world.source.begin_again()
    world.settle()
    assert world.bringer.fetched == [C, D]
    assert world.titles == {A: "first", B: "first", C: "second", D: "new"}
    assert world.states == {FollowedState.COPY: 3, FollowedState.GONE: 1}
    assert world.behind == 0


def test_a_feed_that_ends_earlier_in_the_same_epoch_is_refused(world: World) -> None:
    for label in (A, B):
        world.source.put(label, "x")
    world.follow()
    world.settle()

    async def shorter(*_: object) -> SourcePage:
        return SourcePage("e1", 2, 1, ())

    world.source.page = shorter  # type: ignore[method-assign, assignment]
    with pytest.raises(SourceUnusable, match="ended at 2 before"):
        world.step()


def test_two_follows_of_one_source_share_its_polls(world: World) -> None:
    world.source.put(A, "a")
    world.follow()
    world.settle()
    world.follow(FollowKind.ITEM, A)
    world.settle()
    del world.source.asked[:]
    world.source.put(A, "b")
    world.step()
    assert len(world.source.asked) == 1
    assert {each.position for each in world.store.all()} == {2}


def test_a_worker_follows_what_is_added_while_it_runs_and_stops(world: World) -> None:
    async def run() -> None:
        runner = JobRunner()
        runner.add(*world.worker.jobs())
        runner.start()
        world.source.put(A, "a")
        world.follow()
        async with asyncio.timeout(30):
            while A not in world.titles:  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.01)
        await runner.stop()
        await world.worker.stop()

    asyncio.run(run())
    other = SqliteFollows(world.store._database._file.path.parent)
    assert other.hold()
    other.close()


def test_more_follows_than_steps_at_a_time_are_all_begun_and_go_on(world: World) -> None:
    worker = world.restarted()
    for number in range(_MOST_STEPS + 6):
        world.follow(FollowKind.SEARCH, f"word{number}")

    async def run() -> None:
        runner = JobRunner()
        runner.add(*worker.jobs())
        runner.start()
        async with asyncio.timeout(60):
            while not all(each.epoch for each in world.store.all()):  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.01)
            world.follow()
            world.source.put(A, f"word{_MOST_STEPS + 5}")
            while not all(each.position == 1 for each in world.store.all()):  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.01)
        await runner.stop()
        await worker.stop()

    asyncio.run(run())
    assert world.titles == {A: f"word{_MOST_STEPS + 5}"}


class _WaitingSource(FollowedSource):
    """A source that keeps each question for changes open, and counts those that are open."""

    waiting = most = 0

    async def page(self, source: SourceAddress, after: int | None, epoch: str, wait: int) -> SourcePage:
        found = await super().page(source, after, epoch, wait)
        if after is None or found.entries or not wait:
            return found
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await asyncio.sleep(wait)
        finally:
            self.waiting -= 1
        return found


def test_no_follow_keeps_the_turn_of_another_while_it_waits_for_its_source(world: World) -> None:
    source = world.source = _WaitingSource()
    world.bringer.source = source
    worker = world.restarted()
    for number in range(_MOST_STEPS):
        world.follow(FollowKind.SEARCH, f"word{number}")

    async def run() -> None:
        runner = JobRunner()
        runner.add(*worker.jobs())
        runner.start()
        async with asyncio.timeout(30):
            while source.waiting < _MOST_STEPS:  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.01)
            world.follow(FollowKind.SEARCH, "late")
            while not world.store.all()[-1].epoch:  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.01)
        await runner.stop()
        await worker.stop()

    asyncio.run(run())
    assert source.most <= _MOST_STEPS


def test_a_source_that_said_a_wrong_end_once_is_compared_from_its_beginning(world: World) -> None:
    for label in (A, B):
        world.source.put(label, "a")
    world.follow()
    world.settle()
    (follow,) = world.store.all()
    world.store.note_end(SOURCE.url, follow.epoch, 10**9)
    world.source.put(C, "c")
    for _ in range(2):
        with pytest.raises(SourceUnusable, match="ended at 1000000000 before"):
            world.step()
    world.settle()
    assert set(world.titles) == {A, B, C}
    assert world.bringer.fetched == [A, B, C]
    assert world.behind == 0


class _StuckSearch(FollowedSource):
    """A source that answers no question about what a search finds until it may."""

    async def find_among(self, *asked: Any) -> frozenset[RepositoryName]:
        self.stuck.set()
        await self.may.wait()
        return await super().find_among(*asked)

    def arm(self) -> None:
        self.stuck, self.may = asyncio.Event(), asyncio.Event()


def test_a_search_of_a_source_stops_none_of_its_other_follows(world: World) -> None:
    source = world.source = _StuckSearch()
    world.bringer.source = source
    worker = world.restarted()
    world.follow()
    world.follow(FollowKind.SEARCH, "rain")

    async def run() -> None:
        source.arm()
        runner = JobRunner()
        runner.add(*worker.jobs())
        runner.start()
        async with asyncio.timeout(30):
            while not all(each.epoch for each in world.store.all()):  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.01)
            source.put(A, "rain")
            await source.stuck.wait()
            source.put(B, "rain, too")
            while {A, B} != set(world.titles):  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.01)
            every, search = world.store.all()
            assert (every.position, search.position, search.end) == (2, 0, 2)
            source.may.set()
            while world.store.all()[1].position < 2:  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.01)
        await runner.stop()
        await worker.stop()

    asyncio.run(run())
    assert world.states == {FollowedState.COPY: 2}


class _WatchedSource(FollowedSource):
    """A source that looks, whenever it is asked, how far the follower says it is behind."""

    def watch(self, world: World) -> None:
        self.world, self.seen, self.told = world, list[tuple[int, int]](), set[str]()

    def look(self) -> None:
        if self.told:
            self.seen.append((len(self.told - set(self.world.titles)), self.world.behind))

    async def page(self, *asked: Any) -> SourcePage:
        self.look()
        found = await super().page(*asked)
        if self.world.store.all():
            self.told = set(self.items)  # each page tells where the feed ends
        return found

    async def search(self, *asked: Any) -> AsyncIterator[RepositoryName]:
        async for name in super().search(*asked):
            self.look()
            yield name

    async def find_among(self, *asked: Any) -> frozenset[RepositoryName]:
        self.look()
        return await super().find_among(*asked)


@pytest.mark.parametrize("kind", [FollowKind.ALL, FollowKind.SEARCH])
def test_the_lag_of_a_follow_is_never_nought_while_entries_are_missing(world: World, kind: FollowKind) -> None:
    source = world.source = _WatchedSource()
    world.bringer.source = source
    world.restarted()
    source.watch(world)
    for number in range(10, 30):
        source.put(name_of(number), "rain")
    text = "rain" if kind is FollowKind.SEARCH else ""
    sources = FollowAdmin(world.store, source, lambda: NOW)
    asyncio.run(sources.add(kind, text, SOURCE.url, None))
    assert world.behind == 20
    world.settle()
    for number in range(20, 50):
        source.put(name_of(number), "more rain")
    world.settle()
    source.begin_again()
    source.put(A, "rain after a rebuild")
    world.settle()
    assert world.behind == 0
    assert len(source.seen) > 20
    assert [(missing, behind) for missing, behind in source.seen if behind < missing] == []


def test_a_search_is_asked_about_a_whole_page_of_changes_at_once(world: World) -> None:
    world.follow(FollowKind.SEARCH, "rain")
    world.step()
    world.source.page_size = 1_000
    labels = [f"lab.br/arq/2009/07.21.{number // 60:02}.{number % 60:02}" for number in range(1_000)]
    for number, label in enumerate(labels):
        world.source.put(label, "rain" if number % 2 else "desert")
    world.step()
    assert world.source.searched == [250] * 4
    world.step(4)
    assert set(world.titles) == set(labels[1::2])
    assert world.behind == 0


def test_an_item_of_two_follows_of_a_source_is_fetched_once(world: World) -> None:
    world.follow()
    world.follow(FollowKind.SEARCH, "rain")
    world.settle()
    for number in range(10, 20):
        world.source.put(name_of(number), "rain")
    world.settle()
    assert sorted(world.bringer.fetched) == [name_of(number) for number in range(10, 20)]
    assert [each.states for each in world.store.counts().values()] == [{FollowedState.COPY: 10}] * 2


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("follower"))
    yield made
    made.store.close()


@given(seed=st.integers(0, 1 << 32))
def test_no_order_of_changes_crashes_cuts_and_rebuilds_loses_a_change(model: World, seed: int) -> None:
    chance, world = random.Random(seed), model
    for follow in world.store.all():
        world.store.remove(follow.id)
    source = world.source = FollowedSource()
    world.bringer, world.now = MemoryBringer(source, fail=lambda: chance.random() < 0.2), float(NOW)
    world.restarted()
    world.follow()
    asyncio.run(_live(world, chance))
    source.is_away, world.bringer.fail = False, lambda: False
    world.now += 1_000_000
    world.settle()
    for label, item in source.items.items():
        here = world.bringer.held.get(label)
        if item.state is State.ORIGINAL:
            assert here is not None
            assert (here.metadata, here.original_tombstone) == (item.metadata, None)
        elif here is not None:
            assert here.original_tombstone == item.tombstone
    assert world.behind == 0


async def _live(world: World, chance: random.Random) -> None:
    source, labels = world.source, [name_of(number) for number in range(6)]
    for turn in range(20):
        label, act = chance.choice(labels), chance.random()
        is_there = label in source.items and source.items[label].state is State.ORIGINAL
        if act < 0.4 and (is_there or label not in source.items):
            source.put(label, f"turn {turn}")
        elif act < 0.5 and is_there:
            source.delete(label)
        elif act < 0.55:
            source.begin_again()
        elif act < 0.6:
            source.is_away = not source.is_away
        else:
            await _step_or_crash(world, chance)


async def _step_or_crash(world: World, chance: random.Random) -> None:
    """A step that may be broken off at any point, as by SIGKILL; a new process goes on then."""
    task = asyncio.ensure_future(world.worker.step(world.store.all(), asyncio.Event()))
    if chance.random() < 0.5:
        for _ in range(chance.randrange(12)):
            await asyncio.sleep(0)
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    world.restarted()
