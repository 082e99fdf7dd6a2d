"""Wrong keys and passwords counted, so that guessing takes longer than anybody has."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Final

__all__ = ["FREE", "LONGEST_WAIT", "Attempts"]

FREE: Final = 5
"""Wrong ones in a row that cost nothing: somebody mistypes, or has an old one in the settings."""

LONGEST_WAIT: Final = 60.0
"""Seconds between two attempts at most. At one a minute, ten digits take nineteen thousand years; and an Archive whose
label somebody else guesses at is not kept out for longer than that."""

_FORGOTTEN_AFTER: Final = 3600.0
_MOST: Final = 4096


@dataclass(frozen=True, slots=True)
class _Tried:
    failures: int
    last: float
    free_at: float
    free_before: float
    """When the next one might have come, had there not been the last."""


class Attempts:
    """Attempts by subject: the label that was tried, or the network that tried. What was not tried longest goes first
    when there are too many. An attempt counts as wrong from when it begins, so that a thousand at once are not one."""

    def __init__(self, most: int = _MOST, *, free: int = FREE, longest_wait: float = LONGEST_WAIT) -> None:
        self._most, self._free, self._longest = most, free, longest_wait
        self._tried: dict[Hashable, _Tried] = {}

    def wait(self, subject: Hashable, now: float) -> float:
        """Seconds to wait before the next attempt; 0 if there may be one now."""
        tried = self._tried.get(subject)
        return 0.0 if tried is None else max(0.0, tried.free_at - now)

    def begin(self, subject: Hashable, now: float) -> None:
        before = self._tried.pop(subject, None)
        stale = before is None or now - before.last > _FORGOTTEN_AFTER
        failures = 1 if before is None or stale else before.failures + 1
        free_before = now if before is None or stale else before.free_at
        if len(self._tried) >= self._most:
            del self._tried[next(iter(self._tried))]
        self._tried[subject] = _Tried(failures, now, now + self._pause(failures), free_before)

    def succeeded(self, subject: Hashable) -> None:
        """The attempt was no guess: it counts no longer, and nobody waits because of it. The others do count, or one
        right key would buy any number of wrong ones."""
        tried = self._tried.get(subject)
        if tried is None:
            return
        if tried.failures <= 1:
            del self._tried[subject]
        else:
            self._tried[subject] = replace(tried, failures=tried.failures - 1, free_at=tried.free_before)

    def __len__(self) -> int:
        return len(self._tried)

    def _pause(self, failures: int) -> float:
        beyond = failures - self._free
        # 2⁶⁴ seconds are enough for whatever the longest wait is set to.
        return 0.0 if beyond < 0 else min(self._longest, float(1 << min(beyond, 64)))
