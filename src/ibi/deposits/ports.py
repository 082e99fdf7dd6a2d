"""Interfaces of the store of drafts, which are unpublished deposits on a server, and of their incoming files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from ibi.deposits.model import DraftRecord, Review, ReviewEntry, ReviewState
from ibi.items.model.file import File


@dataclass(frozen=True, slots=True)
class Uploaded:
    """An uploaded file, the place of its bytes, and the seal that identifies them (`seal_of`)."""

    file: File
    place: str
    seal: str | None = None
    """None if an earlier version has received it."""


@dataclass(frozen=True, slots=True)
class PartialUpload:
    """A file that is sent in several requests, as it was announced."""

    id: str
    """The identifier for the sender, and for `DraftStore.sizes`."""
    path: str
    length: int
    media_type: str | None = None


class IncomingFile(Protocol):
    """The bytes of one incoming file of a draft. One thread at a time writes it; another may abandon it.

    No sweep removes it until `close` or `abandon`, or the death of the process.
    """

    @property
    def name(self) -> str:
        """The name in `DraftStore.sizes`."""

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def write(self, piece: bytes) -> None:
        """Append bytes. Raise `DiskFull` if there is no room for them."""

    def digests(self) -> dict[str, bytes]:
        """Return the digests of the bytes written so far, by the HTTP names of the algorithms."""

    def seal(self) -> str:
        """Return the seal that shows later, without SHA-512, that the file is unchanged: see `seal_of`."""

    def finish(self) -> None:
        """Flush the file to disk."""

    def cut(self, size: int) -> None:
        """Truncate the file to that many bytes, which were written before."""

    def abandon(self) -> None:
        """Undo the upload; also after `finish`."""

    def close(self) -> None:
        """Leave the file to its draft."""


class DraftStore(Protocol):
    """The drafts of one Archive. Calls block, from any thread and process: never on an event loop.

    Everything written, created or kept survives a crash. A `StorageError` says that nothing was done: `DiskFull` if
    there is no room, `DraftDamaged` if a record cannot be parsed. A missing draft has no files.
    """

    def create(self, record: DraftRecord) -> None: ...

    def read(self, draft: str) -> DraftRecord | None:
        """Return the record; None if there is no such draft, whatever its id looks like.

        Raise `DraftDamaged` if its record cannot be read.
        """

    def write(self, record: DraftRecord) -> None:
        """Replace the record of that draft."""

    def remove(self, draft: str) -> None:
        """Remove a draft. It is gone at once for every other caller; the next sweep removes leftovers."""

    def conclude(self, record: DraftRecord) -> None:
        """Store the result of a draft apart from the drafts in progress. It stays readable, and has no files any more.

        Only for a caller that has the lock of the draft.
        """

    def ids(self, after: str = "") -> Iterator[str]:
        """Yield the ids of all drafts after that one, in order, without concluded ones. They carry no other
        information."""

    def published_ids(self) -> Iterator[str]:
        """Yield the ids of the concluded drafts, in no order."""

    def changed_elsewhere(self) -> Collection[str] | None:
        """Return the drafts that other processes have changed since the last call, as far as they could record it.

        Return None if it may have been any, as at the first call. The time does not depend on the number of drafts.
        """

    def last_change(self, draft: str) -> int:
        """Return the time of the last change in POSIX seconds, by the clock that judges its age; 0 without a draft."""

    def stamp(self, draft: str) -> tuple[int, int]:
        """Return a value that differs after every recorded change, and after a file has begun to arrive or has gone.

        This is the fastest call here: it is made for every draft at once.
        """

    def free(self) -> int:
        """Return the free bytes for drafts."""

    def alone_on(self, draft: str) -> AbstractContextManager[None]:
        """Lock the draft within the `with`.

        Raise `ibi.deposits.rules.drafts.DraftBusy` if another caller has it for more than a moment, `UnknownDraft` if
        there is none, and `DraftPublished` if it was concluded.
        """

    def uploads(self, draft: str) -> Mapping[str, Uploaded]:
        """Return the uploaded files, by their paths."""

    def find_upload(self, draft: str, path: str) -> Uploaded | None:
        """Return the uploaded file with this name, or with one that some systems treat as the same."""

    def find_below(self, draft: str, folder: str) -> str | None:
        """Return the path of an uploaded file in a folder of this name, or of one that some systems treat as the same.

        Fast if there is none.
        """

    def totals(self, draft: str) -> tuple[int, int]:
        """Return the number of files and their total bytes, including incoming files."""

    def sizes(self, draft: str) -> Mapping[str, int]:
        """Return the sizes of the same files, by their names in the store; none of them is opened."""

    def receive(self, draft: str, *, with_sha256: bool = False) -> IncomingFile:
        """Return a new incoming file. SHA-512 is always computed, SHA-256 on request."""

    def keep(self, draft: str, incoming: IncomingFile, file: File) -> None:
        """Make the finished bytes that file, in place of its previous content. Only for the holder of the lock."""

    def begin_partial(self, draft: str, path: str, length: int, media_type: str | None) -> PartialUpload:
        """Return a new upload in several requests, without any bytes yet.

        Its bytes are kept until it is dropped or the draft is removed, also over the death of the process.
        """

    def find_partial(self, draft: str, upload: str) -> PartialUpload | None:
        """Return the upload; None also if its bytes are gone because its file was replaced or removed."""

    def partials(self, draft: str) -> tuple[PartialUpload, ...]:
        """Return the uploads that have not become files, by their paths."""

    def partial_size(self, draft: str, upload: str) -> int:
        """Return the number of bytes received."""

    def go_on(self, draft: str, partial: PartialUpload) -> IncomingFile:
        """Resume an upload. Raise `ibi.deposits.rules.drafts.UploadBusy` if another caller is writing it.

        `keep` makes it a file, once; a repeated `keep` changes nothing. If this process has not seen all bytes, digests
        are computed from the stored bytes.
        """

    def drop_partial(self, draft: str, upload: str) -> None:
        """Delete an upload, and its bytes unless they are those of a file."""

    def drop(self, draft: str, path: str) -> bool:
        """Delete a file. Return whether it existed. Only for a caller that has the draft's lock."""

    def is_done(self, draft: str) -> bool:
        """Return whether the draft was published; fast, without reading it."""

    def sweep(self, draft: str) -> None:
        """Remove incoming bytes that a crash has left, and eventually a draft that was never completed.

        A published draft is concluded.
        """

    def sweep_removed(self) -> None:
        """Remove the leftovers of removed drafts."""


ReviewChange = Callable[[Review | None], tuple[Review, ReviewEntry]]
"""Returns the next state of a review, which is None if there is none, and the entry that explains it; or raises."""


class ReviewStore(Protocol):
    """The reviews of one Archive. Calls block, from any thread and process: never on an event loop.

    Entries are append-only. A `StorageError` says that nothing was done.
    """

    def change(self, draft: str, into: ReviewChange) -> Review:
        """Change a review and add an entry to it, durably in one transaction; no other process comes in between.

        A submitted review gets the last place in the queue.
        """

    def find(self, draft: str) -> Review | None: ...

    def find_key(self, owner: str, key: str) -> Review | None:
        """Return the review that this account submitted last with an idempotency key."""

    def is_waiting(self, draft: str) -> bool:
        """Return whether the draft is submitted. Faster than `find`: called for every draft before its removal."""

    def entries(self, draft: str) -> tuple[ReviewEntry, ...]:
        """Return the actions and comments, the oldest first."""

    def list(self, state: ReviewState, after: int, most: int) -> tuple[Review, ...]:
        """Return reviews in that state, in the order of their last submission, after that `turn`."""

    def count_waiting(self) -> int: ...

    def forget(self, draft: str) -> None:
        """Delete a review with its entries: its draft is gone without a result."""
