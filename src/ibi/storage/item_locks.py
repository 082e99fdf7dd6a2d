"""Locks on items, respected by all threads and processes that write one data directory.

Several may be taken at once, always in one order, so that nobody waits in a circle; whoever holds some takes no more.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from zlib import crc32

from ibi.storage.disk import make_directory, refusals
from ibi.storage.errors import DiskRefused
from ibi.storage.file_lock import open_lock, taken

__all__ = ["ItemLocks"]

_COUNT = 256
_PATIENCE = 1800.0
"""Seconds: somebody may be depositing an item of many gigabytes."""


class ItemLocks:
    """A fixed number of locks, shared by the items; in files of a directory, or without one among threads alone."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        # The kernel's lock is the process's: threads need one among themselves.
        self._threads = [Lock() for _ in range(_COUNT)]
        self._descriptors = [-1] * _COUNT

    @contextmanager
    def held(self, *names: str) -> Iterator[None]:
        """Alone on the items of these names, within the `with`."""
        with ExitStack() as held:
            for number in sorted({crc32(name.encode()) % _COUNT for name in names}):
                held.enter_context(self._one(number))
            yield

    def close(self) -> None:
        for number, lock in enumerate(self._threads):
            with lock:
                if self._descriptors[number] >= 0:
                    os.close(self._descriptors[number])
                self._descriptors[number] = -1

    @contextmanager
    def _one(self, number: int) -> Iterator[None]:
        with self._threads[number]:
            if self._directory is None:
                yield
                return
            descriptor = self._descriptor(self._directory, number)
            with refusals(DiskRefused, self._directory):
                descriptor = taken(descriptor, self._path(self._directory, number), _PATIENCE)
            self._descriptors[number] = descriptor
            try:
                yield
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _descriptor(self, directory: Path, number: int) -> int:
        if self._descriptors[number] < 0:
            path = self._path(directory, number)
            with refusals(DiskRefused, path):
                make_directory(directory)
                self._descriptors[number] = open_lock(path)
        return self._descriptors[number]

    @staticmethod
    def _path(directory: Path, number: int) -> Path:
        return directory / f"{number:03}.lock"
