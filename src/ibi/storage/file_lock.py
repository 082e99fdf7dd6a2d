"""Locks of the kernel on files of a data directory: for their owner alone, and waited for with an end.

Whoever can open such a file can hold its lock: another user of the machine, or a process that hangs.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

from ibi.storage.errors import LockHeld

__all__ = ["PATIENCE", "alone", "open_lock", "taken"]

PATIENCE: Final = 120.0
"""Seconds after which a lock is given up that is held for moments."""
_QUIET: Final = 3.0
"""Seconds after which somebody should know what is waited for."""
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def open_lock(path: Path) -> int:
    """The file, made if it is missing; one that others could open is closed to them."""
    descriptor = os.open(path, _FLAGS, 0o600)
    if os.fstat(descriptor).st_mode & 0o077:
        with suppress(PermissionError):  # somebody else's: what can be done with it is for them to decide
            os.fchmod(descriptor, 0o600)
    return descriptor


def taken(descriptor: int, path: Path, patience: float = PATIENCE, quiet: float = _QUIET) -> int:
    """Hold the lock of the open file. Given is the descriptor that holds it: this one, or another in its place.

    `LockHeld` if others held it all the time; the descriptor stays open then.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pass
    else:
        return descriptor
    other = _Queued(path).wait(patience, quiet)
    os.close(descriptor)
    return other


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Alone on whatever the lock of that path stands for, within the `with`."""
    descriptor = open_lock(path)
    try:
        descriptor = taken(descriptor, path)
        yield
    finally:
        os.close(descriptor)


class _Queued:
    """A place among those for whom the kernel keeps the order. Nothing ends its waiting but the lock itself: so a
    thread waits, on a descriptor of its own, and whoever has given up is not surprised by a lock afterwards."""

    def __init__(self, path: Path) -> None:
        self._path, self._descriptor = path, open_lock(path)
        self._done, self._deciding = Event(), Lock()
        self._is_given_up = False
        self._error: OSError | None = None
        Thread(target=self._hold, name="lock", daemon=True).start()

    def wait(self, patience: float, quiet: float) -> int:
        try:
            if not self._done.wait(min(quiet, patience)):
                self._tell()
                self._done.wait(max(0.0, patience - quiet))
        except BaseException:
            if self._give_up():
                os.close(self._descriptor)
            raise
        if not self._give_up():
            raise LockHeld(path=self._path, seconds=round(patience))
        if self._error is not None:
            os.close(self._descriptor)
            raise self._error
        return self._descriptor

    def _give_up(self) -> bool:
        """Whether it is too late for that: the lock is held."""
        with self._deciding:
            self._is_given_up = not self._done.is_set()
            return not self._is_given_up

    def _hold(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except OSError as error:
            self._error = error
        with self._deciding:
            if self._is_given_up:
                os.close(self._descriptor)
            else:
                self._done.set()

    def _tell(self) -> None:
        import logging

        # Where nothing is set up for logs, as in a command, this goes to standard error.
        logging.getLogger("ibi.storage").warning("ibi: waiting for %s, which another process has locked", self._path)
