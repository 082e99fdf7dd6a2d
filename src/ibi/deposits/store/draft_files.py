"""Drafts on disk: `drafts/<id>/`, outside of the store. Accepted data survive a crash.

`draft.json` is the draft. Each uploaded file has its bytes in `bytes/`, under a random name, and a record in `files/`.
The record is written once the bytes are durable. Bytes without a record are the remains of a crash or a broken
connection. No name from a client is ever the name of a file here.

A file that comes in several requests has a record in `partial/` while its bytes exist, and keeps its bytes over a
crash. The bytes of a finished file never change, so their sizes are cached: to query ten thousand files for each new
one would take longer than to receive it.

A published draft is `drafts/published/<id>.json` for some days. It is not among the open drafts, so that a scan of
those does not slow down with each publication.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Final

from ibi.deposits.model import DRAFT_ID, DraftRecord, encode_draft
from ibi.deposits.ports import IncomingFile, PartialUpload, Uploaded
from ibi.deposits.rules.drafts import DraftBusy, DraftPublished, UnknownDraft, UnknownUpload, UploadBusy
from ibi.deposits.store.draft_bytes import (
    DraftChanges,
    DraftSizes,
    Incoming,
    RecordStamp,
    Resumed,
    folder_mark,
    last_change,
    mark_folders,
    read_partial,
    read_record,
    read_upload,
    record_stamp,
    room_refusals,
    unless_incoming,
)
from ibi.items.model.content import BlockHasher
from ibi.items.model.file import File, collision_key
from ibi.items.model.item_json import file_document
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError
from ibi.standard.lru_cache import SharedLruCache
from ibi.standard.storage_errors import StorageError
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, raise_if_exhausted, sync_directory, write_durably

FOLDER: Final = "drafts"
_RECORD, _FILES, _BYTES, _LOCK, _PARTIAL = "draft.json", "files", "bytes", "lock", "partial"
_PUBLISHED, _CHANGES = "published", ".changes"
_UPLOAD_ID: Final = re.compile("[0-9a-f]{32}")
_MOST_HASHERS: Final = 256
"""Maximum uploads with a cached hasher, so that their bytes need not be read again."""
_GONE: Final = re.compile(r"\.gone-.*")
_PATIENCE: Final = 5.0
"""Seconds to wait for another change of a draft. A publication may take longer, and is not waited for."""
_GLANCE: Final = 0.02
_LEFT: Final = 86_400
"""Seconds after which a draft without a record counts as abandoned."""


class DraftFiles:
    """Implements the port `DraftStore` of one data directory."""

    def __init__(self, data: Path, clocks: Clocks) -> None:
        self._folder, self._clocks = data / FOLDER, clocks
        self._sizes, self._changes = DraftSizes(), DraftChanges(self._folder / _CHANGES)
        self._uploaded: SharedLruCache[str, dict[str, tuple[RecordStamp, Uploaded]]] = SharedLruCache(
            256, 100_000, RLock()
        )
        self._hashers: SharedLruCache[str, tuple[int, BlockHasher]] = SharedLruCache(_MOST_HASHERS, 0, RLock())

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
        self._changes.note(record.id)

    def read(self, draft: str) -> DraftRecord | None:
        """Return the draft; None if there is none. Raise `StoreDamaged` if its record cannot be read."""
        if DRAFT_ID.fullmatch(draft) is None:
            return None
        # The published record comes first: a crash may have left its folder as well.
        return read_record(self._path_of_published(draft)) or read_record(self._place(draft) / _RECORD)

    def write(self, record: DraftRecord) -> None:
        path = self._place(record.id) / _RECORD
        with room_refusals(path):
            write_durably(path, encode_draft(record))
        self._touch(record.id)

    def remove(self, draft: str) -> None:
        """Remove a draft at once for all others. The next sweep removes the rest of it, if something fails."""
        with room_refusals(self._path_of_published(draft)):
            self._path_of_published(draft).unlink(missing_ok=True)
        self._remove_folder(draft)

    def conclude(self, record: DraftRecord) -> None:
        """Move a published draft to its final place. Its folder goes last, so the next sweep removes it after a
        crash."""
        path = self._path_of_published(record.id)
        with room_refusals(path):
            if not path.parent.is_dir():
                path.parent.mkdir(mode=0o700, exist_ok=True)
                sync_directory(self._folder)
            write_durably(path, encode_draft(record))
        self._date(path)
        self._remove_folder(record.id)

    def _remove_folder(self, draft: str) -> None:
        gone = self._folder / f".gone-{draft}-{secrets.token_hex(4)}"
        with room_refusals(gone), suppress(FileNotFoundError):
            self._place(draft).rename(gone)
        self._changes.note(draft)
        shutil.rmtree(gone, ignore_errors=True)

    def ids(self, after: str = "") -> Iterator[str]:
        """Yield the ids of drafts in sorted order. The order means nothing."""
        with suppress(FileNotFoundError):
            names = sorted(entry.name for entry in os.scandir(self._folder) if DRAFT_ID.fullmatch(entry.name))
            yield from (name for name in names if name > after)

    def published_ids(self) -> Iterator[str]:
        with suppress(FileNotFoundError):
            names = [entry.name.removesuffix(".json") for entry in os.scandir(self._folder / _PUBLISHED)]
            yield from (name for name in names if DRAFT_ID.fullmatch(name))

    def changed_elsewhere(self) -> Collection[str] | None:
        return self._changes.read_others()

    def last_change(self, draft: str) -> int:
        """Return the POSIX time of the last change in seconds; 0 if there is no such draft."""
        for path in (self._place(draft) / _RECORD, self._path_of_published(draft)):
            with suppress(OSError):
                return int(path.stat().st_mtime)
        return 0

    def stamp(self, draft: str) -> tuple[int, int]:
        """Return a value that differs after every recorded change, and after a file was begun or removed.

        It is called for every draft at once, so it makes no path objects.
        """
        place = f"{self._folder}/{draft}"
        return last_change(f"{place}/{_RECORD}"), last_change(f"{place}/{_BYTES}")

    def free(self) -> int:
        """Return the free bytes on the disk of the drafts."""
        with room_refusals(self._folder):
            try:
                disk = os.statvfs(self._folder)
            except FileNotFoundError:  # before the first draft; not tested first: this runs often
                disk = os.statvfs(self._folder.parent)
        return disk.f_bavail * disk.f_frsize

    def _touch(self, draft: str) -> None:
        """Set the file time of the record to the last change, by the same clock that later judges its age."""
        self._date(self._place(draft) / _RECORD)

    def _date(self, path: Path) -> None:
        now = self._clocks.seconds()
        with suppress(OSError):
            os.utime(path, (now, now))

    @contextmanager
    def alone_on(self, draft: str) -> Iterator[None]:
        """Hold the lock of the draft within the `with`. Raise `DraftBusy` if another caller holds it for more than some
        seconds."""
        path = self._place(draft) / _LOCK
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            raise self._absence(draft) from None
        except OSError as error:
            raise_if_exhausted(error)
            raise DiskRefused(path=path, reason=error.strerror or str(error)) from error
        try:
            _lock(descriptor, draft)
            yield
        finally:
            os.close(descriptor)

    def _absence(self, draft: str) -> IbiError:
        record = self.read(draft)
        if record is None or record.publication is None:
            return UnknownDraft(draft=draft)
        return DraftPublished(draft=draft, label=str(record.publication.labels.labels[0]))

    def uploads(self, draft: str) -> dict[str, Uploaded]:
        """Return the uploaded files by path. A record is read once: a changed one has another stamp."""
        known, found = self._uploaded.find(draft) or {}, dict[str, tuple[RecordStamp, Uploaded]]()
        with suppress(FileNotFoundError):
            for entry in (each for each in os.scandir(self._place(draft) / _FILES) if not each.name.startswith(".")):
                stamp, before = record_stamp(entry), known.get(entry.name)
                if before is not None and before[0] == stamp:
                    found[entry.name] = before
                elif stamp is not None and (uploaded := self._read_upload(draft, Path(entry.path))) is not None:
                    found[entry.name] = stamp, uploaded
        self._uploaded.keep(draft, found, len(found))
        return {uploaded.file.path: uploaded for _, uploaded in found.values()}

    def find_upload(self, draft: str, path: str) -> Uploaded | None:
        """Return the file uploaded under this name, or under one that some systems treat as equal."""
        return self._read_upload(draft, self._record_of(draft, path))

    def find_below(self, draft: str, folder: str) -> str | None:
        """Return the path of an uploaded file in a folder of this name. The records are read only if the folder is
        marked."""
        if not folder_mark(self._place(draft) / _FILES, folder).exists():
            return None
        beginning = f"{collision_key(folder)}/"
        return next((path for path in self.uploads(draft) if collision_key(path).startswith(beginning)), None)

    def totals(self, draft: str) -> tuple[int, int]:
        """Return the number of files and their total bytes, including files on their way."""
        self._sizes.learn(draft, lambda: self._recorded_sizes(draft))
        sizes = self.sizes(draft).values()
        return len(sizes), sum(sizes)

    def sizes(self, draft: str) -> dict[str, int]:
        """Return the sizes of the same files by their names on disk, without opening any of them."""
        return self._sizes.look(draft, f"{self._place(draft)}/{_BYTES}")

    def _recorded_sizes(self, draft: str) -> dict[str, int]:
        with suppress(StorageError):  # raised when the draft is published
            return {Path(one.place).name: one.file.size for one in self.uploads(draft).values()}
        return {}

    def receive(self, draft: str, *, with_sha256: bool = False) -> Incoming:
        incoming = Incoming(
            self._place(draft) / _BYTES, with_sha256=with_sha256, on_growth=lambda: self._changes.note(draft)
        )
        self._changes.note(draft)
        return incoming

    def keep(self, draft: str, incoming: IncomingFile, file: File) -> None:
        """Record the finished bytes as this file, in place of the former one. The caller holds `alone_on`."""
        before = self.find_upload(draft, file.path)
        path = self._record_of(draft, file.path)
        with room_refusals(path):
            kept = {"bytes": incoming.name, "seal": incoming.seal()}
            mark_folders(path.parent, file.path)
            write_durably(path, json.dumps({**file_document(file), **kept}).encode("ascii"))
        incoming.close()
        self._sizes.add(draft, incoming.name, file.size)
        self._touch(draft)
        if before is not None and Path(before.place).name != incoming.name:
            self._remove_bytes(draft, Path(before.place).name)
        self._changes.note(draft)

    def _remove_bytes(self, draft: str, name: str) -> None:
        """Remove the bytes of a removed file, and the record of its partial upload."""
        for path in (self._place(draft) / _BYTES / name, self._partial_of(draft, name)):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def begin_partial(self, draft: str, path: str, length: int, media_type: str | None) -> PartialUpload:
        """Begin a file that comes in several requests. Its id is the name of its bytes."""
        incoming = self.receive(draft)
        partial = PartialUpload(incoming.name, path, length, media_type)
        record = self._partial_of(draft, partial.id)
        try:
            with room_refusals(record):
                make_directory(record.parent)
                told = {"path": path, "length": length, "media_type": media_type}
                write_durably(record, json.dumps(told).encode("ascii"))
            incoming.finish()
        except BaseException:
            incoming.abandon()
            raise
        incoming.close()
        self._touch(draft)
        return partial

    def find_partial(self, draft: str, upload: str) -> PartialUpload | None:
        if DRAFT_ID.fullmatch(draft) is None or _UPLOAD_ID.fullmatch(upload) is None:
            return None
        partial = read_partial(self._partial_of(draft, upload))
        return partial if partial is not None and (self._place(draft) / _BYTES / upload).exists() else None

    def partials(self, draft: str) -> tuple[PartialUpload, ...]:
        kept = self._recorded_names(draft) if self._partial_names(draft) else set()
        found = (self.find_partial(draft, name) for name in self._partial_names(draft) - kept)
        return tuple(sorted((each for each in found if each is not None), key=lambda each: each.path))

    def partial_size(self, draft: str, upload: str) -> int:
        try:
            return (self._place(draft) / _BYTES / upload).stat().st_size
        except OSError:
            return 0

    def go_on(self, draft: str, partial: PartialUpload) -> IncomingFile:
        path = self._place(draft) / _BYTES / partial.id
        try:
            resumed = Resumed.open(
                path,
                lambda size: self._take_hasher(partial.id, size),
                on_growth=lambda: self._changes.note(draft),
                on_close=lambda size, hasher: self._hashers.keep(partial.id, (size, hasher)),
            )
        except FileNotFoundError:
            raise UnknownUpload(upload=partial.id) from None
        except OSError as error:
            raise_if_exhausted(error)
            raise DiskRefused(path=path, reason=error.strerror or str(error)) from error
        if resumed is None:
            raise UploadBusy(path=repr(partial.path))
        self._changes.note(draft)
        return resumed

    def _take_hasher(self, upload: str, size: int) -> BlockHasher | None:
        """Return the cached hasher of an upload, if it has seen exactly all of its bytes."""
        known = self._hashers.find(upload)
        self._hashers.forget(upload)
        if known is not None and known[0] == size:
            return known[1]
        return BlockHasher() if size == 0 else None

    def drop_partial(self, draft: str, upload: str) -> None:
        record = self._partial_of(draft, upload)
        is_file = upload in self._recorded_names(draft)
        with room_refusals(record):
            record.unlink(missing_ok=True)
            if not is_file:
                (self._place(draft) / _BYTES / upload).unlink(missing_ok=True)
        self._hashers.forget(upload)
        self._touch(draft)
        self._changes.note(draft)

    def _partial_of(self, draft: str, upload: str) -> Path:
        return self._place(draft) / _PARTIAL / f"{upload}.json"

    def _partial_names(self, draft: str) -> set[str]:
        try:
            names = os.listdir(self._place(draft) / _PARTIAL)  # noqa: PTH208 - only the names are needed
        except FileNotFoundError:
            return set()
        return {name.removesuffix(".json") for name in names if not name.startswith(".")}

    def drop(self, draft: str, path: str) -> bool:
        """Remove a file; return whether there was one. The caller holds `alone_on`."""
        before = self.find_upload(draft, path)
        if before is None or before.file.path != path:
            return False
        record = self._record_of(draft, path)
        with room_refusals(record):
            record.unlink(missing_ok=True)
            sync_directory(record.parent)
        self._touch(draft)
        self._remove_bytes(draft, Path(before.place).name)
        self._changes.note(draft)
        return True

    def is_done(self, draft: str) -> bool:
        """Return whether the draft was published, without reading it. Earlier versions left the folder without
        files."""
        return not (self._place(draft) / _BYTES).exists() or self._path_of_published(draft).exists()

    def sweep(self, draft: str) -> None:
        """Remove bytes that a crash has left, and after a day a draft without a record."""
        place = self._place(draft)
        with suppress(OSError):
            if not (place / _RECORD).exists() and place.stat().st_mtime < time.time() - _LEFT:
                shutil.rmtree(place, ignore_errors=True)
                return
        if self.is_done(draft) and self._sweep_published(draft):
            return
        for name in self.sizes(draft).keys() - self._recorded_names(draft) - self._partial_names(draft):
            path = place / _BYTES / name
            with unless_incoming(path) as is_left:
                # Looked up again, because a file is recorded before it is unlocked: it may have its record by now.
                if is_left and name not in self._recorded_names(draft):
                    path.unlink(missing_ok=True)
        for name in self._partial_names(draft):  # of removed files; bytes exist before such a record does
            if not (place / _BYTES / name).exists():
                self._remove_bytes(draft, name)

    def _sweep_published(self, draft: str) -> bool:
        """Remove the folder of a draft if it was published; return whether it was."""
        record = self.read(draft)
        if record is None or record.publication is None:
            return False
        if not self._path_of_published(draft).exists():
            self.conclude(record)
        elif self._place(draft).exists():
            self._remove_folder(draft)
        return True

    def _recorded_names(self, draft: str) -> set[str]:
        return {Path(uploaded.place).name for uploaded in self.uploads(draft).values()}

    def sweep_removed(self) -> None:
        with suppress(OSError):
            for entry in os.scandir(self._folder):
                if _GONE.fullmatch(entry.name):
                    shutil.rmtree(entry.path, ignore_errors=True)

    def _place(self, draft: str) -> Path:
        return self._folder / draft

    def _path_of_published(self, draft: str) -> Path:
        return self._folder / _PUBLISHED / f"{draft}.json"

    def _record_of(self, draft: str, path: str) -> Path:
        return self._place(draft) / _FILES / f"{sha256(collision_key(path).encode()).hexdigest()}.json"

    def _read_upload(self, draft: str, record: Path) -> Uploaded | None:
        return read_upload(record, self._place(draft) / _BYTES)


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
