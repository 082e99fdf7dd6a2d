"""The bytes of drafts: a file on its way into one, locked until it has come, and the sizes of those that are there."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final

from ibi.model.content import BlockHasher
from ibi.ports.errors import DiskFull, refused_for_room
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals, sync_directory, sync_file
from ibi.storage.shared_cache import SharedLruCache


@contextmanager
def room_refusals(path: Path) -> Iterator[None]:
    try:
        with refusals(DiskRefused, path):
            yield
    except DiskRefused as error:
        if refused_for_room(error):
            raise DiskFull() from error
        raise


_MUCH: Final = 16 * 1024 * 1024


def _tell_none() -> None:
    """Default: no other process has to know."""


class Incoming:
    """The port `IncomingFile`. It is locked until `close` or `abandon`, and the lock of a process that dies goes with
    it: so `unless_incoming` tells which files are not being sent any more."""

    def __init__(self, folder: Path, *, with_sha256: bool = False, on_growth: Callable[[], None] = _tell_none) -> None:
        """SHA-512 and the digests of blocks are always computed, the SHA-256 of the whole only for a sender that wants
        it checked: it costs half as much again. `on_growth` is called each time that much more has come, or all of it
        has gone."""
        self.path = folder / secrets.token_hex(16)
        self.size = 0
        self._on_growth = on_growth
        self._hasher, self._sha256 = BlockHasher(), sha256() if with_sha256 else None
        self._lock = Lock()
        with room_refusals(self.path):
            self._descriptor = _create_locked(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    def write(self, piece: bytes) -> None:
        self._hasher.update(piece)
        if self._sha256 is not None:
            self._sha256.update(piece)
        with self._lock, room_refusals(self.path):
            view = memoryview(piece)
            while view:
                view = view[os.write(self._descriptor, view) :]
        grown, self.size = self.size // _MUCH, self.size + len(piece)
        if self.size // _MUCH > grown:
            self._on_growth()

    def digests(self) -> dict[str, bytes]:
        found = {"sha-512": bytes.fromhex(self._hasher.digest())}
        return found if self._sha256 is None else {**found, "sha-256": self._sha256.digest()}

    def seal(self) -> str:
        return self._hasher.seal()

    def finish(self) -> None:
        with self._lock, room_refusals(self.path):
            sync_file(self._descriptor)
            sync_directory(self.path.parent)

    def abandon(self) -> None:
        self.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._on_growth()

    def close(self) -> None:
        # Not while a thread writes: the number would soon be another file's.
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1


@contextmanager
def unless_incoming(path: Path) -> Iterator[bool]:
    """Whether the file is not being sent; then no sender begins within the `with`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        yield _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _create_locked(path: Path) -> int:
    """A new file, open and locked. A sweep may see it before it is locked, and remove it: then another is made."""
    while True:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


_MOST_DRAFTS: Final = 256
_MOST_NAMES: Final = 1_000_000


class DraftSizes:
    """Of drafts that files come into at the moment. What one forgets is looked up again. From any thread."""

    def __init__(self) -> None:
        self._known: SharedLruCache[str, dict[str, int]] = SharedLruCache(_MOST_DRAFTS, _MOST_NAMES)

    def learn(self, draft: str, read: Callable[[], Mapping[str, int]]) -> None:
        """Have what is there already `read`, once."""
        if self._known.find(draft) is None:
            known = dict(read())
            self._known.keep(draft, known, len(known))

    def add(self, draft: str, name: str, size: int) -> None:
        """All of this file has come."""
        known = self._known.find(draft)
        if known is not None:
            known[name] = size
            self._known.keep(draft, known, len(known))

    def look(self, draft: str, folder: str) -> dict[str, int]:
        """The sizes of the files in `folder` by their names, of those that are still on their way as they are now."""
        try:
            names = os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
        except FileNotFoundError:
            return {}
        known = self._known.find(draft) or {}
        sizes = {name: known[name] for name in names if name in known}
        for name in names if len(sizes) < len(names) else ():
            if name not in sizes:
                with suppress(FileNotFoundError):  # it has gone while the others were looked at
                    sizes[name] = os.stat(f"{folder}/{name}").st_size  # noqa: PTH116 - no path is made for each
        return sizes
