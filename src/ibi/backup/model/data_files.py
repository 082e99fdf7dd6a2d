"""Files of a data directory beside the items, and the time of its last backup."""

from __future__ import annotations

from typing import Final, NamedTuple

from ibi.standard.instant import Instant

LEFT_OUT: Final = "left-out.json"
"""The file of a data directory that lists everything that a restore left out because its backup was damaged."""


class DataFile(NamedTuple):
    """A database or a log."""

    name: str
    """The path within the data directory."""
    size: int
    """Bytes, including auxiliary files such as a write-ahead log."""
    changed: int
    """Seconds since 1970."""


class DiskSpace(NamedTuple):
    """Bytes of the disk of the data directory."""

    free: int
    total: int


class LeftOutOfRestore(NamedTuple):
    """The parts of a backup that could not be restored."""

    items: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class BackupNote(NamedTuple):
    """The last backup of a data directory."""

    at: Instant
    """The time at which it was complete."""
    items: int
    damaged: int
    """Items and databases that could not be backed up intact."""
