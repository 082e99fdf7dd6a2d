"""Giving memory back to the system after a busy time.

After a burst of connections their memory is free, but only to this process: the interpreter and the C library keep it
for the next time, and other services of the machine would miss it. They are asked to give it back while the process has
clearly more than it began with.
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
"""Bytes beyond those of the beginning that are left alone."""
_PAUSE: Final = 10.0
_LONG_PAUSE: Final = 30.0
"""Seconds until the next try after one that gave nothing back."""
_SHARE: Final = 0.001
"""Share of all time that requests may wait for the collector."""
_MOST_WAIT: Final = 0.1
"""Seconds that requests may wait for the collector at a time."""
_STATM: Final = Path("/proc/self/statm")


def _resident() -> int:
    """Bytes of this process that are in memory; 0 where the system does not report it."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _system_trim() -> Callable[[], object] | None:
    """The function that gives free memory back; None for a C library without one."""
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
        """Have the interpreter free its reserves and the reference cycles that a burst of connections left. Its lock is
        held meanwhile: the longer a collection takes, the longer the pause until the next one; after one that takes too
        long there is none."""
        began = clock()
        if began >= self._next_collection:
            gc.collect()
            seconds = clock() - began
            self._next_collection = began + seconds / _SHARE if seconds < _MOST_WAIT else float("inf")

    def trim(self, now: float) -> None:
        """Give free memory back to the system. Blocks for some milliseconds without holding the interpreter's lock."""
        before = self._resident()
        if self._trim is not None:
            self._trim()
        if before - self._resident() < _SLACK // 8:
            self._next = now + _LONG_PAUSE
