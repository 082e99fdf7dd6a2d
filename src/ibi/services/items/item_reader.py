"""Reading an item from the object that holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.label import RepositoryName
from ibi.model.change import Revision
from ibi.model.content import KeptObject
from ibi.model.errors import InvalidDocument
from ibi.model.item import Item
from ibi.model.item_json import decode_item
from ibi.model.transfer import Transfer, decode_transfer
from ibi.ports.content import Content, ContentDamaged, FileMissing
from ibi.services.integrity.integrity import Integrity
from ibi.services.integrity.verified_file import VerifiedFile
from ibi.services.items.item_object import ITEM, LOCAL, TRANSFERRED, ItemTransferred, is_transferred


def name_of(item: Item | RepositoryName) -> str:
    """The name of the object that holds an item."""
    return str(item.rep if isinstance(item, Item) else item)


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item, and the version of the object in which it is like this, made at a time."""

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

    def __init__(self, *, label: str) -> None:
        super().__init__(label=label, retry_after=_RETRY_AFTER)
        self.retry_after = _RETRY_AFTER


class ItemReader:
    """Reads items of a store of content; it needs no catalogue."""

    def __init__(self, content: Content, integrity: Integrity | None = None) -> None:
        """`integrity` is told of what is found to be damaged."""
        self.content, self.integrity = content, integrity

    def read(self, name: str) -> StoredItem:
        """The item as its object has it now. `ContentMissing`, which is `ItemTransferred` if all that is left is where
        it went; `ContentDamaged` if it cannot be read."""
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
        """`ItemChanging` unless those who may see `item` may see the file with that digest, which its object has at
        that path. A change is in the object before it is in the catalogue, where `item` is from: the bytes may be those
        of a version that is for fewer readers."""
        known = item.file(path)
        if known is not None and known.sha512 == digest:
            return
        now = self.read(name_of(item)).item
        file = now.file(path)
        if file is None or file.sha512 != digest or now.visibility != item.visibility:
            raise ItemChanging(label=name_of(item))

    def open_record(self, name: str, path: str, version: int) -> VerifiedFile:
        """A record of an item, to be read as a whole."""
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
