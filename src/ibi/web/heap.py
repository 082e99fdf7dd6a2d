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

__all__ = ["Heap"]

_SLACK: Final = 8 * 1024 * 1024
"""Bytes beyond those of the beginning for which nothing is done."""
_PAUSE: Final = 10.0
_LONG_PAUSE: Final = 30.0
"""Seconds until the next try, and after one that gave nothing back."""
_QUICK: Final = 0.02
"""Seconds that others may have to wait for it."""
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
        self._is_quick = True

    def is_due(self, now: float) -> bool:
        """Whether `trim` should be called at this time, in seconds of any clock."""
        if self._trim is None or now < self._next:
            return False
        self._next = now + _PAUSE
        size = self._resident()
        self._least = min(self._least or size, size)
        return size > self._least + _SLACK

    def collect(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Have the interpreter drop what it keeps for the next time. Its lock is held meanwhile: where that takes long,
        because very much is in use, it is not done again."""
        if self._is_quick:
            began = clock()
            gc.collect()
            self._is_quick = clock() - began < _QUICK

    def trim(self, now: float) -> None:
        """Blocks for some milliseconds, not holding the interpreter's lock."""
        before = self._resident()
        if self._trim is not None:
            self._trim()
        if before - self._resident() < _SLACK // 8:
            self._next = now + _LONG_PAUSE
