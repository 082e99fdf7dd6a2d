"""Keeps the Copies of what is followed up to date, while a server runs.

For each source one task reads its feed: what it tells is written down with the position in one step, and then worked
off. So nothing is lost when the process is killed at any point, and a page that was read is not needed again. A source
that does not answer is asked again after a while that doubles; when it answers, one poll tells all that was missed.

An item whose Copy cannot be brought waits by itself, and keeps nothing else waiting. A feed that was begun again is
read from its beginning, and compared: of what is held in the version that it tells, nothing is fetched.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Protocol, TypeVar

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.errors import IbiError
from ibi.label import Label, RepositoryName
from ibi.model.change import ChangeKind
from ibi.model.subscription import FeedEntry, Follow, FollowKind, SourceAddress, SourcePage, WantedItem
from ibi.origin import Origin
from ibi.ports.catalog import Catalog
from ibi.ports.copies import Advance, FeedBegunAgain, FollowStore, SourceAway, SourceRecord, SourceUnusable
from ibi.ports.errors import StorageError
from ibi.services.subscriptions.followed_items import Bringer, FollowedItems

# --- threads ----------------------------------------------------------------------------------------------------------

# Calls that wait for a disk or a network, in threads for which the end of the process does not wait.
#
# What runs here is safe at any point, as it is against SIGKILL.

_MOMENT: Final = 0.01

T = TypeVar("T")


class DaemonThreads:
    """Makes each call in a thread of its own. For one event loop."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._threads: set[threading.Thread] = set()

    async def __call__(self, call: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                value = call()
            except BaseException as error:  # noqa: BLE001 - handed to whom it belongs
                failure = error
                _tell(loop, future, lambda: future.set_exception(failure))
            else:
                _tell(loop, future, lambda: future.set_result(value))

        thread = threading.Thread(target=run, name=self._name, daemon=True)
        self._threads = {each for each in self._threads if each.is_alive()} | {thread}
        thread.start()
        return await future

    async def join(self, within: float) -> None:
        """Wait until all calls have ended, at most so many seconds."""
        until = time.monotonic() + within
        while any(each.is_alive() for each in self._threads) and time.monotonic() < until:  # noqa: ASYNC110 - threads
            await asyncio.sleep(_MOMENT)


def _tell(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], call: Callable[[], None]) -> None:
    def tell() -> None:
        if not future.done():
            call()

    try:
        loop.call_soon_threadsafe(tell)
    except RuntimeError:  # the loop has ended, and the caller with it
        return


WAIT: Final = 20
"""Seconds for which a source is asked to wait for its next change."""
_LOOK: Final = 1.0
"""Seconds between two looks at what is to be followed."""
_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0
"""Seconds after which a source is asked again that does not answer, at first and at most. One that does not wait is
asked again after at most `WAIT` seconds."""
_TOLERANCE: Final = 0.5
"""Seconds by which an answer may come before the wait is over."""
_AT_ONCE: Final = 2
"""Groups of items of one source that are brought at a time."""
_TOGETHER: Final = 100
"""Items of a group."""
_BATCH: Final = _AT_ONCE * _TOGETHER
"""Items after which the feed is looked at again."""
_MOST_WAITING: Final = 10_000
"""Items that wait their turn before more of the feed is read."""
_MOST_SOURCES: Final = 64
"""Sources at a time; others have to wait until one is not followed any more."""
_STOP: Final = 5.0
"""Seconds that a stop waits for what is being brought."""


class SourceGateway(Protocol):
    """Asks Archives for what is followed there. Answers are bounded, in size and in time, and checked. A call raises
    `SourceAway` if there is none, `SourceUnusable` if it is not one that an Archive gives. The token is sent to the
    source alone."""

    async def page(self, source: SourceAddress, after: int | None, epoch: str, wait: int) -> SourcePage:
        """The entries after that number, once there is one, for which at most `wait` seconds are waited. Without a
        number, where the feed ends. `FeedBegunAgain` if it has another epoch, or ends before that number."""

    async def record(self, source: SourceAddress, label: Label, token: str | None) -> SourceRecord | None:
        """What the source says of the item; None if it does not have it."""

    def search(self, source: SourceAddress, words: str, token: str | None) -> AsyncIterator[RepositoryName]:
        """The names of all items that a search finds there."""

    async def is_found(self, source: SourceAddress, words: str, name: RepositoryName, token: str | None) -> bool:
        """Whether the search finds that item, too."""


class StepOutcome(Enum):
    """What the last answer of a source says about when to ask it again."""

    READ = auto()
    """At once: the source answers when it has something to tell."""
    BEGUN = auto()
    """A follow was begun, at first or again."""
    EMPTY_EARLY = auto()
    """The source had nothing to tell and did not wait: asked at once, it would be asked without end."""


@dataclass(slots=True)
class _SourceTask:
    task: asyncio.Task[None]
    changed: asyncio.Event
    """Set to end the waiting for its feed."""
    follows: list[tuple[str, str | None]]
    """Ids and tokens of what is followed there."""


class FollowWorker:
    """Runs on the event loop of a server, which it neither delays nor stops by an error. Of several processes on one
    data directory one works; when it ends, another takes over."""

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
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        own_url: str | None = None,
    ) -> None:
        """`own_url` is the address of this Archive, which does not follow itself."""
        self._store, self._sources = store, sources
        self._log = log or structlog.get_logger("ibi.follow")
        self._now, self._chance, self._sleep = now, chance, sleep
        self._in_thread = DaemonThreads("ibi-follow")
        self._items = FollowedItems(store, bringer, catalog, now, self._log, own_url)
        self._tasks: dict[SourceAddress, _SourceTask] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the work; called on the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="follows")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        self._items.stop()
        tasks = [task, *(each.task for each in self._tasks.values())]
        for each in tasks:
            each.cancel()
        await asyncio.wait(tasks, timeout=_STOP)
        await self._in_thread.join(_STOP)
        self._store.release()

    # --- which sources there are ---

    async def _run(self) -> None:
        while True:
            try:
                if await self._in_thread(self._store.hold):
                    await self._look()
            except StorageError as error:
                self._log.error("what is followed cannot be looked at", reason=str(error))
            await self._sleep(_LOOK)

    async def _look(self) -> None:
        """Have one task for each source, and wake those of which something else is followed than before."""
        wanted: dict[SourceAddress, list[tuple[str, str | None]]] = {}
        for follow in await self._in_thread(self._store.all):
            wanted.setdefault(follow.source, []).append((follow.id, follow.token))
        for source, known in list(self._tasks.items()):
            if known.task.done():
                del self._tasks[source]
            elif wanted.get(source, []) != known.follows:
                known.follows = wanted.get(source, [])
                known.changed.set()
        for source, follows in wanted.items():
            if source not in self._tasks and len(self._tasks) < _MOST_SOURCES:
                changed = asyncio.Event()
                task = asyncio.get_running_loop().create_task(self._follow(source, changed), name=source.url)
                self._tasks[source] = _SourceTask(task, changed, follows)

    # --- one source ---

    async def _follow(self, source: SourceAddress, changed: asyncio.Event) -> None:
        rest, begun = _FIRST_REST, 0
        while follows := [each for each in await self._in_thread(self._store.all) if each.source == source]:
            ids = [each.id for each in follows]
            try:
                outcome = await self.step(follows, changed)
                begun = begun + 1 if outcome is StepOutcome.BEGUN else 0
                if outcome is StepOutcome.EMPTY_EARLY:
                    rest = min(rest, WAIT)
                elif begun < 2:
                    rest = _FIRST_REST
                    continue
                # A feed that begins again and again would be read from its beginning for ever.
                await self._sleep(rest * (0.5 + self._chance()))
                rest = min(2 * rest, _LONGEST_REST)
            except (SourceAway, SourceUnusable, StorageError) as error:
                await self._note_failure(follows, error)
                if await self._has_moved(source, follows):
                    return  # what is followed at the new address has a task of its own
                await self._sleep(rest * (0.5 + self._chance()))
                rest = min(2 * rest, _LONGEST_REST)
            except asyncio.CancelledError:
                raise
            except Exception:  # noqa: BLE001 - the server goes on, and so do the other sources
                self._log.error("a source is not followed for a while", source=source.url, follows=ids, exc_info=True)
                await self._sleep(_LONGEST_REST)

    async def _has_moved(self, source: SourceAddress, follows: Sequence[Follow]) -> bool:
        """Whether a source that does not answer is at another address, as the resolver says, and says itself that it is
        the same Archive: it is followed there from now on, where it was. Its token is not sent to another host."""
        name = next((each.archive for each in follows if each.archive), "")
        if not name or any(each.archive not in ("", name) for each in follows):
            return False
        try:
            url = await self._in_thread(lambda: self._items.find_holder(RepositoryName.parse(name)))
            is_same_host = Origin.of_url(url).host.lower() == Origin.of_url(source.url).host.lower()
            place = SourceAddress(url, is_named_by_operator=source.is_named_by_operator and is_same_host)
            is_there = url != source.url and (await self._sources.page(place, None, "", 0)).archive == name
        except IbiError:
            return False
        if not is_there:
            return False
        is_safe = is_same_host and Origin.of_url(url).scheme in ("https", Origin.of_url(source.url).scheme)
        for each in follows:
            await self._in_thread(lambda each=each: self._store.relocate(each.id, place, keeps_token=is_safe))  # type: ignore[misc]
        lost = [each.id for each in follows if each.token is not None and not is_safe]
        told = {"source": source.url, "now": url, "without_token": lost}
        self._log.info("a source has moved, and is followed where it is", **told)
        return True

    async def step(self, follows: Sequence[Follow], changed: asyncio.Event) -> StepOutcome:
        """Work off what is due of follows of one source, then read its feed. `changed` ends the waiting for the
        feed."""
        source, ids = follows[0].source, [each.id for each in follows]
        new = [each for each in follows if not each.epoch]
        if new:
            await self._begin(source, new)
            return StepOutcome.BEGUN
        items = await self._in_thread(lambda: self._store.due(ids, int(self._now()), _MOST_WAITING + 1))
        await self._bring(source, items[:_BATCH], {each.id: each.token for each in follows})
        if len(items) > _MOST_WAITING:  # what is told later is no longer behind for waiting at the source
            return StepOutcome.READ
        return await self._read(source, follows, changed, is_busy=len(items) > _BATCH)

    async def _bring(
        self, source: SourceAddress, items: Sequence[WantedItem], tokens: Mapping[str, str | None]
    ) -> None:
        """Bring those items, a group of one follow beside another. Each that cannot be brought waits by itself: whether
        the source answers at all, its feed tells."""
        limit = asyncio.Semaphore(_AT_ONCE)

        async def bring(follow: str, group: Sequence[WantedItem]) -> None:
            async with limit:
                await self._in_thread(lambda: self._items.bring(source, group, tokens.get(follow)))

        groups = [(follow, group) for follow in tokens for group in _groups(items, follow)]
        for outcome in await asyncio.gather(*(bring(*each) for each in groups), return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    # --- the feed ---

    async def _begin(self, source: SourceAddress, follows: Iterable[Follow]) -> None:
        """Find out where the feed ends, and what is followed by name; the rest follows from the feed."""
        place = await self._sources.page(source, None, "", 0)
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
        """Take in one page for each position at which follows of the source stand; they meet at the end of the feed."""
        places = sorted({(each.epoch, each.position) for each in follows})
        wait = 0 if is_busy or len(places) > 1 else await self._longest_wait([each.id for each in follows])
        asked, is_told = asyncio.get_running_loop().time(), is_busy
        for epoch, position in places:
            there = [each for each in follows if (each.epoch, each.position) == (epoch, position)]
            try:
                page = await self._wait_for_page(source, epoch, position, wait, changed)
            except FeedBegunAgain:
                self._log.warning("a feed was begun again; it is compared from its beginning", source=source.url)
                await self._begin(source, there)
                return StepOutcome.BEGUN
            if page is not None:
                await self._take_in(source, there, page)
            is_told = is_told or page is None or bool(page.entries)
        is_early = len(places) > 1 or asyncio.get_running_loop().time() - asked < wait - _TOLERANCE
        return StepOutcome.EMPTY_EARLY if is_early and not is_told else StepOutcome.READ

    async def _longest_wait(self, ids: Sequence[str]) -> int:
        due = await self._in_thread(lambda: self._store.next_due(ids))
        return WAIT if due is None else max(0, min(WAIT, due - int(self._now())))

    async def _wait_for_page(
        self, source: SourceAddress, epoch: str, position: int, wait: int, changed: asyncio.Event
    ) -> SourcePage | None:
        """The page; None if something else is to be followed before there is one."""
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
        for follow in follows:
            if page.end < follow.end:
                reason = f"its feed ended at {follow.end} before and ends at {page.end} now, in the same epoch"
                raise SourceUnusable(source=source.url, reason=reason)
        advances = [
            Advance(
                each.id,
                page.epoch,
                page.after,
                page.end,
                await self._select_concerned(source, each, page),
                page.archive,
            )
            for each in follows
        ]
        await self._in_thread(lambda: self._store.advance(advances, int(self._now())))
        for follow in follows:
            if follow.until is not None and page.after >= follow.until:
                unseen = await self._in_thread(lambda follow=follow: self._store.end_round(follow.id))  # type: ignore[misc]
                if unseen:
                    self._log.info("items are looked at of which the feed does not tell", number=unseen)

    async def _select_concerned(self, source: SourceAddress, follow: Follow, page: SourcePage) -> tuple[FeedEntry, ...]:
        """The entries that concern the follow. Of a search the source is asked, for items that are not known yet. The
        source's own item, by which resolvers find it, is no part of what it keeps."""
        found: list[FeedEntry] = []
        for entry in page.entries:
            if entry.label == page.archive and follow.target.kind is not FollowKind.ITEM:
                continue
            name = RepositoryName.parse(entry.label)
            takes = follow.target.takes(name)
            if takes is None:
                takes = await self._is_found(source, follow, entry, name)
            if takes:
                found.append(entry)
        return tuple(found)

    async def _is_found(self, source: SourceAddress, follow: Follow, entry: FeedEntry, name: RepositoryName) -> bool:
        if await self._in_thread(lambda: self._store.holds(follow.id, entry.label)):
            return True
        may_be = entry.kind is ChangeKind.PUT and follow.target.kind is FollowKind.SEARCH
        return may_be and await self._sources.is_found(source, follow.target.text, name, follow.token)

    async def _note_failure(self, follows: Sequence[Follow], error: IbiError) -> None:
        ids, reason = [each.id for each in follows], str(error.parameters.get("reason", error))
        if any(each.reason != reason for each in follows):  # once, not at every attempt
            self._log.warning("a source cannot be followed at the moment", source=follows[0].source.url, reason=reason)
        try:
            await self._in_thread(lambda: self._store.note_failure(ids, reason, int(self._now())))
        except StorageError as refused:
            self._log.error("how far a follow has come is not noted", reason=str(refused))


def _groups(items: Sequence[WantedItem], follow: str) -> Iterator[Sequence[WantedItem]]:
    wanted = [each for each in items if each.follow == follow]
    for start in range(0, len(wanted), _TOGETHER):
        yield wanted[start : start + _TOGETHER]


def _seed(name: RepositoryName) -> FeedEntry:
    return FeedEntry(0, str(name), ChangeKind.PUT, "", 0)
