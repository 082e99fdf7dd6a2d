"""Counts of use in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock

from ibi.label import RepositoryName
from ibi.model.usage import Usage, UsageDay, UsageKind

_NONE = Usage()


class MemoryUsageLog:
    """The port `UsageLog` without a disk."""

    def __init__(self) -> None:
        self._counts: dict[UsageDay, Usage] = {}
        self._lock = Lock()

    def count(self, day: UsageDay, kind: UsageKind) -> None:
        self.add(day, Usage.one(kind))

    def add(self, day: UsageDay, usage: Usage) -> None:
        with self._lock:
            self._counts[day] = self._counts.get(day, _NONE) + usage

    def days(
        self, rep: RepositoryName, first: int | None = None, last: int | None = None
    ) -> tuple[tuple[UsageDay, Usage], ...]:
        found = [(day, usage) for day, usage in self.counts(first, last).items() if day.rep == rep]
        return tuple(sorted(found, key=lambda entry: entry[0].day))

    def totals(self, first: int | None = None, last: int | None = None) -> Iterator[tuple[RepositoryName, Usage]]:
        return iter(sorted(sum_by_item(self.counts(first, last)).items()))

    def counts(self, first: int | None = None, last: int | None = None) -> dict[UsageDay, Usage]:
        """What was counted in a period."""
        with self._lock:
            return {
                day: usage
                for day, usage in self._counts.items()
                if (first is None or first <= day.day) and (last is None or day.day <= last)
            }

    def take(self) -> dict[UsageDay, Usage]:
        """Everything, which is forgotten here."""
        with self._lock:
            taken, self._counts = self._counts, {}
            return taken

    def flush(self) -> None:
        """There is no disk."""

    def close(self) -> None:
        """Nothing to let go of."""


def sum_by_item(counts: Mapping[UsageDay, Usage]) -> dict[RepositoryName, Usage]:
    sums: dict[RepositoryName, Usage] = {}
    for day, usage in counts.items():
        sums[day.rep] = sums.get(day.rep, _NONE) + usage
    return sums
