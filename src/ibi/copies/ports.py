"""Interfaces for making Copies of items of other Archives: those Archives, room for incoming files, and jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ibi.copies.model import CopyJob, ItemObjectRecord, JobItem
from ibi.items.model.content import Move
from ibi.items.model.file import File
from ibi.items.ports.archive_store import OnBytes
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.label import Label


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
