"""The store of usage counts, as a protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from ibi.standard.label import RepositoryName
from ibi.usage.model import ReferrerClass, Usage, UsageDay, UsageKind, UsageOrigin


class UsageLog(Protocol):
    """Counts by item and day, of people and of robots. Calls come from any thread; processes count concurrently.

    `ibi.usage.rules.counting` decides earlier which requests count, and no data about readers is stored. Periods run
    from day number to day number, inclusive; None is unbounded.
    """

    def count(self, day: UsageDay, kind: UsageKind, referrer: ReferrerClass = ReferrerClass.UNKNOWN) -> None:
        """Count one use. Fast: `flush` writes the counts. A crash may lose counts that were not flushed."""

    def watch(self, on_count: Callable[[], object]) -> None:
        """Register a callback for the first count after each `flush`; it must be fast."""

    def days(
        self, rep: RepositoryName, first: int | None = None, last: int | None = None
    ) -> tuple[tuple[UsageDay, Usage], ...]:
        """Return the days on which the item was used, in order. They include the counts of this process."""

    def totals(self, first: int | None = None, last: int | None = None) -> Iterator[tuple[RepositoryName, Usage]]:
        """Yield every item that was used in that period, with its use, in the order of repository names."""

    def origins(self, first: int, last: int) -> tuple[tuple[UsageOrigin, Usage], ...]:
        """Return the use from month `first` to month `last`, by Archive and class of referrer.

        Fast for any number of items.
        """

    def walk(self, first: int, last: int) -> Iterator[tuple[UsageDay, Usage]]:
        """Yield every item and day of a period of days, in the order of items and then of days.

        They are not loaded at once. Counts made meanwhile may be included.
        """

    def most_used(self, month: int, most: int) -> tuple[tuple[RepositoryName, Usage], ...]:
        """Return the items that people used most in a month, the most used first."""

    def flush(self) -> None:
        """Write all counts to disk. Counts that cannot be written are kept for the next call."""

    def close(self) -> None:
        """Flush and close. Closing again does nothing."""
