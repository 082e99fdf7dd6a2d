"""Locks on items and the journal of changes, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Condition

from ibi.items.ports.archive_store import EVERYTHING, Abandoned


class MemoryItemLocks:
    """The port `ItemLocks` among the threads of one process."""

    def __init__(self) -> None:
        self._held: set[tuple[str, str]] = set()
        self._released = Condition()

    @contextmanager
    def hold(self, *names: str) -> Iterator[None]:
        with self._hold_all({("item", name) for name in names}):
            yield

    @contextmanager
    def hold_names(self, *names: str) -> Iterator[None]:
        with self._hold_all({("name", name) for name in names}):
            yield

    @contextmanager
    def _hold_all(self, wanted: set[tuple[str, str]]) -> Iterator[None]:
        with self._released:
            self._released.wait_for(lambda: self._held.isdisjoint(wanted))
            self._held |= wanted
        try:
            yield
        finally:
            with self._released:
                self._held -= wanted
                self._released.notify_all()

    def close(self) -> None:
        """Nothing to let go of."""


class MemoryJournals:
    """What the journals of several processes share."""

    def __init__(self) -> None:
        self.left: list[tuple[str, tuple[str, ...]]] = []
        """Boot and names, of journals that were closed with something under way."""

    def open(self, boot: str) -> MemoryJournal:
        return MemoryJournal(self, boot)


class MemoryJournal:
    """The port `Journal`."""

    def __init__(self, shared: MemoryJournals, boot: str) -> None:
        self._shared, self._boot = shared, boot
        self._under_way: Counter[str] = Counter()

    def begin(self, names: Iterable[str]) -> None:
        self._under_way.update(names)

    def end(self, names: Iterable[str]) -> None:
        self._under_way.subtract(names)
        self._under_way = +self._under_way

    def under_way(self) -> tuple[str, ...]:
        return tuple(self._under_way)

    @contextmanager
    def take_abandoned(self) -> Iterator[tuple[Abandoned, ...]]:
        found = tuple(self._shared.left)
        yield tuple(
            Abandoned(
                tuple(name for name in names if name != EVERYTHING), boot == self._boot and EVERYTHING not in names
            )
            for boot, names in found
        )
        self._shared.left = [each for each in self._shared.left if each not in found]

    def _told(self, boot: str, names: tuple[str, ...]) -> Abandoned:
        is_whole = boot == self._boot and EVERYTHING not in names
        return Abandoned(tuple(name for name in names if name != EVERYTHING), is_whole)

    def close(self) -> None:
        if self._under_way:
            self._shared.left.append((self._boot, self.under_way()))
            self._under_way.clear()
