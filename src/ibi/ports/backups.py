"""Where backups are made of, where they are kept, and the directory into which one is put back.

A target keeps bytes under keys. What was put is there whole or not at all, and for certain after `settle`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from ibi.errors import ErrorKind
from ibi.instant import Instant
from ibi.model.backup import DamagedPart, KeptFile, KeptItem
from ibi.ports.errors import StorageError

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
"""Lists files that belong together, as they are now. One of them gone while they are read means: list them again."""


class PackedVersion(NamedTuple):
    """A version of an object as one file, a tar archive; its content is compared with its digests as it is read."""

    key: str
    size: int
    pieces: Callable[[], Iterator[bytes]]


class BackupTarget(Protocol):
    """One backup. Of one thread."""

    @property
    def place(self) -> str:
        """What people call it."""

    parallel: int
    """How many keys are read at a time."""

    def list(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Every key that is there, and how many bytes it has."""

    def put(self, key: str, size: int, pieces: Iterator[bytes]) -> None:
        """Keep `size` bytes under a key. What `pieces` raises is raised, and nothing is kept."""

    def settle(self) -> None:
        """Wait until all that was put is there for certain. Raises what went wrong since."""

    def read(self, key: str) -> Iterator[bytes]:
        """`BackupIncomplete` if there is none, before or while it is read."""

    def delete(self, keys: Iterable[str]) -> None:
        """Those that are not there are no error."""

    def close(self) -> None:
        """What was put and not settled is lost."""


class BackupSource(Protocol):
    """A data directory, which a server may be working on."""

    @property
    def place(self) -> str: ...

    def owner(self) -> dict[str, str]: ...

    def minter(self) -> tuple[Instant | None, str]:
        """The latest date that was issued, and which instance of a minter it is."""

    def groups_before(self) -> Iterator[FileGroup]:
        """Those that may be older than the objects, in an order that a crash could have left too."""

    def groups_after(self) -> Iterator[FileGroup]:
        """Those that may be newer."""

    def names(self) -> Iterator[str]:
        """The names of all objects."""

    def head(self, name: str) -> str:
        """The digest that names the newest version; empty if it cannot be told."""

    def versions(self, name: str) -> KeptItem:
        """All versions of an object. `ItemDamaged`, `ContentMissing`."""

    def pack(self, item: KeptItem, number: int) -> PackedVersion:
        """One of these versions. `ItemDamaged`, also while its pieces are read; `ContentMissing` if it is purged."""

    def is_listed(self, name: str) -> bool:
        """Whether the item is known here, by the catalogue or as left out of a restore: its object should be there
        then."""


class RestoredDirectory(Protocol):
    """A data directory on its way out of a backup, until it is complete."""

    def begin(self, place: str, key: str, *, has_store: bool) -> None:
        """Go on with the backup of that manifest, or begin; refused where anything else is. A resolver alone may have
        no store of items."""

    def holds(self, item: KeptItem) -> bool:
        """Whether an object is there in just these versions."""

    def put_item(self, item: KeptItem, read: Callable[[str], Iterator[bytes]]) -> int:
        """Unpack an object and compare every file with its digest; how many bytes were read. `BackupIncomplete`."""

    def put_file(self, file: KeptFile, pieces: Iterator[bytes]) -> None:
        """Write a file, which replaces one of its name."""

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all in it, if it is there."""

    def forget_begun(self, path: str) -> None:
        """Let the next one that opens this file begin it, if it is not there."""

    def note_left_out(self, items: Iterable[str], files: Iterable[str]) -> None:
        """Keep the names of what the backup could not give, with those that are noted already."""

    def settle(self) -> None:
        """Everything that was put is there for certain."""

    def keep_only(self, names: Iterator[str]) -> None:
        """Remove the objects that are not among these, which come in order: a backup may have been newer meanwhile."""
