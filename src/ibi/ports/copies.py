"""What is needed to make Copies of items of other Archives: those Archives, room for what is on its way, and jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ibi.errors import IbiError
from ibi.label import Label
from ibi.model.content import Move
from ibi.model.copies import CopyJob, ItemObjectRecord, JobItem
from ibi.model.file import File
from ibi.ports.content import OnBytes


class SourceCut(IbiError):
    """The connection to {source} broke off: {reason}. What has come is kept, to be gone on with."""

    code = "source-cut"


class NoSource(IbiError):
    """It is not known which Archive keeps {label}: {reason}. Name it with --from http://HOST."""

    code = "no-source"


class UnsafeSource(IbiError):
    """{source} is not asked for items: {reason}. An administrator can do so on the machine that has the data directory,
    or allow networks with `copies.networks`."""

    code = "unsafe-source"


class SourceGone(IbiError):
    """{source} has no item {label}: {detail}"""

    code = "source-gone"


class CopyUnderWay(IbiError):
    """{label} is being copied by another process at this moment."""

    code = "copy-under-way"


class CopyStopped(IbiError):
    """It was stopped; what has come is kept, to be gone on with."""

    code = "copy-stopped"


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
        """`SourceGone` if it has no such item; `SourceCut` if the connection fails."""

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
