"""Interfaces for making Copies of items of other Archives: those Archives, room for incoming files, and jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from ibi.errors import ErrorKind, IbiError
from ibi.label import Label, RepositoryName
from ibi.model.content import Move
from ibi.model.copies import CopyJob, ItemObjectRecord, JobItem
from ibi.model.file import File
from ibi.model.subscription import FeedEntry, Follow, FollowCounts, FollowedState, SourceAddress, WantedItem
from ibi.model.webhook import Webhook
from ibi.ports.archive_store import OnBytes
from ibi.vocabulary import State


class SourceCut(IbiError):
    """The connection to {source} broke off: {reason}. What has come is kept, to be gone on with."""

    code = "source-cut"
    kind = ErrorKind.UPSTREAM_FAILED


class SourceSilent(SourceCut):
    """{source} could not be asked: {reason}."""


class NoSource(IbiError):
    """It is not known which Archive keeps {label}: {reason}. Name it with --from http://HOST."""

    code = "no-source"
    kind = ErrorKind.MALFORMED
    request_field = "from"


class UnsafeSource(IbiError):
    """{source} is not asked for items: {reason}. An administrator can do so on the machine that has the data directory,
    or allow networks with `copies.networks`."""

    code = "unsafe-source"
    kind = ErrorKind.FORBIDDEN
    request_field = "from"


class SourceGone(IbiError):
    """{source} has no item {label}: {detail}"""

    code = "source-gone"
    kind = ErrorKind.NOT_FOUND


class NoCopyService(IbiError):
    """{source} does not offer its items for Copies: {detail} It is no Archive of this make, or its address is wrong.
    {label} may be there all the same: its persistent link leads to its files."""

    code = "no-copy-service"
    kind = ErrorKind.UPSTREAM_FAILED


class CopyUnderWay(IbiError):
    """{label} is being copied by another process at this moment."""

    code = "copy-under-way"
    kind = ErrorKind.CONFLICT


class CopyStopped(IbiError):
    """It was stopped; what has come is kept, to be gone on with."""

    code = "copy-stopped"
    kind = ErrorKind.UNAVAILABLE


class FoundObject(NamedTuple):
    """The answer of an Archive for one of several labels: a record, or the reason why there is none."""

    label: Label
    outcome: ItemObjectRecord | IbiError


class ItemSource(Protocol):
    """One other Archive, asked over few connections. Calls block, from any thread.

    Redirects are not followed. Each call has its own errors for wrong answers; the size of answers is bounded.
    """

    url: str
    """Its address, without a final slash."""
    is_on_loopback: bool
    """True if it is on this machine."""

    def read_object(self, label: Label) -> ItemObjectRecord:
        """Return the record of an item.

        Raise `SourceGone` if it has no such item, `NoCopyService` if it does not know this request, and `SourceCut` if
        the connection fails.
        """

    def read_objects(self, labels: Sequence[Label]) -> Iterator[FoundObject]:
        """Yield several records; small ones include the contents of their files.

        A missing one was cut off, or the other Archive only returns one at a time.
        """

    def read_file(self, label: Label, file: File, offset: int) -> Iterator[bytes | memoryview]:
        """Yield the bytes of a file from an offset. Raise `SourceCut` if the connection fails.

        There are never more bytes than the file has: an Archive that sends more is refused. A piece is valid until
        three more were yielded.
        """

    def close(self) -> None: ...


class ItemSources(Protocol):
    """Opens other Archives."""

    def open(self, url: str, token: str | None) -> AbstractContextManager[ItemSource]:
        """Open the Archive at `http(s)://host[:port]` with the token. Raise `UnsafeSource` for a forbidden address."""


Pieces = Iterator[bytes | memoryview]
FindSource = Callable[[Label], str]
"""Return the address of the Archive that keeps the Original of a label; raise `NoSource` if it is not known."""


class StagedFiles(Protocol):
    """The incoming files of one item. They survive the end of a process, so that the download can resume."""

    def receive(self, file: File, read_from: Callable[[int], Pieces], on_bytes: OnBytes) -> Move:
        """Receive the whole file, and read only the missing part; check its digest.

        `read_from` yields its bytes from an offset, and raises `SourceCut` when the connection breaks. Raise
        `WrongDigest` if the file is another: then nothing is left of it.
        """

    def discard(self) -> None:
        """Delete the files."""


class WrongDigest(IbiError):
    """{path} did not arrive as it was announced: {reason}."""

    code = "wrong-digest"
    kind = ErrorKind.UPSTREAM_FAILED


class CopyStaging(Protocol):
    """The place in which files of items wait until all have arrived. Calls block; several processes share it."""

    def begin(self, name: str, size: int, check: Callable[[int], None]) -> AbstractContextManager[StagedFiles]:
        """Reserve room for the files of one item, exclusively. Raise `CopyUnderWay` if another process has it.

        `check` gets the number of bytes promised to all others, and may refuse, so that the total never exceeds the
        room. The room stays reserved while there are files in it.
        """

    def reserve(self, size: int, check: Callable[[int], None]) -> AbstractContextManager[None]:
        """Reserve room for bytes that are not staged, within the `with`."""

    def forget(self, name: str) -> None:
        """Remove the leftovers of a dead process for an item; downloads of others stay. Fast if there is nothing."""

    def free(self) -> int:
        """Return the free bytes on the disk."""

    def sweep(self, days: int) -> int:
        """Remove files that were untouched for that many days. Return the number of items."""


@dataclass(frozen=True, slots=True)
class WantedCopies:
    """The work of a job."""

    labels: tuple[Label, ...]
    source: str | None
    token: str | None
    who: str
    account: str | None


class CopyJobs(Protocol):
    """The jobs of one Archive, durable. Calls block, from any thread."""

    def create(self, wanted: WantedCopies, now: int) -> CopyJob: ...

    def find(self, job: str) -> CopyJob | None: ...

    def latest(self, most: int, before: str | None = None) -> list[CopyJob]:
        """Return the latest jobs, the newest first."""

    def items(self, job: str, after: int, most: int) -> list[JobItem]:
        """Return the result for each label, in order."""

    def token(self, job: str) -> str | None:
        """Return the token of the source, which is kept until the job ends."""

    def pending(self, job: str, most: int) -> list[JobItem]:
        """Return labels without a result yet."""

    def next_job(self) -> CopyJob | None:
        """Return the oldest unfinished job."""

    def record(self, job: str, outcomes: Sequence[JobItem]) -> None: ...

    def end(self, job: str, now: int, *, cancelled: bool = False) -> bool:
        """End a job as done or cancelled, and delete its token. Return False if it had ended before."""

    def forget(self, before: int, most: int) -> None:
        """Delete jobs that ended before that second, and the oldest ended ones beyond `most`."""

    def hold(self) -> bool:
        """Try to become the one process that works on jobs; ends with `close` or with the process."""

    def close(self) -> None: ...


# --- subscriptions ----------------------------------------------------------------------------------------------------


class SourceAway(IbiError):
    """{source} does not answer: {reason}."""

    code = "source-away"
    kind = ErrorKind.UPSTREAM_FAILED
    request_field = "source"


class SourceUnusable(IbiError):
    """{source} does not answer as an Archive with a feed of changes does: {reason}."""

    code = "source-unusable"
    kind = ErrorKind.UPSTREAM_FAILED
    request_field = "source"


class FeedBegunAgain(IbiError):
    """The feed of {source} was begun again, or put back from a backup."""

    code = "feed-begun-again"
    kind = ErrorKind.UPSTREAM_FAILED
    request_field = "source"


class SourceRecord(NamedTuple):
    """The record of an item at a source: its name, and its state there."""

    name: RepositoryName
    state: State


class Advance(NamedTuple):
    """The effect of a page of a feed on one follow: the next position, and the entries that concern it."""

    follow: str
    epoch: str
    position: int
    end: int
    entries: Sequence[FeedEntry]
    archive: str = ""
    """The label of the source's own item; empty if it does not say."""


class FollowStore(Protocol):
    """The follows of one data directory. Calls block, from any thread and process.

    A `StorageError` says that nothing was done. The changes of a call survive a crash, all or none.
    """

    def add(self, follow: Follow) -> bool:
        """Add a new follow. Return False if the same target of the same source is followed already.

        Then that follow gets the token of this one, and items that its librarian dropped are copied again.
        """

    def remove(self, identity: str) -> Follow | None:
        """Delete a follow and all records of its items, and return it. Copies stay."""

    def all(self) -> tuple[Follow, ...]:
        """Return all follows in the order in which they were added."""

    def counts(self) -> Mapping[str, FollowCounts]:
        """Return the counts by follow."""

    def held_among(self, follow: str, labels: Collection[str]) -> frozenset[str]:
        """Return those of the items that are known to be of the follow."""

    def is_brought(self, item: WantedItem) -> bool:
        """Return whether another follow of the same source has copied that version of the item."""

    def expect(self, follows: Sequence[str], end: int) -> None:
        """Record the end of a feed that is not processed: until `begin`, the follows are that far behind."""

    def note_end(self, source: str, epoch: str, end: int) -> None:
        """Record that the feed of a source, in that epoch, ends there or later."""

    def begin(self, identity: str, epoch: str, position: int, until: int, seeds: Sequence[FeedEntry]) -> None:
        """Begin another round from that position of a feed of that epoch.

        `seeds` are items that are followed whatever the feed says.
        """

    def advance(self, advances: Sequence[Advance], now: int) -> None:
        """Process a page in one transaction: the entries are queued, and the position moves.

        An entry is not queued if its version was copied before.
        """

    def end_round(self, identity: str) -> int:
        """End the round: it has seen all items of the source. Items that it has not seen are queued for a check.

        Return their number.
        """

    def due(self, follows: Sequence[str], now: int, most: int) -> tuple[WantedItem, ...]:
        """Return due items, the longest waiting first."""

    def next_due(self, follows: Sequence[str]) -> int | None:
        """Return when the next of those items is due; None if none waits."""

    def finish(self, item: WantedItem, state: FollowedState, version: int, at: str) -> None:
        """Mark the item as done, unless another change was reported meanwhile.

        `version` and `at` are those of the source's object from which the Copy was made, if known.
        """

    def forget(self, item: WantedItem) -> None:
        """Remove the item from the follow, unless another change was reported meanwhile."""

    def move(self, item: WantedItem, follow: Follow) -> None:
        """Move the item to `follow`, which is added if there is none with the same target and source.

        In its previous follow, the item is `MOVED`.
        """

    def relocate(self, identity: str, source: SourceAddress, *, keeps_token: bool) -> None:
        """Change the address of the source of a follow; all records of the follow stay.

        The token stays if it may be sent there. If two follows then have the same target, the one that was there before
        stays.
        """

    def put_off(self, item: WantedItem, due: int, reason: str) -> None:
        """Retry the item at that time."""

    def note_failure(self, follows: Sequence[str], reason: str, now: int) -> None:
        """Record that the source does not answer, or not as an Archive does."""

    def hold(self) -> bool:
        """Try to become the one process that works on the follows. Return whether this process is it now.

        Repeated calls are allowed. The lock ends with `release` or with the process.
        """

    def release(self) -> None:
        """Release the lock. Does nothing if this process does not hold it."""


# --- webhooks ---------------------------------------------------------------------------------------------------------


class WebhookStore(Protocol):
    """The webhooks of one data directory. Calls block, from any thread and process. Changes survive a crash."""

    def add(self, webhook: Webhook) -> None: ...

    def remove(self, identity: str) -> Webhook | None:
        """Delete a webhook and return it."""

    def enable(self, identity: str, epoch: str, position: int) -> Webhook | None:
        """Resume deliveries after that position. Return None if there is no such webhook."""

    def all(self) -> tuple[Webhook, ...]:
        """Return all webhooks in the order in which they were added."""

    def advance(self, identity: str, epoch: str, position: int, delivered: int | None) -> None:
        """Record that all entries up to that position were delivered or not wanted.

        `delivered` is the time, if anything was delivered.
        """

    def put_off(self, identity: str, due: int, reason: str, now: int) -> None:
        """Record a failed delivery; the next attempt is at `due`."""

    def disable(self, identity: str, reason: str, now: int) -> None: ...

    def hold(self) -> bool:
        """Try to become the one process that delivers. The lock ends with `release` or with the process."""

    def release(self) -> None: ...


GONE: Final = "the receiver says that it is gone (HTTP status 410)"
"""The reason of a failed delivery if the receiver wants nothing more."""
