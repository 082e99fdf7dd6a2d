"""The store of a data directory that may not be written: a copy on another medium, or a directory of another user.

Nothing is written there, no lock and no log. What a store writes besides its objects lies in a temporary directory:
locks, and a copy of the catalogue, in which what a crash left is finished, an older format is brought up to date, and
what does not agree with the store is made to. The objects are read where they are.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ibi.composition.archive_store import CATALOGUE, JOURNAL, STORE, open_in_place
from ibi.ports.errors import CatalogDamaged
from ibi.services.items.archive_store import ArchiveStore
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals
from ibi.storage.ocfl.layout import FILE_NAME as VERSION_FILE
from ibi.storage.sqlite.integrity import FILE_NAME as INTEGRITY
from ibi.storage.store_generation import FILE_NAME as GENERATION

_LOGS: Final = ("-wal", "-journal")
"""What SQLite may have left beside a database and needs to read it; `-shm` it makes anew."""
_TRIES: Final = 5


def is_read_only(data: Path) -> bool:
    """Whether this process may not write what is in a data directory."""
    places = (data, data / STORE, data / CATALOGUE)
    return any(place.exists() and not os.access(place, os.W_OK) for place in places)


def open_read_only(data: Path, *, on_rebuild: Callable[[int | None], None]) -> ArchiveStore:
    """Open the store of a data directory without writing there. Changes of items are refused by the disk."""
    with ExitStack() as opened:
        beside = Path(opened.enter_context(TemporaryDirectory(prefix="ibi-read-only-")))
        _take_along(data, beside)
        try:
            return _open(beside, opened, on_rebuild)
        except CatalogDamaged:  # the copy is: the store is what counts
            _remove_database(beside / CATALOGUE)
        return _open(beside, opened, on_rebuild)


def _open(beside: Path, opened: ExitStack, on_rebuild: Callable[[int | None], None]) -> ArchiveStore:
    return open_in_place(
        beside, generation=beside, forget_given_out=lambda: None, on_rebuild=on_rebuild, finally_close=opened
    )


def _take_along(data: Path, beside: Path) -> None:
    """Copy what is small or changes, and point to the objects."""
    with refusals(DiskRefused, data):
        if not (data / STORE).is_dir():
            raise FileNotFoundError(2, f"there is no directory {STORE}")
        (beside / STORE).symlink_to((data / STORE).resolve(), target_is_directory=True)
        for source, name in ((data / VERSION_FILE, VERSION_FILE), (data / STORE / GENERATION, GENERATION)):
            with suppress(FileNotFoundError):
                shutil.copyfile(source, beside / name)
        _copy_database(data / CATALOGUE, beside / CATALOGUE)
        _copy_journal(data / JOURNAL, beside / JOURNAL)
    with suppress(OSError):  # what it knows of damage is found again by reading
        _copy_database(data / INTEGRITY, beside / INTEGRITY)


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database with its log, at a moment when neither changes, if another process writes there."""
    for _ in range(_TRIES):
        _remove_database(target)
        before = _stamps(source)
        for end in ("", *_LOGS):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{source}{end}", f"{target}{end}")
        if _stamps(source) == before:
            return


def _stamps(path: Path) -> list[tuple[int, int, int] | None]:
    return [_stamp(f"{path}{end}") for end in ("", *_LOGS)]


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _remove_database(path: Path) -> None:
    for end in ("", "-shm", *_LOGS):
        Path(f"{path}{end}").unlink(missing_ok=True)


def _copy_journal(source: Path, target: Path) -> None:
    """The lists of changes that were under way: of these items the catalogue may say what was before."""
    if not source.is_dir():
        return
    target.mkdir()
    for path in source.iterdir():
        if path.is_file():
            with suppress(FileNotFoundError):
                shutil.copyfile(path, target / path.name)
