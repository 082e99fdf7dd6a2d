"""Staged files of incoming items, in `copies/` of the data directory.

    items/<hash of the name>/lock         held by the process that fetches the item
                             size         bytes reserved for it
                             <digest>     a file, whole or in part, by its expected digest
    rooms/<random>                        bytes reserved for data outside staging, held by the process that has them

A reservation counts while its process lives. Parts left by a dead process count with their present size. They are
continued, or removed after days without use. File names from another Archive are never used as names here.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from ibi.copies.ports import CopyUnderWay, Pieces, SourceCut, WrongDigest
from ibi.items.model.content import BlockHasher, Move, Received, Sent
from ibi.items.model.file import File
from ibi.items.ports.archive_store import OnBytes
from ibi.items.store.ocfl.durability import start_writing
from ibi.items.store.ocfl.intake import write_all
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import alone, open_lock, try_lock
from ibi.storage.machine import make_directory, refusals

FOLDER: Final = "copies"
_LOCK, _SIZE = "lock", "size"
_PIECE: Final = 1 << 20
_AHEAD: Final = 1 << 24
_DAY: Final = 86_400
_BEHIND: Final = 2
"""Maximum pieces that may wait for hashing, because a source reuses few buffers."""

Check = Callable[[int], None]


class CopyParts:
    """Implements the port `CopyStaging` of one data directory."""

    def __init__(self, data: Path) -> None:
        self._data, self._folder = data, data / FOLDER
        self._items, self._rooms = self._folder / "items", self._folder / "rooms"

    @contextmanager
    def begin(self, name: str, size: int, check: Check) -> Iterator[PartFiles]:
        place = self._place(name)
        with refusals(DiskRefused, place), self._alone():
            check(self._sum_promised(but=place))
            place.mkdir(mode=0o700, exist_ok=True)
            held = _hold(place / _LOCK)
            if held is None:
                raise CopyUnderWay(label=name)
            (place / _SIZE).write_text(str(size), encoding="ascii")
        try:
            yield PartFiles(place)
        finally:
            if not (place / _SIZE).exists():
                shutil.rmtree(place, ignore_errors=True)
            os.close(held)

    @contextmanager
    def reserve(self, size: int, check: Check) -> Iterator[None]:
        room = self._rooms / secrets.token_hex(8)
        with refusals(DiskRefused, room), self._alone():
            check(self._sum_promised())
            held = _hold(room)
            assert held is not None  # its name is random
            os.write(held, str(size).encode("ascii"))
        try:
            yield
        finally:
            with suppress(OSError):
                room.unlink()
            os.close(held)

    def forget(self, name: str) -> None:
        place = self._place(name)
        if not place.exists():
            return
        with refusals(DiskRefused, place), self._alone():
            held = _hold(place / _LOCK)
            if held is not None:
                shutil.rmtree(place, ignore_errors=True)
                os.close(held)

    def _place(self, name: str) -> Path:
        return self._items / sha256(name.encode()).hexdigest()[:32]

    def free(self) -> int:
        with refusals(DiskRefused, self._data):
            found = os.statvfs(self._data)
        return found.f_bavail * found.f_frsize

    def sweep(self, days: int) -> int:
        removed = 0
        with refusals(DiskRefused, self._folder):
            if not self._items.is_dir():
                return 0
            for place in list(self._items.iterdir()):
                removed += self._sweep(place, days)
        return removed

    def _sweep(self, place: Path, days: int) -> bool:
        """Remove an item without use for so many days; return whether it was removed."""
        with self._alone():
            held = _hold(place / _LOCK)
            if held is None:
                return False
            try:
                newest = max((each.stat().st_mtime for each in place.iterdir() if each.name != _LOCK), default=0.0)
                if time.time() - newest < days * _DAY:
                    return False
                shutil.rmtree(place, ignore_errors=True)
                return True
            finally:
                os.close(held)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._rooms.is_dir():
            make_directory(self._folder)
            for folder in (self._items, self._rooms):
                folder.mkdir(mode=0o700, exist_ok=True)
        with alone(self._folder / _LOCK):
            yield

    def _sum_promised(self, but: Path | None = None) -> int:
        """Return the bytes that other reservations and parts take. The caller holds the folder's lock."""
        total = 0
        for room in self._rooms.iterdir():
            total += _room(room)
        for place in self._items.iterdir():
            if place != but:
                total += _sum_staged(place)
        return total


def _hold(path: Path) -> int | None:
    """Return the descriptor that holds the lock of this file; None if another has it."""
    return try_lock(open_lock(path))


def _room(room: Path) -> int:
    """Return the reservation of a living process; delete one of a dead process."""
    held = _hold(room)
    if held is None:
        return _number(room)
    with suppress(OSError):
        room.unlink()
    os.close(held)
    return 0


def _sum_staged(place: Path) -> int:
    held = _hold(place / _LOCK)
    if held is None:
        return _number(place / _SIZE)
    os.close(held)
    return sum(each.stat().st_size for each in place.iterdir())


def _number(path: Path) -> int:
    with suppress(OSError, ValueError):
        return int(path.read_text(encoding="ascii") or "0")
    return 0


class PartFiles:
    """Implements the port `StagedFiles`: one item, with exclusive access."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._hashers: dict[str, BlockHasher] = {}
        """Hashers of files that this process has read from the first byte."""

    def receive(self, file: File, read_from: Callable[[int], Pieces], on_bytes: OnBytes) -> Move:
        path = self._place / file.sha512[:64]
        with refusals(DiskRefused, path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                hasher = self._hashers.get(file.sha512)
                if hasher is None:
                    hasher = self._hashers[file.sha512] = _read_again(descriptor, file.size)
                    on_bytes(hasher.size)
                os.lseek(descriptor, hasher.size, os.SEEK_SET)
                _append(descriptor, file, hasher, read_from, on_bytes)
            except WrongDigest:
                self._forget(path, file)
                raise
            finally:
                os.close(descriptor)
            digest = hasher.digest()
            if digest != file.sha512:
                self._forget(path, file)
                raise WrongDigest(path=repr(file.path), reason="its digest is another")
        blocks = hasher.blocks()
        return Move(str(path), Sent(file.path, digest, received=Received(hasher.size, blocks, hasher.crc32())))

    def discard(self) -> None:
        """Remove the files. A sweep removes the rest later."""
        for path in list(self._place.iterdir()):
            if path.name != _LOCK:
                with suppress(OSError):
                    path.unlink()

    def _forget(self, path: Path, file: File) -> None:
        self._hashers.pop(file.sha512, None)
        with suppress(OSError):
            path.unlink()


def _read_again(descriptor: int, size: int) -> BlockHasher:
    """Return the hasher of an earlier process's part. Bytes beyond the file's size are cut off."""
    hasher = BlockHasher()
    while hasher.size < size and (piece := os.read(descriptor, min(_PIECE, size - hasher.size))):
        hasher.update(piece)
    os.ftruncate(descriptor, hasher.size)
    return hasher


def _append(
    descriptor: int, file: File, hasher: BlockHasher, read_from: Callable[[int], Pieces], on_bytes: OnBytes
) -> None:
    """Write the incoming pieces, and hash them in another thread: large files take half as long."""
    written = started = hasher.size
    if written == file.size:
        return
    with _Beside(hasher) as beside:
        for piece in read_from(written):
            if written + len(piece) > file.size:
                raise WrongDigest(path=repr(file.path), reason="it is longer")
            beside.update(piece)
            write_all(descriptor, piece)
            written += len(piece)
            on_bytes(len(piece))
            if written - started >= _AHEAD:
                start_writing(descriptor, written)
                started = written
    if written < file.size:
        raise SourceCut(source="the other Archive", reason=f"{file.path!r} ended after {written} bytes")


class _Beside:
    """Hashes pieces in a thread, in their order; at the end of the `with` all are hashed. Small ones are hashed at
    once."""

    def __init__(self, hasher: BlockHasher) -> None:
        self._hasher = hasher
        self._thread: ThreadPoolExecutor | None = None
        self._under_way: deque[Future[None]] = deque()

    def __enter__(self) -> _Beside:
        return self

    def __exit__(self, *_: object) -> None:
        while self._under_way:
            self._under_way.popleft().result()
        if self._thread is not None:
            self._thread.shutdown()

    def update(self, piece: bytes | memoryview) -> None:
        if len(piece) < _PIECE and not self._under_way:
            self._hasher.update(piece)
            return
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "ibi-hash")
        self._under_way.append(self._thread.submit(self._hasher.update, piece))
        while len(self._under_way) > _BEHIND:
            self._under_way.popleft().result()
