"""Reads drafts for their depositors and for librarians, with the rights of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ibi.deposits.model import DraftRecord
from ibi.deposits.ports import DraftStore, IncomingFile, PartialUpload, ReviewStore
from ibi.deposits.rules.drafts import (
    DeletionRequest,
    DraftPublished,
    DraftRules,
    UnderReview,
    UnknownDraft,
    UnknownUpload,
    UploadOffset,
    UploadTooLong,
    check_folders,
    check_upload,
    same_name,
    together,
)
from ibi.deposits.service.ledger import Depositor, DraftLedger, DraftSummary, DraftView, Share
from ibi.items.model.file import File, check_file_name, collision_key, folders_of
from ibi.items.model.item import name_one_item
from ibi.items.rules.rights import Belonging, ItemAct, may
from ibi.items.service.file_selection import media_type_of
from ibi.standard.clock_reading import Clocks
from ibi.standard.instant import Instant
from ibi.standard.messages.identification import LabelForms
from ibi.standard.storage_errors import DraftDamaged, StorageError


@dataclass(frozen=True, slots=True)
class DraftViews:
    """Reads drafts for a depositor. Calls block, from any thread. `service` is the Archive's own item. Without
    `reviews` no draft waits for review."""

    files: DraftStore
    clocks: Clocks
    rules: DraftRules
    service: LabelForms | None = None
    reviews: ReviewStore | None = None

    def record(self, who: Depositor, draft: str) -> DraftRecord:
        """Return the record. `UnknownDraft` also for drafts of other depositors, so that their existence is not
        revealed."""
        record = self.files.read(draft)
        if record is None or self.is_stale(draft):
            raise UnknownDraft(draft=draft[:40])
        if not self._may_see(who, record):
            raise UnknownDraft(draft=draft[:40], is_denied=True)  # only the audit log hears of the denial
        return record

    def open_record(self, who: Depositor, draft: str) -> DraftRecord:
        """Return the record of a draft that can still be changed. Otherwise raise `DraftPublished`, or `UnderReview`
        unless a librarian corrects it."""
        record = self.record(who, draft)
        if record.publication is not None:
            raise DraftPublished(draft=draft, label=str(record.publication.labels.labels[0]))
        if record.deletion is not None and record.labels is not None:
            raise DeletionRequest(draft=draft, label=str(record.labels.labels[0]))
        if self.is_waiting(draft) and not self.may(who, ItemAct.PUBLISH, record):
            raise UnderReview(draft=draft)
        return record

    def open_records(self, who: Depositor, after: str = "", *, with_deletions: bool = False) -> Iterator[DraftRecord]:
        """Yield the records of unpublished drafts, in the order of their ids. Requests for a deletion come only with
        `with_deletions`."""
        for draft in self.files.ids(after):
            try:
                record = self.files.read(draft)
            except DraftDamaged:
                continue
            if record is None or not self._may_see(who, record) or self.is_stale(draft):
                continue
            if record.publication is None and (with_deletions or record.deletion is None):
                yield record

    def view(self, record: DraftRecord) -> DraftView:
        uploaded = [one.file for one in self.files.uploads(record.id).values()]
        changed = max(record.created.seconds, self.files.last_change(record.id))
        size = sum(file.size for file in uploaded)
        review = None if self.reviews is None else self.reviews.find(record.id)
        state = None if review is None else review.state
        return DraftView(record, together(record.kept, uploaded), Instant(changed), size, state)

    def summary(self, record: DraftRecord) -> DraftSummary:
        number, size = self.files.totals(record.id)
        changed = max(record.created.seconds, self.files.last_change(record.id))
        review = None if self.reviews is None else self.reviews.find(record.id)
        state = None if review is None else review.state
        return DraftSummary(record, number + len(record.kept), size, Instant(changed), state)

    def is_stale(self, draft: str) -> bool:
        """Return whether the draft was left alone for too long. A draft that waits for review never is: the delay is
        not its depositor's fault."""
        changed, now = self.files.last_change(draft), self.clocks.read().wall
        if changed <= 0 or not self.rules.is_stale(changed, now, done=self.files.is_done(draft)):
            return False
        return not self.is_waiting(draft)

    def is_waiting(self, draft: str) -> bool:
        """Return whether the draft waits for review."""
        return self.reviews is not None and self.reviews.is_waiting(draft)

    def may(self, who: Depositor, act: ItemAct, record: DraftRecord) -> bool:
        """Return whether the caller may do that with a draft."""
        return may(who.actor, act, self.belonging(record))

    def belonging(self, record: DraftRecord) -> Belonging:
        """Return the properties of a draft that the table of rights needs."""
        changed = record.labels
        is_service = self.service is not None and changed is not None and name_one_item(changed, self.service)
        return Belonging(record.id, record.owner, is_service=is_service)

    def _may_see(self, who: Depositor, record: DraftRecord) -> bool:
        return self.may(who, ItemAct.EDIT_DRAFT, record)


_BETWEEN_LOOKS: Final = 32 * 1024 * 1024
"""Bytes of an upload after which the size of the draft's other files is read again."""

FileCheck = Callable[[File | None], None]
"""Raises an error if the file, or None for a free name, does not meet the caller's conditions."""


def _no_conditions(_: object) -> None:
    """Do nothing: by default the file may have changed."""


class Upload:
    """One file being uploaded to a draft. Calls block, one at a time. It ends with `finish` or `abandon`."""

    def __init__(
        self, uploads: DraftUploads, who: Depositor, share: Share, others: int, incoming: IncomingFile
    ) -> None:
        """`others` are the bytes of the other files."""
        self._uploads, self._who, self._share = uploads, who, share
        self._others, self._incoming, self._unseen = others, incoming, 0

    def write(self, piece: bytes) -> None:
        """Write a piece. `DepositTooLarge`, `DraftsTooLarge` or `DiskNearlyFull` as soon as there is too much."""
        draft, path = self._share.draft, self._share.path
        self._unseen += len(piece)
        if self._unseen > _BETWEEN_LOOKS:
            self._uploads.check_open(self._who, draft)
            self._others, self._unseen = self._uploads.others(draft, path) - self._incoming.size, 0
        self._uploads.check_room(path, self._others, self._incoming.size + len(piece))
        self._share.write(len(piece))
        self._incoming.write(piece)

    def digests(self) -> dict[str, bytes]:
        return self._incoming.digests()

    def finish(self, media_type: str | None, check: FileCheck = _no_conditions) -> tuple[File, bool]:
        """Make the upload a file of the draft, durably. Return the file, and whether its name is new."""
        path, digest = self._share.path, self._incoming.digests()["sha-512"].hex()
        file = File(path, self._incoming.size, digest, media_type or media_type_of(path))
        try:
            self._incoming.finish()
        except StorageError:
            self._uploads.check_open(self._who, self._share.draft)  # the cause may be that the draft is gone
            raise
        return file, self._uploads.keep(self._who, self._share, self._incoming, file, check)

    def abandon(self) -> None:
        self._incoming.abandon()
        self._share.release()


class ResumedUpload(Upload):
    """One request of a resumable upload. It ends with `finish` or `pause`."""

    def __init__(
        self,
        uploads: DraftUploads,
        who: Depositor,
        share: Share,
        others: int,
        incoming: IncomingFile,
        partial: PartialUpload,
    ) -> None:
        """`others` are the bytes of the other files."""
        super().__init__(uploads, who, share, others, incoming)
        self._partial = partial

    @property
    def path(self) -> str:
        return self._partial.path

    @property
    def offset(self) -> int:
        """Bytes that have come."""
        return self._incoming.size

    @property
    def is_whole(self) -> bool:
        return self._incoming.size == self._partial.length

    def write(self, piece: bytes) -> None:
        if self._incoming.size + len(piece) > self._partial.length:
            raise UploadTooLong(path=repr(self._partial.path), length=self._partial.length)
        super().write(piece)

    def cut(self, offset: int) -> None:
        """Drop the bytes after that offset."""
        self._incoming.cut(offset)

    def pause(self) -> None:
        """Keep the received bytes for a later request."""
        self._incoming.close()
        self._share.settle()

    def finish_partial(self) -> File:
        """Make the upload a file of the draft, durably, once all of it has come."""
        return self.finish(self._partial.media_type)[0]


@dataclass(frozen=True, slots=True)
class PartialState:
    """The progress of a resumable upload."""

    partial: PartialUpload
    offset: int


@dataclass(frozen=True, slots=True)
class DraftUploads:
    """The uploads of all drafts. Calls block, from any thread."""

    files: DraftStore
    views: DraftViews
    ledger: DraftLedger

    def begin(
        self,
        who: Depositor,
        draft: str,
        path: str,
        announced: int,
        check: FileCheck = _no_conditions,
        *,
        with_sha256: bool = False,
    ) -> Upload:
        """Begin an upload, if a file of this name and of `announced` bytes is allowed. `with_sha256` adds its SHA-256
        to the digests."""
        check_file_name(path)
        record = self.views.open_record(who, draft)
        check(self._file_or_new(record, path))
        number, others = self._count_uploaded(draft, path)
        self.views.rules.check_room(path, number + len(record.kept), others, announced)
        share = self.ledger.promise(record.owner, draft, path, announced)
        try:
            incoming = self.files.receive(draft, with_sha256=with_sha256)
        except BaseException:
            share.release()
            raise
        share.begin(incoming)
        return Upload(self, who, share, others, incoming)

    def remove(self, who: Depositor, draft: str, path: str, check: FileCheck = _no_conditions) -> bool:
        """Remove a file. Return whether there was one of this name."""
        check_file_name(path)
        self.check_open(who, draft)
        with self.files.alone_on(draft):
            record = self.views.open_record(who, draft)
            before = self._file(record, path)
            check(before)
            self.files.drop(draft, path)
            self.ledger.see_anew(draft)
            kept = tuple(file for file in record.kept if file.path != path)
            if kept != record.kept:
                self.files.write(replace(record, kept=kept))
            return before is not None

    def begin_partial(
        self, who: Depositor, draft: str, path: str, length: int, media_type: str | None = None
    ) -> PartialUpload:
        """Announce a resumable upload, if a file of this name and length is allowed now."""
        check_file_name(path)
        record = self.views.open_record(who, draft)
        self._file_or_new(record, path)
        number, others = self._count_uploaded(draft, path)
        self.views.rules.check_room(path, number + len(record.kept), others, length)
        self.ledger.promise(record.owner, draft, path, length).release()
        return self.files.begin_partial(draft, path, length, media_type)

    def find_partial(self, who: Depositor, draft: str, upload: str) -> PartialState:
        """Return the progress of a resumable upload. If it is whole, but its server died before it became a file, it
        becomes one now: its sender would send nothing more."""
        self.check_open(who, draft)
        partial = self._partial(draft, upload)
        offset = self.files.partial_size(draft, upload)
        if offset == partial.length and not self._is_kept(draft, partial):
            self._finish_whole(who, draft, upload, offset)
        return PartialState(partial, offset)

    def list_partials(self, who: Depositor, draft: str) -> tuple[PartialState, ...]:
        """Return the resumable uploads that have not become files yet."""
        self.check_open(who, draft)
        return tuple(PartialState(each, self.files.partial_size(draft, each.id)) for each in self.files.partials(draft))

    def resume(self, who: Depositor, draft: str, upload: str, offset: int) -> ResumedUpload | None:
        """Resume an upload at an offset; `UploadOffset` if its received bytes do not end there. Return None if it is
        whole already, and a file of the draft."""
        record, partial = self.views.open_record(who, draft), self._partial(draft, upload)
        if offset == partial.length and self._is_kept(draft, partial):
            return None
        incoming = self.files.go_on(draft, partial)
        try:
            if incoming.size != offset or self._is_kept(draft, partial):
                raise UploadOffset(
                    field="Upload-Offset", path=repr(partial.path), found=incoming.size, given=min(offset, 10**18)
                )
            share = self.ledger.promise(record.owner, draft, partial.path, partial.length - offset)
        except BaseException:
            incoming.close()
            raise
        share.begin(incoming)
        others = self.others(draft, partial.path) - offset
        return ResumedUpload(self, who, share, others, incoming, partial)

    def drop_partial(self, who: Depositor, draft: str, upload: str) -> None:
        """Give up a resumable upload. A file that is whole stays in the draft."""
        self.check_open(who, draft)
        partial = self._partial(draft, upload)
        with self.files.alone_on(draft):
            self.files.drop_partial(draft, partial.id)
            self.ledger.see_anew(draft)

    def _partial(self, draft: str, upload: str) -> PartialUpload:
        partial = self.files.find_partial(draft, upload)
        if partial is None:
            raise UnknownUpload(upload=upload[:40])
        return partial

    def _is_kept(self, draft: str, partial: PartialUpload) -> bool:
        kept = self.files.find_upload(draft, partial.path)
        return kept is not None and kept.place.endswith(f"/{partial.id}")

    def _finish_whole(self, who: Depositor, draft: str, upload: str, length: int) -> None:
        resumed = self.resume(who, draft, upload, length)
        if resumed is not None:
            try:
                resumed.finish_partial()
            finally:
                resumed.pause()

    def check_open(self, who: Depositor, draft: str) -> None:
        """Raise `UnknownDraft` or `DraftPublished` if the draft no longer takes files."""
        self.views.open_record(who, draft)

    def check_room(self, path: str, others: int, size: int) -> None:
        self.views.rules.check_room(path, 0, others, size)

    def others(self, draft: str, path: str) -> int:
        """Return the bytes of the draft without the file that the upload replaces. They are read again during the
        upload: several concurrent uploads might each fit alone."""
        return self._count_uploaded(draft, path)[1]

    def keep(self, who: Depositor, share: Share, incoming: IncomingFile, file: File, check: FileCheck) -> bool:
        """Store the uploaded file once all bytes are there. Return whether its name is new."""
        draft = share.draft
        with self.files.alone_on(draft):
            before = self._file_or_new(self.views.open_record(who, draft), file.path)
            check(before)
            self.check_room(file.path, self.others(draft, file.path), 0)
            self.files.keep(draft, incoming, file)
            share.settle()
            return before is None

    def _file(self, record: DraftRecord, path: str) -> File | None:
        """Return the file of this name. `InvalidFileName` if another file's name is the same to some system.

        Only the name is checked, whatever the number of files: spellings of folders are checked at publication.
        """
        uploaded = self.files.find_upload(record.id, path)
        found = same_name(path, record.kept) if uploaded is None else uploaded.file
        check_upload(path, found)
        return found

    def _file_or_new(self, record: DraftRecord, path: str) -> File | None:
        """Return the file of this name before an upload. `InvalidFileName` also if the upload would be a file where
        others have a folder, or the other way round."""
        found = self._file(record, path)
        if found is None:
            check_folders(path, self._file_among(record, path), self._file_below(record, path))
        return found

    def _file_among(self, record: DraftRecord, path: str) -> str | None:
        """Return a file that has the name of one of the folders of `path`."""
        kept = {collision_key(file.path): file.path for file in record.kept} if "/" in path else {}
        for folder in folders_of(path):
            sent = self.files.find_upload(record.id, folder)
            there = kept.get(collision_key(folder)) if sent is None else sent.file.path
            if there is not None:
                return there
        return None

    def _file_below(self, record: DraftRecord, path: str) -> str | None:
        """Return a file in a folder of that name."""
        beginning = f"{collision_key(path)}/"
        kept = (file.path for file in record.kept if collision_key(file.path).startswith(beginning))
        return next(kept, None) or self.files.find_below(record.id, path)

    def _count_uploaded(self, draft: str, path: str) -> tuple[int, int]:
        """Return the number and the bytes of the uploaded files, without the one at `path`, which the upload
        replaces."""
        number, size = self.files.totals(draft)
        before = self.files.find_upload(draft, path)
        return (number, size) if before is None else (number - 1, size - before.file.size)
