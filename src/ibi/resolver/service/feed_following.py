"""Follows the feeds of changes of other Archives, so that cached answers are never older than the feeds (E84, E99).

An Archive that names its feed at its inclusion is followed as soon as one of its answers is to be cached. It is
followed until no answer was to be cached for a minute and none is cached any more. Its server answers as soon as
something changes, so a changed answer is dropped here within a fraction of a second. Its pages also report deletions,
and statements about Copies. If a feed falls silent, begins again or cannot be read, all cached answers of its Archive
are dropped. Until the feed is heard again, new ones are cached for seconds only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Protocol

import structlog

from ibi.items.model.change import AnnouncedCopies, FollowedChange, FollowedPage
from ibi.jobs.promptness import end_tasks
from ibi.jobs.runner import Job, JobRunner
from ibi.membership.model.registration import KnownDeletion
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.archive_keys import distrust_copies
from ibi.membership.rules.authority import ArchiveRef, is_home
from ibi.resolver.ports import Beliefs
from ibi.standard.errors import IbiError, InvalidInput, InvalidLabel
from ibi.standard.label import RepositoryName
from ibi.standard.messages.holders import read_copies_statement

WAIT: Final = 5
"""Seconds for which an Archive is asked to wait for its next change."""
SILENCE: Final = WAIT + 3.0
"""Seconds of silence after which a feed is no longer fresh."""
MOST_FOLLOWED: Final = 64
"""Archives that are followed at a time. Answers of others are cached for seconds."""
_UNWANTED: Final = 60.0
"""Seconds after which an Archive without cached answers, and without answers to cache, is no longer followed."""
_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0
_MANY: Final = 100
_PAUSE: Final = 0.1
"""Seconds after a page of many entries: an Archive with very many changes must not occupy the resolver. Also after a
page without entries that came before the wait was over; twice as long after each further one."""
_LONGEST_PAUSE: Final = 1.0
"""Seconds between two questions to an Archive that does not wait: the longest delay of its changes here."""
_TOLERANCE: Final = 0.5
"""Seconds by which an answer may come before the wait is over."""


_FEED: Final = "feed of "
"""The prefix of its jobs' names."""


class FeedGateway(Protocol):
    async def read_feed(self, archive: ArchiveRef, after: int | None, epoch: str, wait: int) -> FollowedPage | None:
        """Return the entries after that number, waiting at most `wait` seconds for one. Without a number, return the
        end of the feed. None if it cannot be read, or has another epoch by now. Never raises."""


class FeedListener(Protocol):
    """Hears of the changes; `ibi.resolver.rules.caching.Cache` is one. Times are those of the resolver's clock."""

    def forget_told(self, archive: ArchiveRef, labels: Iterator[RepositoryName], now: float, /) -> None: ...

    def forget_relations(self, archive: ArchiveRef, now: float, /) -> None: ...

    def forget_archive(self, archive: ArchiveRef, now: float, /) -> None: ...

    def rests_on(self, archive: ArchiveRef, now: float, /) -> bool:
        """Return whether an answer of that Archive is cached."""


class _Followed:
    """One Archive, with the times since when its changes are told, when it was heard last, and when it was wanted
    last."""

    def __init__(self, wanted: float) -> None:
        self.wanted = wanted
        self.job = ""
        self.since: float | None = None
        self.heard = 0.0
        self.after, self.epoch, self.pause, self.rest = 0, "", _PAUSE, _FIRST_REST


def _ignore(_: ArchiveRef, __: FollowedPage) -> None:
    """Do nothing: by default only the changes of a page are wanted."""


class FollowedFeeds:
    """The feeds of all Archives that one resolver follows. For its event loop."""

    def __init__(
        self,
        gateway: FeedGateway,
        listener: FeedListener,
        clock: Callable[[], float],
        runner: JobRunner,
        on_page: Callable[[ArchiveRef, FollowedPage], None] = _ignore,
    ) -> None:
        """`runner` has a job for each Archive. `on_page` is called for every page that comes."""
        self._runner = runner
        self._gateway, self._listener, self._clock, self._on_page = gateway, listener, clock, on_page
        self._followed: dict[ArchiveRef, _Followed] = {}
        self._log = structlog.get_logger("ibi.resolver")

    def is_fresh(self, archive: ArchiveRef, since: float) -> bool:
        """Return whether changes since then are told. The caller wants to cache an answer, so this call begins to
        follow."""
        if archive.feed is None:
            return False
        followed, now = self._followed.get(archive), self._clock()
        if followed is None:
            self._begin(archive, now)
            return False
        followed.wanted = now
        return followed.since is not None and followed.since <= since and now - followed.heard < SILENCE

    def _begin(self, archive: ArchiveRef, now: float) -> None:
        for other, known in tuple(self._followed.items()):
            if other.service.labels[0] == archive.service.labels[0]:  # it has another address since
                self._end(other, known)
        if len(self._followed) < MOST_FOLLOWED:
            followed = self._followed[archive] = _Followed(now)
            followed.job = _FEED + str(archive.service.labels[0])
            self._runner.add(Job(followed.job, partial(self._follow, archive, followed), 0.0))

    def _end(self, archive: ArchiveRef, followed: _Followed) -> None:
        self._lose(archive, followed)
        self._followed.pop(archive, None)
        self._runner.remove(followed.job)

    async def _follow(self, archive: ArchiveRef, followed: _Followed) -> float:
        """Read one page. Return the seconds to wait before the next one."""
        if not self._is_wanted(archive, followed):
            self._end(archive, followed)
            return 0.0
        try:
            pause = await (self._begin_epoch if followed.since is None else self._listen)(archive, followed)
        except BaseException:
            self._lose(archive, followed)
            raise
        if pause is not None:
            followed.rest = _FIRST_REST
            return pause
        self._lose(archive, followed)
        rest, followed.rest = followed.rest, min(2 * followed.rest, _LONGEST_REST)
        return rest

    def _is_wanted(self, archive: ArchiveRef, followed: _Followed) -> bool:
        """Return whether the feed is still wanted. Cached answers count: links that are asked for again and again come
        from the cache, and do not ask for the feed."""
        now = self._clock()
        if now - followed.wanted >= _UNWANTED and self._listener.rests_on(archive, now):
            followed.wanted = now
        return now - followed.wanted < _UNWANTED

    async def _begin_epoch(self, archive: ArchiveRef, followed: _Followed) -> float | None:
        """Find the end of the feed; None if it is not heard."""
        page = await self._gateway.read_feed(archive, None, "", 0)
        if page is None:
            return None
        self._on_page(archive, page)
        followed.since = followed.heard = self._clock()
        followed.after, followed.epoch, followed.pause = page.end, page.epoch, _PAUSE
        return 0.0

    async def _listen(self, archive: ArchiveRef, followed: _Followed) -> float | None:
        """Tell the changes of one page; None if the feed is lost."""
        asked = self._clock()
        page = await self._gateway.read_feed(archive, followed.after, followed.epoch, WAIT)
        if page is None:
            return None
        self._tell(archive, page)
        self._on_page(archive, page)
        followed.after, followed.epoch, followed.heard = page.after, page.epoch, self._clock()
        is_early = not page.changes and followed.heard - asked < WAIT - _TOLERANCE
        pause = followed.pause
        followed.pause = min(2 * pause, _LONGEST_PAUSE) if is_early else _PAUSE
        return pause if is_early or len(page.changes) > _MANY else 0.0

    def _tell(self, archive: ArchiveRef, page: FollowedPage) -> None:
        now = self._clock()
        if page.changes:
            self._listener.forget_told(archive, _labels(page), now)
        if any(change.related for change in page.changes):
            self._listener.forget_relations(archive, now)

    def _lose(self, archive: ArchiveRef, followed: _Followed) -> None:
        if followed.since is not None:
            followed.since = None
            self._listener.forget_archive(archive, self._clock())
            self._log.info("the feed of an Archive is not followed any more", archive=archive.address)


def _labels(page: FollowedPage) -> Iterator[RepositoryName]:
    for change in page.changes:
        try:
            yield RepositoryName.parse(change.label)
        except InvalidLabel:
            continue  # of a later version, perhaps: the cache has no such label either


_LOG: Final = structlog.get_logger("ibi.resolver")


class CopiesGateway(Protocol):
    """Reads feeds and statements of other Archives; `ibi.following.client.feed_client` implements it. Neither call
    raises."""

    async def read_feed(self, archive: ArchiveRef, after: int | None, epoch: str, wait: int) -> FollowedPage | None: ...

    async def read_copies(self, archive: ArchiveRef, path: str) -> str | None:
        """Return the statement at that path of the Archive's server; None if there is none."""


class CopyStatements:
    """The statements of homes about the holders of their Copies, for when a home falls silent (E84). For the event loop
    of a resolver, except `take`.

    A home announces its statement in its feed of changes. It is read when the home is included, and again when the feed
    announces a later one. A statement that the home signed with its pinned key is stored, byte for byte.
    """

    def __init__(self, gateway: CopiesGateway, registry: Registry, beliefs: Beliefs, wall: Callable[[], float]) -> None:
        """`wall` is the time of day in POSIX seconds."""
        self._gateway, self._registry, self._beliefs, self._wall = gateway, registry, beliefs, wall
        self._reading: dict[ArchiveRef, asyncio.Task[None]] = {}
        self._keeping: set[asyncio.Task[None]] = set()
        self._seen: dict[ArchiveRef, int] = {}
        """The last announcement of each Archive that was read: one that is not believed is not read again."""

    async def learn(self, archive: ArchiveRef) -> None:
        """Read the statement of an Archive that was included."""
        if archive.feed is None:
            return
        page = await self._gateway.read_feed(archive, None, "", 0)
        if page is not None:
            self._seen.pop(archive, None)
            self.note(archive, page)
            await self.settle()

    def _keep_deletions(self, archive: ArchiveRef, told: Iterable[FollowedChange]) -> None:
        by, beliefs = KnownDeletion(archive.service.labels[0]), self._beliefs
        for change in told:
            try:
                labels = change.labels()
                # An Archive that gave the Original away no longer decides about either label, whichever of them was
                # asked for since.
                if any(map(beliefs.successors, labels)):
                    continue
                for label in labels:
                    if is_home(archive, label) and beliefs.deletion(label) is None:
                        beliefs.record_deletion(label, by, int(self._wall()))
            except InvalidInput:
                continue
            except IbiError as error:
                _LOG.warning("what an Archive has deleted is not kept", archive=archive.address, reason=str(error))
                return

    def note(self, archive: ArchiveRef, page: FollowedPage) -> None:
        """Take in a page of its feed: record deletions, and read the statement if it is a new one."""
        told = [change for change in page.changes if change.deleted]
        if told:
            # In a thread: of a thousand deletions, each is a transaction.
            task = asyncio.get_running_loop().create_task(asyncio.to_thread(self._keep_deletions, archive, told))
            self._keeping.add(task)
            task.add_done_callback(self._keeping.discard)
        announced = page.copies
        if announced is None or announced.at == self._seen.get(archive) or archive in self._reading:
            return
        self._seen[archive] = announced.at
        task = asyncio.get_running_loop().create_task(self._read(archive, announced))
        self._reading[archive] = task
        task.add_done_callback(lambda _: self._reading.pop(archive, None))

    async def settle(self) -> None:
        """Wait for the statements and deletions under way."""
        await asyncio.gather(*self._reading.values(), *self._keeping, return_exceptions=True)

    async def close(self) -> None:
        await end_tasks(*self._reading.values())
        await asyncio.gather(*self._keeping, return_exceptions=True)

    async def _read(self, archive: ArchiveRef, announced: AnnouncedCopies) -> None:
        statement = await self._gateway.read_copies(archive, announced.path)
        if statement is None:
            self._seen.pop(archive, None)  # at the next page again
            return
        try:
            reason = await asyncio.to_thread(self.take, archive, statement)
        except IbiError as error:
            reason = str(error)
        if reason is not None:
            _LOG.warning("what an Archive says of its Copies is not believed", archive=archive.address, reason=reason)

    def take(self, archive: ArchiveRef, statement: str) -> str | None:
        """Record a statement of that home, wherever it came from. Return the reason why it is not believed; None if it
        is, or was before. Blocks."""
        try:
            said = read_copies_statement(statement)
        except InvalidInput as error:
            return str(error)
        home = archive.service.labels[0]
        registration, known, now = self._registry.find(home), self._beliefs.named_copies(home), self._wall()
        if known.statement == statement:
            return None
        reason = distrust_copies(registration, said, known, int(now * 1000))
        if reason is None:
            self._beliefs.record_signed_copies(home, said, statement, int(now))
            _LOG.info("an Archive says who holds its Copies", archive=str(home), holders=list(map(str, said.holders)))
        return reason
