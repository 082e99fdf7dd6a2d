"""The bytes of drafts: incoming files, locked until they are complete, and the records and sizes of finished ones."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock, RLock
from typing import Final

from ibi.deposits.model import DRAFT_ID, DraftRecord, decode_draft
from ibi.deposits.ports import PartialUpload, Uploaded
from ibi.items.model.content import BlockHasher
from ibi.items.model.file import collision_key, folders_of
from ibi.items.model.item_json import read_file
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import InvalidInput
from ibi.standard.json_fields import decode_document, require_type, string
from ibi.standard.lru_cache import SharedLruCache
from ibi.standard.storage_errors import DiskFull, DraftDamaged, refused_for_room
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import raise_if_exhausted, refusals, sync_directory, sync_file


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
_READ: Final = 1024 * 1024


def _tell_none() -> None:
    """Do nothing: no other process has to know."""


class Incoming:
    """Implements the port `IncomingFile`. The file is locked until `close` or `abandon`. A process that dies loses its
    lock, so `unless_incoming` can tell which files are no longer being sent."""

    def __init__(self, folder: Path, *, with_sha256: bool = False, on_growth: Callable[[], None] = _tell_none) -> None:
        """SHA-512 and the digests of blocks are always computed. The SHA-256 of the whole file costs half as much
        again, so it is computed only for a sender that wants it checked. `on_growth` is called each time that `_MUCH`
        more bytes have come, and when the file is abandoned."""
        self.path = folder / secrets.token_hex(16)
        self.size = 0
        self._on_growth = on_growth
        self._hasher: BlockHasher | None = BlockHasher()
        self._sha256 = sha256() if with_sha256 else None
        self._lock = Lock()
        with room_refusals(self.path):
            self._descriptor = _create_locked(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    def write(self, piece: bytes) -> None:
        if self._hasher is not None:
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
        found = {"sha-512": bytes.fromhex(self._hash_written().digest())}
        return found if self._sha256 is None else {**found, "sha-256": self._sha256.digest()}

    def seal(self) -> str:
        return self._hash_written().seal()

    def _hash_written(self) -> BlockHasher:
        """Return the hasher of all written bytes. Bytes that this process did not write are read again."""
        if self._hasher is None:
            hasher, offset = BlockHasher(), 0
            with self._lock, room_refusals(self.path):
                while piece := os.pread(self._descriptor, _READ, offset):
                    hasher.update(piece)
                    offset += len(piece)
            self._hasher = hasher
        return self._hasher

    def cut(self, size: int) -> None:
        """Truncate the file. Its digests are computed again from the disk on demand."""
        with self._lock, room_refusals(self.path):
            os.ftruncate(self._descriptor, size)
            os.lseek(self._descriptor, size, os.SEEK_SET)
        self.size, self._hasher = size, None

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
        # Not while a thread writes: another file would soon have this descriptor number.
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1


class Resumed(Incoming):
    """A file with a first part that came earlier, perhaps to another process. `hasher` has hashed that part, if it is
    known. `on_close` gets the number of bytes and their hasher, for the next process that continues."""

    def __init__(
        self,
        path: Path,
        descriptor: int,
        hasher: BlockHasher | None,
        *,
        on_growth: Callable[[], None],
        on_close: Callable[[int, BlockHasher], None],
    ) -> None:
        self.path, self._descriptor, self._hasher, self._sha256 = path, descriptor, hasher, None
        self.size = os.lseek(descriptor, 0, os.SEEK_END)
        self._on_growth, self._on_close, self._lock = on_growth, on_close, Lock()

    @classmethod
    def open(
        cls,
        path: Path,
        hasher: Callable[[int], BlockHasher | None],
        *,
        on_growth: Callable[[], None],
        on_close: Callable[[int, BlockHasher], None],
    ) -> Resumed | None:
        """Open the file; return None if it is being sent already. Raise `FileNotFoundError` if it is gone. `hasher`
        returns the hasher of its first bytes, by their number."""
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if not _try_lock(descriptor):
                os.close(descriptor)
                return None
            known = hasher(os.fstat(descriptor).st_size)
            return cls(path, descriptor, known, on_growth=on_growth, on_close=on_close)
        except BaseException:
            os.close(descriptor)
            raise

    def close(self) -> None:
        if self._descriptor >= 0 and self._hasher is not None:
            self._on_close(self.size, self._hasher)
        super().close()


@contextmanager
def unless_incoming(path: Path) -> Iterator[bool]:
    """Yield whether nobody is sending the file. If so, no sender can begin within the `with`."""
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
    """Create a file and lock it. A sweep may see the file before the lock and remove it; then another is made."""
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


RecordStamp = tuple[int, int, int]
"""The inode, change time and size of a record. Records are never overwritten, so a new record has a new stamp."""


def last_change(path: str) -> int:
    """Return the last change time of this path in nanoseconds; 0 if nothing is there."""
    try:
        return os.stat(path).st_ctime_ns  # noqa: PTH116
    except OSError:
        return 0


def record_stamp(entry: os.DirEntry[str]) -> RecordStamp | None:
    """Return the stamp of a record; None if it is gone."""
    try:
        found = entry.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_ctime_ns, found.st_size


def read_upload(record: Path, folder: Path) -> Uploaded | None:
    """Return an uploaded file by its record; its bytes are in `folder`. None if there is no record."""
    try:
        document = require_type(dict, decode_document(record.read_bytes()), record.name)
        name = string(document.pop("bytes", None), "bytes")
        seal = string(document.pop("seal"), "seal") if "seal" in document else None
        return Uploaded(read_file(document, record.name), str(folder / Path(name).name), seal)
    except FileNotFoundError:
        return None
    except InvalidInput as error:
        raise DraftDamaged(path=record, reason=str(error)) from error
    except OSError as error:
        raise_if_exhausted(error)
        raise DiskRefused(path=record, reason=error.strerror or str(error)) from error


def read_record(path: Path) -> DraftRecord | None:
    """Return the record of a draft; None if there is none."""
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise_if_exhausted(error)
        raise DiskRefused(path=path, reason=error.strerror or str(error)) from error
    try:
        return decode_draft(body)
    except InvalidDocument as error:
        raise DraftDamaged(path=path, reason=str(error)) from error


def folder_mark(files: Path, folder: str) -> Path:
    """Return the marker file for a folder: it exists if `files` has recorded a file in a folder of this name."""
    return files / f".in-{sha256(collision_key(folder).encode()).hexdigest()}"


def mark_folders(files: Path, path: str) -> None:
    """Mark the folders of a file that is recorded in `files`. Marks stay when the file goes. Without a mark, a conflict
    of names is only refused later."""
    for folder in folders_of(path):
        with suppress(FileExistsError):
            os.close(os.open(folder_mark(files, folder), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def read_partial(path: Path) -> PartialUpload | None:
    """Return the record of a file that comes in several requests; the name of the record is the id. None if there is
    none."""
    try:
        document = require_type(dict, decode_document(path.read_bytes()), path.name)
        media_type, length = document.get("media_type"), require_type(int, document.get("length"), "length")
        told = None if media_type is None else string(media_type, "media_type")
        return PartialUpload(path.stem, string(document.get("path"), "path"), length, told)
    except FileNotFoundError:
        return None
    except InvalidInput as error:
        raise DraftDamaged(path=path, reason=str(error)) from error
    except OSError as error:
        raise_if_exhausted(error)
        raise DiskRefused(path=path, reason=error.strerror or str(error)) from error


_MOST_DRAFTS: Final = 256
_MOST_NAMES: Final = 1_000_000


class DraftSizes:
    """Cache of file sizes for drafts that currently receive files. Evicted entries are read again. Safe in any
    thread."""

    def __init__(self) -> None:
        self._known: SharedLruCache[str, dict[str, int]] = SharedLruCache(_MOST_DRAFTS, _MOST_NAMES, RLock())

    def learn(self, draft: str, read: Callable[[], Mapping[str, int]]) -> None:
        """Load the sizes of the draft's present files by `read`, once."""
        if self._known.find(draft) is None:
            known = dict(read())
            self._known.keep(draft, known, len(known))

    def add(self, draft: str, name: str, size: int) -> None:
        """Add the size of a file that has come completely."""
        known = self._known.find(draft)
        if known is not None:
            known[name] = size
            self._known.keep(draft, known, len(known))

    def look(self, draft: str, folder: str) -> dict[str, int]:
        """Return the sizes of the files in `folder` by name. Incoming files count with their present size."""
        try:
            names = os.listdir(folder)  # noqa: PTH208 - only the names are needed
        except FileNotFoundError:
            return {}
        known = self._known.find(draft) or {}
        sizes = {name: known[name] for name in names if name in known}
        for name in names if len(sizes) < len(names) else ():
            if name not in sizes:
                with suppress(FileNotFoundError):  # gone meanwhile
                    sizes[name] = os.stat(f"{folder}/{name}").st_size  # noqa: PTH116 - no path is made for each
        return sizes


# Each process appends the id of a changed draft to one file, in records of equal length, and reads the records that
# others appended since its last look. The drafts themselves are the truth; this file only says where to look. It need
# not survive a crash, nor be complete after one: each process looks at all drafts when it starts, and periodically.

_RECORD: Final = 32
"""Bytes: the id of the process, a space, the id of a draft, a line feed."""
_MOST: Final = _RECORD * 32_768
"""Bytes after which a new file is begun. Readers then look at all drafts once."""
_ATTEMPTS: Final = 3


class _Opened:
    """A file that stays open, so that no other file can get its inode number."""

    __slots__ = ("descriptor", "number")

    def __init__(self, path: Path, flags: int) -> None:
        self.descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self.number = os.fstat(self.descriptor).st_ino

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            os.close(self.descriptor)


class DraftChanges:
    """The shared list of changed drafts of one data directory. Safe in any thread."""

    def __init__(self, path: Path) -> None:
        self._path, self._who, self._lock = path, secrets.token_hex(4), Lock()
        self._writer: _Opened | None = None
        self._reader: _Opened | None = None
        self._position, self._is_first = 0, True

    def note(self, draft: str) -> None:
        """Tell other processes that the draft has changed. If the disk is full, they notice the change later."""
        record = f"{self._who} {draft}\n".encode("ascii")
        with self._lock, suppress(OSError):
            for _ in range(_ATTEMPTS):
                if self._append(record):
                    break
                self._writer = None  # another process has begun a new file

    def read_others(self) -> Collection[str] | None:
        """Return the drafts that others have changed since the last call; None if that is unknown, as on the first
        call."""
        with self._lock:
            found = None
            with suppress(OSError):
                found = self._path.stat()
            before, number = None if self._reader is None else self._reader.number, found and found.st_ino
            # The file is shorter than before if someone emptied it by hand.
            if self._is_first or number != before or (found is not None and found.st_size < self._position):
                self._open_reader()
                return None
            return () if found is None or found.st_size == self._position else self._read_on(found.st_size)

    def _open_reader(self) -> None:
        """Open the file at its end. Its present records are skipped, because the caller looks at all drafts."""
        self._is_first, self._reader, self._position = False, None, 0
        with suppress(OSError):
            self._reader = _Opened(self._path, os.O_RDONLY)
            self._position = os.fstat(self._reader.descriptor).st_size

    def _read_on(self, end: int) -> Collection[str] | None:
        assert self._reader is not None
        whole = (end - self._position) // _RECORD * _RECORD
        try:
            read = os.pread(self._reader.descriptor, whole, self._position)
        except OSError:
            return None
        self._position += len(read)
        drafts = set()
        for start in range(0, len(read), _RECORD):
            who, _, draft = read[start : start + _RECORD].decode("latin-1").removesuffix("\n").partition(" ")
            if DRAFT_ID.fullmatch(draft) is None:  # a full disk took half a record: all later ones are displaced
                self._begin_anew()
                return None
            if who != self._who:
                drafts.add(draft)
        return drafts

    def _append(self, record: bytes) -> bool:
        """Append the record; return whether it is in the file that others read."""
        if self._writer is None:
            self._writer = _Opened(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(self._writer.descriptor, record)
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        if found.st_size > _MOST:
            self._begin_anew()
        return found.st_ino == self._writer.number

    def _begin_anew(self) -> None:
        empty = self._path.with_name(f"{self._path.name}-{secrets.token_hex(4)}")
        with suppress(OSError):
            empty.touch(0o600)
            empty.replace(self._path)
