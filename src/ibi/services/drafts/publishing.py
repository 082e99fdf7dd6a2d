"""A draft becomes an item, or another version of one: once, however often it is asked for.

The labels of a new item are written into its draft before anything is kept under them, and an update is known by what
it made of the item. So an attempt after a lost answer, or after the death of a server, ends where the first one did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ibi.archive.drafts import is_published_already
from ibi.archive.related_items import find_forms
from ibi.errors import IbiError
from ibi.messages.label_forms import LabelForms
from ibi.model.content import Keep, Move, Sent, Source
from ibi.model.draft_record import DraftRecord, Publication
from ibi.model.file import File
from ibi.ports.clocks import Clocks, LabelMinter
from ibi.ports.drafts import DraftStore, Uploaded
from ibi.ports.errors import DiskFull, StorageError, refused_for_room
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
        who: str,
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
        who: str,
        labels: _LabelsOnce,
        key: str,
        message: str,
    ) -> Publication:
        if record.reserved is not None and (known := self._known(record.reserved)) is not None:
            return known
        deposits = Deposits(self.kept, labels, self.clocks, service=self.service)
        try:
            item = deposits.deposit(record.description.draft(files), sources, who, message, key=key)
        except StorageError:
            raise
        except IbiError:
            # What was published with this key before may be the very reason: there is no second next edition.
            known = None if key == record.id else self._known(labels.reserve(key))
            if known is None:
                raise
            return known
        return Publication(item.labels, item.version)

    def _updated(
        self,
        record: DraftRecord,
        labels: LabelForms,
        files: tuple[File, ...],
        sources: Mapping[str, Source],
        who: str,
        message: str,
    ) -> Publication:
        # As its object has it, not the catalogue: what is judged here must not change until it is written.
        before = self.kept.read(name_of(self.kept.find(labels.labels[0])))
        item = before.item
        draft = record.description.draft(files, item.labels)
        if is_published_already(item, record, draft):
            return Publication(item.labels, item.version)
        deposits = Deposits(self.kept, _NOBODY, self.clocks, service=self.service)
        updated = deposits.update(item.rep, draft, sources, who, message, head=before.head)
        return Publication(
            updated.item.labels, updated.item.version, tuple(warning.path for warning in updated.warnings)
        )

    def _known(self, labels: LabelForms) -> Publication | None:
        item = find_forms(self.kept.catalog, labels)
        return None if item is None else Publication(item.labels, item.version)

    def _noting(self, record: DraftRecord) -> Callable[[LabelForms], None]:
        return lambda forms: self.files.write(replace(record, reserved=forms))


class _Nobody:
    def reserve(self, key: str | None = None) -> LabelForms:
        raise AssertionError("an update takes no label")


_NOBODY = _Nobody()


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
