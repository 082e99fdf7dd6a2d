"""Where an Archive counts how its items are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ibi.label import RepositoryName
from ibi.model.usage import Usage, UsageDay, UsageKind


class UsageLog(Protocol):
    """Counts by item and day, of people and of robots. Calls come from any thread; processes count side by side.

    What counts is decided before (`ibi.archive.counting`), and nothing is kept of who it was. Periods are from day
    number to day number, both included; None is before or after everything.
    """

    def count(self, day: UsageDay, kind: UsageKind) -> None:
        """One more. Quick: counts are written together, a second later or so. A crash may lose those that were not."""

    def days(
        self, rep: RepositoryName, first: int | None = None, last: int | None = None
    ) -> tuple[tuple[UsageDay, Usage], ...]:
        """The days on which the item was used, in their order; what this process has counted is among it."""

    def totals(self, first: int | None = None, last: int | None = None) -> Iterator[tuple[RepositoryName, Usage]]:
        """Every item that was used in that period, and how much, in the order of repository names."""

    def flush(self) -> None:
        """Have everything counted so far on the disk. What could not be written is kept, and counts the next time."""

    def close(self) -> None:
        """After a last `flush`. To close again does nothing."""
