"""Drafts: made, filled over days and restarts, published once.

A draft belongs to whoever began it; librarians see all. What is published is made by `ibi.services.deposits`: a draft
only gathers what goes there. The labels of a new item are written into its draft before anything is published under
them, so that a publication that is asked for twice, because its answer was lost or its server died, makes one item.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import Final

from ibi.archive.drafts import (
    DraftPublished,
    DraftRules,
    RelationsOfItem,
    UnknownDraft,
    check_upload,
    same_name,
    together,
)
from ibi.archive.file_names import check_file_name
from ibi.archive.life_cycle import Act, require
from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.model.draft_record import Description, DraftRecord, Publication
from ibi.model.file import File
from ibi.model.item import Item
from ibi.ports.clocks import Clocks
from ibi.ports.labels import Labels
from ibi.services.draft_publishing import DraftPublishing
from ibi.services.kept_items import KeptItems
from ibi.services.media_types import media_type_of
from ibi.storage.draft_files import DraftDamaged, DraftFiles, new_draft_id
from ibi.storage.errors import StorageError
from ibi.storage.incoming import Incoming

__all__ = ["Check", "Depositor", "DraftView", "Drafts", "FileCheck", "Published", "Upload"]

_BETWEEN_SWEEPS: Final = 3600.0
_BETWEEN_LOOKS: Final = 32 * 1024 * 1024
"""Bytes of an upload after which it is looked what else has come into the draft."""


@dataclass(frozen=True, slots=True)
class Depositor:
    """Who asks: by what drafts are known as theirs, and by what the versions of an item tell who made them."""

    owner: str
    name: str
    librarian: bool = False


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft as it is at the moment, with all its files."""

    record: DraftRecord
    files: tuple[File, ...]
    changed: Instant


@dataclass(frozen=True, slots=True)
class Published:
    """The item that a draft became, or changed, and what was the last word on it."""

    item: Item
    publication: Publication


Check = Callable[[DraftView], None]
"""Raises what the caller's conditions say of the draft as it is."""


FileCheck = Callable[[File | None], None]
"""The same of a file, None if there is none of that name."""


def _no_conditions(_: object) -> None:
    """Whatever it is by now."""


class Upload:
    """One file on its way into a draft. Calls block, one at a time; ends with `finish` or `abandon`."""

    def __init__(self, drafts: Drafts, who: Depositor, draft: str, path: str, others: int, incoming: Incoming) -> None:
        """`others` are the bytes of the other files."""
        self._drafts, self._who, self._draft, self._path = drafts, who, draft, path
        self._others, self._incoming, self._unseen = others, incoming, 0

    def write(self, piece: bytes) -> None:
        """`DepositTooLarge` as soon as there is too much."""
        self._unseen += len(piece)
        if self._unseen > _BETWEEN_LOOKS:
            self._drafts.check_open(self._who, self._draft)
            self._others, self._unseen = self._drafts.others(self._draft, self._path) - self._incoming.size, 0
        self._drafts.rules.check_room(self._path, 0, self._others, self._incoming.size + len(piece))
        self._incoming.write(piece)

    def digests(self) -> dict[str, bytes]:
        return self._incoming.digests()

    def finish(self, media_type: str | None, check: FileCheck = _no_conditions) -> tuple[File, bool]:
        """The file that the draft has from now on, durably; and whether it had none of that name before."""
        digest = self._incoming.digests()["sha-512"].hex()
        file = File(self._path, self._incoming.size, digest, media_type or media_type_of(self._path))
        try:
            self._incoming.finish()
        except StorageError:
            self._drafts.check_open(self._who, self._draft)  # it is no fault of the disk if the draft is gone
            raise
        return file, self._drafts.keep(self._who, self._draft, self._incoming, file, check)

    def abandon(self) -> None:
        self._incoming.abandon()


class Drafts:
    """The drafts of one Archive. Calls block, from any thread."""

    def __init__(
        self,
        files: DraftFiles,
        kept: KeptItems,
        clocks: Clocks,
        rules: DraftRules,
        *,
        service: LabelForms | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rules = rules
        self._files, self._kept, self._clocks = files, kept, clocks
        self._publishing = DraftPublishing(files, kept, clocks, service)
        self._monotonic, self._swept, self._sweeping = monotonic, -_BETWEEN_SWEEPS, Lock()

    # --- drafts ---

    def begin(self, who: Depositor, description: Description) -> DraftView:
        """A draft of a new item."""
        self._sweep_now_and_then()
        return self._begun(self._new(who, description))

    def begin_update(self, who: Depositor, label: Label, description: Description | None = None) -> DraftView:
        """A draft that changes a published item: with its files, and its description unless told another."""
        self._sweep_now_and_then()
        item = self._kept.find(label)
        require(item, Act.UPDATE)
        if description is not None:
            _check_no_relations(description)
        record = replace(
            self._new(who, description or Description.of(item)), labels=item.labels, base=item.version, kept=item.files
        )
        return self._begun(record)

    def find(self, who: Depositor, draft: str) -> DraftView:
        """`UnknownDraft` for those of others too: that there is one is nobody else's business."""
        return self._view(self._record(who, draft))

    def of_item(self, who: Depositor, label: Label) -> DraftView | None:
        """The draft of this item that was changed last."""
        item = self._kept.find(label)
        found = [
            record
            for record in self._records(who)
            if record.publication is None and record.labels is not None and item.is_called(record.labels.labels[0])
        ]
        return self._view(max(found, key=lambda record: self._files.changed(record.id))) if found else None

    def list(self, who: Depositor, after: str = "", most: int = 100) -> tuple[DraftView, ...]:
        """Those that were not published, in the order of their ids; `most` and no more."""
        open_ones = (record for record in self._records(who, after) if record.publication is None)
        return tuple(self._view(record) for record in islice(open_ones, most))

    def describe(
        self, who: Depositor, draft: str, description: Description, check: Check = _no_conditions
    ) -> DraftView:
        self._open(who, draft)
        with self._files.alone_on(draft):
            record = self._open(who, draft)
            check(self._view(record))
            if record.base is not None:
                _check_no_relations(description)
            self._files.write(replace(record, description=description))
            return self.find(who, draft)

    def discard(self, who: Depositor, draft: str, check: Check = _no_conditions) -> None:
        self._record(who, draft)
        with self._files.alone_on(draft):
            check(self.find(who, draft))
            self._files.remove(draft)

    # --- their files ---

    def upload(
        self, who: Depositor, draft: str, path: str, announced: int, check: FileCheck = _no_conditions
    ) -> Upload:
        """Begin to take a file in, if one of this name and of `announced` bytes may come."""
        check_file_name(path)
        record = self._open(who, draft)
        check(self._file(record, path))
        number, others = self._held(draft, path)
        self.rules.check_room(path, number + len(record.kept), others, announced)
        return Upload(self, who, draft, path, others, self._files.receive(draft))

    def others(self, draft: str, path: str) -> int:
        """For an `Upload` under way: the bytes of the draft without the file that it takes the place of. Others may
        come at the same time, and each of them would fit alone."""
        return self._held(draft, path)[1]

    def check_open(self, who: Depositor, draft: str) -> None:
        """`UnknownDraft` or `DraftPublished` if it takes no files any more."""
        self._open(who, draft)

    def keep(self, who: Depositor, draft: str, incoming: Incoming, file: File, check: FileCheck) -> bool:
        """For an `Upload` that has all its bytes: whether the file is new."""
        with self._files.alone_on(draft):
            before = self._file(self._open(who, draft), file.path)
            check(before)
            self.rules.check_room(file.path, 0, self._held(draft, file.path)[1], 0)
            self._files.keep(draft, incoming, file)
            return before is None

    def remove_file(self, who: Depositor, draft: str, path: str, check: FileCheck = _no_conditions) -> bool:
        """Whether there was one of this name."""
        check_file_name(path)
        self._open(who, draft)
        with self._files.alone_on(draft):
            record = self._open(who, draft)
            before = self._file(record, path)
            check(before)
            self._files.drop(draft, path)
            kept = tuple(file for file in record.kept if file.path != path)
            if kept != record.kept:
                self._files.write(replace(record, kept=kept))
            return before is not None

    def _file(self, record: DraftRecord, path: str) -> File | None:
        """The file of this name; `InvalidFileName` if one has a name that some system takes for the same.

        Only that is looked at, whatever the number of files: the rest is judged when all are there.
        """
        uploaded = self._files.uploaded(record.id, path)
        found = same_name(path, record.kept) if uploaded is None else uploaded.file
        check_upload(path, found)
        return found

    def _held(self, draft: str, path: str) -> tuple[int, int]:
        """Number and bytes of the files sent, without the one that another of its name takes the place of."""
        number, size = self._files.held(draft)
        before = self._files.uploaded(draft, path)
        return (number, size) if before is None else (number - 1, size - before.file.size)

    # --- publication ---

    def publish(
        self,
        who: Depositor,
        draft: str,
        labels: Labels,
        *,
        key: str | None = None,
        message: str | None = None,
        check: Check = _no_conditions,
    ) -> Published:
        """The item that the draft becomes; the same, if it became one before. With a `key`, whatever draft it was that
        was published with it first, the item of that."""
        self._record(who, draft)
        with self._files.alone_on(draft):
            view = self.find(who, draft)
            if view.record.publication is not None:
                return self._published(view.record.publication)
            check(view)
            publication = self._publishing.publish(view.record, view.files, who.name, labels, key, message)
            with suppress(StorageError):  # then the next attempt finds out by itself that it is published
                self._files.write(replace(view.record, publication=publication, kept=()))
                self._files.drop_all(draft)
        return self._published(publication)

    def _published(self, publication: Publication) -> Published:
        return Published(self._kept.find(publication.labels.labels[0]), publication)

    # --- order ---

    def sweep(self) -> int:
        """Remove drafts that were left alone for too long, and what crashes have left; how many drafts went."""
        self._files.sweep_removed()
        return sum(self._swept_away(draft) for draft in self._files.ids())

    def _swept_away(self, draft: str) -> bool:
        """What the disk refuses to remove now, or a person has to look at, is no reason to fail."""
        with suppress(StorageError):
            if self._is_stale(draft):
                self._files.remove(draft)
                return True
            self._files.sweep(draft)
        return False

    def _sweep_now_and_then(self) -> None:
        with self._sweeping:
            if self._monotonic() - self._swept < _BETWEEN_SWEEPS:
                return
            self._swept = self._monotonic()
        self.sweep()

    def _is_stale(self, draft: str) -> bool:
        changed, now = self._files.changed(draft), self._clocks.read().wall
        return changed > 0 and self.rules.is_stale(changed, now, done=self._files.is_done(draft))

    def _records(self, who: Depositor, after: str = "") -> Iterator[DraftRecord]:
        for draft in self._files.ids(after):
            try:
                record = self._files.read(draft)
            except DraftDamaged:
                continue
            if record is not None and _may_see(who, record) and not self._is_stale(draft):
                yield record

    def _new(self, who: Depositor, description: Description) -> DraftRecord:
        now = Instant(self._clocks.read().wall.seconds)
        return DraftRecord(id=new_draft_id(), owner=who.owner, created=now, description=description)

    def _begun(self, record: DraftRecord) -> DraftView:
        self._files.create(record)
        return self._view(record)

    def _record(self, who: Depositor, draft: str) -> DraftRecord:
        record = self._files.read(draft)
        if record is None or not _may_see(who, record) or self._is_stale(draft):
            raise UnknownDraft(draft=draft[:40])
        return record

    def _open(self, who: Depositor, draft: str) -> DraftRecord:
        """The draft, if it can still be changed."""
        record = self._record(who, draft)
        if record.publication is not None:
            raise DraftPublished(draft=draft, label=str(record.publication.labels.labels[0]))
        return record

    def _view(self, record: DraftRecord) -> DraftView:
        uploaded = (one.file for one in self._files.uploads(record.id).values())
        changed = max(record.created.seconds, self._files.changed(record.id))
        return DraftView(record, together(record.kept, uploaded), Instant(changed))


def _may_see(who: Depositor, record: DraftRecord) -> bool:
    return who.librarian or who.owner == record.owner


def _check_no_relations(description: Description) -> None:
    for field in ("edition_of", "translation_of"):
        if getattr(description, field) is not None:
            raise RelationsOfItem(field=field)
