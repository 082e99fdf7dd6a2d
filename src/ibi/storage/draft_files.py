"""Drafts on the disk: `drafts/<id>/`, outside of the store. What was taken in is there after a crash.

`draft.json` is the draft. Each file that was sent has its bytes in `bytes/`, under a name of chance, and a record in
`files/`, which is written when the bytes are durable: without a record, bytes are what a crash or a broken connection
has left. No name that a client sent is ever the name of a file here.

The bytes of a file that was taken in lie under a name of chance and never change. To look at ten thousand of them for
each that comes would take longer than it takes to receive it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final

from ibi.archive.drafts import DraftBusy, UnknownDraft
from ibi.archive.file_names import collision_key
from ibi.errors import InvalidInput
from ibi.model.content import BlockHasher
from ibi.model.draft_record import DRAFT_ID, DraftRecord, decode_draft, encode_draft
from ibi.model.errors import InvalidDocument
from ibi.model.file import File
from ibi.model.item_json import file_document, read_file
from ibi.model.json_fields import decode_document, require_type, string
from ibi.ports.clocks import Clocks
from ibi.ports.drafts import IncomingFile, Uploaded
from ibi.ports.errors import DiskFull, DraftDamaged, StorageError, refused_for_room
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, raise_if_exhausted, refusals, sync_directory, sync_file, write_durably
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


class Incoming:
    """The port `IncomingFile`. It is locked until `close` or `abandon`, and the lock of a process that dies goes with
    it: so `unless_incoming` tells which files are not being sent any more."""

    def __init__(self, folder: Path, *, with_sha256: bool = False) -> None:
        """SHA-512 and the digests of blocks are always computed, the SHA-256 of the whole only for a sender that wants
        it checked: it costs half as much again."""
        self.path = folder / secrets.token_hex(16)
        self.size = 0
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
        self.size += len(piece)

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


FOLDER: Final = "drafts"
_RECORD, _FILES, _BYTES, _LOCK = "draft.json", "files", "bytes", "lock"
_GONE: Final = re.compile(r"\.gone-.*")
_PATIENCE: Final = 5.0
"""Seconds to wait for another change of a draft; a publication may take longer, and is not waited for."""
_GLANCE: Final = 0.02
_LEFT: Final = 86_400
"""Seconds after which a draft without a record is not on its way any more."""


class DraftFiles:
    """The port `DraftStore` of one data directory."""

    def __init__(self, data: Path, clocks: Clocks) -> None:
        self._folder, self._clocks = data / FOLDER, clocks
        self._sizes = DraftSizes()

    # --- drafts ---

    def create(self, record: DraftRecord) -> None:
        place = self._place(record.id)
        with room_refusals(place):
            make_directory(self._folder)
            place.mkdir(mode=0o700)
        try:
            with room_refusals(place):
                for name in (_FILES, _BYTES):
                    (place / name).mkdir()
                sync_directory(self._folder)
            self.write(record)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise

    def read(self, draft: str) -> DraftRecord | None:
        """None if there is no such draft. `StoreDamaged` if its record cannot be read."""
        if DRAFT_ID.fullmatch(draft) is None:
            return None
        path = self._place(draft) / _RECORD
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

    def write(self, record: DraftRecord) -> None:
        path = self._place(record.id) / _RECORD
        with room_refusals(path):
            write_durably(path, encode_draft(record))
        self._touch(record.id)

    def remove(self, draft: str) -> None:
        """Gone at once for all others; what cannot be removed is removed by the next sweep."""
        gone = self._folder / f".gone-{draft}-{secrets.token_hex(4)}"
        with room_refusals(gone), suppress(FileNotFoundError):
            self._place(draft).rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def ids(self, after: str = "") -> Iterator[str]:
        """In their order; an id tells nothing but which draft it is."""
        with suppress(FileNotFoundError):
            names = sorted(entry.name for entry in os.scandir(self._folder) if DRAFT_ID.fullmatch(entry.name))
            yield from (name for name in names if name > after)

    def last_change(self, draft: str) -> int:
        """POSIX seconds of the last change; 0 if there is no such draft."""
        with suppress(OSError):
            return int((self._place(draft) / _RECORD).stat().st_mtime)
        return 0

    def stamp(self, draft: str) -> tuple[int, int]:
        """Another one after every change that is recorded, and after a file has begun to come or has gone.

        Asked for every draft at once, so no path is made for it.
        """
        place = f"{self._folder}/{draft}"
        return _last_change(f"{place}/{_RECORD}"), _last_change(f"{place}/{_BYTES}")

    def free(self) -> int:
        """Bytes that the disk has left for drafts."""
        with room_refusals(self._folder):
            try:
                disk = os.statvfs(self._folder)
            except FileNotFoundError:  # before the first draft; asked for every piece of an upload, it is not looked up
                disk = os.statvfs(self._folder.parent)
        return disk.f_bavail * disk.f_frsize

    def _touch(self, draft: str) -> None:
        """The time of the record's file is that of the last change, by the clock that judges how long ago that was."""
        now = self._clocks.read().wall.seconds
        with suppress(OSError):
            os.utime(self._place(draft) / _RECORD, (now, now))

    @contextmanager
    def alone_on(self, draft: str) -> Iterator[None]:
        """Hold the lock of the draft within the `with`. `DraftBusy` if another caller holds it for more than a
        moment."""
        path = self._place(draft) / _LOCK
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            raise UnknownDraft(draft=draft) from None
        except OSError as error:
            raise_if_exhausted(error)
            raise DiskRefused(path=path, reason=error.strerror or str(error)) from error
        try:
            _lock(descriptor, draft)
            yield
        finally:
            os.close(descriptor)

    # --- their files ---

    def uploads(self, draft: str) -> dict[str, Uploaded]:
        """The files that were sent, by their paths."""
        folder = self._place(draft) / _FILES
        found: dict[str, Uploaded] = {}
        with suppress(FileNotFoundError):
            for entry in os.scandir(folder):
                uploaded = self._read_upload(draft, Path(entry.path)) if not entry.name.startswith(".") else None
                if uploaded is not None:
                    found[uploaded.file.path] = uploaded
        return found

    def find_upload(self, draft: str, path: str) -> Uploaded | None:
        """The file that was sent under this name, or under one that some systems take for the same."""
        return self._read_upload(draft, self._record_of(draft, path))

    def totals(self, draft: str) -> tuple[int, int]:
        """How many files there are, and the bytes of all, those on their way among them."""
        self._sizes.learn(draft, lambda: self._recorded_sizes(draft))
        sizes = self.sizes(draft).values()
        return len(sizes), sum(sizes)

    def sizes(self, draft: str) -> dict[str, int]:
        """Of the same, by the names that they have on the disk; none of them is opened for it."""
        return self._sizes.look(draft, f"{self._place(draft)}/{_BYTES}")

    def _recorded_sizes(self, draft: str) -> dict[str, int]:
        with suppress(StorageError):  # which is raised when the draft is published
            return {Path(one.place).name: one.file.size for one in self.uploads(draft).values()}
        return {}

    def receive(self, draft: str, *, with_sha256: bool = False) -> Incoming:
        return Incoming(self._place(draft) / _BYTES, with_sha256=with_sha256)

    def keep(self, draft: str, incoming: IncomingFile, file: File) -> None:
        """Have the finished bytes be that file, in the place of what it was. To be called within `alone_on`."""
        before = self.find_upload(draft, file.path)
        path = self._record_of(draft, file.path)
        with room_refusals(path):
            kept = {"bytes": incoming.name, "seal": incoming.seal()}
            write_durably(path, json.dumps({**file_document(file), **kept}).encode("ascii"))
        incoming.close()
        self._sizes.add(draft, incoming.name, file.size)
        self._touch(draft)
        if before is not None:
            with suppress(OSError):
                Path(before.place).unlink(missing_ok=True)

    def drop(self, draft: str, path: str) -> bool:
        """Remove a file; return whether there was one. To be called within `alone_on`."""
        before = self.find_upload(draft, path)
        if before is None or before.file.path != path:
            return False
        record = self._record_of(draft, path)
        with room_refusals(record):
            record.unlink(missing_ok=True)
            sync_directory(record.parent)
        self._touch(draft)
        with suppress(OSError):
            Path(before.place).unlink(missing_ok=True)
        return True

    def drop_all(self, draft: str) -> None:
        """After a publication; what a crash leaves of them goes with the draft."""
        for folder in (_FILES, _BYTES):
            shutil.rmtree(self._place(draft) / folder, ignore_errors=True)

    def is_done(self, draft: str) -> bool:
        """Whether there are no files any more because it was published; quick, without reading it."""
        return not (self._place(draft) / _BYTES).exists()

    def sweep(self, draft: str) -> None:
        """Remove bytes that a crash has left on their way, and at length a draft that never came to be."""
        place = self._place(draft)
        with suppress(OSError):
            if not (place / _RECORD).exists() and place.stat().st_mtime < time.time() - _LEFT:
                shutil.rmtree(place, ignore_errors=True)
                return
        for name in self.sizes(draft).keys() - self._recorded_names(draft):
            path = place / _BYTES / name
            with unless_incoming(path) as is_left:
                # Looked up again: it may have been recorded since, which it is before it is unlocked.
                if is_left and name not in self._recorded_names(draft):
                    path.unlink(missing_ok=True)

    def _recorded_names(self, draft: str) -> set[str]:
        return {Path(uploaded.place).name for uploaded in self.uploads(draft).values()}

    def sweep_removed(self) -> None:
        with suppress(OSError):
            for entry in os.scandir(self._folder):
                if _GONE.fullmatch(entry.name):
                    shutil.rmtree(entry.path, ignore_errors=True)

    def _place(self, draft: str) -> Path:
        return self._folder / draft

    def _record_of(self, draft: str, path: str) -> Path:
        return self._place(draft) / _FILES / f"{sha256(collision_key(path).encode()).hexdigest()}.json"

    def _read_upload(self, draft: str, record: Path) -> Uploaded | None:
        try:
            document = require_type(dict, decode_document(record.read_bytes()), record.name)
            name = string(document.pop("bytes", None), "bytes")
            seal = string(document.pop("seal"), "seal") if "seal" in document else None
            return Uploaded(read_file(document, record.name), str(self._place(draft) / _BYTES / Path(name).name), seal)
        except FileNotFoundError:
            return None
        except InvalidInput as error:
            raise DraftDamaged(path=record, reason=str(error)) from error
        except OSError as error:
            raise_if_exhausted(error)
            raise DiskRefused(path=record, reason=error.strerror or str(error)) from error


def _last_change(path: str) -> int:
    try:
        return os.stat(path).st_ctime_ns  # noqa: PTH116
    except OSError:
        return 0


def _lock(descriptor: int, draft: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise DraftBusy(draft=draft) from None
        time.sleep(_GLANCE)
