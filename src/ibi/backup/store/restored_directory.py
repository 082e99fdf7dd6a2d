"""A data directory during its restore from a backup.

`ibi-restore.json` exists from before the first file until after the last step. Meanwhile no command works on the
directory, and `ibi restore` continues. Objects are unpacked in `restore-staging/`. Many at a time are synced and then
renamed, so an object under its name is complete.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Final

from ibi.backup.model.backup import RESTORE_MARK, SHORT, KeptFile, KeptItem
from ibi.backup.model.data_files import LEFT_OUT
from ibi.backup.ports import BackupRefused
from ibi.backup.store.data_files import read_left_out
from ibi.backup.store.packing import newest_digest, unpack_item
from ibi.items.store.ocfl.layout import names_in
from ibi.items.store.ocfl.store import OcflStore
from ibi.storage.directory_record import NOTES, forget_begun
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import open_lock
from ibi.storage.machine import (
    make_directory,
    refusals,
    sync_directory,
    sync_file,
    sync_file_system,
    sync_tree,
    write_durably,
)

STAGING: Final = "restore-staging"
_STORE: Final = "store"
_LOCK: Final = "restore.lock"
_BESIDE_DATABASES: Final = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's side files, with changes that are not yet in the database."""
_MOST_OBJECTS: Final = 256
_MOST_BYTES: Final = 1 << 27
"""Maximum bytes of objects for one sync."""


class RestoredFiles:
    """Implements the port `RestoredDirectory`. Objects may be put from any thread."""

    def __init__(self, data: Path) -> None:
        self._data = data.absolute()
        self._root, self._staging = self._data / _STORE, self._data / STAGING
        self._numbers, self._turn = count(1), Lock()
        self._pending: list[tuple[Path, str]] = []
        self._pending_bytes = 0
        self._parents: set[Path] = set()
        self._place = ""
        self._descriptor = self._lock = -1

    def begin(self, place: str, key: str, *, has_store: bool) -> None:
        self._place = place
        with refusals(DiskRefused, self._data):
            self._require_empty()
            if not self._data.exists():
                make_directory(self._data.parent)
                self._data.mkdir(mode=0o700)
                sync_directory(self._data.parent)
            self._hold()
            self._require_empty()  # again: another process may have finished while this one waited for the lock
            if self._manifest() != key:
                self._clear()
                write_durably(self._data / RESTORE_MARK, json.dumps({"place": place, "manifest": key}).encode() + b"\n")
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging.mkdir(mode=0o700)
        if has_store:
            OcflStore(self._root).close()  # creates the layout
        with refusals(DiskRefused, self._data):
            place_of_items = self._root if has_store else self._data
            self._descriptor = os.open(place_of_items, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def holds(self, item: KeptItem) -> bool:
        target = self._root / item.name
        if not target.is_dir():
            return False
        if newest_digest(self._descriptor, item.name) == item.versions[-1][:SHORT]:
            return True
        shutil.rmtree(target)  # of an earlier backup, from an interrupted run
        return False

    def put_item(self, item: KeptItem, read: Callable[[str], Iterator[bytes]]) -> int:
        place = self._staging / str(next(self._numbers))
        with refusals(DiskRefused, self._data):
            place.mkdir()
            size = unpack_item(item, read, _Folder(place).write, self._place)
            with self._turn:
                self._pending.append((place, item.name))
                self._pending_bytes += size
                if len(self._pending) >= _MOST_OBJECTS or self._pending_bytes >= _MOST_BYTES:
                    self._bring_in()
        return size

    def put_file(self, file: KeptFile, pieces: Iterator[bytes]) -> None:
        target, partial = self._data / file.path, self._staging / "file"
        with refusals(DiskRefused, target):
            make_directory(target.parent)
            partial.unlink(missing_ok=True)
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, file.mode & 0o600)
            with os.fdopen(descriptor, "wb") as written:
                for piece in pieces:
                    written.write(piece)
                written.flush()
                os.fchmod(written.fileno(), file.mode)
                sync_file(written.fileno())
            for ending in _BESIDE_DATABASES:  # of a run that was killed while it worked on the file
                target.with_name(target.name + ending).unlink(missing_ok=True)
            partial.replace(target)
            sync_directory(target.parent)

    def remove(self, path: str) -> None:
        target = self._data / path
        with refusals(DiskRefused, target):
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)

    def forget_begun(self, path: str) -> None:
        forget_begun(self._data / path)
        folder, _, name = path.rpartition("/")
        self.remove("/".join(filter(None, (folder, NOTES, name))))  # of a backup of layout 1

    def note_left_out(self, items: Iterable[str], files: Iterable[str]) -> None:
        known = read_left_out(self._data)
        document = {"items": sorted({*known.items, *items}), "files": sorted({*known.files, *files})}
        write_durably(self._data / LEFT_OUT, json.dumps(document, indent=1).encode() + b"\n", 0o600)

    def settle(self) -> None:
        with refusals(DiskRefused, self._data), self._turn:
            self._bring_in()
            if not sync_file_system(self._descriptor):
                for parent in self._parents:
                    sync_directory(parent)
            self._parents.clear()

    def keep_only(self, names: Iterator[str]) -> None:
        wanted = next(names, None)
        for name in list(names_in(str(self._root))):
            while wanted is not None and wanted.split("/") < name.split("/"):
                wanted = next(names, None)
            if wanted != name:
                shutil.rmtree(self._root / name)

    def finish(self) -> None:
        """Mark the directory as complete: commands may work on it from now on."""
        with refusals(DiskRefused, self._data):
            shutil.rmtree(self._staging, ignore_errors=True)
            (self._data / RESTORE_MARK).unlink(missing_ok=True)
            (self._data / _LOCK).unlink(missing_ok=True)
            sync_directory(self._data)

    def close(self) -> None:
        for descriptor in (self._descriptor, self._lock):
            if descriptor >= 0:
                os.close(descriptor)

    def _require_empty(self) -> None:
        if not self._data.exists() or (self._data / RESTORE_MARK).exists():
            return
        others = [path.name for path in self._data.iterdir() if path.name not in (_LOCK, "lost+found")]
        if others:
            reason = f"it is not empty ({others[0]}): name a new directory with --data, or move what is there away"
            raise BackupRefused(place=str(self._data), reason=reason)

    def _hold(self) -> None:
        self._lock = open_lock(self._data / _LOCK)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupRefused(place=str(self._data), reason="another process restores it at this moment") from None

    def _manifest(self) -> str | None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            return str(json.loads((self._data / RESTORE_MARK).read_bytes())["manifest"])
        return None

    def _clear(self) -> None:
        """Remove the files that an interrupted run restored from another backup. Objects stay, because they are
        compared."""
        for path in self._data.iterdir():
            if path.name in (RESTORE_MARK, _LOCK, _STORE, "lost+found"):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _bring_in(self) -> None:
        if not self._pending:
            return
        if not sync_file_system(self._descriptor):
            for place, _ in self._pending:
                sync_tree(place)
        for place, name in self._pending:
            target = self._root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            place.rename(target)
            self._parents.update(path for path in target.parents if path.is_relative_to(self._root))
        self._pending.clear()
        self._pending_bytes = 0


class _Folder:
    """Receives the files of one object."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._made: set[Path] = set()

    def write(self, path: str, pieces: Iterator[bytes]) -> None:
        target = self._place / path
        if target.parent not in self._made:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(target.parent)
        with target.open("xb") as file:
            file.writelines(pieces)
