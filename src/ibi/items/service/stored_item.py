"""An item in the store: the logical files of its object, which are the item's own below `doc/` and its records, and the
reader of items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from ibi.items.model.change import Revision
from ibi.items.model.content import Bytes, Derived, KeptObject, Source, TakenFile
from ibi.items.model.item import Draft, Item
from ibi.items.model.item_json import decode_item, encode_item, encode_local
from ibi.items.model.transfer_record import Transfer, decode_transfer
from ibi.items.ports.archive_store import Content, ContentDamaged, ContentMissing, FileMissing
from ibi.items.ports.catalog import Catalog
from ibi.items.rules.related_items import (
    check_described,
    check_source,
    find_forms,
    record_metadata_item,
    record_next_edition,
    record_translation,
)
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.integrity.verified_file import VerifiedFile
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.storage_errors import StorageError
from ibi.standard.vocabulary import State

ITEM: Final = "item.json"
LOCAL: Final = "local.json"
TRANSFERRED: Final = "transferred.json"
"""The only file of a version of an item that was given to another Archive."""
DOC: Final = "doc/"


MakeItem = Callable[[Mapping[str, TakenFile]], Item]
"""Makes an item from the new files, by their paths below `doc/`. Files that stay are not among them."""


def object_of(item: Item, files: Mapping[str, Source]) -> dict[str, Source]:
    """Return the logical files of a version."""
    return {**_documents(files), ITEM: Bytes(encode_item(item)), LOCAL: Bytes(encode_local(item))}


def _documents(files: Mapping[str, Source]) -> dict[str, Source]:
    return {DOC + path: source for path, source in files.items()}


class LateItem:
    """An item that is made when the store has taken its files in: its records need the facts of the files."""

    def __init__(self, make: MakeItem, record: bytes | None = None) -> None:
        """`record` is its `item.json` at another Archive, which is stored byte for byte."""
        self._make, self._record = make, record
        self._item: Item | None = None

    @property
    def item(self) -> Item:
        """The item. Only for use after the object is stored."""
        assert self._item is not None  # a store reads every file before it stores an object
        return self._item

    def object_of(self, files: Mapping[str, Source]) -> dict[str, Source]:
        """Return the logical files of a version; the records come last."""
        return {
            **_documents(files),
            ITEM: Derived(self._encode_once),
            LOCAL: Derived(lambda taken: encode_local(self._make_once(taken))),
        }

    def _encode_once(self, taken: Mapping[str, TakenFile]) -> bytes:
        item = self._make_once(taken)
        return encode_item(item) if self._record is None else self._record

    def _make_once(self, taken: Mapping[str, TakenFile]) -> Item:
        if self._item is None:
            self._item = self._make({path.removeprefix(DOC): each for path, each in taken.items()})
        return self._item


def is_other(path: str) -> bool:
    """Return whether a logical file is neither a record nor one of the item's files."""
    return path not in (ITEM, LOCAL, TRANSFERRED) and not path.startswith(DOC)


def is_transferred(kept: KeptObject) -> bool:
    """Return whether the object only records the transfer of the item."""
    return TRANSFERRED in kept.head.files


class ChangeUnfinished(StorageError):
    """{label} is kept as it was asked for, but not everything that speaks of it could be written ({reason}). That is
    made good with the next change or at the next start: do not repeat the request."""

    code = "change-unfinished"


class ItemTransferred(ContentMissing):
    """{name} has no content here: its Original was given to another Archive."""

    def __init__(self, transfer: Transfer) -> None:
        super().__init__(name=str(transfer.rep))
        self.transfer = transfer


@contextmanager
def unfinished_if_refused(item: Item | RepositoryName) -> Iterator[None]:
    """Raise `ChangeUnfinished` for a refusal of the disk after the item was stored: the error must not say that nothing
    was done."""
    try:
        yield
    except ChangeUnfinished:
        raise
    except StorageError as error:
        raise unfinished(item, error) from error


def unfinished(item: Item | RepositoryName, error: StorageError) -> ChangeUnfinished:
    """Return the error of a half-written change. The refusal in its own words would say that nothing was done."""
    known = error.parameters
    reason = f"{known['path']}: {known['reason']}" if known.keys() >= {"path", "reason"} else str(error)
    return ChangeUnfinished(label=str(item.rep if isinstance(item, Item) else item), reason=reason)


def name_of(item: Item | RepositoryName) -> str:
    """Return the name of the object that holds an item."""
    return str(item.rep if isinstance(item, Item) else item)


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item, with the number and the time of its object's version."""

    item: Item
    head: int
    at: Instant

    @property
    def revision(self) -> Revision:
        return Revision(self.head, self.at)


def stored(item: Item, kept: KeptObject) -> StoredItem:
    return StoredItem(item, kept.head.number, kept.head.change.at)


_RETRY_AFTER: Final = 1


class ItemChanging(IbiError):
    """{label} is being changed: try again in {retry_after} seconds."""

    code = "item-changing"
    kind = ErrorKind.UNAVAILABLE

    def __init__(self, *, label: str) -> None:
        super().__init__(label=label, retry_after=_RETRY_AFTER)
        self.retry_after = _RETRY_AFTER


class ItemReader:
    """Reads items of a store of content; it needs no catalogue."""

    def __init__(self, content: Content, integrity: Integrity | None = None) -> None:
        """`integrity` records damage that is found."""
        self.content, self.integrity = content, integrity

    def read(self, name: str) -> StoredItem:
        """Return the item as its object has it now. `ContentMissing` if there is none; `ItemTransferred`, a kind of it,
        if only the transfer is left. `ContentDamaged` if it cannot be read."""
        try:
            return self._read(name)
        except ContentDamaged as error:
            if self.integrity is not None:
                self.integrity.note_error(name, error, ITEM)
            raise

    def _read(self, name: str) -> StoredItem:
        kept = self.content.read(name)
        try:
            return stored(self._decoded(name, kept), kept)
        except ContentDamaged:
            # It may have been purged since.
            now = self.content.read(name)
            if now == kept:
                raise
            return stored(self._decoded(name, now), now)

    def require_same_readers(self, item: Item, path: str, digest: str) -> None:
        """Raise `ItemChanging` unless the readers of `item` may also read the file with that digest, which its object
        has at that path. A change reaches the object before the catalogue, from which `item` comes: the bytes may be
        those of a version for fewer readers."""
        known = item.file(path)
        if known is not None and known.sha512 == digest:
            return
        now = self.read(name_of(item)).item
        file = now.file(path)
        if file is None or file.sha512 != digest or now.visibility != item.visibility:
            raise ItemChanging(label=name_of(item))

    def open_record(self, name: str, path: str, version: int) -> VerifiedFile:
        """Return a record of an item, to be read as a whole."""
        file = self.content.open(name, path, version)
        if self.integrity is None:
            return VerifiedFile(file, name, path, None)
        return self.integrity.verified_file(file, name, path)

    def _decoded(self, name: str, kept: KeptObject) -> Item:
        number = kept.head.number
        if is_transferred(kept):
            raise ItemTransferred(self._transfer(name, number))
        try:
            item = decode_item(self._record(name, ITEM, number), self._record(name, LOCAL, number))
        except (FileMissing, InvalidDocument) as error:
            raise ContentDamaged(name=name, problem="record", reason=str(error)) from error
        if name_of(item) != name:
            raise ContentDamaged(name=name, problem="record", reason=f"it is the record of {name_of(item)}")
        return item

    def _transfer(self, name: str, number: int) -> Transfer:
        try:
            transfer = decode_transfer(self._record(name, TRANSFERRED, number))
        except InvalidDocument as error:
            raise ContentDamaged(name=name, problem="record", reason=str(error)) from error
        if name_of(transfer.rep) != name:
            raise ContentDamaged(name=name, problem="record", reason=f"it is the record of {name_of(transfer.rep)}")
        return transfer

    def _record(self, name: str, path: str, version: int) -> bytes:
        with self.open_record(name, path, version) as record:
            return record.read_all()


def named_by(item: Item | Draft) -> tuple[LabelForms, ...]:
    """Return the labels of the items that this one makes claims on."""
    names = (item.edition_of, item.translation_of, item.describes)
    return tuple(dict.fromkeys(forms for forms in names if forms is not None))


def items_claimed(catalog: Catalog, item: Item | Draft) -> Iterator[Item]:
    """Yield the claimed items that are Originals here: the Archive of its Original decides about the relations of a
    Copy."""
    for forms in named_by(item):
        held = find_forms(catalog, forms)
        if held is not None and held.state is not State.COPY:
            yield held


def check_backlinks(catalog: Catalog, draft: Draft, new: LabelForms) -> None:
    """Refuse a draft whose claims would get no back-link. `new` is the label that it will have."""
    if draft.translation_of is not None:
        check_source(catalog, draft.translation_of, draft.language, None)
    if draft.describes is not None:
        check_described(catalog, draft.describes)
    for held in items_claimed(catalog, draft):
        with_backlink_to(catalog, held, draft, new)


def with_backlink(catalog: Catalog, held: Item, claimant: Item) -> Item:
    """Return `held` with the back-link to `claimant`. Return it unchanged if it has the back-link already.

    A claim (`edition_of`, `translation_of`, `describes`) on an Original of this Archive gets its back-link at once:
    `next_edition`, one more of `translations`, or `metadata_item`. The claim is written first and withdrawn last. So a
    crash can only leave a claim without a back-link, and this function, which may be repeated, adds it.
    """
    return with_backlink_to(catalog, held, claimant, claimant.labels)


def with_backlink_to(catalog: Catalog, held: Item, claimant: Item | Draft, new: LabelForms) -> Item:
    """Return `held` with the back-link to an item with the labels `new`, here or elsewhere, that makes the claims of
    `claimant`. A translation of metadata makes no claim on the item described, which names only the source of the
    metadata."""
    if _names(claimant.edition_of, held):
        held = record_next_edition(catalog, held, new)
    if _names(claimant.translation_of, held) and claimant.language is not None:
        held = record_translation(catalog, held, claimant.language, new)
    if _names(claimant.describes, held) and claimant.translation_of is None:
        held = record_metadata_item(catalog, held, new)
    return held


def _names(forms: LabelForms | None, held: Item) -> bool:
    return forms is not None and any(held.is_called(label) for label in forms.labels)
