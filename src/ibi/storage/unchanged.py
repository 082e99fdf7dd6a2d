"""Databases that are read or copied without a change to their files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.connection import Connection, DatabaseKind, connect_by_uri, inspect, storage_errors

_LOGS: Final = ("-wal", "-journal")
"""Logs that SQLite may have left and needs for reading. It recreates `-shm`."""
_TRIES: Final = 5
_KIND_OF_LOG: Final = 18
"""Offset of the write version in the file header: 2 means a write-ahead log."""


@contextmanager
def opened_unchanged(path: Path, *, is_in_use: bool) -> Iterator[Connection]:
    """Open a read-only connection that changes neither the file nor anything beside it. `is_in_use` says whether a
    server may have the database open.

    SQLite makes files beside a database to read it, and completes a crashed transaction there. So a database that is
    not open elsewhere is opened as immutable. If it has a log of its own, a copy is opened. Where a server runs, the
    files that SQLite needs exist already.
    """
    with (
        _readable(path, is_in_use=is_in_use) as (place, how),
        storage_errors(path, StoreDamaged),
        closing(connect_by_uri(f"{place.absolute().as_uri()}?{how}")) as connection,
    ):
        yield connection


def inspect_unchanged(path: Path, kind: DatabaseKind, *, is_in_use: bool, most: int) -> None:
    """Raise the `damaged` error of the kind if the database is not sound. Up to `most` bytes, all of its pages are
    read."""
    with _readable(path, is_in_use=is_in_use) as (place, how):
        try:
            inspect(place, kind, how, most)
        except StoreDamaged as damage:
            raise kind.damaged(path=path, reason=damage.parameters["reason"]) from None


@contextmanager
def _readable(path: Path, *, is_in_use: bool) -> Iterator[tuple[Path, str]]:
    """Yield the path to open, and the URI parameters."""
    left = [end for end in _LOGS if Path(f"{path}{end}").exists()]
    if is_in_use and (Path(f"{path}-shm").exists() or not _has_own_log(path)):
        yield path, "mode=ro"
    elif not left:
        yield path, "mode=ro&immutable=1"
    else:
        with TemporaryDirectory(prefix="ibi-unchanged-") as beside:
            copy = Path(beside, path.name)
            copy_database(path, copy)
            yield copy, "mode=ro"


def _has_own_log(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_KIND_OF_LOG + 1)[_KIND_OF_LOG:] == b"\2"


def copy_database(source: Path, target: Path) -> None:
    """Copy a database with its log. If another process writes there, repeat until nothing changes during the copy."""
    for _ in range(_TRIES):
        remove_database(target)
        before = _stamps(source)
        for end in ("", *_LOGS):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{source}{end}", f"{target}{end}")
        if _stamps(source) == before:
            return


def remove_database(path: Path) -> None:
    for end in ("", "-shm", *_LOGS):
        Path(f"{path}{end}").unlink(missing_ok=True)


def _stamps(path: Path) -> list[tuple[int, int, int] | None]:
    return [_stamp(f"{path}{end}") for end in ("", *_LOGS)]


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
