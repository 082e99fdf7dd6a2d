"""Giving memory back to the system after a busy time.

What a burst of connections took is free again when they are gone, but only to this process: the interpreter and the C
library keep it for the next time, and a machine with other services would miss it. They are asked to give it back while
the process has clearly more than it began with.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_SLACK: Final = 8 * 1024 * 1024
"""Bytes beyond those of the beginning for which nothing is done."""
_PAUSE: Final = 10.0
_LONG_PAUSE: Final = 30.0
"""Seconds until the next try, and after one that gave nothing back."""
_SHARE: Final = 0.001
"""Of all time, what others may have to wait for the collector."""
_MOST_WAIT: Final = 0.1
"""Seconds that they may have to wait for it at a time."""
_STATM: Final = Path("/proc/self/statm")


def _resident() -> int:
    """Bytes of this process that are in memory; 0 where the system does not tell."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _system_trim() -> Callable[[], object] | None:
    """What gives free memory back; None for a C library that has nothing of the kind."""
    try:
        function = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    return lambda: function(0)


_SYSTEM_TRIM: Final = _system_trim()


class Heap:
    """The memory of this process, looked at now and then."""

    def __init__(
        self, resident: Callable[[], int] = _resident, trim: Callable[[], object] | None = _SYSTEM_TRIM
    ) -> None:
        self._resident, self._trim = resident, trim
        self._least, self._next = 0, 0.0
        self._next_collection = float("-inf")

    def is_due(self, now: float) -> bool:
        """Whether `trim` should be called at this time, in seconds of any clock."""
        if self._trim is None or now < self._next:
            return False
        self._next = now + _PAUSE
        size = self._resident()
        self._least = min(self._least or size, size)
        return size > self._least + _SLACK

    def collect(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Have the interpreter drop what it keeps for the next time, and what a burst of connections left in circles.
        Its lock is held meanwhile: the longer that takes, because much is in use, the longer it is until it is done
        again. Where it takes too long, it is not."""
        began = clock()
        if began >= self._next_collection:
            gc.collect()
            seconds = clock() - began
            self._next_collection = began + seconds / _SHARE if seconds < _MOST_WAIT else float("inf")

    def trim(self, now: float) -> None:
        """Blocks for some milliseconds, not holding the interpreter's lock."""
        before = self._resident()
        if self._trim is not None:
            self._trim()
        if before - self._resident() < _SLACK // 8:
            self._next = now + _LONG_PAUSE
