"""The data directory as the source of a backup, while a server may be working on it.

There are three kinds of files. Objects are packed by version, because a version never changes. Databases are copied
with SQLite's own means, at one moment each, and checked. All other files are replaced atomically or append-only, and
are simply read.

The order of reading yields a state that a crash could have left. If a change is written first at A and then at B, B is
read first, so that the later copy of A may know more but never less. So `directory.json` comes first, then data that
follow from items (jobs, follows, the ledger of transfers, drafts), then the objects. The accounts, which own items, and
the mint log, which has every label before its item, come last. So the state is copied before the objects, but its
accounts come from the end.

Derived and temporary data are left out: the catalogue with its texts and verifications, dumps, files on their way,
locks.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from ibi.backup.model.backup import CHUNK, KeptItem
from ibi.backup.ports import BackupRefused, FileGroup, ItemDamaged, PackedVersion, StateFile
from ibi.backup.store.data_files import read_left_out
from ibi.backup.store.packing import kept_item, newest_digest, pack_version
from ibi.items.model.content import InvalidFilePath, check_file_path
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.store.catalogue.parts_copy import FORMER_FILES, RESCUED
from ibi.items.store.ocfl.layout import ROOT_DECLARATION, names_in
from ibi.items.store.ocfl.store import OcflStore
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.connection import KINDS, STATE, Connection, storage_errors
from ibi.storage.directory_record import NOTES, RECORD
from ibi.storage.earlier_layout import FOLDER
from ibi.storage.earlier_tables import EARLIER
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import open_lock
from ibi.storage.machine import refusals
from ibi.storage.state import PARTS

STORE: Final = "store"
STAGING: Final = "backup-staging"
_LOCK: Final = "backup.lock"
_CATALOGUE: Final = "catalogue.sqlite"
_LEFT_OUT: Final = frozenset(
    {
        *(_CATALOGUE, RESCUED, *FORMER_FILES),
        *("changes", "dumps", "copies", "served-address", "state-copies"),
        *(FOLDER, NOTES, "upgrade-staging", "state.sqlite.new", *(each.kind.file_name for each in EARLIER)),
        *("last-backup.json", "start-reserve", "failing-jobs.json"),
        *(STORE, "store-staging", "store-locks", "item-locks", STAGING, "restore-staging", "ibi-restore.json"),
    }
)
"""Files that are derived, or of no use without the running processes."""
_NOT_COPIED: Final = re.compile(
    r"\..*|lock|.*\.lock|.*\.sqlite-(wal|shm|journal)|.*\.damaged-.*|.*\.format-\d+|.*-backup-of-.*"
)
_DRAFTS: Final = "drafts"
_STATE: Final = STATE.file_name
_ACCOUNTS: Final = tuple(table for part in PARTS if part.name in ("tokens", "people") for table in part.tables)
"""Tables of the state that are copied at the end of a backup; the others are copied at its beginning."""
_AFTER: Final = (_STATE, "audit", "mint")
_LAST: Final = (".log",)
"""Suffixes of files that are written before any other file refers to their new content."""


class DataDirectorySource:
    """Implements the port `BackupSource`, with one instance at a time per data directory."""

    def __init__(self, data: Path) -> None:
        self._data = data.resolve()
        self._root = self._data / STORE
        self._staging = self._data / STAGING
        self._store: OcflStore | None = None
        self._descriptor = -1
        self._state_damage: StoreDamaged | None = None
        with refusals(DiskRefused, self._data):
            self._lock = open_lock(self._data / _LOCK)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._lock)
                raise BackupRefused(
                    place=str(data), reason="another backup of it is being made; wait until that one is done"
                ) from None
        try:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._open_store(data)
        except BaseException:
            self.close()
            raise

    @property
    def place(self) -> str:
        return str(self._data)

    def owner(self) -> dict[str, str]:
        found = self._ask(self._data / "mint" / "ticks.sqlite", "SELECT identity FROM store")
        record = ArchiveRecordFile(self._data).read()
        labels = str(found[0][0]) if found and found[0][0] else ""
        archive = "" if record is None else record.service.labels[0].spelling
        return {name: value for name, value in (("labels", labels), ("archive", archive)) if value}

    def minter(self) -> tuple[Instant | None, str]:
        path = self._data / "mint" / "ticks.sqlite"
        dates = [Instant.parse(str(last)) for (last,) in self._ask(path, "SELECT last FROM clock WHERE last NOT NULL")]
        instances = self._ask(path, "SELECT instance FROM store")
        return max(dates, default=None), str(instances[0][0]) if instances else ""

    def groups_before(self) -> Iterator[FileGroup]:
        names = self._names()
        yield from self._groups(RECORD)
        self._copy_state()
        for name in names:
            if name not in (RECORD, _DRAFTS, *_AFTER):
                yield from self._groups(name)
        drafts = self._data / _DRAFTS
        if drafts.is_dir():
            yield partial(self._files, _DRAFTS, deep=False)
            # A draft is copied as a whole: it may be published or discarded meanwhile.
            for folder in sorted(entry.name for entry in os.scandir(drafts) if entry.is_dir(follow_symlinks=False)):
                if not _NOT_COPIED.fullmatch(folder):
                    yield partial(self._files, f"{_DRAFTS}/{folder}")

    def groups_after(self) -> Iterator[FileGroup]:
        for name in _AFTER:
            yield from self._groups(name)

    def names(self) -> Iterator[str]:
        return iter(()) if self._store is None else names_in(str(self._root))

    def head(self, name: str) -> str:
        return "" if self._store is None else newest_digest(self._descriptor, name)

    def versions(self, name: str) -> KeptItem:
        assert self._store is not None  # it has the name
        try:
            inventory = self._store.read_inventory(name)
        except ContentDamaged as error:
            raise ItemDamaged(name=name, reason=str(error.parameters["reason"])) from error
        return kept_item(self._descriptor, name, inventory.head)

    def pack(self, item: KeptItem, number: int) -> PackedVersion:
        return pack_version(self._descriptor, item, number)

    def is_listed(self, name: str) -> bool:
        from ibi.standard.label.label import RepositoryName
        from ibi.storage.columns import label_key

        if name in read_left_out(self._data).items:
            return True
        statement = "SELECT 1 FROM items WHERE rep = ?"
        return bool(self._ask(self._data / _CATALOGUE, statement, label_key(RepositoryName.parse(name))))

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            os.close(self._descriptor)
        shutil.rmtree(self._staging, ignore_errors=True)
        os.close(self._lock)

    def _open_store(self, data: Path) -> None:
        """Open the store, but never begin one: an unmounted disk must not look like an empty store."""
        if (self._root / ROOT_DECLARATION[0]).is_file():
            self._store = OcflStore(self._root)
            with refusals(DiskRefused, self._root):
                self._descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        elif (self._data / _CATALOGUE).exists():
            reason = "it has no store of items, and had one: see whether its disk is mounted"
            raise BackupRefused(place=str(data), reason=reason)

    def _names(self) -> list[str]:
        with refusals(DiskRefused, self._data), os.scandir(self._data) as entries:
            names = sorted(entry.name for entry in entries)
        return [name for name in names if name not in _LEFT_OUT and not _NOT_COPIED.fullmatch(name)]

    def _groups(self, name: str) -> Iterator[FileGroup]:
        """Yield a group for each file."""
        for path in self._paths(name):
            yield partial(self._files, path)

    def _files(self, path: str, *, deep: bool = True) -> list[StateFile]:
        """Return the present files below a path, records before their data."""
        found = []
        for each in self._paths(path, deep=deep):
            with suppress(FileNotFoundError):
                mode = stat.S_IMODE((self._data / each).stat().st_mode) & 0o777
                found.append(StateFile(each, mode, partial(self._read, each)))
        return found

    def _paths(self, path: str, *, deep: bool = True) -> list[str]:
        place = self._data / path
        if place.is_file():
            return [path]
        found: list[str] = []
        for folder, folders, names in os.walk(place):
            folders[:] = [each for each in folders if deep and not _NOT_COPIED.fullmatch(each)]
            for name in names:
                file = Path(folder, name)
                if not _NOT_COPIED.fullmatch(name) and file.is_file() and not file.is_symlink():
                    found.append(file.relative_to(self._data).as_posix())
        return sorted(filter(_can_be_named, found), key=_order)

    def _read(self, path: str) -> Iterator[bytes]:
        place = self._data / path
        if path == _STATE:
            yield from self._read_state(place)
        elif path.endswith(".sqlite"):
            yield from self._read_database(place)
        else:
            with place.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                yield from _chunks(file.read, _whole_lines(file.fileno(), size) if path.endswith(_LAST) else size)

    def _read_database(self, path: Path) -> Iterator[bytes]:
        """Yield the database as of one moment, whatever is written meanwhile."""
        path.stat()  # raises `FileNotFoundError`, where SQLite would only say that it cannot be opened
        kind = next((kind for kind in KINDS.values() if kind.file_name == path.name), None)
        damaged = StoreDamaged if kind is None else kind.damaged
        with refusals(DiskRefused, self._staging):
            self._staging.mkdir(mode=0o700, exist_ok=True)
        copy = self._staging / path.name
        _copy_sound(path, copy, damaged)
        with copy.open("rb") as file:
            yield from _chunks(file.read, os.fstat(file.fileno()).st_size)
        copy.unlink(missing_ok=True)

    def _copy_state(self) -> None:
        """Copy the state before any item is read. Damage is raised later, when the copy is read."""
        path, copy = self._data / _STATE, self._staging / f"{_STATE}.begun"
        self._state_damage = None
        if not path.exists():
            return
        with refusals(DiskRefused, self._staging):
            self._staging.mkdir(mode=0o700, exist_ok=True)
        try:
            _copy_sound(path, copy)
        except StoreDamaged as error:
            self._state_damage = error

    def _read_state(self, path: Path) -> Iterator[bytes]:
        """Yield the state from before the items were read, but with the present accounts, which own items."""
        path.stat()
        copy = self._staging / f"{_STATE}.begun"
        if self._state_damage is not None:
            raise self._state_damage
        if not copy.exists():  # it was begun meanwhile
            yield from self._read_database(path)
            return
        with storage_errors(path, STATE.damaged), closing(_connect(copy)) as connection:
            connection.execute("ATTACH ? AS live", (f"{path.absolute().as_uri()}?mode=ro",))
            connection.execute("BEGIN")
            if any(_differ(connection, table) for table in _ACCOUNTS):
                for table in reversed(_ACCOUNTS):
                    connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 - names of ours
                for table in _ACCOUNTS:
                    connection.execute(f"INSERT INTO main.{table} SELECT * FROM live.{table}")  # noqa: S608
            connection.execute("COMMIT")
            connection.execute("DETACH live")
        with copy.open("rb") as file:
            yield from _chunks(file.read, os.fstat(file.fileno()).st_size)

    def _ask(self, path: Path, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Return rows of a database in this directory; none if there is no such database."""
        if not path.exists():
            return []
        with storage_errors(path), closing(_connect(path)) as connection:
            return list(connection.execute(statement, values))


def _copy_sound(path: Path, copy: Path, damaged: type[StoreDamaged] = STATE.damaged) -> None:
    """Copy a database as of one moment; raise `damaged` if it is not sound."""
    copy.unlink(missing_ok=True)
    with storage_errors(path, damaged), closing(_connect(path)) as source, closing(_connect(copy, "rwc")) as target:
        source.execute("PRAGMA schema_version").fetchone()  # `backup` itself gives no reason for a failure
        source.backup(target)
        ((found,),) = target.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise damaged(path=path, reason=" ".join(str(found).split()))


def _differ(connection: Connection, table: str) -> bool:
    """Return whether the table has other rows in the database that is attached as `live`."""
    one = f"SELECT * FROM main.{table} EXCEPT SELECT * FROM live.{table}"  # noqa: S608 - names of ours
    other = f"SELECT * FROM live.{table} EXCEPT SELECT * FROM main.{table}"  # noqa: S608 - names of ours
    return any(connection.execute(each).fetchone() is not None for each in (one, other))


def _connect(path: Path, mode: str = "rw") -> Connection:
    return Connection(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=10.0)


def _chunks(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    while size > 0 and (piece := read(min(size, CHUNK))):
        size -= len(piece)
        yield piece


def _whole_lines(descriptor: int, size: int) -> int:
    """Return the length of all complete lines."""
    end = size
    while end > 0:
        begin = max(0, end - (1 << 16))
        found = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _order(path: str) -> tuple[bool, bool, str]:
    """Return a sort key: logs come last, and bytes of drafts after their records."""
    return path.endswith(_LAST), "/bytes/" in path, path


def _can_be_named(path: str) -> bool:
    try:
        check_file_path(path)
    except InvalidFilePath:
        return False
    return True
