"""What services ask for in order to keep Copies of items elsewhere, and to follow and tell of changes.

What is needed to make Copies of items of other Archives: those Archives, room for what is on its way, and jobs.

What is kept of subscriptions: what is followed elsewhere, how far each has come, which items have something left to
be done; and webhooks.
"""

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
from ibi.model.subscription import FeedEntry, Follow, FollowCounts, FollowedState, SourceAddress, WantedItem, Webhook
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
    """What an Archive says to one of several labels: a record, or why there is none."""

    label: Label
    outcome: ItemObjectRecord | IbiError


class ItemSource(Protocol):
    """One other Archive, asked over few connections. Calls block, from any thread.

    Redirects are not followed. What it does wrong is an error of its own for each call; what it sends is bounded.
    """

    url: str
    """Its address, without a final slash."""
    is_on_loopback: bool
    """Whether it is on this very machine."""

    def read_object(self, label: Label) -> ItemObjectRecord:
        """`SourceGone` if it has no such item, `NoCopyService` if it knows no such question; `SourceCut` if the
        connection fails."""

    def read_objects(self, labels: Sequence[Label]) -> Iterator[FoundObject]:
        """Several, of which small ones come with the contents of their files. One that is missing in the answer was
        cut off, or the other Archive gives one at a time."""

    def read_file(self, label: Label, file: File, offset: int) -> Iterator[bytes | memoryview]:
        """The bytes of a file from an offset on; `SourceCut` where the connection fails. Never more than the file has:
        an Archive that sends more is refused. A piece is good until three more were given."""

    def close(self) -> None: ...


class ItemSources(Protocol):
    """Opens other Archives."""

    def open(self, url: str, token: str | None) -> AbstractContextManager[ItemSource]:
        """The Archive at `http(s)://host[:port]`, shown the token. `UnsafeSource` if its address must not be asked."""


Pieces = Iterator[bytes | memoryview]
FindSource = Callable[[Label], str]
"""Finds the address of the Archive that keeps the Original of a label; `NoSource` if it is not known."""


class StagedFiles(Protocol):
    """The files of one item on their way in. What is there stays when a process ends, to be gone on with."""

    def receive(self, file: File, read_from: Callable[[int], Pieces], on_bytes: OnBytes) -> Move:
        """The whole file, of which only what is missing is read; its digest is right.

        `read_from` gives its bytes from an offset on, and raises `SourceCut` when it is cut. `WrongDigest` if the file
        is another: nothing is left of it then."""

    def discard(self) -> None:
        """Nothing is left."""


class WrongDigest(IbiError):
    """{path} did not arrive as it was announced: {reason}."""

    code = "wrong-digest"
    kind = ErrorKind.UPSTREAM_FAILED


class CopyStaging(Protocol):
    """Where files of items wait until all have come. Calls block; several processes share it."""

    def begin(self, name: str, size: int, check: Callable[[int], None]) -> AbstractContextManager[StagedFiles]:
        """Room for the files of one item, alone on it: `CopyUnderWay` if another has it. `check` is told how many bytes
        are promised to all others, and refuses; so that all together never have more than there is room for. The room
        stays taken for as long as there are files in it."""

    def reserve(self, size: int, check: Callable[[int], None]) -> AbstractContextManager[None]:
        """Room for what is not staged, for as long as the `with` lasts."""

    def forget(self, name: str) -> None:
        """Remove what a dead process has left of an item; what another is fetching stays. Quick if there is nothing."""

    def free(self) -> int:
        """Bytes that the disk has left."""

    def sweep(self, days: int) -> int:
        """Remove what was left alone for so many days; how many items."""


@dataclass(frozen=True, slots=True)
class WantedCopies:
    """What a job is to do."""

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
        """The newest first."""

    def items(self, job: str, after: int, most: int) -> list[JobItem]:
        """What became of each label, in their order."""

    def token(self, job: str) -> str | None:
        """The token of the source, which is kept while the job is not at its end."""

    def pending(self, job: str, most: int) -> list[JobItem]:
        """Labels of which nothing has become yet."""

    def next_job(self) -> CopyJob | None:
        """The oldest that is not at its end."""

    def record(self, job: str, outcomes: Sequence[JobItem]) -> None: ...

    def end(self, job: str, now: int, *, cancelled: bool = False) -> bool:
        """The job is done, or not to be gone on with; false if it was at its end before. Its token is forgotten."""

    def forget(self, before: int, most: int) -> None:
        """Forget jobs that ended before that second, and the oldest that ended beyond `most`."""

    def hold(self) -> bool:
        """Be the one process that works on jobs, if no other is; ends with `close` or with the process."""

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
    """What a source says of an item: its name, and what it is there."""

    name: RepositoryName
    state: State


class Advance(NamedTuple):
    """What a page of a feed means for one follow: the position to go on from, and the entries that concern it."""

    follow: str
    epoch: str
    position: int
    end: int
    entries: Sequence[FeedEntry]
    archive: str = ""
    """The label of the source's own item; empty if it does not say."""


class FollowStore(Protocol):
    """The follows of one data directory. Calls block, from any thread and process; a `StorageError` says that nothing
    was done. What a call has written is there after a crash, whole or not at all.
    """

    def add(self, follow: Follow) -> bool:
        """Keep a new follow; False if the same target of the same source is followed already, which then has the
        token of this one, and what its librarian dropped is brought again."""

    def remove(self, identity: str) -> Follow | None:
        """Forget a follow and all that is known of its items; what was forgotten. Copies stay."""

    def all(self) -> tuple[Follow, ...]:
        """In the order in which they were added."""

    def counts(self) -> Mapping[str, FollowCounts]:
        """By follow."""

    def held_among(self, follow: str, labels: Collection[str]) -> frozenset[str]:
        """Those of the items that are known to be of the follow."""

    def is_brought(self, item: WantedItem) -> bool:
        """Whether another follow of the same source has brought that version of the item."""

    def expect(self, follows: Sequence[str], end: int) -> None:
        """The feed ends there, and nothing of it is taken in: until `begin`, the follows are that far behind."""

    def note_end(self, source: str, epoch: str, end: int) -> None:
        """The feed of a source, in that epoch, ends there or later."""

    def begin(self, identity: str, epoch: str, position: int, until: int, seeds: Sequence[FeedEntry]) -> None:
        """Begin another round, from that position of a feed of that epoch. `seeds` are items that are followed whatever
        the feed tells."""

    def advance(self, advances: Sequence[Advance], now: int) -> None:
        """Take in a page, in one step: the entries wait, and the position moves. An entry of which the same version
        was brought before does not wait."""

    def end_round(self, identity: str) -> int:
        """The round has seen all that the source has: items that it has not seen wait to be looked at. How many."""

    def due(self, follows: Sequence[str], now: int, most: int) -> tuple[WantedItem, ...]:
        """Items whose turn it is, those first that wait longest."""

    def next_due(self, follows: Sequence[str]) -> int | None:
        """When the next of those items has its turn; None if none waits."""

    def finish(self, item: WantedItem, state: FollowedState, version: int, at: str) -> None:
        """Nothing is left to be done, unless another change was told meanwhile. `version` and `at` are those of the
        source's object of which the Copy is, if known."""

    def forget(self, item: WantedItem) -> None:
        """The item is none of the follow, unless another change was told meanwhile."""

    def move(self, item: WantedItem, follow: Follow) -> None:
        """The item is one of `follow` from now on, which is added if there is none of the same target and source; what
        it was in its own follow is `MOVED`."""

    def relocate(self, identity: str, source: SourceAddress, *, keeps_token: bool) -> None:
        """The source of a follow is at another address by now; all that is known of the follow stays, and its token if
        it may be sent there. Of two with the same target there, the one that was there before stays."""

    def put_off(self, item: WantedItem, due: int, reason: str) -> None:
        """Try again then."""

    def note_failure(self, follows: Sequence[str], reason: str, now: int) -> None:
        """The source does not answer, or not as an Archive does."""

    def hold(self) -> bool:
        """Be the one process that works on the follows, if no other is. To be it already is fine. Ends with `release`
        or with the process."""

    def release(self) -> None:
        """Let another be it. Without effect for who is not."""


# --- webhooks ---------------------------------------------------------------------------------------------------------

# What is kept of webhooks.


class WebhookStore(Protocol):
    """The webhooks of one data directory. Calls block, from any thread and process. What a call has written is there
    after a crash."""

    def add(self, webhook: Webhook) -> None: ...

    def remove(self, identity: str) -> Webhook | None:
        """Forget a webhook; what was forgotten."""

    def enable(self, identity: str, epoch: str, position: int) -> Webhook | None:
        """Have it told again of what comes after that position; None if there is no such webhook."""

    def all(self) -> tuple[Webhook, ...]:
        """In the order in which they were added."""

    def advance(self, identity: str, epoch: str, position: int, delivered: int | None) -> None:
        """All up to that position is delivered, or was not wanted; `delivered` is when, if anything was."""

    def put_off(self, identity: str, due: int, reason: str, now: int) -> None:
        """A delivery was in vain: the next one is tried then."""

    def disable(self, identity: str, reason: str, now: int) -> None: ...

    def hold(self) -> bool:
        """Be the one process that delivers, if no other is. Ends with `release` or with the process."""

    def release(self) -> None: ...


GONE: Final = "the receiver says that it is gone (HTTP status 410)"
"""Why a delivery was in vain to which the receiver says that it wants nothing more."""
