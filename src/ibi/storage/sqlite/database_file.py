"""The file of a database beside the connections to it: whether it was there before, whether it still is what was
opened, and how it is set aside.

A database that cannot be made anew from anything (tokens, people, registrations) is noted in the directory `databases`
when it is begun. From then on, a file that is gone or empty was lost: it is refused, and not silently begun again.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final

from ibi.ports.errors import StoreDamaged
from ibi.storage.disk import make_directory, refusals, sync_directory, write_durably
from ibi.storage.errors import DiskRefused
from ibi.storage.sqlite.connection import DatabaseKind, inspect

_NOTES: Final = "databases"
_PARTS: Final = ("-wal", "-shm", "-journal", "")
"""The file itself last: until it is renamed, a process that opens it finds it damaged."""


def refuse_lost(path: Path, kind: DatabaseKind) -> None:
    """Raise the `damaged` of its kind if the database was begun once and there is none, or an empty file, now."""
    if not was_begun(path):
        return
    try:
        is_empty = not path.stat().st_size
    except FileNotFoundError:
        raise kind.damaged(path=path, reason="it is gone, and this data directory had one") from None
    if is_empty:
        raise kind.damaged(path=path, reason="it is empty, and was not before")


def was_begun(path: Path) -> bool:
    return _note(path).exists()


def note_begun(path: Path) -> None:
    """Note that there is such a database from now on. To be called once it is durable, and before anything is in it."""
    note = _note(path)
    if note.exists():
        return
    with refusals(DiskRefused, note):
        make_directory(note.parent)
    write_durably(note, f"{path.name} was begun before {_now('%Y-%m-%dT%H:%M:%SZ')}\n".encode("ascii"))


def forget_begun(path: Path) -> None:
    """Let the next one that opens the database begin it, if it is not there."""
    with refusals(DiskRefused, path), suppress(FileNotFoundError):
        _note(path).unlink()
        sync_directory(_note(path).parent)


def set_aside(path: Path) -> Path | None:
    """Give the file and what SQLite keeps beside it a name with the date; that name, None if there was no file."""
    day = _now("%Y-%m-%d")
    names = (path.with_name(f"{path.name}.damaged-{day}-{number}") for number in count(1))
    aside = next(name for name in names if not name.exists())
    moved = None
    with refusals(DiskRefused, path):
        for end in _PARTS:
            with suppress(FileNotFoundError):
                Path(f"{path}{end}").rename(f"{aside}{end}")
                moved = aside
        sync_directory(path.parent)
    return moved


def _note(path: Path) -> Path:
    return path.parent / _NOTES / path.name


def _now(form: str) -> str:
    return datetime.now(UTC).strftime(form)


class FileWatch:
    """Notices that the file of an open database is no longer what was opened. From any thread."""

    def __init__(self, path: Path, kind: DatabaseKind) -> None:
        """To be made right after the database was opened, which has looked at all of it."""
        self._path, self._kind = path, kind
        self.damage: StoreDamaged | None = None
        """What was found; it stays, since connections that are open may remember pages of either file."""
        status = path.stat()
        self._opened = status.st_dev, status.st_ino
        self._sound = status.st_mtime_ns, status.st_size

    def check(self) -> None:
        """Raise the `damaged` of its kind if the file is gone, emptied, replaced or damaged.

        A look at its size and date, unless they have changed.
        """
        if self.damage is not None:
            raise self.damage
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise self._damage("it is gone") from None
        if not status.st_size:
            raise self._damage("it is empty")
        if (status.st_dev, status.st_ino) != self._opened:
            raise self._damage("it was replaced while it was open; start the server again to use the new one")
        seen = status.st_mtime_ns, status.st_size
        if seen != self._sound:
            self._look()
            self._sound = seen

    def note_own_change(self) -> None:
        """What this process has just written needs no look."""
        with suppress(OSError):
            status = self._path.stat()
            self._sound = status.st_mtime_ns, status.st_size

    def _look(self) -> None:
        try:
            inspect(self._path, self._kind)
        except StoreDamaged as damage:
            self.damage = damage
            raise
        except DiskRefused:
            pass  # busy, or out of descriptors: says nothing about the file

    def _damage(self, reason: str) -> StoreDamaged:
        return self._kind.damaged(path=self._path, reason=reason)
