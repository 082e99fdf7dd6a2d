"""Disk usage of a data directory beside the items, the room reserved for the next start, and the note of the last
backup. A backup leaves that note here because the server does not know where backups are kept."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from ibi.backup.model.data_files import LEFT_OUT, BackupNote, DataFile, DiskSpace, LeftOutOfRestore
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals, write_durably

NOTE: Final = "last-backup.json"
RESERVE: Final = "start-reserve"
_RESERVED: Final = 8 << 20
"""Bytes. A start needs less than one million, mostly for the files that SQLite makes beside each database."""
_BLOCK: Final = 4096
_FOLDERS: Final = (".", "mint", "audit", "dumps")
_ENDINGS: Final = (".sqlite", ".log", ".ndjson.gz")
_JOURNALS: Final = ("-wal", "-shm", "-journal")


def read_left_out(data: Path) -> LeftOutOfRestore:
    """Return the items and files that the last restore could not bring back, because its backup was damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads((data / LEFT_OUT).read_bytes())
        return LeftOutOfRestore(tuple(map(str, found["items"])), tuple(map(str, found["files"])))
    return LeftOutOfRestore()


class StartReserve:
    """A file that reserves room in the data directory, so that a server can start on a full disk.

    A start must write to the disk (locks, the files that SQLite keeps beside each database). The file gives its room to
    a start that finds none. While the server runs, the file takes the room again: on a full disk, as much as the start
    left.
    """

    def __init__(self, data: Path, size: int = _RESERVED) -> None:
        self._path, self._size = data / RESERVE, size

    def release(self) -> bool:
        """Release the room if the disk has less than that left. Return whether room was released."""
        with suppress(OSError):
            if self._free() < self._size and self._path.stat().st_size:
                os.truncate(self._path, 0)  # the file stays, because to recreate it may need room itself
                return True
        return False

    def take_again(self) -> None:
        """Take the room if it was taken before, so that a server that runs for seconds leaves no reserve behind."""
        if self._path.exists():
            self.take()

    def take(self) -> None:
        """Take as much of the room as there is. Several processes may call this at once."""
        with suppress(OSError):
            taken = self._path.stat().st_size if self._path.exists() else 0
            wanted = min(self._size, taken + self._free()) // _BLOCK * _BLOCK
            if wanted <= taken:
                return
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                os.posix_fallocate(descriptor, taken, wanted - taken)
            finally:
                os.close(descriptor)

    def _free(self) -> int:
        found = os.statvfs(self._path.parent)
        return found.f_bavail * found.f_frsize


class DataDirectoryFiles:
    """Implements the port `DataFiles` on one data directory."""

    def __init__(self, data: Path) -> None:
        self._data = data

    def files(self) -> tuple[DataFile, ...]:
        with refusals(DiskRefused, self._data):
            found = [file for folder in _FOLDERS for file in self._files_in(folder)]
        return tuple(sorted(found, key=lambda each: (-each.size, each.name)))

    def _files_in(self, folder: str) -> list[DataFile]:
        try:
            paths = list((self._data / folder).iterdir())
        except FileNotFoundError:
            return []
        found = []
        for path in paths:
            name = path.name
            if name.endswith(_ENDINGS) and (status := _status(path)) is not None:
                # The newest data are in the log of a database until SQLite copies them over.
                beside = (_status(Path(f"{path}{each}")) for each in _JOURNALS)
                size = status.st_size + sum(each.st_size for each in beside if each is not None)
                found.append(DataFile(name if folder == "." else f"{folder}/{name}", size, int(status.st_mtime)))
        return found

    def disk(self) -> DiskSpace:
        with refusals(DiskRefused, self._data):
            found = os.statvfs(self._data)
        return DiskSpace(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)

    def last_backup(self) -> BackupNote | None:
        with suppress(OSError, ValueError, KeyError, TypeError, IbiError):
            found = json.loads((self._data / NOTE).read_bytes())
            return BackupNote(Instant.parse(found["at"]), int(found["items"]), int(found["damaged"]))
        return None

    def note_backup(self, note: BackupNote) -> None:
        written = {"at": str(note.at), "items": note.items, "damaged": note.damaged}
        write_durably(self._data / NOTE, json.dumps(written).encode(), 0o644)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a regular file; None if there is none."""
    with suppress(FileNotFoundError):
        found = path.lstat()
        return found if stat.S_ISREG(found.st_mode) else None
    return None
