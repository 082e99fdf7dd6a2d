"""Stores for the state of an Archive: labels, keys, its membership, its usage counts, and URLs of its items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from ibi.label import RepositoryName
from ibi.messages.identification import LabelForms
from ibi.model.copy_holders import KnownCopyHolders
from ibi.model.data_files import BackupNote, DataFile, DiskSpace
from ibi.model.failing_job import FailingJob
from ibi.model.item import Item
from ibi.model.membership import ArchiveRecord, Membership, ResolverStanding
from ibi.model.registration import RemovedArchive
from ibi.model.usage import ReferrerClass, Usage, UsageDay, UsageKind, UsageOrigin
from ibi.signing import PublicKey, SigningKey


class ArchiveRecords(Protocol):
    """The record of the Archive of one data directory. Calls block, from any thread and process.

    It is written once, whole and durably. It is readable only for its owner, because it holds a secret.
    """

    def read(self) -> ArchiveRecord | None:
        """Return the record; None if no Archive was created.

        Raise `StorageError` if the record cannot be read: a new one is never created in its place.
        """

    def write(self, record: ArchiveRecord) -> bool:
        """Write the record. Return False if there is one already: of two concurrent callers, one succeeds."""


class KeyStore(Protocol):
    """The signing key of one Archive or one resolver. Calls block, from any thread and process."""

    def signing_key(self) -> SigningKey:
        """Return the key, which only its owner can read. The first call generates it at random and durably.

        Raise `StorageError` if the stored key cannot be read: it is never replaced without a request.
        """

    def former(self) -> tuple[PublicKey, ...]:
        """Return the keys that were in use before, the latest first: their signatures from that time stay valid."""

    def changes(self) -> tuple[str, ...]:
        """Return the statements by which former keys named their successors (`ibi.messages.signatures`), oldest
        first."""

    def replace(self) -> SigningKey:
        """Generate a new key, which counts from now on.

        Whatever happens, the previous key is among the former ones, and has signed that this one replaces it.
        """


class ResolverKeys(Protocol):
    """The keys of resolvers that this Archive has asked. Calls block, from any thread.

    They are indexed by the resolvers' addresses, as in the settings, without a final slash.
    """

    def find(self, resolver: str) -> PublicKey | None: ...

    def former(self, resolver: str) -> tuple[PublicKey, ...]:
        """Return its former keys, the latest first: their signatures stay valid."""

    def keep(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        """Record the key durably. The previously known key, and those of `former`, become former keys."""

    def forget(self, resolver: str) -> bool:
        """Delete its key and its former keys. Return whether a key was known."""


class RegisterStore(Protocol):
    """The signed register of the Archive's resolver, and the resolver's key.

    Calls block, from any thread and process. A write survives a crash completely.
    """

    def read(self) -> str | None:
        """Return the last statement; None if there is none, or it cannot be read: it is fetched again."""

    def write(self, statement: str) -> None: ...

    def keep_former(self, statement: str, issued: int, archives: int) -> None:
        """Keep a statement that lists that many Archives, because the next one lacks some of them.

        The latest few are kept, and the fullest.
        """

    def former(self) -> tuple[str, ...]:
        """Return the statements from `keep_former`, the fullest first."""

    def resolver_key(self, resolver: str) -> PublicKey | None:
        """Return the key of the resolver at this URL; None if it is not known yet.

        Raise `StorageError` if the stored key cannot be read: it is never replaced by another without a request.
        """

    def pin(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        """Record this key for the resolver at this URL, and the `former` keys of which signatures stay valid."""

    def former_keys(self, resolver: str) -> tuple[PublicKey, ...]:
        """Return the keys that the resolver at this URL had before, the latest first."""

    def note_standing(self, standing: ResolverStanding | None) -> None:
        """Record for commands why this Archive resolves in place of its resolver; None if it does not."""


class PublishedStatement(Protocol):
    """The latest statement that all processes of one data directory publish.

    Calls block, from any thread and process.
    """

    def change(self, make: Callable[[str | None], str]) -> str:
        """Store the result of `make` for the present statement, which is None if there is none or it cannot be read.

        No other process changes it in between. The result survives a crash completely.
        """

    def note_removed(self, service: LabelForms, at: int) -> None:
        """Record that the administrator removed an Archive at this time in POSIX seconds, for the statements."""

    def removed(self) -> tuple[RemovedArchive, ...]:
        """Return the removed Archives, the latest last. Raise `StorageError` if they cannot be read."""


class FailureBoard(Protocol):
    """The failing background jobs of one data directory, for other processes. Calls block, from any thread and process.

    Raise `StorageError` if it cannot be read or written.
    """

    def put(self, failing: FailingJob) -> None:
        """Record a failure. It replaces an earlier one of the same job."""

    def remove(self, name: str) -> None:
        """Record that a job does not fail any more."""

    def all(self) -> tuple[FailingJob, ...]: ...


class CopyHolderStore(Protocol):
    """The Archives that are named as holders of Copies in addition to the settings, and those that are offered.

    Calls block, from any thread and process. Raise `StorageError` if it cannot be read or written.
    """

    def read(self) -> KnownCopyHolders: ...

    def change(self, make: Callable[[KnownCopyHolders], KnownCopyHolders]) -> KnownCopyHolders:
        """Store and return the result of `make`. No other process changes the record in between."""


class MembershipState(Protocol):
    """The membership of an Archive, and the lock of the process that maintains it. Reading needs no existing file.

    Raise `StorageError` if it cannot be read or written. A write survives a crash.
    """

    prompt: bool
    """True if an event loop may make these calls: they read a small file, once a second."""

    @property
    def switched_on(self) -> bool:
        """Return whether the Archive is switched on. Every Archive is, until it is switched off."""

    def switch(self, *, on: bool) -> None: ...

    def read(self) -> Membership:
        """Return the last written membership. If there is none, or it is unreadable, return one that has not begun."""

    def write(self, membership: Membership) -> None: ...

    def hold(self) -> bool:
        """Try to become the one process that speaks to the resolver. Return whether this process is it now.

        Repeated calls are allowed. The lock ends with `release` or with the process.
        """

    def release(self) -> None:
        """Release the lock. Does nothing if this process does not hold it."""


class UsageLog(Protocol):
    """Counts by item and day, of people and of robots. Calls come from any thread; processes count concurrently.

    `ibi.archive.counting` decides earlier which requests count, and no data about readers is stored. Periods run from
    day number to day number, inclusive; None is unbounded.
    """

    def count(self, day: UsageDay, kind: UsageKind, referrer: ReferrerClass = ReferrerClass.UNKNOWN) -> None:
        """Count one use. Fast: `flush` writes the counts. A crash may lose counts that were not flushed."""

    def watch(self, on_count: Callable[[], object]) -> None:
        """Register a callback for the first count after each `flush`; it must be fast."""

    def days(
        self, rep: RepositoryName, first: int | None = None, last: int | None = None
    ) -> tuple[tuple[UsageDay, Usage], ...]:
        """Return the days on which the item was used, in order. They include the counts of this process."""

    def totals(self, first: int | None = None, last: int | None = None) -> Iterator[tuple[RepositoryName, Usage]]:
        """Yield every item that was used in that period, with its use, in the order of repository names."""

    def origins(self, first: int, last: int) -> tuple[tuple[UsageOrigin, Usage], ...]:
        """Return the use from month `first` to month `last`, by Archive and class of referrer.

        Fast for any number of items.
        """

    def walk(self, first: int, last: int) -> Iterator[tuple[UsageDay, Usage]]:
        """Yield every item and day of a period of days, in the order of items and then of days.

        They are not loaded at once. Counts made meanwhile may be included.
        """

    def most_used(self, month: int, most: int) -> tuple[tuple[RepositoryName, Usage], ...]:
        """Return the items that people used most in a month, the most used first."""

    def flush(self) -> None:
        """Write all counts to disk. Counts that cannot be written are kept for the next call."""

    def close(self) -> None:
        """Flush and close. Closing again does nothing."""


class DataFiles(Protocol):
    """The disk use of a data directory beside the items. Calls block, from any thread."""

    def files(self) -> tuple[DataFile, ...]:
        """Return its databases, logs and dumps, the largest first."""

    def disk(self) -> DiskSpace: ...

    def last_backup(self) -> BackupNote | None:
        """Return the last backup; None if none is known, or its note cannot be read."""

    def note_backup(self, note: BackupNote) -> None: ...


class DumpFiles(Protocol):
    """The dumps of the Archive's records, of which the newest are kept. Calls wait for the disk."""

    def write(self, name: str, lines: Iterable[bytes]) -> int:
        """Write the lines, compressed, under the name of their position in the feed. Return their size in bytes.

        The write is atomic: if `lines` raises, nothing is left of them.
        """

    def written(self) -> float | None:
        """Return the time of the newest dump, in seconds since 1970; None if there is none."""

    def newest(self) -> str | None:
        """Return the path of the newest dump, a file that never changes again; None if there is none."""


class UrlBuilder(Protocol):
    """The URLs of one Archive, absolute and encoded. No look-up is needed: each follows from the item alone."""

    def file(self, item: Item, path: str) -> str:
        """Return the URL for the bytes of the file with that path."""

    def target(self, item: Item) -> str:
        """Return the URL that redirects readers to the page of the item, or to its main file."""

    def metadata(self, item: Item, own: Item | None, metadata_format: str | None) -> str:
        """Return the URL for the metadata of `item`, in any form if no format is named.

        `own` is the metadata's own item, if it has an IBI.
        """

    def file_list(self, item: Item) -> str:
        """Return the URL for the page that lists the files, or says that this is not permitted (R §9.2, note 2)."""


class SiteFiles(Protocol):
    """Files that the owner of a site adds: pages in Markdown, the logo, pictures. Calls block, one at a time."""

    def files(self) -> Mapping[str, bytes]:
        """Return name and content of each file; the same mapping object as before if nothing has changed."""
