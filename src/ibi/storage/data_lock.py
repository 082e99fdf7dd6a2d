"""The lock of a data directory: whoever changes its clock does so alone on it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from ibi.storage.disk import refusals
from ibi.storage.errors import DiskRefused
from ibi.storage.file_lock import open_lock, taken

__all__ = ["DataLock", "is_data_directory_of"]

_NAME = Path("mint", "lock")


class DataLock:
    """Taken by one thread of one process at a time; the kernel queues the others and wakes the next.

    The file also tells which instance of a store lives in the directory, so that others can see it without opening the
    store.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / _NAME
        with refusals(DiskRefused, self.path):
            self._descriptor = open_lock(self.path)

    def acquire(self) -> None:
        with refusals(DiskRefused, self.path):
            self._descriptor = taken(self._descriptor, self.path)

    def release(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def write_instance(self, instance: str) -> None:
        """Under the lock."""
        with refusals(DiskRefused, self.path):
            content = instance.encode()
            if os.pread(self._descriptor, 1024, 0) != content:
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, content, 0)
                os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def is_data_directory_of(directory: Path, instance: str) -> bool:
    """Whether that instance of a store lives there, as far as can be seen: who may not look has to believe it."""
    try:
        return (directory / _NAME).read_bytes() == instance.encode()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
