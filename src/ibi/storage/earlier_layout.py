"""The upgrade of a data directory from layout 1, in which each capability had a database of its own.

`state.sqlite` is made beside the old files under another name. It gets its name once it is complete and durable. Before
that moment nothing has changed, and after a crash the upgrade begins anew. After it the old files are moved into a
folder; a crash only delays that.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from ibi.standard.errors import ErrorKind
from ibi.standard.storage_errors import StorageError, StoreDamaged
from ibi.storage.connection import STATE, Connection, connect, connect_by_uri, is_blank, storage_errors, transaction
from ibi.storage.directory_record import LAYOUT, NOTES, begun_before, layout_of, note_layout, was_begun
from ibi.storage.earlier_tables import EARLIER, EarlierDatabase
from ibi.storage.errors import DiskRefused
from ibi.storage.guarded import keep_private
from ibi.storage.locks import alone
from ibi.storage.machine import refusals, sync_directory, sync_file, write_durably
from ibi.storage.unchanged import copy_database, inspect_unchanged, remove_database

_LOG: Final = logging.getLogger("ibi.upgrade")
"""Without a configuration, as in a command, it writes to standard error. Standard output may be JSON."""

FOLDER: Final = "before-layout-2"
_NEW: Final = "state.sqlite.new"
_STAGING: Final = "upgrade-staging"
_LOCK: Final = "upgrade.lock"
_ENDS: Final = ("", "-wal", "-shm", "-journal")
_ALL: Final = 1 << 62
_ROOM: Final = 16 << 20
"""Free bytes required beside the size of the rows."""

_LATER_FORMAT: Final = 1000
"""Format number of the placeholders for the old databases. An earlier version refuses it as that of a newer one."""
_FORMAT: Final = slice(60, 64)
"""Offset of the format number in the header of a database."""
_SHARED_LOCK: Final = (1 << 30) + 2
_SHARED_BYTES: Final = 510
"""The bytes of a database in WAL mode that each open connection locks."""

STEPS: Final = ("begun", "copied", "whole", "renamed", "moved", "done")
"""The steps of an upgrade in their order. One test kills it at each."""


class UpgradeRefused(StorageError):
    """{path} was written by an earlier version and cannot be upgraded: {reason}. Nothing was changed. Put that right
    and start again; docs/operations.md says what an upgrade does."""

    code = "upgrade-refused"
    kind = ErrorKind.OUT_OF_ORDER


def has_earlier_layout(directory: Path) -> bool:
    """Return whether the directory has databases of layout 1, or an unfinished upgrade."""
    return layout_of(directory) < LAYOUT


def upgrade_layout(
    directory: Path, make: Callable[[Path], Connection], on_step: Callable[[str], object] = lambda _: None
) -> None:
    """Copy the rows of all databases of layout 1 into `state.sqlite`, which `make` creates empty at a path."""
    with refusals(DiskRefused, directory):
        with alone(directory / _LOCK):
            if not has_earlier_layout(directory):  # another process has done it
                return
            if not (directory / STATE.file_name).exists():
                _make_state(directory, make, on_step)
            _move_old_files(directory)
            on_step("moved")
            note_layout(directory, LAYOUT)
            on_step("done")
        (directory / _LOCK).unlink(missing_ok=True)


def _make_state(directory: Path, make: Callable[[Path], Connection], on_step: Callable[[str], object]) -> None:
    if (directory / FOLDER).exists():  # somebody went back to an earlier version, and left it
        reason = f"{FOLDER}/ has the databases from before another upgrade, and has to be moved away first"
        raise UpgradeRefused(path=directory, reason=reason)
    found = list(_find_usable(directory))
    _refuse_in_use(directory, found)
    _require_room(directory, found)
    on_step("begun")
    new, staging = directory / _NEW, directory / _STAGING
    remove_database(new)
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(mode=0o700)
    keep_private(new)
    with storage_errors(new), closing(make(new)) as connection:
        for each in found:
            _copy_rows(connection, directory, staging, each)
        on_step("copied")
        ((sound,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        if sound != "ok" or connection.execute("PRAGMA foreign_key_check").fetchall():
            raise UpgradeRefused(path=directory, reason=f"the new database is not whole ({sound})")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    shutil.rmtree(staging, ignore_errors=True)
    _sync(new)
    on_step("whole")
    _refuse_in_use(directory, found)
    # From here on the notes of layout 1 may move, so the record of the directory has to include them.
    note_layout(directory, LAYOUT - 1)
    new.rename(directory / STATE.file_name)
    sync_directory(directory)
    on_step("renamed")
    _LOG.warning("ibi: %s was upgraded; its databases of before are in %s", directory, directory / FOLDER)


def _find_usable(directory: Path) -> Iterator[EarlierDatabase]:
    """Yield the existing sound databases. A lost or damaged one is left out if its content is dispensable, and refused
    otherwise."""
    for each in EARLIER:
        path = directory / each.kind.file_name
        if not path.exists() and not was_begun(path):
            continue
        try:
            _require_whole(path, each)
        except StoreDamaged as error:
            reason = str(error.parameters["reason"])
            if not each.can_be_lost:
                advice = "put it back from a backup; to begin without it, move it away and remove its note in"
                raise UpgradeRefused(path=path, reason=f"{reason}: {advice} {NOTES}/") from error
            _LOG.warning("ibi: the upgrade leaves out %s, which is damaged: %s", path, reason)
            continue
        yield each


def _require_whole(path: Path, each: EarlierDatabase) -> None:
    if not path.exists():
        raise StoreDamaged(path=path, reason="it is gone, and this data directory had one")
    if is_blank(path):
        if was_begun(path):
            raise StoreDamaged(path=path, reason="it is empty, and was not before")
        return
    inspect_unchanged(path, each.kind, is_in_use=False, most=_ALL)


def _refuse_in_use(directory: Path, found: list[EarlierDatabase]) -> None:
    """Raise `UpgradeRefused` while a process of an earlier version has a database open: its later writes would be
    lost."""
    for each in found:
        with (directory / each.kind.file_name).open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_BYTES, _SHARED_LOCK)
            except (BlockingIOError, PermissionError) as error:
                reason = (
                    f"a server or command of an earlier version has {each.kind.file_name} open, and has to end first"
                )
                raise UpgradeRefused(path=directory, reason=reason) from error


def _require_room(directory: Path, found: list[EarlierDatabase]) -> None:
    size = sum(
        Path(f"{directory / each.kind.file_name}{end}").stat().st_size
        for each in found
        for end in _ENDS
        if Path(f"{directory / each.kind.file_name}{end}").exists()
    )
    status = os.statvfs(directory)
    free, needed = status.f_bavail * status.f_frsize, 2 * size + _ROOM
    if free < needed:
        reason = f"{needed >> 20} MiB have to be free on its disk, and {free >> 20} MiB are"
        raise UpgradeRefused(path=directory, reason=reason)


def _copy_rows(connection: Connection, directory: Path, staging: Path, each: EarlierDatabase) -> None:
    """Copy the rows of one database, from a copy of its files: the old files stay as they are."""
    copy = staging / each.kind.file_name
    copy_database(directory / each.kind.file_name, copy)
    connect(copy, each.migrations, kind=each.kind).close()
    connection.execute("ATTACH ? AS old", (str(copy),))
    try:
        with transaction(connection):
            for statement in each.copies:
                connection.execute(statement)
            _keep_numbering(connection, each)
            begun = begun_before(directory / each.kind.file_name)
            if begun is not None:
                connection.execute("UPDATE main.parts SET begun = ? WHERE name = ?", (begun, each.part))
    finally:
        connection.execute("DETACH old")
    remove_database(copy)


def _keep_numbering(connection: Connection, each: EarlierDatabase) -> None:
    """Copy the last number of each table, so that the number of a deleted row is not reused either."""
    if connection.execute("SELECT 1 FROM old.sqlite_schema WHERE name = 'sqlite_sequence'").fetchone() is None:
        return
    for target, source in each.numbered:
        row = connection.execute("SELECT seq FROM old.sqlite_sequence WHERE name = ?", (source,)).fetchone()
        if row is not None:
            connection.execute("DELETE FROM main.sqlite_sequence WHERE name = ?", (target,))
            connection.execute("INSERT INTO main.sqlite_sequence (name, seq) VALUES (?, ?)", (target, row[0]))


def _move_old_files(directory: Path) -> None:
    """Move the files of layout 1 into a folder of their own."""
    folder = directory / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    for each in EARLIER:
        if _is_left_behind(directory / each.kind.file_name):
            continue
        for end in _ENDS:
            old = directory / f"{each.kind.file_name}{end}"
            if old.exists():
                old.rename(folder / old.name)
    notes = directory / NOTES
    if notes.is_dir() and not (folder / NOTES).exists():
        notes.rename(folder / NOTES)
    for each in EARLIER:
        if not each.can_be_lost:
            write_durably(directory / each.kind.file_name, _make_refused(folder, each), 0o600)
    sync_directory(folder)
    sync_directory(directory)


def _make_refused(folder: Path, each: EarlierDatabase) -> bytes:
    """Return a database without rows that an earlier version recognises, and refuses as one of a newer version."""
    path = folder / ".refused"
    remove_database(path)
    with closing(connect_by_uri(f"{path.absolute().as_uri()}?mode=rwc")) as connection:
        connection.execute("PRAGMA page_size = 512")
        connection.execute(f"PRAGMA application_id = {each.kind.application_id}")
        connection.execute(f"PRAGMA user_version = {_LATER_FORMAT}")
        for table in sorted(each.kind.tables):
            connection.execute(f"CREATE TABLE {table} (moved_to_state TEXT)")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()  # the earlier version sets this on opening
    content = path.read_bytes()
    remove_database(path)
    return content


def _is_left_behind(path: Path) -> bool:
    """Return whether the file is a placeholder that an upgrade left for a database."""
    try:
        with path.open("rb") as file:
            return file.read(_FORMAT.stop)[_FORMAT] == _LATER_FORMAT.to_bytes(4, "big")
    except FileNotFoundError:
        return False


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_file(descriptor)
    finally:
        os.close(descriptor)
