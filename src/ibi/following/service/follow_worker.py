"""Keeps the Copies of followed items up to date, while a server runs.

One job for each source reads its feed, for all follows except searches. Each search has its own job, because the
questions to the source would delay the other follows. The worker stores the entries of a feed together with the
position, and then works through them. So a killed process loses nothing, and no page is needed twice. A silent source
is asked again after a wait that doubles each time. When the source answers, one poll brings all missed entries.

If a Copy cannot be brought, its item waits by itself and delays nothing else. If the source began its feed again, the
worker reads the feed from its beginning. Then it fetches an item only if the version here differs.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.following.model.subscription import FeedEntry, Follow, FollowKind, SourceAddress, SourcePage, WantedItem
from ibi.following.ports.subscriptions import (
    Advance,
    FeedBegunAgain,
    FollowStore,
    SourceAway,
    SourceRecord,
    SourceUnusable,
)
from ibi.following.service.followed_items import Bringer, FollowedItems
from ibi.items.model.change import ChangeKind
from ibi.items.ports.catalog import Catalog
from ibi.jobs.runner import Job
from ibi.standard.errors import IbiError
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.holders import MOST_PREFIXES
from ibi.standard.messages.signatures import sign_follower
from ibi.standard.origin import Origin
from ibi.standard.signing import SigningKey
from ibi.standard.storage_errors import StorageError

_MOMENT: Final = 0.01

T = TypeVar("T")


class DaemonThreads:
    """Runs each call in its own daemon thread, so that the end of the process does not wait for a disk or a network.
    For one event loop.

    Each call may end at any point, as it may by SIGKILL.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._threads: set[threading.Thread] = set()

    async def __call__(self, call: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                value = call()
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                failure = error
                _tell(loop, future, lambda: future.set_exception(failure))
            else:
                _tell(loop, future, lambda: future.set_result(value))

        thread = threading.Thread(target=run, name=self._name, daemon=True)
        self._threads = {each for each in self._threads if each.is_alive()} | {thread}
        thread.start()
        return await future

    async def join(self, within: float) -> None:
        """Wait until all calls have ended, or for the given number of seconds."""
        until = time.monotonic() + within
        while any(each.is_alive() for each in self._threads) and time.monotonic() < until:  # noqa: ASYNC110 - threads
            await asyncio.sleep(_MOMENT)


def _tell(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], call: Callable[[], None]) -> None:
    def tell() -> None:
        if not future.done():
            call()

    try:
        loop.call_soon_threadsafe(tell)
    except RuntimeError:  # the loop has ended, and the caller too
        return


WAIT: Final = 20
"""Seconds for which a source is asked to wait for its next change."""
_LOOK: Final = 1.0
"""Seconds between two looks at the list of follows."""
_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0
"""Seconds until a silent source is asked again: the first and the longest rest. A source that answers without waiting
is asked again after at most `WAIT` seconds."""
_TOLERANCE: Final = 0.5
"""Maximum seconds by which an answer may come before the end of the wait."""
_AT_ONCE: Final = 2
"""Maximum groups of items of one source that are brought at the same time."""
_TOGETHER: Final = 100
"""Maximum items of a group."""
_BATCH: Final = _AT_ONCE * _TOGETHER
"""Number of items after which the worker looks at the feed again."""
_MOST_WAITING: Final = 10_000
"""Maximum waiting items. With more, the worker reads no further page of the feed."""
_MOST_STEPS: Final = 64
"""Maximum steps of jobs at the same time. If there are more jobs, no job waits at its source, so that each job has its
turn."""
_LOWER_BELIEVED: Final = 3
"""Number of consecutive answers that make the worker believe that the feed of a source ends lower than before."""
_ASKED_AT_ONCE: Final = 250
"""Number of entries that are checked by the source's search before the position moves on."""
_STOP: Final = 5.0
"""Maximum seconds that a stop waits for Copies under way."""


class SourceGateway(Protocol):
    """Asks Archives for followed items. Answers are limited in size and time, and checked. A call raises `SourceAway`
    if there is no answer, and `SourceUnusable` for an answer that no Archive gives. The token is sent only to the
    source."""

    async def page(self, source: SourceAddress, after: int | None, epoch: str, wait: int) -> SourcePage:
        """Return the entries after that number, waiting at most `wait` seconds for an entry. Without a number, return
        the end of the feed. Raise `FeedBegunAgain` if the feed has another epoch, or ends before that number."""

    async def record(self, source: SourceAddress, label: Label, token: str | None) -> SourceRecord | None:
        """Return the source's record of the item; None if the source does not have the item."""

    def search(self, source: SourceAddress, words: str, token: str | None) -> AsyncIterator[RepositoryName]:
        """Yield the names of all items that a search finds at the source."""

    async def find_among(
        self, source: SourceAddress, words: str, names: Collection[RepositoryName], token: str | None
    ) -> frozenset[RepositoryName]:
        """Return the items among `names` that the search finds. One request asks for all names."""


class FollowerIntroduction:
    """Sends a source a signed statement that this Archive keeps Copies of its items. Only follows of the whole source
    or of prefixes count, because other Archives do not know the items of a search. Blocks."""

    def __init__(self, store: FollowStore, key: Callable[[], SigningKey], now: Callable[[], float]) -> None:
        self._store, self._key, self._now = store, key, now

    def __call__(self, url: str) -> str | None:
        """Return the statement for the source at that address; None if neither the whole source nor a prefix is
        followed."""
        targets = [each.target for each in self._store.all() if each.source.url == url]
        has_all = any(each.kind is FollowKind.ALL for each in targets)
        prefixes = {each.text for each in targets if each.kind is FollowKind.PREFIX}
        if not has_all and not 0 < len(prefixes) <= MOST_PREFIXES:
            return None
        at = int(self._now() * 1000)
        return sign_follower(() if has_all else prefixes, url, at, self._key())


class StepOutcome(Enum):
    """The last answer of a source, which decides when to ask it again."""

    READ = auto()
    """Ask at once: the source answers when it has something to tell."""
    BEGUN = auto()
    """A follow was begun, for the first time or again."""
    EMPTY_EARLY = auto()
    """The source had nothing to tell and did not wait. Asked at once, it would be asked again and again without a
    pause."""


class _LaneKey(NamedTuple):
    """The work of one job: a search, or all other follows of a source."""

    source: SourceAddress
    search: str = ""
    """The id of a follow of the kind search; empty for all other follows of the source."""

    @classmethod
    def of(cls, follow: Follow) -> _LaneKey:
        return cls(follow.source, follow.id if follow.target.kind is FollowKind.SEARCH else "")

    @property
    def job(self) -> str:
        if self.search:
            return f"follow {self.search}"
        return f"follow {self.source.url}{'' if self.source.is_named_by_operator else ' (added over the API)'}"


@dataclass(slots=True)
class _Lane:
    """The memory of one job from step to step."""

    key: _LaneKey
    follows: list[tuple[str, str | None]] = field(default_factory=list)
    """Ids and tokens."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to end the waiting for the feed."""
    rest: float = _FIRST_REST
    begun: int = 0
    """The number of consecutive times that the feed was begun."""


class FollowWorker:
    """Runs on the event loop of a server. If several processes share a data directory, one process works, and another
    takes over when it ends."""

    def __init__(
        self,
        store: FollowStore,
        sources: SourceGateway,
        bringer: Bringer,
        catalog: Catalog,
        *,
        log: FilteringBoundLogger | None = None,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        own_url: str | None = None,
    ) -> None:
        """`own_url` is the address of this Archive, which does not follow itself."""
        self._store, self._sources = store, sources
        self._log = log or structlog.get_logger("ibi.follow")
        self._now, self._chance = now, chance
        self._in_thread = DaemonThreads("ibi-follow")
        self._items = FollowedItems(store, bringer, catalog, now, self._log, own_url)
        self._lanes: dict[_LaneKey, _Lane] = {}
        self._lower: dict[str, int] = {}
        """For the id of each follow, the number of consecutive times that its feed ended lower than before."""
        self._turns = asyncio.Semaphore(_MOST_STEPS)
        self._job = Job("follows", self._look, _LOOK, hold=store.hold, halt=self._items.stop)

    def jobs(self) -> tuple[Job, ...]:
        return (self._job,)

    async def stop(self) -> None:
        """Let another process take over. Called when the jobs have ended."""
        await self._in_thread.join(_STOP)
        await asyncio.to_thread(self._store.release)

    async def _look(self) -> None:
        """Run a job for each source and for each search. Wake the jobs of changed follows."""
        runner = self._job.runner
        assert runner is not None
        wanted: dict[_LaneKey, list[tuple[str, str | None]]] = {}
        for follow in await self._in_thread(self._store.all):
            wanted.setdefault(_LaneKey.of(follow), []).append((follow.id, follow.token))
        for key, lane in list(self._lanes.items()):
            if key not in wanted:
                del self._lanes[key]
                runner.remove(key.job)
            elif wanted[key] != lane.follows:
                lane.follows = wanted[key]
                lane.changed.set()
                runner.wake(key.job)
        if len(self._lanes) <= _MOST_STEPS < len(wanted):
            for lane in self._lanes.values():
                lane.changed.set()  # none waits at its source from now on
        for key in sorted(wanted, key=lambda key: bool(key.search)):
            if key not in self._lanes:
                lane = self._lanes[key] = _Lane(key, wanted[key])
                runner.add(Job(key.job, partial(self._follow, lane), _LOOK))

    async def _follow(self, lane: _Lane) -> float:
        """Work on the follows of a lane. Return the seconds to rest."""
        follows = [each for each in await self._in_thread(self._store.all) if _LaneKey.of(each) == lane.key]
        if not follows:
            return _LOOK
        try:
            async with self._turns:
                outcome = await self.step(follows, lane.changed)
        except (SourceAway, SourceUnusable) as error:
            await self._note_failure(follows, error)
            # Follows at the new address have their own job.
            return _LOOK if await self._has_moved(lane.key.source, follows) else self._rest_longer(lane)
        lane.begun = lane.begun + 1 if outcome is StepOutcome.BEGUN else 0
        if outcome is StepOutcome.EMPTY_EARLY:
            lane.rest = min(lane.rest, WAIT)
        elif lane.begun < 2:
            lane.rest = _FIRST_REST
            return 0.0
        # A feed that begins again and again would be read from its beginning for ever.
        return self._rest_longer(lane)

    def _rest_longer(self, lane: _Lane) -> float:
        rest, lane.rest = lane.rest, min(2 * lane.rest, _LONGEST_REST)
        return rest * (0.5 + self._chance())

    async def _has_moved(self, source: SourceAddress, follows: Sequence[Follow]) -> bool:
        """Return whether a silent source has moved. It has moved if the resolver knows another address, and the server
        there says that it is the same Archive. From now on the Archive is followed at that address, from the same
        position. The token is not sent to another host."""
        place = await self._find_new_address(source, {each.archive for each in follows} - {""})
        if place is None:
            return False
        before, now = Origin.of_url(source.url), Origin.of_url(place.url)
        is_safe = _is_same_host(before, now) and now.scheme in ("https", before.scheme)
        for each in follows:
            await self._in_thread(lambda each=each: self._store.relocate(each.id, place, keeps_token=is_safe))  # type: ignore[misc]
        lost = [each.id for each in follows if each.token is not None and not is_safe]
        told = {"source": source.url, "now": place.url, "without_token": lost}
        self._log.info("a source has moved, and is followed where it is", **told)
        return True

    async def _find_new_address(self, source: SourceAddress, archives: Set[str]) -> SourceAddress | None:
        """Return another address at which the only one of these Archives answers now."""
        if len(archives) != 1:
            return None
        (name,) = archives
        try:
            url = await self._in_thread(lambda: self._items.find_holder(RepositoryName.parse(name)))
            is_same_host = _is_same_host(Origin.of_url(source.url), Origin.of_url(url))
            place = SourceAddress(url, is_named_by_operator=source.is_named_by_operator and is_same_host)
            is_there = url != source.url and (await self._sources.page(place, None, "", 0)).archive == name
        except IbiError:
            return None
        return place if is_there else None

    async def step(self, follows: Sequence[Follow], changed: asyncio.Event) -> StepOutcome:
        """Bring the due items of follows of one source, then read its feed. `changed` ends the waiting for the feed."""
        source, ids = follows[0].source, [each.id for each in follows]
        new = [each for each in follows if not each.epoch]
        if new:
            await self._begin(source, new)
            return StepOutcome.BEGUN
        items = await self._in_thread(lambda: self._store.due(ids, int(self._now()), _MOST_WAITING + 1))
        await self._bring(source, items[:_BATCH], {each.id: each.token for each in follows})
        if len(items) > _MOST_WAITING:  # otherwise later entries would wait until the source answers
            return StepOutcome.READ
        return await self._read(source, follows, changed, is_busy=len(items) > _BATCH)

    async def _bring(
        self, source: SourceAddress, items: Sequence[WantedItem], tokens: Mapping[str, str | None]
    ) -> None:
        """Bring the items, several groups at the same time. An item that fails waits by itself: the feed shows whether
        the source answers at all."""
        limit = asyncio.Semaphore(_AT_ONCE)

        async def bring(follow: str, group: Sequence[WantedItem]) -> None:
            async with limit:
                await self._in_thread(lambda: self._items.bring(source, group, tokens.get(follow)))

        groups = [(follow, group) for follow in tokens for group in _groups(items, follow)]
        for outcome in await asyncio.gather(*(bring(*each) for each in groups), return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    async def _begin(self, source: SourceAddress, follows: Sequence[Follow]) -> None:
        """Find the end of the feed, and the items that are followed by name. All other items come from the feed."""
        place = await self._sources.page(source, None, "", 0)
        # Listing the items of a search is slow. Meanwhile the follow is behind by the whole feed.
        ids = [each.id for each in follows]
        await self._in_thread(lambda: self._store.expect(ids, place.end))
        for follow in follows:
            seeds = [_seed(name) async for name in self._seeds(source, follow)]
            is_by_name = follow.target.kind in (FollowKind.ITEM, FollowKind.SEARCH, FollowKind.MOVED)
            position = place.end if is_by_name else 0
            begin = follow.id, place.epoch, position, place.end, seeds
            await self._in_thread(lambda begin=begin: self._store.begin(*begin))  # type: ignore[misc]
            self._log.info("a source is followed", source=source.url, what=str(follow.target), until=place.end)

    async def _seeds(self, source: SourceAddress, follow: Follow) -> AsyncIterator[RepositoryName]:
        if follow.target.kind is FollowKind.ITEM:
            yield RepositoryName.parse(follow.target.text)
        elif follow.target.kind is FollowKind.SEARCH:
            async for name in self._sources.search(source, follow.target.text, follow.token):
                yield name

    async def _read(
        self, source: SourceAddress, follows: Sequence[Follow], changed: asyncio.Event, *, is_busy: bool
    ) -> StepOutcome:
        """Take in one page for each position of the source's follows. At the end of the feed, all follows have the same
        position."""
        groups = _group_by_position(follows)
        is_shared = len(self._lanes) > _MOST_STEPS or len(groups) > 1
        wait = 0 if is_busy or is_shared else await self._longest_wait([each.id for each in follows])
        asked, is_told = asyncio.get_running_loop().time(), is_busy
        for there in groups:
            try:
                is_told |= await self._read_page(source, there, wait, changed)
            except FeedBegunAgain:
                await self._begin(source, there)
                return StepOutcome.BEGUN
        is_early = is_shared or asyncio.get_running_loop().time() - asked < wait - _TOLERANCE
        return StepOutcome.EMPTY_EARLY if is_early and not is_told else StepOutcome.READ

    async def _read_page(
        self, source: SourceAddress, follows: Sequence[Follow], wait: int, changed: asyncio.Event
    ) -> bool:
        """Take in the page after the position that the follows share.

        Return False if the source had nothing to tell. `FeedBegunAgain` if the follows have to be compared with the
        feed from its beginning.
        """
        try:
            page = await self._wait_for_page(source, follows[0].epoch, follows[0].position, wait, changed)
        except FeedBegunAgain:
            self._log.warning("a feed was begun again; it is compared from its beginning", source=source.url)
            raise
        if page is None:
            return True
        if self._ends_lower(source, follows, page):
            self._log.warning("a feed ends lower; it is compared from its beginning", source=source.url)
            raise FeedBegunAgain(source=source.url)
        await self._take_in(source, follows, page)
        return bool(page.entries)

    def _ends_lower(self, source: SourceAddress, follows: Sequence[Follow], page: SourcePage) -> bool:
        """Return whether the source has said often enough that its feed ends lower than before. Then the higher number
        was wrong, or those entries are gone. Raise `SourceUnusable` if the source has said so only a few times."""
        key, end = follows[0].id, max(each.end for each in follows)
        if page.end >= end:
            self._lower.pop(key, None)
            return False
        times = self._lower[key] = self._lower.get(key, 0) + 1
        if times < _LOWER_BELIEVED:
            reason = f"its feed ended at {end} before and ends at {page.end} now, in the same epoch"
            raise SourceUnusable(source=source.url, reason=reason)
        del self._lower[key]
        return True

    async def _longest_wait(self, ids: Sequence[str]) -> int:
        due = await self._in_thread(lambda: self._store.next_due(ids))
        return WAIT if due is None else max(0, min(WAIT, due - int(self._now())))

    async def _wait_for_page(
        self, source: SourceAddress, epoch: str, position: int, wait: int, changed: asyncio.Event
    ) -> SourcePage | None:
        """Return the page; None if the follows change before a page comes."""
        page = asyncio.ensure_future(self._sources.page(source, position, epoch, wait))
        woken = asyncio.ensure_future(changed.wait())
        try:
            await asyncio.wait((page, woken), return_when=asyncio.FIRST_COMPLETED)
            if not page.done():
                changed.clear()
                return None
            return page.result()
        finally:
            for each in (page, woken):
                each.cancel()

    async def _take_in(self, source: SourceAddress, follows: Sequence[Follow], page: SourcePage) -> None:
        # All follows of the source are that far behind, even if their own job is still busy with an earlier page.
        await self._in_thread(lambda: self._store.note_end(source.url, page.epoch, page.end))
        has_search = any(each.target.kind is FollowKind.SEARCH for each in follows)
        for part in _parts(page, _ASKED_AT_ONCE if has_search else len(page.entries)):
            advances = [
                Advance(
                    each.id,
                    part.epoch,
                    part.after,
                    part.end,
                    await self._select_concerned(source, each, part),
                    part.archive,
                )
                for each in follows
            ]
            await self._in_thread(lambda advances=advances: self._store.advance(advances, int(self._now())))  # type: ignore[misc]
        for follow in follows:
            if follow.until is not None and page.after >= follow.until:
                unseen = await self._in_thread(lambda follow=follow: self._store.end_round(follow.id))  # type: ignore[misc]
                if unseen:
                    self._log.info("items are looked at of which the feed does not tell", number=unseen)

    async def _select_concerned(self, source: SourceAddress, follow: Follow, page: SourcePage) -> tuple[FeedEntry, ...]:
        """Return the entries that concern the follow. For a search, ask the source about unknown items. The source's
        own item is left out: resolvers find the source by it, but it is not one of its holdings."""
        is_item = follow.target.kind is FollowKind.ITEM
        names = {
            each.label: RepositoryName.parse(each.label)
            for each in page.entries
            if is_item or each.label != page.archive
        }
        taken = {label for label, name in names.items() if follow.target.takes(name)}
        undecided = {label: name for label, name in names.items() if follow.target.takes(name) is None}
        if undecided:
            taken |= await self._find_held_or_matching(source, follow, page, undecided)
        return tuple(each for each in page.entries if each.label in taken)

    async def _find_held_or_matching(
        self, source: SourceAddress, follow: Follow, page: SourcePage, names: Mapping[str, RepositoryName]
    ) -> Set[str]:
        """Return the items that the follow already has. For a search, add the items that the source finds now."""
        held = await self._in_thread(lambda: self._store.held_among(follow.id, names.keys()))
        put = {each.label for each in page.entries if each.kind is ChangeKind.PUT}
        asked = [names[label] for label in (names.keys() & put) - held]
        if not asked or follow.target.kind is not FollowKind.SEARCH:
            return held
        found = await self._sources.find_among(source, follow.target.text, asked, follow.token)
        return held | {str(name) for name in found}

    async def _note_failure(self, follows: Sequence[Follow], error: IbiError) -> None:
        ids, reason = [each.id for each in follows], str(error.parameters.get("reason", error))
        if any(each.reason != reason for each in follows):  # once, not at every attempt
            self._log.warning("a source cannot be followed at the moment", source=follows[0].source.url, reason=reason)
        try:
            await self._in_thread(lambda: self._store.note_failure(ids, reason, int(self._now())))
        except StorageError as refused:
            self._log.error("how far a follow has come is not noted", reason=str(refused))


def _group_by_position(follows: Sequence[Follow]) -> list[list[Follow]]:
    """Return the follows of a source in groups with the same position in its feed."""
    groups: dict[tuple[str, int], list[Follow]] = {}
    for each in sorted(follows, key=lambda each: (each.epoch, each.position)):
        groups.setdefault((each.epoch, each.position), []).append(each)
    return list(groups.values())


def _is_same_host(one: Origin, other: Origin) -> bool:
    return one.host.lower() == other.host.lower()


def _parts(page: SourcePage, most: int) -> Iterator[SourcePage]:
    """Yield the page in parts of that many entries. Work can resume after each part."""
    entries = page.entries
    for start in range(0, len(entries) or 1, most or 1):
        part = entries[start : start + most]
        is_last = start + most >= len(entries)
        yield page._replace(entries=part, after=page.after if is_last else part[-1].number)


def _groups(items: Sequence[WantedItem], follow: str) -> Iterator[Sequence[WantedItem]]:
    wanted = [each for each in items if each.follow == follow]
    for start in range(0, len(wanted), _TOGETHER):
        yield wanted[start : start + _TOGETHER]


def _seed(name: RepositoryName) -> FeedEntry:
    return FeedEntry(0, str(name), ChangeKind.PUT, "", 0)
