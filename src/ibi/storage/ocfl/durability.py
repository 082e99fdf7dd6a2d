"""Waiting until a set of files and names is on the disk.

POSIX has each file and directory synced on its own. What costs is not their number but the commits of the file system's
journal. Where the system can sync a whole file system and tells of failures, a small change takes one commit that way
instead of a dozen, and changes made at the same time share it. Large files are synced on their own in any case.
"""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Condition, Lock
from time import monotonic

from ibi.storage.disk import sync_file, sync_file_system

__all__ = ["Batch", "FileSystem", "start_writing"]

_MOST_FILES = 64
_MOST_BYTES = 1 << 23
_PATIENCE = 0.001
"""Seconds that a sync is put off while other changes are under way: about as long as it takes itself."""


class FileSystem:
    """The file system that a store is on, synced for all threads that wait for it at a time."""

    def __init__(self, place: str) -> None:
        # A failure to write is told once to each descriptor that was open before: hence one that stays open.
        self._descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        lock = Lock()
        self._finish = Condition(lock)
        self._arrival = Condition(lock)
        self._is_running = False
        self._started = 0
        self._finished = 0
        self._changes = 0
        self._waiting = 0
        self.failures = 0
        """How many syncs have failed. Whose files were lost is not known: all changes under way have to fail."""
        self.is_synced_whole = True
        """False once the system said that it cannot."""

    def enter(self) -> int:
        """A change begins; gives the number of failures so far."""
        with self._finish:
            self._changes += 1
            return self.failures

    def leave(self) -> None:
        """A change has ended."""
        with self._finish:
            self._changes -= 1
            self._tell_arrival()

    def sync(self) -> bool:
        """Everything written before this call is on the disk; false if the system cannot tell."""
        with self._finish:
            # The one that runs may have started before the last write.
            wanted = self._started + 1
            self._waiting += 1
            self._tell_arrival()
            while self._finished < wanted and self._is_running:
                self._finish.wait()
            if self._finished >= wanted or not self.is_synced_whole:
                return self.is_synced_whole
            self._is_running = True
            self._gather()
            self._started += 1
            self._waiting = 0
        self._run()
        return self.is_synced_whole

    def _gather(self) -> None:
        """Other changes that are about to come are waited for a moment: a sync costs the same for all as for one."""
        deadline = monotonic() + _PATIENCE
        while self._waiting < self._changes and (left := deadline - monotonic()) > 0:
            self._arrival.wait(left)

    def _tell_arrival(self) -> None:
        if self._waiting >= self._changes:
            self._arrival.notify()

    def _run(self) -> None:
        """For everybody who has come before it starts."""
        failed, able = True, True
        try:
            able = sync_file_system(self._descriptor)
            failed = False
        finally:
            with self._finish:
                self._is_running = False
                self._finished = self._started
                self.failures += failed
                self.is_synced_whole &= able
                self._finish.notify_all()

    def close(self) -> None:
        os.close(self._descriptor)


class Batch:
    """Files and directories to be synced together. Of one thread."""

    def __init__(self, file_system: FileSystem) -> None:
        self._file_system = file_system
        self._failures = file_system.enter()
        self._is_open = True
        self._files: list[int] = []
        self._directories: dict[str, None] = {}
        self._size = 0

    def add_file(self, descriptor: int, size: int) -> None:
        """Takes the descriptor over."""
        self._files.append(descriptor)
        self._size += size
        if len(self._files) >= _MOST_FILES or self._size >= _MOST_BYTES:
            self._sync_files()

    def add_directory(self, path: str) -> None:
        self._directories[path] = None

    def sync(self) -> None:
        """All of it is on the disk; `OSError` if it is not."""
        if self._file_system.is_synced_whole and self._file_system.sync():
            self._close_files()
            if self._file_system.failures != self._failures:
                raise OSError(0, "something was not written")
        else:
            self._sync_files()
            for path in self._directories:
                _sync_directory(path)
        self._directories.clear()

    def close(self) -> None:
        self._close_files()
        if self._is_open:
            self._file_system.leave()
        self._is_open = False

    def _sync_files(self) -> None:
        for descriptor in self._files:
            sync_file(descriptor)
        self._close_files()

    def _close_files(self) -> None:
        self._size = 0
        while self._files:
            os.close(self._files.pop())


def start_writing(descriptor: int, length: int) -> None:
    """Have the kernel begin to write this out, without waiting; the pages need not stay in memory."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(descriptor, 0, length, os.POSIX_FADV_DONTNEED)


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
