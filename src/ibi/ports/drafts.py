"""What services ask of the store of drafts: drafts, files on their way into them, and their reviews.

Where drafts are kept: what was sent to a server and is not published yet.

Where reviews of drafts are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from ibi.model.draft import DraftRecord, Review, ReviewEntry, ReviewState
from ibi.model.file import File


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file that was sent, where its bytes are, and the seal by which they are recognised (`seal_of`)."""

    file: File
    place: str
    seal: str | None = None
    """None if an earlier version has received it."""


@dataclass(frozen=True, slots=True)
class PartialUpload:
    """A file that is sent in several requests: what was announced of it."""

    id: str
    """By which the sender knows it, and `DraftStore.sizes`."""
    path: str
    length: int
    media_type: str | None = None


class IncomingFile(Protocol):
    """The bytes of one file on their way into a draft: written by one thread at a time; who gives it up may be another.

    Until `close` or `abandon`, or the death of the process, no sweep removes it.
    """

    @property
    def name(self) -> str:
        """By which `DraftStore.sizes` knows it."""

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def write(self, piece: bytes) -> None:
        """`DiskFull` if there is no room for it."""

    def digests(self) -> dict[str, bytes]:
        """Of what was written so far, by the names that HTTP has for the algorithms."""

    def seal(self) -> str:
        """By which it is seen later, without SHA-512, that the file is still what was written: see `seal_of`."""

    def finish(self) -> None:
        """Have all of it on the disk."""

    def cut(self, size: int) -> None:
        """Have no more than so many bytes, which were written before."""

    def abandon(self) -> None:
        """As if nothing had come; also after `finish`."""

    def close(self) -> None:
        """Leave it to the draft that it was sent to."""


class DraftStore(Protocol):
    """The drafts of one Archive. Calls block, from any thread and process: never on an event loop.

    What was written, created or kept is there after a crash. A `StorageError` says that nothing was done: `DiskFull` if
    there is no room, `DraftDamaged` if a record cannot be understood. A draft that is not there has no files.
    """

    # --- drafts ---

    def create(self, record: DraftRecord) -> None: ...

    def read(self, draft: str) -> DraftRecord | None:
        """None if there is no such draft, whatever text it is called by. `DraftDamaged` if its record cannot be
        read."""

    def write(self, record: DraftRecord) -> None:
        """In the place of what is kept of that draft."""

    def remove(self, draft: str) -> None:
        """Gone at once for every other caller; what cannot be removed is removed by the next sweep."""

    def conclude(self, record: DraftRecord) -> None:
        """Keep what a draft became, apart from those that are worked on: it is read still, and has no files any more.
        For who is alone on the draft."""

    def ids(self, after: str = "") -> Iterator[str]:
        """Of all drafts after that one, in their order, without those that were concluded; an id tells nothing but
        which draft it is."""

    def published_ids(self) -> Iterator[str]:
        """Of the drafts that were concluded, in no order."""

    def changed_elsewhere(self) -> Collection[str] | None:
        """The drafts that other processes have changed since this was asked last, as far as they could say so; None if
        it may have been any, as at the first time. Takes no longer the more drafts there are."""

    def last_change(self, draft: str) -> int:
        """POSIX seconds of the last change, by the clock that judges how long ago that was; 0 if there is no such
        draft."""

    def stamp(self, draft: str) -> tuple[int, int]:
        """Another one after every change that is recorded, and after a file has begun to come or has gone. Quicker than
        anything else here: asked of every draft at once."""

    def free(self) -> int:
        """Bytes that are left for drafts."""

    def alone_on(self, draft: str) -> AbstractContextManager[None]:
        """No other caller changes the draft within the `with`. `ibi.archive.drafts.DraftBusy` if another does, for more
        than a moment; `UnknownDraft` if there is none; `DraftPublished` if it was concluded."""

    # --- their files ---

    def uploads(self, draft: str) -> Mapping[str, Uploaded]:
        """The files that were sent, by their paths."""

    def find_upload(self, draft: str, path: str) -> Uploaded | None:
        """The file that was sent under this name, or under one that some systems take for the same."""

    def find_below(self, draft: str, folder: str) -> str | None:
        """The path of a file that was sent and is in a folder of this name, or of one that some systems take for the
        same. Quick if there is none."""

    def totals(self, draft: str) -> tuple[int, int]:
        """How many files there are, and the bytes of all, those on their way among them."""

    def sizes(self, draft: str) -> Mapping[str, int]:
        """Of the same, by the names that the store has for them; none of them is opened for it."""

    def receive(self, draft: str, *, with_sha256: bool = False) -> IncomingFile:
        """A file that begins to come. SHA-512 is always computed, SHA-256 if asked for."""

    def keep(self, draft: str, incoming: IncomingFile, file: File) -> None:
        """Have the finished bytes be that file, in the place of what it was. For who is alone on the draft."""

    def begin_partial(self, draft: str, path: str, length: int, media_type: str | None) -> PartialUpload:
        """A file that is to come in several requests, of which no byte has come. What has come is kept until it is
        dropped or the draft goes, over the death of the process too."""

    def find_partial(self, draft: str, upload: str) -> PartialUpload | None:
        """None also if its bytes are gone: the file that it became was replaced or removed."""

    def partials(self, draft: str) -> tuple[PartialUpload, ...]:
        """Those that have not become files, by their paths."""

    def partial_size(self, draft: str, upload: str) -> int:
        """Bytes that have come."""

    def go_on(self, draft: str, partial: PartialUpload) -> IncomingFile:
        """Write what follows. `ibi.archive.drafts.UploadBusy` if another does. `keep` makes it a file, once; to keep it
        again changes nothing. Digests are computed from the bytes again where this process has not seen them all."""

    def drop_partial(self, draft: str, upload: str) -> None:
        """Forget it, and its bytes unless they are those of a file."""

    def drop(self, draft: str, path: str) -> bool:
        """Whether there was such a file. For who is alone on the draft."""

    def is_done(self, draft: str) -> bool:
        """Whether it was published; quick, without reading it."""

    # --- order ---

    def sweep(self, draft: str) -> None:
        """Remove bytes that a crash has left on their way, and at length a draft that never came to be. One that was
        published is concluded."""

    def sweep_removed(self) -> None:
        """Remove what is left of drafts that are gone."""


# --- reviews ----------------------------------------------------------------------------------------------------------


ReviewChange = Callable[[Review | None], tuple[Review, ReviewEntry]]
"""Makes of a review, None if there is none, the next one, and the entry that says why; or raises an error."""


class ReviewStore(Protocol):
    """The reviews of one Archive. Calls block, from any thread and process: never on an event loop.

    Entries are only ever added. A `StorageError` says that nothing was done.
    """

    def change(self, draft: str, into: ReviewChange) -> Review:
        """Change a review and add an entry to it, durably and as one; no other process comes in between. A review that
        is submitted gets the last place in the queue."""

    def find(self, draft: str) -> Review | None: ...

    def find_key(self, owner: str, key: str) -> Review | None:
        """The review that this account submitted last with an idempotency key."""

    def is_waiting(self, draft: str) -> bool:
        """Whether the draft is submitted. Quicker than `find`: asked of every draft that would be removed."""

    def entries(self, draft: str) -> tuple[ReviewEntry, ...]:
        """What was done and said, the oldest first."""

    def list(self, state: ReviewState, after: int, most: int) -> tuple[Review, ...]:
        """Reviews in that state, in the order in which they were submitted last, after that `turn`."""

    def count_waiting(self) -> int: ...

    def forget(self, draft: str) -> None:
        """Remove a review with all that was said: its draft is gone, and became nothing."""
