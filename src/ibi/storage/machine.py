"""Services of this machine: durable writes, clocks, a machine id, and limits on open descriptors.

With no descriptor left, no file, database or connection can be opened. A refused connection costs one client a moment,
so connections are limited well below the system's limit.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import resource
import secrets
import socket
import sys
import time
import uuid
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from ibi.standard.clock_reading import Reading
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import StorageError
from ibi.storage.errors import DiskRefused, NotAStore, TooManyOpenFiles


class refusals:  # lower case, as a function; a generator would make every commit three times as expensive
    """Context manager that raises an `OSError` inside it as `kind`, with a path and a reason."""

    __slots__ = ("_kind", "_path")

    def __init__(self, kind: type[StorageError], path: Path) -> None:
        self._kind, self._path = kind, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            raise_if_exhausted(error)
            raise self._kind(path=self._path, reason=error.strerror or str(error)) from error


def check_same_file(descriptor: int, path: Path) -> None:
    """Raise `NotAStore` if the path no longer leads to the file that the descriptor has open."""
    opened = os.fstat(descriptor)
    with refusals(NotAStore, path):
        found = path.stat()
    if (found.st_dev, found.st_ino) != (opened.st_dev, opened.st_ino):
        raise NotAStore(path=path, reason="it was replaced while it was open; start the server again")


def sync_file(descriptor: int) -> None:
    """Make the content and size of the file durable."""
    if sys.platform == "darwin":  # where a plain sync stops at the disk's cache
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def sync_directory(directory: Path) -> None:
    """Make the names in the directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path) -> None:
    """Make the directory and its missing parents durably."""
    if directory.is_dir():
        return
    make_directory(directory.parent)
    directory.mkdir(exist_ok=True)
    sync_directory(directory.parent)


def write_durably(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write the file durably and atomically: after a crash it has the new content or the old one."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with refusals(DiskRefused, path):
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                sync_file(file.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_tree(directory: Path) -> None:
    """Make every file and name below the directory durable, and its own name."""
    for place, _, names in os.walk(directory):
        for name in names:
            with Path(place, name).open("rb") as file:
                os.fsync(file.fileno())
        sync_directory(Path(place))
    sync_directory(directory.parent)


def sync_file_system(descriptor: int) -> bool:
    """Sync the whole file system of an open file. Return false where the system cannot, or does not report failures.

    A failure since the descriptor was opened is reported once for each descriptor.
    """
    function = _system_call("syncfs") if _SYNCFS_TELLS else None
    if function is None:
        return False
    if function(descriptor) != 0:
        _raise_last()
    return True


def exchange(one: str, other: str) -> bool:
    """Swap two names atomically. Return false where the system or the file system cannot."""
    function = _system_call("renameat2")
    if function is None:
        return False
    if function(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    if _last_error() in (errno.EINVAL, errno.ENOSYS):
        return False
    _raise_last()
    return False


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_SYNCFS_TELLS = sys.platform == "linux" and tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (5, 8)
"""Linux before 5.8 reports success even if writing failed."""


@cache
def _system_call(name: str) -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    import ctypes

    function: Callable[..., int] | None = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    return function


def _last_error() -> int:
    import ctypes

    return ctypes.get_errno()


def _raise_last() -> None:
    number = _last_error()
    raise OSError(number, os.strerror(number))


_UPTIME_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that continues while the machine sleeps, where the system has one."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_NO_ADDRESS = 1 << 40
"""A bit that no network card's address has. `uuid.getnode` sets it in the random number it returns without a card."""


class MachineClocks:
    """Implements the port `Clocks` on the real clocks."""

    def __init__(self, boot_id: Path = _BOOT_ID) -> None:
        # Without boot ids from the system, uptimes are compared within this process only.
        self._boot = _text(boot_id) or secrets.token_hex(16)

    def read(self) -> Reading:
        uptime = time.clock_gettime_ns(_UPTIME_CLOCK)
        return Reading(Instant.from_nanoseconds(time.time_ns()), uptime, self._boot)

    def seconds(self) -> int:
        return time.time_ns() // 1_000_000_000


def machine_id(places: tuple[Path, ...] = _MACHINE_IDS) -> str:
    """Return a stable id of this machine, hashed because the machine's own id is confidential."""
    found = next((text for text in map(_text, places) if text and text != "uninitialized"), None)
    return sha256(f"ibi {found or _hardware()}".encode()).hexdigest()


def _hardware() -> str:
    node = uuid.getnode()
    return socket.gethostname() if node & _NO_ADDRESS else f"{node:012x} {socket.gethostname()}"


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


_EXHAUSTION: Final = frozenset({errno.EMFILE, errno.ENFILE})

_MOST_RESERVED: Final = 4096
"""Descriptors for databases, files of deposits, outgoing connections to Archives and mail servers, and accepted
connections that are not counted yet. A quarter of the limit where the limit is low."""
OWN_DESCRIPTORS: Final = 160
"""Descriptors that an idle server has open, and some more."""
_MOST_CONNECTIONS: Final = 8192
"""A connection takes about ten kilobytes of memory in any state."""
_MOST_PENDING: Final = 2048
_UNLIMITED: Final = 1 << 20


def raise_limit() -> int:
    """Raise this process's limit of descriptors as far as allowed. Return the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        wanted = _UNLIMITED if hard == resource.RLIM_INFINITY else hard
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # some systems say "unlimited" and mean less
            return soft
        soft = wanted
    return _UNLIMITED if soft == resource.RLIM_INFINITY else soft


def most_connections(limit: int) -> int:
    """Return how many connections this limit allows, since each may need a second descriptor for a file."""
    return max(1, min(_MOST_CONNECTIONS, (limit - _reserve(limit)) // 2))


def pending_connections(limit: int) -> int:
    """Return how many connections may wait to be accepted.

    All of them are accepted in one go, and the refused ones are closed after that. So this is a part of the descriptors
    that the other connections leave. With a shorter backlog, a client that meets a flood must retry after a second.
    """
    return max(16, min(_MOST_PENDING, 3 * (limit - most_connections(limit) - OWN_DESCRIPTORS) // 4))


def _reserve(limit: int) -> int:
    return min(_MOST_RESERVED, max(OWN_DESCRIPTORS, limit // 4))


def is_exhaustion(error: BaseException | None) -> bool:
    """Return whether the error says that this process, or the machine, has too many open files."""
    return isinstance(error, OSError) and error.errno in _EXHAUSTION


def raise_if_exhausted(error: BaseException) -> None:
    """Raise `TooManyOpenFiles` for such an error, so that it is not taken for damage of the file."""
    if is_exhaustion(error):
        raise TooManyOpenFiles from error


def are_exhausted() -> bool:
    """Return whether this process can open nothing more, by trying it."""
    try:
        os.close(os.dup(2))
    except OSError as error:
        return is_exhaustion(error)
    return False
