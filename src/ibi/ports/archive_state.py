"""What an Archive knows of itself: labels, secrets and keys, its membership, counts of its use, URLs of its items."""

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

    It is written once, whole and durably, and is for its owner alone: it holds a secret.
    """

    def read(self) -> ArchiveRecord | None:
        """None if no Archive was begun. A `StorageError` if what is there cannot be read: it is never begun anew."""

    def write(self, record: ArchiveRecord) -> bool:
        """Keep the record; False if there is one already, which stays: of two callers at once, one succeeds."""


class KeyStore(Protocol):
    """The key with which one Archive, or one resolver, signs. Calls block, from any thread and process."""

    def signing_key(self) -> SigningKey:
        """The key, for its owner alone; drawn at random, and durable, when it is first asked for. A `StorageError` if
        what is there cannot be read: it is never drawn anew without being asked."""

    def former(self) -> tuple[PublicKey, ...]:
        """The keys that were in use before, the latest first: what they signed then stays signed."""

    def changes(self) -> tuple[str, ...]:
        """The statements by which former keys named the next ones (`ibi.messages.signatures`), the oldest first."""

    def replace(self) -> SigningKey:
        """Draw another key, which counts from now on; the one before is among the former, whatever happens, and has
        signed that this one takes its place."""


class ResolverKeys(Protocol):
    """The keys of resolvers that this Archive has asked, by their addresses as the settings have them, without a final
    slash. Calls block, from any thread."""

    def find(self, resolver: str) -> PublicKey | None: ...

    def former(self, resolver: str) -> tuple[PublicKey, ...]:
        """Those that were its keys before, the latest first: what they signed stays signed."""

    def keep(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        """Durably. The key that was known before is a former one from then on, and so are those of `former`."""

    def forget(self, resolver: str) -> bool:
        """Forget its key and the former ones; whether one was known."""


class RegisterStore(Protocol):
    """The signed register of the Archive's resolver, and the key by which that resolver is known. Calls block, from any
    thread and process; what was written is there after a crash, whole."""

    def read(self) -> str | None:
        """The statement that was kept last; None if there is none, or it cannot be read: it is fetched again."""

    def write(self, statement: str) -> None: ...

    def keep_former(self, statement: str, issued: int, archives: int) -> None:
        """Keep a statement of so many Archives beside the next one, which lacks some of them. The latest few are kept,
        and the fullest."""

    def former(self) -> tuple[str, ...]:
        """The statements that were kept so, the fullest first."""

    def resolver_key(self, resolver: str) -> PublicKey | None:
        """The key of the resolver at this URL; None if it is not known yet. A `StorageError` if what is there cannot be
        read: another key is never taken for it without being asked."""

    def pin(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        """Know the resolver at this URL by this key from now on, and what it signed with the `former` ones."""

    def former_keys(self, resolver: str) -> tuple[PublicKey, ...]:
        """The keys that the resolver at this URL had before, the latest first."""

    def note_standing(self, standing: ResolverStanding | None) -> None:
        """Keep why this Archive resolves in the place of its resolver, for commands; None if it does not."""


class PublishedStatement(Protocol):
    """The statement that all processes of one data directory give out last. Calls block, from any thread and
    process."""

    def change(self, make: Callable[[str | None], str]) -> str:
        """Keep what `make` makes of it, which is given None if there is none, or it cannot be read. No other process
        changes it in between; what was kept is there after a crash, whole."""

    def note_removed(self, service: LabelForms, at: int) -> None:
        """Keep that the administrator removed an Archive, at this time in POSIX seconds: the statements say so."""

    def removed(self) -> tuple[RemovedArchive, ...]:
        """The Archives that were removed, the latest last. A `StorageError` if that cannot be read."""


class FailureBoard(Protocol):
    """Which background jobs of one data directory fail, for other processes. Calls block, from any thread and process.
    A `StorageError` if it cannot be read or written."""

    def put(self, failing: FailingJob) -> None:
        """Note a failure, in the place of an earlier one of the same job."""

    def remove(self, name: str) -> None:
        """Note that a job fails no more."""

    def all(self) -> tuple[FailingJob, ...]: ...


class CopyHolderStore(Protocol):
    """The Archives that were named as holders of Copies beside the settings, and those that are offered. Calls block,
    from any thread and process. A `StorageError` if it cannot be read or written."""

    def read(self) -> KnownCopyHolders: ...

    def change(self, make: Callable[[KnownCopyHolders], KnownCopyHolders]) -> KnownCopyHolders:
        """Keep what `make` makes of it, and return that. No other process changes it in between."""


class MembershipState(Protocol):
    """What is kept of an Archive's membership, and who keeps it up. To read needs nothing to be there.

    A `StorageError` if it cannot be read or written; what was written is there after a crash.
    """

    prompt: bool
    """Whether calls take so little time that an event loop may make them: a small file, once a second."""

    @property
    def switched_on(self) -> bool:
        """Every Archive is, until it is switched off."""

    def switch(self, *, on: bool) -> None: ...

    def read(self) -> Membership:
        """What was written last; without that, or if it cannot be understood, a membership that has not begun."""

    def write(self, membership: Membership) -> None: ...

    def hold(self) -> bool:
        """Be the one process that speaks to the resolver, if no other is. To be it already is fine. Ends with `release`
        or with the process."""

    def release(self) -> None:
        """Let another be it. Without effect for who is not."""


class UsageLog(Protocol):
    """Counts by item and day, of people and of robots. Calls come from any thread; processes count side by side.

    What counts is decided before (`ibi.archive.counting`), and nothing is kept of who it was. Periods are from day
    number to day number, both included; None is before or after everything.
    """

    def count(self, day: UsageDay, kind: UsageKind, referrer: ReferrerClass = ReferrerClass.UNKNOWN) -> None:
        """One more. Quick: counts are written by `flush`. A crash may lose those that were not."""

    def watch(self, on_count: Callable[[], object]) -> None:
        """Have it called with the first count after each `flush`; it must be quick."""

    def days(
        self, rep: RepositoryName, first: int | None = None, last: int | None = None
    ) -> tuple[tuple[UsageDay, Usage], ...]:
        """The days on which the item was used, in their order; what this process has counted is among it."""

    def totals(self, first: int | None = None, last: int | None = None) -> Iterator[tuple[RepositoryName, Usage]]:
        """Every item that was used in that period, and how much, in the order of repository names."""

    def origins(self, first: int, last: int) -> tuple[tuple[UsageOrigin, Usage], ...]:
        """The use of these months and those between them, by Archive and class of referrer. Quick, however many items
        there are."""

    def walk(self, first: int, last: int) -> Iterator[tuple[UsageDay, Usage]]:
        """Every item and day of a period of days, in the order of items and then of days; not loaded at once. What is
        counted meanwhile may be among it."""

    def most_used(self, month: int, most: int) -> tuple[tuple[RepositoryName, Usage], ...]:
        """The items that people used most in a month, the most used first."""

    def flush(self) -> None:
        """Have everything counted so far on the disk. What could not be written is kept, and counts the next time."""

    def close(self) -> None:
        """After a last `flush`. To close again does nothing."""


class DataFiles(Protocol):
    """What takes room in a data directory beside the items. Calls block, from any thread."""

    def files(self) -> tuple[DataFile, ...]:
        """Its databases, logs and dumps, the largest first."""

    def disk(self) -> DiskSpace: ...

    def last_backup(self) -> BackupNote | None:
        """The last backup that was made; None if none is known of, or the note of it cannot be read."""

    def note_backup(self, note: BackupNote) -> None: ...


class DumpFiles(Protocol):
    """The dumps of the Archive's records, of which the newest are kept. Calls wait for the disk."""

    def write(self, name: str, lines: Iterable[bytes]) -> int:
        """Keep the lines, compressed, under the name of their place in the feed; how many bytes they take. Whole or not
        at all: if `lines` raises, nothing is left of them."""

    def written(self) -> float | None:
        """When the newest was written, in seconds since 1970; None if there is none."""

    def newest(self) -> str | None:
        """The path of the newest, a file that is never changed again; None if there is none."""


class UrlBuilder(Protocol):
    """The URLs of one Archive, absolute and encoded. None of them is looked up: each follows from the item alone."""

    def file(self, item: Item, path: str) -> str:
        """The bytes of the file of that path."""

    def target(self, item: Item) -> str:
        """Where readers are sent on to the page of the item, or to its main file."""

    def metadata(self, item: Item, own: Item | None, metadata_format: str | None) -> str:
        """The metadata of `item`, which is the item `own` if it has an IBI; in any form if no format is named."""

    def file_list(self, item: Item) -> str:
        """The page that lists the files, or says that this is not permitted (R §9.2, note 2)."""


class SiteFiles(Protocol):
    """What the owner of a site put beside it: pages in Markdown, the logo, pictures. Calls block, one at a time."""

    def files(self) -> Mapping[str, bytes]:
        """Name and content of each, the same mapping as before if nothing has changed."""
