"""Locks between processes: for files, the data directory, the directory of locks, items and OCFL objects.

Any process that can open a lock file can hold its lock, even one of another user, or one that hangs.

Several item locks may be taken at once, always in one order, which excludes a deadlock; a holder takes no more. Objects
are many and locked for milliseconds, so they share a fixed number of lock files, by a digest of their name. No thread
holds two of these, which excludes a deadlock.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final
from weakref import WeakValueDictionary
from zlib import crc32

from ibi.storage.errors import DiskRefused, LockHeld, LockRefused
from ibi.storage.machine import make_directory, refusals

PATIENCE: Final = 120.0
"""Seconds to wait for a lock that is normally held for moments."""
_QUIET: Final = 3.0
"""Seconds after which a warning names the lock that is waited for."""
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def open_lock(path: Path) -> int:
    """Open a lock file, which is created if missing, and close it to other users."""
    descriptor = os.open(path, _FLAGS, 0o600)
    if os.fstat(descriptor).st_mode & 0o077:
        with suppress(PermissionError):  # another user's file: they decide on its mode
            os.fchmod(descriptor, 0o600)
    return descriptor


def hold_lock(descriptor: int, path: Path, patience: float = PATIENCE, quiet: float = _QUIET) -> int:
    """Lock the open file, and return the descriptor that holds the lock: this one, or another in its place.

    Raise `LockHeld` if others held it all the time; the descriptor stays open then.
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


def try_lock(descriptor: int) -> int | None:
    """Lock the file and return the descriptor. If another process has the lock, close it and return None."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


class WorkerLock:
    """Elects the process that does certain work for a data directory: the one that holds this lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def hold(self) -> bool:
        """Return whether this process does the work, until it releases the lock or ends."""
        if self._descriptor is None:
            with refusals(DiskRefused, self._path):
                make_directory(self._path.parent)
                self._descriptor = try_lock(open_lock(self._path))
        return self._descriptor is not None

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock at that path within the `with`."""
    descriptor = open_lock(path)
    try:
        descriptor = hold_lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


class FairLock:
    """A lock for one thread of one process at a time, in the order of arrival.

    A process that releases a kernel lock can take it again before the kernel has woken the waiting ones. So there are
    two locks: a process holds the first while it waits for the second, and a returning process has to wait for the
    first.
    """

    def __init__(self, path: Path) -> None:
        self._paths = _queue_of(path), path
        # Kernel locks belong to the process: threads need two of their own, for the same reason.
        self._next, self._threads = Lock(), Lock()
        self._descriptors: list[int] = []

    def __enter__(self) -> None:
        self.take()

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def take(self, *, waits: bool = True) -> bool:
        """Take the lock. Without `waits`, return false if another has it or waits for it."""
        if not self._next.acquire(blocking=waits):
            return False
        try:
            is_first = self._threads.acquire(blocking=waits)
        finally:
            self._next.release()
        is_taken = False
        try:
            if is_first:
                is_taken = self._take_of_processes(waits=waits)
        finally:
            if is_first and not is_taken:
                self._threads.release()
        return is_taken

    def _take_of_processes(self, *, waits: bool) -> bool:
        with refusals(DiskRefused, self._paths[1]):
            self._descriptors = self._descriptors or [open_lock(each) for each in self._paths]
            if not waits:
                return _hold_at_once(self._descriptors)
            _hold_in_turn(self._descriptors, self._paths)
            return True

    def give_back(self) -> None:
        fcntl.flock(self._descriptors[1], fcntl.LOCK_UN)
        self._threads.release()

    def close(self) -> None:
        with self._threads:
            self._close()

    def _close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []

    __del__ = _close


_shared: WeakValueDictionary[tuple[int, Path], FairLock] = WeakValueDictionary()
_sharing = Lock()


def shared_lock(path: Path) -> FairLock:
    """Return the lock at `path` that all users in this process share, so that its threads wait without the kernel.

    It closes with its last user. If it was closed before, it opens again on use.
    """
    with _sharing:
        lock = _shared.get((os.getpid(), path))
        if lock is None:
            lock = _shared[os.getpid(), path] = FairLock(path)
        return lock


def _queue_of(path: Path) -> Path:
    """Return the path of the first lock, for the second lock at that path."""
    return path.with_name(f"{path.name}.queue")


def _hold_in_turn(descriptors: list[int], paths: tuple[Path, Path]) -> None:
    """Take the second lock, holding the first while waiting. The descriptors may be replaced."""
    descriptors[0] = hold_lock(descriptors[0], paths[0])
    try:
        descriptors[1] = hold_lock(descriptors[1], paths[1])
    finally:
        fcntl.flock(descriptors[0], fcntl.LOCK_UN)


def _hold_at_once(descriptors: list[int]) -> bool:
    """Take the second lock if nobody has it or waits for it; return whether that worked."""
    try:
        fcntl.flock(descriptors[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(descriptors[1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            fcntl.flock(descriptors[0], fcntl.LOCK_UN)
    except BlockingIOError:
        return False
    return True


class _Queued:
    """A place in the kernel's queue for a lock. Only the lock itself ends the wait in the kernel. So a thread waits on
    a descriptor of its own, and releases the lock at once if the caller has given up."""

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
        """Give up, and return whether it is too late for that because the lock is held."""
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

        # Without a logging configuration, as in a command, this goes to standard error.
        logging.getLogger("ibi.storage").warning("ibi: waiting for %s, which another process has locked", self._path)


_NAME = Path("mint", "lock")


class DataLock:
    """The lock of a data directory, for one process at a time in the order of arrival, like a `FairLock`.

    The file also names the store instance in the directory, so that others can see it without opening the store.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / _NAME
        self._paths = _queue_of(self.path), self.path
        with refusals(DiskRefused, self.path):
            self._descriptors = [open_lock(each) for each in self._paths]

    def acquire(self) -> None:
        with refusals(DiskRefused, self.path):
            _hold_in_turn(self._descriptors, self._paths)

    def release(self) -> None:
        fcntl.flock(self._descriptors[1], fcntl.LOCK_UN)

    def write_instance(self, instance: str) -> None:
        """Write the name of the instance into the lock file, under the lock."""
        with refusals(DiskRefused, self.path):
            content, descriptor = instance.encode(), self._descriptors[1]
            if os.pread(descriptor, 1024, 0) != content:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, content, 0)
                os.fsync(descriptor)

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)


def is_data_directory_of(directory: Path, instance: str) -> bool:
    """Return whether that store instance lives in the directory. If the file may not be read, assume that it does."""
    try:
        return (directory / _NAME).read_bytes() == instance.encode()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


_PLACES = (Path("/run/lock/ibi"), Path("/var/lock/ibi"))
_SHARED = 0o1777
"""Mode bits: every user may add files, and remove only their own."""


class LockDirectory:
    """An open directory of lock files. They are reached only through its descriptor, so replacing its name by a link
    has no effect."""

    def __init__(self, path: Path | None = None, places: tuple[Path, ...] = _PLACES) -> None:
        """Open `path`. Without it, use the first usable one of `places`, or a directory beside other temporary
        files."""
        self.path, self._descriptor = (
            _open_directory(path) if path else _first(*places, Path(tempfile.gettempdir(), "ibi-locks"))
        )

    def open(self, name: str) -> int:
        """Return a descriptor of the plain file `name`, created if missing. Anything else under that name is
        refused."""
        with refusals(LockRefused, self.path / name):
            descriptor = self._open_or_make(name)
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return descriptor
        os.close(descriptor)
        raise LockRefused(path=self.path / name, reason="it is not a plain file with one name")

    def _open_or_make(self, name: str) -> int:
        # Not in one call with O_CREAT: Linux refuses that for other users' files in a shared directory.
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        for _ in range(3):
            try:
                return os.open(name, flags, dir_fd=self._descriptor)
            except FileNotFoundError:
                pass
            try:
                return os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=self._descriptor)
            except FileExistsError:
                pass
        raise FileNotFoundError(2, "it comes and goes")

    def close(self) -> None:
        os.close(self._descriptor)


def _first(*places: Path) -> tuple[Path, int]:
    for place in places[:-1]:
        if place.parent.is_dir() and os.access(place if place.exists() else place.parent, os.W_OK | os.X_OK):
            return _open_directory(place)
    return _open_directory(places[-1])


def _open_directory(path: Path) -> tuple[Path, int]:
    if path.is_symlink():
        raise LockRefused(path=path, reason="it is a symbolic link, which any user may have put there")
    with refusals(LockRefused, path):
        made = _make(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if made:
            os.fchmod(descriptor, _SHARED)
    mode = os.fstat(descriptor).st_mode
    if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
        os.close(descriptor)
        raise LockRefused(path=path, reason="others may remove files from it: set its sticky bit (chmod +t)")
    return path, descriptor


def _make(path: Path) -> bool:
    """Create the directory; return whether it was missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


_ITEM_LOCKS = 256
_NAME_LOCKS = 64
"""Locks for names that are not item labels. They have files of their own, because their holder may take item locks."""
_PATIENCE = 1800.0
"""Seconds: another process may be depositing an item, or removing an object, of many gigabytes."""


class _SharedLocks:
    """A fixed number of locks, in files of a directory of their own. The empty files stay there."""

    def __init__(self, directory: Path, number: int, digits: int) -> None:
        self._directory, self._digits = directory, digits
        # Kernel locks belong to the process: threads need locks of their own.
        self._threads = [Lock() for _ in range(number)]
        self._descriptors = [-1] * number

    def close(self) -> None:
        for number, lock in enumerate(self._threads):
            with lock:
                if self._descriptors[number] >= 0:
                    os.close(self._descriptors[number])
                self._descriptors[number] = -1

    @contextmanager
    def _one(self, number: int) -> Iterator[None]:
        with self._threads[number]:
            descriptor = self._descriptor(number)
            with refusals(DiskRefused, self._directory):
                descriptor = hold_lock(descriptor, self._path(number), _PATIENCE)
            self._descriptors[number] = descriptor
            try:
                yield
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _descriptor(self, number: int) -> int:
        if self._descriptors[number] < 0:
            path = self._path(number)
            with refusals(DiskRefused, path):
                make_directory(self._directory)
                self._descriptors[number] = open_lock(path)
        return self._descriptors[number]

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:0{self._digits}}.lock"


class FileItemLocks(_SharedLocks):
    """Implements the port `ItemLocks` with locks that items share."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, _ITEM_LOCKS + _NAME_LOCKS, digits=3)

    @contextmanager
    def hold(self, *names: str) -> Iterator[None]:
        with self._hold_all({crc32(name.encode()) % _ITEM_LOCKS for name in names}):
            yield

    @contextmanager
    def hold_names(self, *names: str) -> Iterator[None]:
        with self._hold_all({_ITEM_LOCKS + crc32(name.encode()) % _NAME_LOCKS for name in names}):
            yield

    @contextmanager
    def _hold_all(self, numbers: set[int]) -> Iterator[None]:
        with ExitStack() as held:
            for number in sorted(numbers):
                held.enter_context(self._one(number))
            yield


_OBJECT_LOCKS = 64
"""Lock files, which the objects share."""


class ObjectLocks(_SharedLocks):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory, _OBJECT_LOCKS, digits=2)

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Hold the lock of the object within the `with`."""
        return self._one(crc32(name.encode()) % _OBJECT_LOCKS)
