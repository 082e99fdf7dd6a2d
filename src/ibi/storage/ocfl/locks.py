"""One lock for each object, respected by all threads and processes that change it.

Objects are many and locked for milliseconds, so several share a lock: a fixed number of files, by a digest of the name.
Nobody holds two, so nobody can wait in a circle.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from zlib import crc32

from ibi.storage.disk import make_directory, refusals
from ibi.storage.errors import DiskRefused
from ibi.storage.file_lock import open_lock, taken

__all__ = ["ObjectLocks"]

_COUNT = 64
_PATIENCE = 1800.0
"""Seconds: somebody may be removing an object of many gigabytes."""


class ObjectLocks:
    """Locks in a directory of their own; the files stay there, empty."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # The kernel's lock is the process's: threads need one among themselves.
        self._threads = [Lock() for _ in range(_COUNT)]
        self._descriptors = [-1] * _COUNT

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Alone on the object of that name, within the `with`."""
        number = crc32(name.encode()) % _COUNT
        with self._threads[number]:
            descriptor = self._descriptor(number)
            with refusals(DiskRefused, self._directory):
                descriptor = taken(descriptor, self._path(number), _PATIENCE)
            self._descriptors[number] = descriptor
            try:
                yield
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        for number, lock in enumerate(self._threads):
            with lock:
                if self._descriptors[number] >= 0:
                    os.close(self._descriptors[number])
                self._descriptors[number] = -1

    def _descriptor(self, number: int) -> int:
        if self._descriptors[number] < 0:
            path = self._path(number)
            with refusals(DiskRefused, path):
                make_directory(self._directory)
                self._descriptors[number] = open_lock(path)
        return self._descriptors[number]

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:02}.lock"
