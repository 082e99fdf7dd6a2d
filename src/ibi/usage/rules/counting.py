"""Rules for counting the use of an item: acknowledged resolutions (E32) and downloads, with robots apart.

Nothing about a client is remembered longer than half a minute. Within that time a second click counts as the same one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from ibi.items.model.item import Item
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.messages.requests import Acknowledgment
from ibi.usage.model import UsageDay, UsageKind, day_of

WINDOW: Final = 30
"""Seconds within which repeated requests of one client for one thing count once (E32; COUNTER's double click)."""
MOST_REMEMBERED: Final = 100_000
"""Requests remembered at once, so that a flood cannot fill the memory. Beyond it the oldest are forgotten early."""
MOST_COUNTED: Final = 10_000
"""Resolutions that one key can count. A resolver caches an answer for five minutes, and acknowledges with its key for
every reader meanwhile. This number means thirty-three new readers of one item per second. A resolver with more readers
asks again for each ten thousand."""

_MOST_KEYS: Final = 10_000
_SOME: Final = range(16)
"""Entries forgotten at a time, so that no request after a flood waits until all are forgotten."""


class Recent:
    """The requests of the last half minute, per process. A forgotten request is counted once more, no worse.

    It stores the hash of a request, because a request may be long: sixty-four addresses. If two hashes ever agree, one
    request is not counted.
    """

    __slots__ = ("_by_key", "_most", "_most_counted", "_seen", "_window")

    def __init__(self, window: int = WINDOW, most: int = MOST_REMEMBERED, *, most_counted: int = MOST_COUNTED) -> None:
        self._window, self._most, self._most_counted = window, most, most_counted
        self._seen: OrderedDict[int, int] = OrderedDict()
        self._by_key: OrderedDict[int, int] = OrderedDict()

    def is_first(self, wish: Hashable, seconds: int) -> bool:
        """Return whether this is the first such request within the window, and remember it if so.

        The window begins at the request that counted: an hour of clicks counts every half minute.
        """
        number = hash(wish)
        self._forget(seconds)
        before = self._seen.get(number)
        if before is not None and abs(seconds - before) < self._window:
            return False
        self._seen[number] = seconds
        if before is not None:
            self._seen.move_to_end(number)
        return True

    def is_within_share(self, key: Hashable) -> bool:
        """Return whether a key may count once more, and count it. The keys that counted first are forgotten first."""
        number = hash(key)
        counted = self._by_key.get(number, 0)
        if counted >= self._most_counted:
            return False
        self._by_key[number] = counted + 1
        if not counted and len(self._by_key) > _MOST_KEYS:
            self._by_key.popitem(last=False)
        return True

    def _forget(self, seconds: int) -> None:
        """Forget some of the oldest requests. They are in order of arrival, so of time. A clock set back keeps none for
        ever."""
        seen = self._seen
        for _ in _SOME:
            if not seen or (len(seen) < self._most and abs(seconds - next(iter(seen.values()))) < self._window):
                return
            seen.popitem(last=False)

    def __len__(self) -> int:
        return len(self._seen)


def counted_acknowledgment(
    acknowledgment: Acknowledgment,
    rep_of: Callable[[Label], RepositoryName | None],
    keys: UrlKeys,
    recent: Recent,
    now: Instant,
) -> tuple[UsageDay, UsageKind] | None:
    """Return the resolution that an acknowledgment counts for. None if its key is not ours, has expired, or has counted
    already: for this client just now, or too often.

    `rep_of` returns the item here with a label. The item that was requested here counts, as the key says. Resolvers ask
    for people and robots alike; only an extra pair of the acknowledgment distinguishes them. If a resolver does not
    send it, all count as people, and the download shows the difference.
    """
    known = keys.check(acknowledgment.url_key, now.seconds)
    rep = None if known is None else known.rep or rep_of(known.label)
    if rep is None:
        return None
    key = acknowledgment.url_key.reveal()
    is_new = recent.is_first((key, acknowledgment.client_addresses), now.seconds)
    if not (is_new and recent.is_within_share(key)):
        return None
    return UsageDay(rep, day_of(now)), _resolution_kind(robot=acknowledgment.is_robot)


def counted_resolution(
    item: Item, client: str, recent: Recent, now: Instant, *, robot: bool
) -> tuple[UsageDay, UsageKind] | None:
    """Return the resolution by this Archive itself, without a resolver and so without an acknowledgment."""
    if not recent.is_first((item.rep, client), now.seconds):
        return None
    return UsageDay(item.rep, day_of(now)), _resolution_kind(robot=robot)


def _resolution_kind(*, robot: bool) -> UsageKind:
    return UsageKind.ROBOT_RESOLUTION if robot else UsageKind.RESOLUTION


def counts_as_download(method: str, status: int, first_byte: int) -> bool:
    """Return whether an HTTP exchange delivered the file: a GET answered with its bytes from the first one on.

    Later parts belong to the same download. A HEAD, and a 304 for a cached file, do not count.
    """
    return method == "GET" and status in (200, 206) and first_byte == 0


def counted_download(
    item: Item, path: str, client: str, recent: Recent, now: Instant, *, robot: bool
) -> tuple[UsageDay, UsageKind] | None:
    """Return the download of a file by `client`, an address or another client id. None for a double click."""
    if not recent.is_first((item.rep, path, client), now.seconds):
        return None
    return UsageDay(item.rep, day_of(now)), UsageKind.ROBOT_DOWNLOAD if robot else UsageKind.DOWNLOAD
