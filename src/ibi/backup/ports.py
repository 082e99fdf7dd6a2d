"""The source of backups, their storage, and the directory into which one is restored.

A target stores bytes under keys. A put is atomic, and durable after `settle`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from ibi.backup.model.backup import DamagedPart, KeptFile, KeptItem
from ibi.backup.model.data_files import BackupNote, DataFile, DiskSpace
from ibi.standard.errors import ErrorKind
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import StorageError

OnStep = Callable[[str], None]


class BackupRefused(StorageError):
    """{place}: {reason}."""

    code = "backup-refused"
    kind = ErrorKind.INTERNAL


class BackupIncomplete(StorageError):
    """{place} lacks or has damaged parts: {key}: {reason}. What is there of it stays as it is; restore from another
    backup, or back up again while the data directory is whole."""

    code = "backup-incomplete"
    kind = ErrorKind.INTERNAL


class BackupDamaged(StorageError):
    """{place} has {count} damaged or missing parts, among them {key} ({reason}). What is whole was put back; the data
    directory stays out of use. Restore from another backup; or, if the old data directory is still there, let `ibi
    backup {place} --check` write them again, with the same --data; or go on without {lost}: `ibi restore {place}
    --without-damaged`, with the same --data."""

    code = "backup-damaged"
    kind = ErrorKind.INTERNAL

    def __init__(self, **parameters: object) -> None:
        super().__init__(**parameters)
        self.parts: list[DamagedPart] = []


class ItemDamaged(StorageError):
    """{name} is damaged ({reason})."""

    code = "backup-item-damaged"
    kind = ErrorKind.INTERNAL


class StateFile(NamedTuple):
    """A file of a data directory other than the objects."""

    path: str
    mode: int
    pieces: Callable[[], Iterator[bytes]]
    """Its content, in pieces of `CHUNK` bytes and a last one that may be shorter."""


FileGroup = Callable[[], list[StateFile]]
"""Lists files that belong together, as they are now. If one of them disappears while they are read, list them again."""


class PackedVersion(NamedTuple):
    """A version of an object as one file, a tar archive. Reading it compares its content with its digests."""

    key: str
    size: int
    pieces: Callable[[], Iterator[bytes]]


class BackupTarget(Protocol):
    """One backup, for one thread."""

    @property
    def place(self) -> str:
        """The name of the backup in messages."""

    parallel: int
    """The number of keys that are read concurrently."""

    def list(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield every existing key with its size in bytes."""

    def put(self, key: str, size: int, pieces: Iterator[bytes]) -> None:
        """Store `size` bytes under a key. If `pieces` raises, the error is raised and nothing is stored."""

    def settle(self) -> None:
        """Wait until all puts are durable. Raise errors that occurred since."""

    def read(self, key: str) -> Iterator[bytes]:
        """Yield the bytes of a key. Raise `BackupIncomplete` if it is missing, before or while it is read."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete keys. Missing keys are no error."""

    def close(self) -> None:
        """Close the target. Puts that were not settled are lost."""


class BackupSource(Protocol):
    """A data directory, which a server may be using."""

    @property
    def place(self) -> str: ...

    def owner(self) -> dict[str, str]: ...

    def minter(self) -> tuple[Instant | None, str]:
        """Return the latest date that was issued, and the identifier of the minter instance."""

    def groups_before(self) -> Iterator[FileGroup]:
        """Yield the groups that may be older than the objects, in an order that a crash could also leave."""

    def groups_after(self) -> Iterator[FileGroup]:
        """Yield the groups that may be newer than the objects."""

    def names(self) -> Iterator[str]:
        """Yield the names of all objects."""

    def head(self, name: str) -> str:
        """Return the digest that names the newest version; empty if it is not known."""

    def versions(self, name: str) -> KeptItem:
        """Return all versions of an object. Raise `ItemDamaged` or `ContentMissing`."""

    def pack(self, item: KeptItem, number: int) -> PackedVersion:
        """Return one of these versions. Raise `ContentMissing` after a purge.

        Raise `ItemDamaged`, also while its pieces are read.
        """

    def is_listed(self, name: str) -> bool:
        """Return whether the item is known here, so that its object should exist.

        It is known by the catalogue, or as left out of a restore.
        """


class RestoredDirectory(Protocol):
    """A data directory during a restore, until it is complete."""

    def begin(self, place: str, key: str, *, has_store: bool) -> None:
        """Begin or resume the restore of the backup with that manifest. Refuse if the directory contains anything else.

        A resolver alone may have no store of items.
        """

    def holds(self, item: KeptItem) -> bool:
        """Return whether the object exists in exactly these versions."""

    def put_item(self, item: KeptItem, read: Callable[[str], Iterator[bytes]]) -> int:
        """Unpack an object and compare every file with its digest. Return the number of bytes read.

        Raise `BackupIncomplete` if parts are missing or damaged.
        """

    def put_file(self, file: KeptFile, pieces: Iterator[bytes]) -> None:
        """Write a file, which replaces one of its name."""

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with its content, if it exists."""

    def forget_begun(self, path: str) -> None:
        """Let the next process that opens this file create it, if it does not exist."""

    def note_left_out(self, items: Iterable[str], files: Iterable[str]) -> None:
        """Add the names of items and files that the backup could not provide to those recorded before."""

    def settle(self) -> None:
        """Make everything written so far durable."""

    def keep_only(self, names: Iterator[str]) -> None:
        """Remove all other objects; the names come in order. A backup may have been newer meanwhile."""


class DataFiles(Protocol):
    """The disk use of a data directory beside the items. Calls block, from any thread."""

    def files(self) -> tuple[DataFile, ...]:
        """Return its databases, logs and dumps, the largest first."""

    def disk(self) -> DiskSpace: ...

    def last_backup(self) -> BackupNote | None:
        """Return the last backup; None if none is known, or its note cannot be read."""

    def note_backup(self, note: BackupNote) -> None: ...
