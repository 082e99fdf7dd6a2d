"""The journal of running changes: after a crash it lists the items to check, and after a clean stop none.

Each process that changes items has one file. It locks the file while it lives, and removes it on closing: a file
without a lock was left by a crash. Its first line is the boot id of the machine, durable before the first change. Each
further line is the name of an item, written before its change begins.

These lines are not synced. They survive the death of the process, which is the usual case. After the death of the
machine the boot id differs, and the list is not trusted: everything is checked.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from ibi.items.ports.archive_store import EVERYTHING, Abandoned
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import alone, try_lock
from ibi.storage.machine import make_directory, refusals, sync_directory, sync_file

_LOCK = "lock"
_LONG = 1 << 16
"""Bytes after which the file is truncated, when no change is running."""


class ChangeJournal:
    """Implements the port `Journal` in files of one directory."""

    def __init__(self, directory: Path, boot: str) -> None:
        self._directory, self._boot = directory, boot
        self._lock = Lock()
        self._under_way: Counter[str] = Counter()
        self._own: Path | None = None
        self._descriptor = -1
        self._head = self._length = 0

    def begin(self, names: Iterable[str]) -> None:
        names = tuple(names)
        with self._lock, refusals(DiskRefused, self._directory):
            if self._own is None:
                self._open()
            self._length += os.write(self._descriptor, "".join(f"{name}\n" for name in names).encode("ascii"))
            self._under_way.update(names)

    def end(self, names: Iterable[str]) -> None:
        names = tuple(names)
        with self._lock, suppress(OSError):  # a list that is too long does no harm
            self._under_way.subtract(names)
            self._under_way = +self._under_way
            if not self._under_way and (self._length > _LONG or EVERYTHING in names):
                os.ftruncate(self._descriptor, self._head)
                self._length = self._head
                if EVERYTHING not in names:
                    # The last change stays listed: until the next one, the store also allows a catalogue without it.
                    self._length += os.write(self._descriptor, "".join(f"{name}\n" for name in names).encode("ascii"))

    def under_way(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._under_way)

    @contextmanager
    def take_abandoned(self) -> Iterator[tuple[Abandoned, ...]]:
        with refusals(DiskRefused, self._directory):
            taken = self._take() if self._directory.is_dir() else []
        try:
            yield tuple(self._read_abandoned(descriptor) for _, descriptor in taken)
            with refusals(DiskRefused, self._directory):
                for path, _ in taken:
                    path.unlink(missing_ok=True)
        finally:
            for _, descriptor in taken:
                os.close(descriptor)

    def close(self) -> None:
        with self._lock:
            if self._own is None:
                return
            with suppress(OSError):
                if not self._under_way:
                    self._own.unlink()
            os.close(self._descriptor)
            self._own = None

    def _open(self) -> None:
        make_directory(self._directory)
        # Under this lock, no process takes the new file for abandoned before it is locked.
        with alone(self._directory / _LOCK):
            path = self._directory / secrets.token_hex(8)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        self._head = self._length = os.write(self._descriptor, f"{self._boot}\n".encode("ascii"))
        sync_file(self._descriptor)
        sync_directory(self._directory)
        self._own = path

    def _take(self) -> list[tuple[Path, int]]:
        with alone(self._directory / _LOCK):
            others = (path for path in sorted(self._directory.iterdir()) if path.name != _LOCK and path != self._own)
            return [(path, descriptor) for path in others if (descriptor := _free(path)) is not None]

    def _read_abandoned(self, descriptor: int) -> Abandoned:
        text = os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode("ascii", "replace")
        if "\n" not in text:
            return Abandoned((), whole=True)  # no change begins before the first line is durable
        boot, *names, rest = text.split("\n")
        listed = dict.fromkeys(names)
        whole = boot == self._boot and not rest and EVERYTHING not in listed
        return Abandoned(tuple(name for name in listed if name != EVERYTHING), whole)


def _free(path: Path) -> int | None:
    """Lock the file and return its descriptor; None if a living process holds it."""
    try:
        return try_lock(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW))
    except FileNotFoundError:
        return None
