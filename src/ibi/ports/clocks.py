"""The clocks of a machine."""

from __future__ import annotations

from typing import Protocol

from ibi.model.minting import Reading


class Clocks(Protocol):
    def read(self) -> Reading:
        """One look at the time of day and at the uptime, as close together as can be."""

    def seconds(self) -> int:
        """The time of day alone, in whole POSIX seconds: for callers that need no more, many times a second."""
