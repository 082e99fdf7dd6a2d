"""What takes room in a data directory beside the items, and when it was last backed up.

Short: values that cross a port, of no other subject.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ibi.instant import Instant

LEFT_OUT: Final = "left-out.json"
"""The file of a data directory that names what a restore left out, since its backup was damaged."""


class DataFile(NamedTuple):
    """A database or a log."""

    name: str
    """Within the data directory."""
    size: int
    """Bytes, with what lies beside it until it is written there."""
    changed: int
    """Seconds since 1970."""


class DiskSpace(NamedTuple):
    """Bytes of the disk that the data directory is on."""

    free: int
    total: int


class LeftOutOfRestore(NamedTuple):
    """What was in a backup and could not be put back."""

    items: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class BackupNote(NamedTuple):
    """The last backup that was made of a data directory."""

    at: Instant
    """When it was whole."""
    items: int
    damaged: int
    """Items and databases that could not be backed up as they were."""
