"""Brings the items that follows want, and writes down the result of each as soon as it is known.

An item that cannot be brought waits by itself, for a while that doubles. A Copy stays here, even if its Original goes.
An Original of this Archive is never asked for.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from threading import Condition
from typing import Final, Protocol

from structlog.typing import FilteringBoundLogger

from ibi.following.model.subscription import (
    Follow,
    FollowedState,
    FollowKind,
    FollowTarget,
    SourceAddress,
    WantedItem,
)
from ibi.following.ports.subscriptions import FollowStore
from ibi.items.model.change import ChangeKind
from ibi.items.model.item import Item
from ibi.items.ports.catalog import Catalog
from ibi.standard.errors import IbiError
from ibi.standard.label import Label, RepositoryName
from ibi.standard.origin import is_same_place
from ibi.standard.vocabulary import State

_FIRST_RETRY: Final = 30
_LONGEST_RETRY: Final = 6 * 3_600
"""Seconds until a refused item is tried again: the first and the longest wait."""
_MOST_LOOKS: Final = 8
"""The number of searches for the new holder of an item, over two hours."""
_LONGEST_CUT: Final = 60
"""The longest wait of an item whose connection broke off."""
_LONGEST_WAIT: Final = 3.0
"""Seconds for which a follow waits while another one brings the same items."""

_LOST: Final = {
    "source-gone": FollowedState.GONE,
    "not-the-original": FollowedState.MOVED,
    "original-deleted": FollowedState.DELETED,
}
"""Codes for a source that does not have the Original, or no longer has it."""
_OURS: Final = frozenset({"own-label", "already-there"})
_SOON: Final = frozenset({"source-cut", "copy-under-way", "copy-stopped", "content-changed"})
"""Codes that say nothing about the item."""
_HELD: Final = frozenset({FollowedState.COPY, FollowedState.DELETED, FollowedState.PURGED})


class BroughtItem(Protocol):
    @property
    def item(self) -> Item: ...

    @property
    def head(self) -> int:
        """The version of the source's object."""


class Bringer(Protocol):
    """Makes and refreshes Copies. Calls block."""

    def bring_many(
        self, labels: Sequence[Label], source: SourceAddress, token: str | None
    ) -> Iterable[tuple[Label, BroughtItem | IbiError]]:
        """Yield, in any order, each label with its durable Copy, or with the error. The Copy of an item deleted at the
        source records that. An `IbiError` that is raised applies to all labels that are left."""

    def find_holder(self, label: Label) -> str:
        """Return the address of the Archive that has the Original now; an `IbiError` if that is not known."""

    def stop(self) -> None:
        """Break off the work under way; it can be resumed."""


class _UnderWay:
    """The items that are brought at this moment. If two follows want an item, one brings it, and the other finds it."""

    def __init__(self) -> None:
        self._labels: Counter[str] = Counter()
        self._ended = Condition()

    @contextmanager
    def hold(self, labels: Set[str]) -> Iterator[None]:
        """Wait for others that bring one of the items, but not long: a large item may take hours."""
        with self._ended:
            self._ended.wait_for(lambda: self._labels.keys().isdisjoint(labels), _LONGEST_WAIT)
            self._labels.update(labels)
        try:
            yield
        finally:
            with self._ended:
                self._labels -= Counter(labels)
                self._ended.notify_all()


class FollowedItems:
    """The items of all follows of one data directory. Calls block, from any thread."""

    def __init__(
        self,
        store: FollowStore,
        bringer: Bringer,
        catalog: Catalog,
        now: Callable[[], float],
        log: FilteringBoundLogger,
        own_url: str | None = None,
    ) -> None:
        self._store, self._bringer, self._catalog, self._now, self._log = store, bringer, catalog, now, log
        self._own_url = own_url
        self._under_way = _UnderWay()

    def find_holder(self, label: Label) -> str:
        """Return the address of the Archive that has the Original; an `IbiError` if that is not known."""
        return self._bringer.find_holder(label)

    def stop(self) -> None:
        self._bringer.stop()

    def bring(self, source: SourceAddress, items: Sequence[WantedItem], token: str | None) -> None:
        """Bring items of one follow."""
        with self._under_way.hold({item.entry.label for item in items}):
            self._bring(source, items, token)

    def _bring(self, source: SourceAddress, items: Sequence[WantedItem], token: str | None) -> None:
        left: dict[Label, tuple[WantedItem, Item | None]] = {}
        for item in items:
            name = RepositoryName.parse(item.entry.label)
            here = self._catalog.find(name)
            if not self._is_settled(item, here):
                left[name] = item, here
        try:
            for label, outcome in self._bringer.bring_many(tuple(left), source, token) if left else ():
                item, here = left.pop(label)
                self._note(source, item, here, outcome)
        except IbiError as error:
            for item, here in left.values():
                self._note(source, item, here, error)

    def _is_settled(self, item: WantedItem, here: Item | None) -> bool:
        """Return whether the source need not be asked. Then the state of the item is recorded."""
        if here is not None and here.state is not State.COPY:
            self._store.finish(item, FollowedState.OWN, 0, "")
        elif here is None and item.state in _HELD:
            self._log.info("a Copy was dropped, and is not brought again", item=item.entry.label)
            self._store.finish(item, FollowedState.DROPPED, 0, "")
        elif here is None and item.entry.kind is not ChangeKind.PUT:  # it went before it came
            self._store.forget(item)
        elif here is not None and item.entry.kind is ChangeKind.PUT and self._store.is_brought(item):
            self._store.finish(item, FollowedState.COPY, item.entry.version, item.entry.at)
        else:
            return False
        return True

    def _note(
        self, source: SourceAddress, item: WantedItem, here: Item | None, outcome: BroughtItem | IbiError
    ) -> None:
        if not isinstance(outcome, IbiError):
            self._note_brought(source, item, outcome)
        elif outcome.code in _LOST:
            self._note_loss(source, item, here, _LOST[outcome.code])
        elif outcome.code in _OURS:
            self._log.warning("a source tells of an item of this Archive", item=item.entry.label, source=source.url)
            self._store.finish(item, FollowedState.OWN, 0, "")
        else:
            self._put_off(source, item, outcome)

    def _note_brought(self, source: SourceAddress, item: WantedItem, brought: BroughtItem) -> None:
        at = item.entry.at if brought.head == item.entry.version else ""
        state = _state_of(brought.item)
        if state is FollowedState.PURGED and item.state is not FollowedState.PURGED:
            words = "an item was purged at its Original; its Copy stays until it is dropped"
            self._log.warning(words, item=item.entry.label, source=source.url)
        self._store.finish(item, state, brought.head, at)

    def _note_loss(self, source: SourceAddress, item: WantedItem, here: Item | None, state: FollowedState) -> None:
        """Record that the source does not have the Original, or no longer has it. A Copy that is here stays."""
        if here is None or item.state is FollowedState.WAITING:  # no Copy of this follow
            self._store.forget(item)
            return
        if item.entry.kind is ChangeKind.MOVED:
            state = FollowedState.MOVED
        if state is FollowedState.MOVED and self._has_moved(source, item):
            return
        if item.state is not state:
            words = "a source does not have an Original any more; its Copy stays"
            self._log.warning(words, item=item.entry.label, source=source.url, state=state.value)
        self._store.finish(item, state, 0, "")

    def _has_moved(self, source: SourceAddress, item: WantedItem) -> bool:
        """Follow the item at the present holder of its Original. Return whether that is done, or is to be tried
        again."""
        try:
            holder = self._bringer.find_holder(RepositoryName.parse(item.entry.label))
        except IbiError as error:
            if item.attempts >= _MOST_LOOKS:
                return False
            self._put_off(source, item, error)  # the new holder may not have taken it over yet
            return True
        if holder == source.url:
            return False
        if self._own_url is not None and is_same_place(holder, self._own_url):
            self._store.finish(item, FollowedState.OWN, 0, "")  # it was given to this Archive
            return True
        target, place = FollowTarget(FollowKind.MOVED), SourceAddress(holder, is_named_by_operator=False)
        follow = Follow(id=secrets.token_hex(4), target=target, source=place, created=int(self._now()))
        self._store.move(item, follow)
        told = {"item": item.entry.label, "source": source.url, "now": holder}
        self._log.info("an item has moved, and is followed where it is", **told)
        return True

    def _put_off(self, source: SourceAddress, item: WantedItem, error: IbiError) -> None:
        wait = _retry_seconds(error, item.attempts)
        if item.attempts == 0 and error.code not in _SOON:  # once, not at every attempt
            told = {"item": item.entry.label, "source": source.url, "reason": str(error), "again_in": wait}
            self._log.warning("an item is not brought", **told)
        self._store.put_off(item, int(self._now()) + wait, str(error))


def _retry_seconds(error: IbiError, attempts: int) -> int:
    first, longest = (1, _LONGEST_CUT) if error.code in _SOON else (_FIRST_RETRY, _LONGEST_RETRY)
    return int(min(first * 2 ** min(attempts, 20), longest))


def _state_of(item: Item) -> FollowedState:
    if item.original_tombstone is None:
        return FollowedState.COPY
    return FollowedState.PURGED if item.original_tombstone.purged else FollowedState.DELETED
