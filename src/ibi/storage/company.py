"""Threads on their way to something that costs little more for all of them than for one, such as a sync of the disk.

Whoever comes first waits a moment for those who are about to come. Waiting for nobody, each sync would serve the few
who happened to come during the one before.
"""

from __future__ import annotations

from threading import Condition, Lock
from time import monotonic

__all__ = ["Company"]

_PATIENCE = 0.005
"""Seconds. Whoever joins is milliseconds away, so that this is waited for in vain only when something went wrong."""


class Company:
    """Those who are about to come and those who have. `with company:` is being one of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._arrival = Condition(self._lock)
        self._members = 0
        self._arrived = 0
        self._is_waited_for = False

    def __enter__(self) -> None:
        self.join()

    def __exit__(self, *_: object) -> None:
        self.leave()

    def join(self) -> None:
        """For one who comes within milliseconds, and perhaps again later."""
        with self._lock:
            self._members += 1

    def leave(self) -> None:
        """For one who comes no more."""
        with self._lock:
            self._members -= 1
            self._tell()

    def arrive(self) -> None:
        """One has come. Those who never joined may come as well."""
        with self._lock:
            self._arrived += 1
            self._tell()

    def gather(self) -> None:
        """Wait until as many have come as there are members, or long enough. For one thread at a time."""
        with self._lock:
            if self._arrived >= self._members:
                return
            deadline, self._is_waited_for = monotonic() + _PATIENCE, True
            while self._arrived < self._members and (left := deadline - monotonic()) > 0:
                self._arrival.wait(left)
            self._is_waited_for = False

    def depart(self) -> None:
        """All who have come are served; whoever comes from now on waits for the next time."""
        with self._lock:
            self._arrived = 0

    def _tell(self) -> None:
        if self._is_waited_for and self._arrived >= self._members:
            self._arrival.notify()
