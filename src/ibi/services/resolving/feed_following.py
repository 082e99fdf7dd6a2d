"""Follows the feeds of changes of Archives elsewhere, so that what is kept of them is never older than their feeds.

An Archive that says at its inclusion where it tells of its changes is followed from when something of it is to be kept,
until nothing was for a minute. Its server answers as soon as something changes; so what changed there is forgotten here
within a fraction of a second. A feed that falls silent, begins again or cannot be read makes everything forgotten that
rests on its Archive's word, and until it is heard again what is found there is kept for seconds only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import structlog

from ibi.errors import InvalidLabel
from ibi.label import RepositoryName
from ibi.model.change import FollowedPage
from ibi.resolver.authority import ArchiveRef

WAIT: Final = 5
"""Seconds for which an Archive is asked to wait for its next change."""
SILENCE: Final = WAIT + 3.0
"""Seconds after which a feed is not fresh any more from which nothing came."""
MOST_FOLLOWED: Final = 64
"""Archives at a time. Of others, what is found is kept for seconds."""
_UNWANTED: Final = 60.0
"""Seconds after which an Archive is not followed any more of which nothing was to be kept."""
_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0
_MANY: Final = 100
_PAUSE: Final = 0.1
"""Seconds after a page of many entries: an Archive with very many changes must not occupy the resolver."""


class FeedGateway(Protocol):
    async def read_feed(self, archive: ArchiveRef, after: int | None, epoch: str, wait: int) -> FollowedPage | None:
        """The entries after that number, once there is one, for which at most `wait` seconds are waited. Without a
        number, where the feed ends. None if it cannot be read, or has another epoch by now. Never raises."""


class FeedListener(Protocol):
    """What is told of the changes; `ibi.resolver.caching.Cache` is one. Times are those of the resolver's clock."""

    def forget_told(self, archive: ArchiveRef, labels: Iterator[RepositoryName], now: float, /) -> None: ...

    def forget_relations(self, archive: ArchiveRef, now: float, /) -> None: ...

    def forget_archive(self, archive: ArchiveRef, now: float, /) -> None: ...


class _Followed:
    """One Archive: since when its changes are told, when it was heard last, and when it was wanted last."""

    def __init__(self, wanted: float) -> None:
        self.wanted = wanted
        self.since: float | None = None
        self.heard = 0.0
        self.task: asyncio.Task[None] | None = None


def _ignore(_: ArchiveRef, __: FollowedPage) -> None:
    """Default: what a page has beside the changes is not wanted."""


class FollowedFeeds:
    """The feeds of all Archives that one resolver follows. For its event loop."""

    def __init__(
        self,
        gateway: FeedGateway,
        listener: FeedListener,
        clock: Callable[[], float],
        on_page: Callable[[ArchiveRef, FollowedPage], None] = _ignore,
    ) -> None:
        """`on_page` is told of every page that comes."""
        self._gateway, self._listener, self._clock, self._on_page = gateway, listener, clock, on_page
        self._followed: dict[ArchiveRef, _Followed] = {}
        self._log = structlog.get_logger("ibi.resolver")

    def is_fresh(self, archive: ArchiveRef, since: float) -> bool:
        """Whether changes since then are told. Asked because something is to be kept, it begins to follow."""
        if archive.feed is None:
            return False
        followed, now = self._followed.get(archive), self._clock()
        if followed is None:
            self._begin(archive, now)
            return False
        followed.wanted = now
        return followed.since is not None and followed.since <= since and now - followed.heard < SILENCE

    async def close(self) -> None:
        tasks = [each.task for each in self._followed.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, archive: ArchiveRef, now: float) -> None:
        if len(self._followed) < MOST_FOLLOWED:
            followed = self._followed[archive] = _Followed(now)
            followed.task = asyncio.get_running_loop().create_task(self._follow(archive, followed))

    async def _follow(self, archive: ArchiveRef, followed: _Followed) -> None:
        rest = _FIRST_REST
        try:
            while self._clock() - followed.wanted < _UNWANTED:
                if await self._listen(archive, followed):
                    rest = _FIRST_REST
                self._lose(archive, followed)
                await asyncio.sleep(rest)
                rest = min(2 * rest, _LONGEST_REST)
        finally:
            self._lose(archive, followed)
            self._followed.pop(archive, None)

    async def _listen(self, archive: ArchiveRef, followed: _Followed) -> bool:
        """Tell the changes of one epoch until the feed is lost, or not wanted any more; return whether it was heard."""
        page = await self._gateway.read_feed(archive, None, "", 0)
        if page is None:
            return False
        self._on_page(archive, page)
        followed.since = followed.heard = self._clock()
        after = page.end
        while self._clock() - followed.wanted < _UNWANTED:
            page = await self._gateway.read_feed(archive, after, page.epoch, WAIT)
            if page is None:
                return True
            self._tell(archive, page)
            self._on_page(archive, page)
            after, followed.heard = page.after, self._clock()
            if len(page.changes) > _MANY:
                await asyncio.sleep(_PAUSE)
        return True

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
            continue  # of a later version, perhaps: what is kept of it is no label either
