"""Drafts of items: made, filled over days and restarts, published once.

A draft belongs to the depositor who began it; librarians see all. Publication is done by `ibi.services.items.deposits`:
a draft only collects its input. The labels of a new item are written into its draft before anything is published under
them, so that a publication requested twice, because its answer was lost or its server died, makes one item.

An update is known by what it made of the item, so that a second attempt ends where the first one did.
"""

from __future__ import annotations

import secrets
import time
from base64 import b32encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from threading import Lock, Thread
from typing import Final

from ibi.archive.drafts import DraftPublished, DraftRules, Holding, RelationsOfItem, is_published_already
from ibi.archive.errors import KeyReused
from ibi.archive.life_cycle import Act, require
from ibi.archive.related_items import find_forms
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.model.content import Keep, Move, Sent, Source
from ibi.model.draft_record import Description, DraftRecord, Publication
from ibi.model.file import File
from ibi.model.item import Item
from ibi.model.metadata_dates import check_dates
from ibi.ports.clocks import Clocks, LabelMinter
from ibi.ports.drafts import DraftStore, Uploaded
from ibi.ports.errors import DiskFull, StorageError, refused_for_room
from ibi.services.drafts.ledger import Depositor, DraftLedger, DraftView, DraftViews
from ibi.services.drafts.uploads import DraftUploads
from ibi.services.drafts.whole_deposits import Published, WholeDeposits, first_deposit
from ibi.services.items.deposits import Deposits
from ibi.services.items.item_repository import ItemRepository, name_of


@dataclass(frozen=True, slots=True)
class _LabelsOnce:
    """The port `LabelMinter` for one draft: what it got first is noted, and it gets no others."""

    labels: LabelMinter
    reserved: LabelForms | None
    note: Callable[[LabelForms], None]

    def reserve(self, key: str | None = None) -> LabelForms:
        if self.reserved is not None:
            return self.reserved
        forms = self.labels.reserve(key)
        self.note(forms)
        return forms


@dataclass(frozen=True, slots=True)
class DraftPublishing:
    """Publishes drafts, for the holder of the draft's lock. `service` is the Archive's own item."""

    files: DraftStore
    kept: ItemRepository
    clocks: Clocks
    service: LabelForms | None = None

    def publish(
        self,
        record: DraftRecord,
        files: tuple[File, ...],
        who: Depositor,
        labels: LabelMinter,
        key: str | None,
        message: str | None,
    ) -> Publication:
        """What the draft with these files became. `DiskFull`, and nothing changed, if there was no room for it."""
        sources = _sources(files, self.files.uploads(record.id))
        with _told_if_full():
            if record.labels is not None:
                return self._updated(record, record.labels, files, sources, who, message or "Updated")
            once = _LabelsOnce(labels, record.reserved, self._noting(record))
            return self._deposited(record, files, sources, who, once, key or record.id, message or "Deposited")

    def _deposited(
        self,
        record: DraftRecord,
        files: tuple[File, ...],
        sources: Mapping[str, Source],
        who: Depositor,
        labels: _LabelsOnce,
        key: str,
        message: str,
    ) -> Publication:
        if record.reserved is not None and (known := self._known(record.reserved)) is not None:
            return known
        deposits = Deposits(self.kept, labels, self.clocks, service=self.service, actor=who.actor)
        draft = record.description.draft(files)
        try:
            item = deposits.deposit(draft, sources, who.name, message, key=key, owner=record.owner)
        except (StorageError, KeyReused):
            raise
        except IbiError:
            # What was published with this key before may be the very reason: there is no second next edition.
            first = None if key == record.id else first_deposit(deposits, labels, key, draft, sources)
            if first is None:
                raise
            item = first
        return Publication(item.labels, item.version)

    def _updated(
        self,
        record: DraftRecord,
        labels: LabelForms,
        files: tuple[File, ...],
        sources: Mapping[str, Source],
        who: Depositor,
        message: str,
    ) -> Publication:
        # As its object has it, not the catalogue: what is judged here must not change until it is written.
        before = self.kept.read(name_of(self.kept.find(labels.labels[0])))
        item = before.item
        draft = record.description.draft(files, item.labels)
        if is_published_already(item, record, draft):
            return Publication(item.labels, item.version)
        updated = self.changes_of(who).update(item.rep, draft, sources, who.name, message, head=before.head)
        return Publication(
            updated.item.labels, updated.item.version, tuple(warning.path for warning in updated.warnings)
        )

    def changes_of(self, who: Depositor) -> Deposits:
        """Changes of published items, as far as the depositor may make them."""
        return Deposits(self.kept, _NO_LABELS, self.clocks, service=self.service, actor=who.actor)

    def _known(self, labels: LabelForms) -> Publication | None:
        item = find_forms(self.kept.catalog, labels)
        return None if item is None else Publication(item.labels, item.version)

    def _noting(self, record: DraftRecord) -> Callable[[LabelForms], None]:
        def note(forms: LabelForms) -> None:
            # Of a key that was used before, the item is there: the draft may become another one, with another key.
            if self._known(forms) is None:
                self.files.write(replace(record, reserved=forms))

        return note


class _NoMinter:
    def reserve(self, key: str | None = None) -> LabelForms:
        raise AssertionError("an update takes no label")


_NO_LABELS = _NoMinter()


def _sources(files: tuple[File, ...], uploads: Mapping[str, Uploaded]) -> dict[str, Source]:
    """Where the bytes of each file are; those that were sent are moved, not copied."""
    return {file.path: _source(file, uploads.get(file.path)) for file in files}


def _source(file: File, uploaded: Uploaded | None) -> Source:
    if uploaded is None:
        return Keep(file.path)
    return Move(uploaded.place, Sent(file.path, file.sha512, uploaded.seal))


@contextmanager
def _told_if_full() -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        if refused_for_room(error):
            raise DiskFull() from error
        raise


_BETWEEN_SWEEPS: Final = 3600.0


Check = Callable[[DraftView], None]
"""Raises an error if the draft does not meet the caller's conditions."""


def new_draft_id() -> str:
    """By chance: who does not know it does not find it."""
    return f"draft-{b32encode(secrets.token_bytes(10)).decode('ascii').lower()}"


def _no_conditions(_: object) -> None:
    """Default: the draft may have changed."""


class Drafts:
    """The drafts of one Archive. Calls block, from any thread."""

    def __init__(
        self,
        files: DraftStore,
        kept: ItemRepository,
        clocks: Clocks,
        rules: DraftRules,
        *,
        service: LabelForms | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rules = rules
        self._files, self._kept, self._clocks = files, kept, clocks
        self._views = DraftViews(files, clocks, rules, service)
        self._ledger = DraftLedger(files, rules, clocks, monotonic)
        self._publishing = DraftPublishing(files, kept, clocks, service)
        self._monotonic, self._swept, self._sweeping = monotonic, monotonic(), Lock()
        self.uploads: Final = DraftUploads(files, self._views, self._ledger)
        self.whole: Final = WholeDeposits(kept, clocks, rules, self._ledger, service)

    def begin(self, who: Depositor, description: Description) -> DraftView:
        """Begin a draft of a new item."""
        self._sweep_now_and_then()
        check_dates(description.metadata)
        return self._add(self._new(who, description))

    def begin_update(self, who: Depositor, label: Label, description: Description | None = None) -> DraftView:
        """Begin a draft that changes a published item: with its files, and its description unless another is given."""
        self._sweep_now_and_then()
        item = self._kept.find(label)
        self._check_update(who, item, description)
        require(item, Act.UPDATE)
        if description is not None:
            _check_no_relations(description)
            check_dates(description.metadata, _dates_of(item))
        record = replace(
            self._new(who, description or Description.of(item)),
            labels=item.labels,
            base=item.version,
            kept=tuple(item.files),
        )
        return self._add(record)

    def find(self, who: Depositor, draft: str) -> DraftView:
        """The draft; `UnknownDraft` also for those of other depositors, so that their existence is not revealed."""
        return self._views.view(self._views.record(who, draft))

    def of_item(self, who: Depositor, label: Label) -> DraftView | None:
        """The draft of this item that was changed last, if there is one."""
        item = self._kept.find(label)
        found = [
            record
            for record in self._views.open_records(who)
            if record.labels is not None and item.is_called(record.labels.labels[0])
        ]
        return self._views.view(max(found, key=lambda record: self._files.last_change(record.id))) if found else None

    def list(self, who: Depositor, after: str = "", most: int = 100) -> tuple[DraftView, ...]:
        """Unpublished drafts in the order of their ids, at most `most`."""
        return tuple(self._views.view(record) for record in islice(self._views.open_records(who, after), most))

    def holding(self, who: Depositor) -> Holding:
        """What counts for the depositor's quota: their own drafts, even if they may see all."""
        return self._ledger.holding(who.owner)

    def total(self) -> Holding:
        """What all depositors have together in drafts that are not published. Reads no draft."""
        return self._ledger.total()

    def free_space(self) -> int:
        """Bytes that the disk has left."""
        return self._files.free()

    def check_space(self) -> None:
        """`DiskNearlyFull` or `DiskFull` if another draft would be refused for want of room."""
        self._ledger.check_space()

    def describe(
        self, who: Depositor, draft: str, description: Description, check: Check = _no_conditions
    ) -> DraftView:
        self._views.open_record(who, draft)
        with self._files.alone_on(draft):
            record = self._views.open_record(who, draft)
            check(self._views.view(record))
            item = None if record.labels is None else self._kept.find(record.labels.labels[0])
            if item is not None:
                self._check_update(who, item, description)
                _check_no_relations(description)
            check_dates(description.metadata, _dates_of(item))
            self._files.write(replace(record, description=description))
            return self.find(who, draft)

    def discard(self, who: Depositor, draft: str, check: Check = _no_conditions) -> None:
        if self._views.record(who, draft).publication is not None:
            self._remove(draft, self.find(who, draft), check)
            return
        with self._files.alone_on(draft):
            self._remove(draft, self.find(who, draft), check)

    def _remove(self, draft: str, view: DraftView, check: Check) -> None:
        check(view)
        self._files.remove(draft)
        self._ledger.forget(draft)

    def publish(
        self,
        who: Depositor,
        draft: str,
        labels: LabelMinter,
        *,
        key: str | None = None,
        message: str | None = None,
        check: Check = _no_conditions,
    ) -> Published:
        """Publish the draft and return its item; the same item if it was published before. With a `key`, the item of
        the draft that was first published with it."""
        publication = self._views.record(who, draft).publication
        if publication is None:
            try:
                with self._files.alone_on(draft):
                    publication = self._publish(who, draft, labels, key, message, check)
            except DraftPublished:  # by another, since the record was read
                publication = self._views.record(who, draft).publication
                if publication is None:
                    raise
        return self._result(publication)

    def _publish(
        self, who: Depositor, draft: str, labels: LabelMinter, key: str | None, message: str | None, check: Check
    ) -> Publication:
        view = self.find(who, draft)
        if view.record.publication is not None:
            return view.record.publication
        check(view)
        publication = self._publishing.publish(view.record, view.files, who, labels, key, message)
        with suppress(StorageError):  # the next attempt will find that it is published
            self._files.conclude(replace(view.record, publication=publication, kept=()))
        self._ledger.forget(draft)
        return publication

    def _result(self, publication: Publication) -> Published:
        return Published(self._kept.find(publication.labels.labels[0]), publication)

    # --- order ---

    def sweep(self) -> int:
        """Remove abandoned drafts and the remains of crashes; return the number of drafts removed."""
        self._files.sweep_removed()
        swept = sum(self._remove_stale(draft) for draft in chain(self._files.ids(), self._files.published_ids()))
        self._ledger.look()
        return swept

    def _remove_stale(self, draft: str) -> bool:
        """Remove a draft; return whether it went. Failures of the disk, and damaged drafts, are left for later."""
        with suppress(StorageError):
            if self._views.is_stale(draft):
                self._files.remove(draft)
                return True
            self._files.sweep(draft)
        return False

    def _sweep_now_and_then(self) -> None:
        """In a thread of its own: with many drafts a sweep takes longer than its caller should wait."""
        with self._sweeping:
            if self._monotonic() - self._swept < _BETWEEN_SWEEPS:
                return
            self._swept = self._monotonic()
        Thread(target=self._sweep_beside, name="ibi-draft-sweep", daemon=True).start()

    def _sweep_beside(self) -> None:
        with suppress(IbiError, OSError):  # the next one may have more luck
            self.sweep()

    # --- beginning ---

    def _check_update(self, who: Depositor, item: Item, description: Description | None) -> None:
        """Refuse now what would be refused at the publication: the files need not be sent first."""
        visibility = item.visibility if description is None else description.visibility
        self._publishing.changes_of(who).require_update(item, visibility)

    def _new(self, who: Depositor, description: Description) -> DraftRecord:
        now = Instant(self._clocks.read().wall.seconds)
        return DraftRecord(id=new_draft_id(), owner=who.owner, created=now, description=description)

    def _add(self, record: DraftRecord) -> DraftView:
        with self._ledger.admit(record.owner, record.id):
            self._files.create(record)
        return self._views.view(record)


def _dates_of(item: Item | None) -> frozenset[str]:
    """The dates of an item, which it may keep whatever they are."""
    return frozenset() if item is None else frozenset(date.value for date in item.metadata.date)


def _check_no_relations(description: Description) -> None:
    for field in ("edition_of", "translation_of", "describes"):
        if getattr(description, field) is not None:
            raise RelationsOfItem(field=field)
