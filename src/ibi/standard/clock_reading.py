"""One reading of the machine's clocks."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ibi.standard.instant import Instant


class Reading(NamedTuple):
    """One reading of the clocks of a machine: the time of day, and the uptime of this boot."""

    wall: Instant
    uptime: int
    """Nanoseconds since the machine started, including sleep: this clock cannot be set."""
    boot: str
    """The boot, of this machine, from which the uptime counts."""


class Clocks(Protocol):
    def read(self) -> Reading:
        """Read the time of day and the uptime, as close together as possible."""

    def seconds(self) -> int:
        """Return only the time of day, in whole POSIX seconds, for callers that need no more, many times a second."""
