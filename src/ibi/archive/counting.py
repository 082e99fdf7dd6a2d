"""What counts as use of an item: acknowledged resolutions (E32) and downloads, robots apart.

Nothing is remembered of a client longer than the half minute within which a second click is the same wish.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from ibi.archive.url_key import UrlKeys
from ibi.instant import Instant
from ibi.label import Label, RepositoryName
from ibi.messages.requests import Acknowledgment
from ibi.model.item import Item
from ibi.model.usage import UsageDay, UsageKind, day_of

__all__ = ["MOST_REMEMBERED", "WINDOW", "Recent", "counted_acknowledgment", "counted_download", "counts_as_download"]

WINDOW: Final = 30
"""Seconds within which the same client wanting the same thing counts once (E32; COUNTER's double click)."""
MOST_REMEMBERED: Final = 100_000
"""Wishes remembered at once, so that a flood cannot fill the memory: beyond it the oldest are forgotten early."""


class Recent:
    """Wishes of the last half minute, one memory for each process: what it forgets is counted once more, no worse."""

    __slots__ = ("_most", "_seen", "_window")

    def __init__(self, window: int = WINDOW, most: int = MOST_REMEMBERED) -> None:
        self._window = window
        self._most = most
        self._seen: dict[Hashable, int] = {}

    def is_first(self, wish: Hashable, seconds: int) -> bool:
        """Whether this is the first such wish within the window; it is remembered if so.

        A wish that is repeated is measured from when it counted: whoever clicks for an hour counts every half minute.
        """
        self._forget(seconds)
        before = len(self._seen)
        self._seen.setdefault(wish, seconds)
        return len(self._seen) > before

    def _forget(self, seconds: int) -> None:
        """In the order of their times, which are those in which they came; a clock set back keeps no wish for ever."""
        while self._seen:
            oldest = next(iter(self._seen))
            if abs(seconds - self._seen[oldest]) < self._window and len(self._seen) < self._most:
                return
            del self._seen[oldest]

    def __len__(self) -> int:
        return len(self._seen)


def counted_acknowledgment(
    acknowledgment: Acknowledgment,
    rep_of: Callable[[Label], RepositoryName | None],
    keys: UrlKeys,
    recent: Recent,
    now: Instant,
) -> tuple[UsageDay, UsageKind] | None:
    """The resolution that an acknowledgment stands for; None if its key is not ours, not good any more, or has counted.

    `rep_of` tells which of the items here has a label. It counts for the item that was asked for here, as the key says.
    An acknowledgment does not tell people from robots: resolvers speak for both, and the download tells.
    """
    known = keys.check(acknowledgment.url_key, now.seconds)
    rep = None if known is None else rep_of(known.label)
    if rep is None:
        return None
    wish = acknowledgment.url_key.reveal(), acknowledgment.client_addresses
    return (UsageDay(rep, day_of(now)), UsageKind.RESOLUTION) if recent.is_first(wish, now.seconds) else None


def counted_resolution(
    item: Item, client: str, recent: Recent, now: Instant, *, robot: bool
) -> tuple[UsageDay, UsageKind] | None:
    """A resolution by this Archive itself, without a resolver and so without an acknowledgment."""
    if not recent.is_first((item.rep, client), now.seconds):
        return None
    return UsageDay(item.rep, day_of(now)), UsageKind.ROBOT_RESOLUTION if robot else UsageKind.RESOLUTION


def counts_as_download(method: str, status: int, first_byte: int) -> bool:
    """Whether an HTTP exchange gave somebody the file: a GET that was answered with its bytes from the first one on.

    Parts that follow belong to the same download; a HEAD, and a 304 for what a reader has already, are none.
    """
    return method == "GET" and status in (200, 206) and first_byte == 0


def counted_download(
    item: Item, path: str, client: str, recent: Recent, now: Instant, *, robot: bool
) -> tuple[UsageDay, UsageKind] | None:
    """The download of a file by `client`, an address or whatever else tells clients apart; None for a double click."""
    if not recent.is_first((item.rep, path, client), now.seconds):
        return None
    return UsageDay(item.rep, day_of(now)), UsageKind.ROBOT_DOWNLOAD if robot else UsageKind.DOWNLOAD
