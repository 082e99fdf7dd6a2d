"""Make a set of files and names durable on disk.

POSIX requires a sync for each file and directory. The cost lies in the commits of the file system's journal, not in the
number of files. Where the system can sync a whole file system and reports failures, a change's content takes one commit
instead of a dozen, and concurrent changes share it. Large files are always synced separately. If only names have
changed, the directories are synced separately, and concurrent changes share that too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Condition, Lock

from ibi.storage.machine import sync_file, sync_file_system

_MOST_FILES = 64
_MOST_BYTES = 1 << 23
_SMALL = 1 << 16


class _Shared:
    """Work that one thread does for all that wait for it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._lock = Lock()
        self._finish = Condition(self._lock)
        self._is_running = False
        self._started = 0
        self._finished = 0

    def run(self) -> None:
        """Run the work, or wait for a run that begins after this call. If a run fails, only one of the waiting threads
        gets its error."""
        with self._lock:
            # The present run may have begun before this call.
            wanted = self._started + 1
            while self._finished < wanted and self._is_running:
                self._finish.wait()
            if self._finished >= wanted:
                return
            self._is_running = True
            self._started += 1
        try:
            self._work()
        finally:
            with self._lock:
                self._is_running = False
                self._finished = self._started
                self._finish.notify_all()


class FileSystem:
    """The file system of a store. One sync serves all waiting threads."""

    def __init__(self, place: str) -> None:
        # A write failure is reported once to each descriptor that was open before, so this one stays open.
        self._descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._shared = _Shared(self._sync)
        self._lock = Lock()
        self._directories: set[str] = set()
        self._has_content = False
        self.failures = 0
        """Number of failed syncs. The lost files are unknown, so all running changes have to fail."""
        self.is_synced_whole = True
        """False once the system has said that it cannot."""
        self.was_synced_whole = False
        """True if the system has shown that it can."""

    def sync(self) -> bool:
        """Make everything durable that was written before this call; return false if the system cannot."""
        with self._lock:
            self._has_content = True
        self._shared.run()
        return self.is_synced_whole

    def sync_names(self, directories: Iterable[str]) -> None:
        """Make the names in these directories durable. Objects share most of the directories above them."""
        with self._lock:
            self._directories.update(directories)
        self._shared.run()

    def close(self) -> None:
        os.close(self._descriptor)

    def _sync(self) -> None:
        with self._lock:
            has_content, directories = self._has_content, self._directories
            self._has_content, self._directories = False, set()
        try:
            if not (has_content and self._sync_whole()):
                _sync_names(directories)
        except BaseException:
            self.failures += 1
            raise

    def _sync_whole(self) -> bool:
        is_able = sync_file_system(self._descriptor)
        self.is_synced_whole &= is_able
        self.was_synced_whole |= is_able
        return is_able


class Batch:
    """Files and directories to be synced together, by one thread."""

    def __init__(self, file_system: FileSystem) -> None:
        self._file_system = file_system
        self._failures = file_system.failures
        self._files: list[int] = []
        self._directories: dict[str, None] = {}
        self._size = 0
        self._has_content = False
        self._is_left_to_whole = False
        """True if closed files depend on a sync of the whole file system."""

    def add_file(self, descriptor: int, size: int) -> None:
        """Add a file, and take over its descriptor."""
        self._has_content = True
        if size <= _SMALL and self._file_system.was_synced_whole:
            os.close(descriptor)
            self._is_left_to_whole = True
            return
        self._files.append(descriptor)
        self._size += size
        if len(self._files) >= _MOST_FILES or self._size >= _MOST_BYTES:
            self._sync_files()

    def add_directory(self, path: str) -> None:
        self._directories[path] = None

    def sync(self) -> None:
        """Make all of it durable; raise `OSError` if that fails."""
        if not self._file_system.is_synced_whole:
            self._sync_each()
        elif self._directories and not self._has_content:
            self._file_system.sync_names(self._directories)
        elif not self._file_system.sync():
            self._sync_each()
        self._close_files()
        if self._file_system.failures != self._failures:
            raise OSError(0, "something was not written")
        self._directories.clear()
        self._has_content = self._is_left_to_whole = False

    def close(self) -> None:
        self._close_files()

    def _sync_each(self) -> None:
        if self._is_left_to_whole:
            raise OSError(0, "the file system can be synced no more")
        self._sync_files()
        for path in self._directories:
            _sync_directory(path)

    def _sync_files(self) -> None:
        for descriptor in self._files:
            sync_file(descriptor)
        self._close_files()

    def _close_files(self) -> None:
        self._size = 0
        while self._files:
            os.close(self._files.pop())


def start_writing(descriptor: int, length: int) -> None:
    """Let the kernel begin to write this out, without waiting, and free the pages."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(descriptor, 0, length, os.POSIX_FADV_DONTNEED)


def _sync_names(directories: Iterable[str]) -> None:
    for directory in directories:
        with suppress(FileNotFoundError):  # an interrupted change has removed it
            _sync_directory(directory)


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_TRIES = 100


class Parents:
    """Renames objects into place. Safe in any thread."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._durable: set[str] = set()

    def bring_in(self, place: str, name: str, batch: Batch) -> None:
        """Rename the directory at `place` to that of `name`. The batch gets the directories to sync."""
        for _ in range(_TRIES):
            self._make(name, batch)
            try:
                os.rename(place, f"{self._root}/{name}")
            except FileNotFoundError:
                # Another change was refused, and removed the directory that it had made.
                self._durable.clear()
            else:
                return
        raise FileNotFoundError(2, "its directory comes and goes")

    def note_durable(self, name: str) -> None:
        """Remember that the directories above the object are synced."""
        self._durable.add(name.rpartition("/")[0])

    def prune(self, name: str) -> None:
        """Remove the empty directories above an object that was not stored."""
        folder = name.rpartition("/")[0]
        self._durable.discard(folder)
        with suppress(OSError):
            while folder:
                with suppress(FileNotFoundError):
                    os.rmdir(f"{self._root}/{folder}")
                folder = folder.rpartition("/")[0]

    def _make(self, name: str, batch: Batch) -> None:
        folder = name.rpartition("/")[0]
        batch.add_directory(f"{self._root}/{folder}")
        if folder in self._durable:
            return
        # An existing directory may belong to another change that has not synced it yet. So all are synced, new or not.
        parts = folder.split("/")
        for depth in range(1, len(parts) + 1):
            above = "/".join((self._root, *parts[: depth - 1]))
            batch.add_directory(above)
            with suppress(FileExistsError):
                os.mkdir(f"{above}/{parts[depth - 1]}")
