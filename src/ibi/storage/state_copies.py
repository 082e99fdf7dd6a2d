"""Copies of `state.sqlite`, which the server makes before each migration and once a day."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ibi.storage.connection import STATE, Connection, storage_errors
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import make_directory, refusals, sync_directory, sync_file

FOLDER: Final = "state-copies"
_KEPT: Final = 3
_NAME: Final = "state-%Y-%m-%dT%H%M%S.%fZ.sqlite"
"""Microseconds keep the names of two copies in one second apart."""
_PARTIAL: Final = ".new"
_ABANDONED: Final = 3600.0
"""Age in seconds at which an unfinished copy counts as abandoned."""


def keep_copy(connection: Connection, directory: Path) -> Path:
    """Copy the database of the connection into the folder of copies, keep the last three, and return the new one."""
    folder = directory / FOLDER
    target = folder / datetime.now(UTC).strftime(_NAME)
    partial = target.with_name(target.name + _PARTIAL)
    with refusals(DiskRefused, target):
        make_directory(folder)
        folder.chmod(0o700)
        partial.unlink(missing_ok=True)
        # SQLite writes into an empty file with a private mode, because the copy holds secrets.
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        try:
            with storage_errors(directory / STATE.file_name, STATE.damaged):
                connection.execute("VACUUM INTO ?", (str(partial),))
            _sync_path(partial)
            partial.replace(target)
            sync_directory(folder)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        for old in (*list(list_copies(directory))[_KEPT:], *_find_abandoned(folder)):
            old.unlink(missing_ok=True)
    return target


def list_copies(directory: Path) -> Iterator[Path]:
    """Yield the copies in a data directory, newest first."""
    with suppress(FileNotFoundError):
        names = sorted((path for path in (directory / FOLDER).iterdir() if _is_copy(path)), reverse=True)
        yield from names


def newest_copy_age(directory: Path, now: float) -> float | None:
    """Return the age of the newest copy in seconds; None without one."""
    newest = next(list_copies(directory), None)
    return None if newest is None else now - newest.stat().st_mtime


def _find_abandoned(folder: Path) -> Iterator[Path]:
    """Yield partial copies left by killed processes."""
    for path in list(folder.glob(f"*{_PARTIAL}")):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - _ABANDONED:
                yield path


def _is_copy(path: Path) -> bool:
    return path.name.startswith("state-") and path.suffix == ".sqlite"


def _sync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_file(descriptor)
    finally:
        os.close(descriptor)
