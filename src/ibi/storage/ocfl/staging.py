"""The place where changes are prepared, on the same file system as the storage root and outside of it.

Each process has a directory of its own there and holds a lock on it while it lives: whatever lies in a directory whose
lock is free was left by a crash. A change lies in one subdirectory, named after its kind.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Lock

from ibi.storage.disk import make_directory, refusals
from ibi.storage.errors import DiskRefused
from ibi.storage.file_lock import alone, open_lock

__all__ = ["TARGET", "Staging"]

TARGET = "target"
"""The file of a staged change that names its object."""

_LOCK = "lock"


class Staging:
    """The staged changes of this process, and those that others left."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._numbers = count(1)
        self._own: Path | None = None
        self._descriptor = -1
        self._opening = Lock()

    def begin(self, kind: str) -> str:
        """A new, empty directory for a change."""
        place = f"{self._own_directory()}/{next(self._numbers)}-{kind}"
        os.mkdir(place)
        return place

    def remove(self, place: str) -> None:
        """Nothing is left of a change; what cannot be removed now is removed by the sweep."""
        shutil.rmtree(place, ignore_errors=True)

    def abandoned(self) -> Iterator[Path]:
        """The changes of processes that are no more, oldest of each first. Each is to be dealt with and removed before
        the next is asked for."""
        if not self.directory.is_dir():
            return
        for place in sorted(self.directory.iterdir()):
            if place.is_dir() and place != self._own:
                yield from self._abandoned_in(place)

    def close(self) -> None:
        with self._opening:
            if self._own is None:
                return
            # Changes in threads that still run keep it there.
            with suppress(OSError):
                self._own.joinpath(_LOCK).unlink()
                self._own.rmdir()
            os.close(self._descriptor)
            self._own = None

    def _own_directory(self) -> Path:
        if self._own is not None:
            return self._own
        with self._opening, refusals(DiskRefused, self.directory):
            if self._own is None:
                make_directory(self.directory)
                # Between making a directory and locking it, nobody takes it for abandoned.
                with alone(self.directory / _LOCK):
                    self._own = self._locked_directory()
            return self._own

    def _locked_directory(self) -> Path:
        own = self.directory / secrets.token_hex(8)
        own.mkdir()
        self._descriptor = open_lock(own / _LOCK)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        return own

    def _abandoned_in(self, place: Path) -> Iterator[Path]:
        with alone(self.directory / _LOCK):
            descriptor = _taken(place)
        if descriptor is None:
            return
        try:
            yield from sorted((child for child in place.iterdir() if child.name != _LOCK), key=_number)
            shutil.rmtree(place, ignore_errors=True)
        finally:
            os.close(descriptor)


def _taken(place: Path) -> int | None:
    """The lock of a directory whose process is no more."""
    try:
        descriptor = open_lock(place / _LOCK)
    except FileNotFoundError:
        return None  # swept by somebody else
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _number(place: Path) -> int:
    number = place.name.partition("-")[0]
    return int(number) if number.isdecimal() else 0
