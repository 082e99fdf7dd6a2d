"""What counts as use of an item: acknowledged resolutions (E32) and downloads, robots apart.

Nothing is remembered of a client longer than the half minute within which a second click is the same wish.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

from ibi.instant import Instant
from ibi.label import Label, RepositoryName
from ibi.messages.identification import UrlKeys
from ibi.messages.requests import Acknowledgment
from ibi.model.item import Item
from ibi.model.usage import UsageDay, UsageKind, day_of

WINDOW: Final = 30
"""Seconds within which the same client wanting the same thing counts once (E32; COUNTER's double click)."""
MOST_REMEMBERED: Final = 100_000
"""Wishes remembered at once, so that a flood cannot fill the memory: beyond it the oldest are forgotten early."""
MOST_COUNTED: Final = 10_000
"""Resolutions that one key stands for. A resolver keeps an answer for five minutes and thanks with its key for every
reader meanwhile: that many are thirty-three new readers of one item a second. A resolver with more readers asks anew
for each ten thousand."""

_MOST_KEYS: Final = 10_000
_SOME: Final = range(16)
"""How many are forgotten at a time, so that no request after a flood waits until all of it is forgotten."""


class Recent:
    """Wishes of the last half minute, one memory for each process: what it forgets is counted once more, no worse.

    Kept is a number that follows from a wish and not the wish, which may be long: sixty-four addresses. If two of them
    ever agree, one is not counted.
    """

    __slots__ = ("_by_key", "_most", "_most_counted", "_seen", "_window")

    def __init__(self, window: int = WINDOW, most: int = MOST_REMEMBERED, *, most_counted: int = MOST_COUNTED) -> None:
        self._window, self._most, self._most_counted = window, most, most_counted
        self._seen: OrderedDict[int, int] = OrderedDict()
        self._by_key: OrderedDict[int, int] = OrderedDict()

    def is_first(self, wish: Hashable, seconds: int) -> bool:
        """Whether this is the first such wish within the window; it is remembered if so.

        A wish that is repeated is measured from when it counted: an hour of clicks counts every half minute.
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
        """Whether a key counts once more; from then on it has. Those that counted first are forgotten first."""
        number = hash(key)
        counted = self._by_key.get(number, 0)
        if counted >= self._most_counted:
            return False
        self._by_key[number] = counted + 1
        if not counted and len(self._by_key) > _MOST_KEYS:
            self._by_key.popitem(last=False)
        return True

    def _forget(self, seconds: int) -> None:
        """Some of the oldest: they are in the order in which they came, which is that of their times. A clock set back
        keeps no wish for ever."""
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
    """The resolution that an acknowledgment stands for; None if its key is not ours, not good any more, or has counted:
    for this client just now, or for very many.

    `rep_of` tells which of the items here has a label. It counts for the item that was asked for here, as the key says.
    Resolvers speak for people and robots alike: which it was, only an extra pair of the acknowledgment tells. From one
    that does not send it all count as people, and the download tells.
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
    """A resolution by this Archive itself, without a resolver and so without an acknowledgment."""
    if not recent.is_first((item.rep, client), now.seconds):
        return None
    return UsageDay(item.rep, day_of(now)), _resolution_kind(robot=robot)


def _resolution_kind(*, robot: bool) -> UsageKind:
    return UsageKind.ROBOT_RESOLUTION if robot else UsageKind.RESOLUTION


def counts_as_download(method: str, status: int, first_byte: int) -> bool:
    """Whether an HTTP exchange delivered the file: a GET that was answered with its bytes from the first one on.

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
