"""The objects of items that other Archives copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ibi.copies.model import ItemObjectRecord
from ibi.items.model.content import KeptVersion
from ibi.items.model.item import Item
from ibi.items.model.item_json import decode_item
from ibi.items.ports.archive_store import Content, ContentDamaged, ContentMissing, FileMissing
from ibi.items.ports.catalog import Catalog
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.related_items import find_labelled
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.integrity.verified_file import VerifiedFile
from ibi.items.service.stored_item import DOC, ITEM, LOCAL, is_other, is_transferred, name_of
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import State

LARGEST_INLINE: Final = 1 << 20
"""Bytes of the files of one item that come with its record, when one request asks for several items."""

Judge = Callable[[Item], None]
"""Refuses an item if the requester may not have its files."""


class ObjectGiving:
    """Gives the objects of one Archive to others that make Copies: the record of an item, byte for byte, and the files
    beside it. Calls block, from any thread.

    The object itself is read and judged: an item that was closed a moment ago is closed here too.
    """

    def __init__(
        self,
        catalog: Catalog,
        content: Content,
        service: LabelForms,
        *,
        integrity: Integrity | None = None,
        key: Callable[[], PublicKey | None] = lambda: None,
        is_sandbox: bool = False,
        require_sure: Callable[[], None] = lambda: None,
    ) -> None:
        """`service` is the Archive itself; `key` returns its signing key. `require_sure` raises while the Archive is
        not sure which Originals it gave away: a Copy of one of those would not come from the Original."""
        self._require_sure = require_sure
        self._catalog, self._content, self._integrity = catalog, content, integrity
        self._service, self._key, self.is_sandbox = service, key, is_sandbox

    def read(self, label: Label, judge: Judge, *, room: int = 0) -> ItemObjectRecord:
        """Return the object of an item, with the contents of its files if they fit into `room` bytes together.

        `UnknownItem` if there is none. Raises the error of `judge` if the item must not be given.
        """
        self._require_sure()
        found = find_labelled(self._catalog, label)
        if found is None:
            raise UnknownItem(label=label.spelling)
        name = name_of(found)
        try:
            kept = self._content.read(name)
        except ContentMissing:  # dropped since
            raise UnknownItem(label=label.spelling) from None
        if is_transferred(kept):
            raise UnknownItem(label=label.spelling)
        record, item = self._record(name, kept.head)
        if item.state is not State.DELETED:
            judge(item)
        return (
            record
            if room < _size(item) or not item.files
            else replace(record, contents=self._contents(name, kept.head.number, item))
        )

    def _record(self, name: str, head: KeptVersion) -> tuple[ItemObjectRecord, Item]:
        item_json, local = self._read(name, ITEM, head.number), self._read(name, LOCAL, head.number)
        try:
            item = decode_item(item_json, local)
        except InvalidDocument as error:
            raise ContentDamaged(name=name, problem="record", reason=str(error)) from error
        is_gone = item.state is State.DELETED
        others = (path for path in head.files if is_other(path) and not is_gone)
        record = ItemObjectRecord(
            labels=item.labels,
            state=item.state,
            head=head.number,
            at=head.change.at,
            service=self._service,
            key=self._key(),
            is_sandbox=self.is_sandbox,
            item_json=None if is_gone else item_json,
            others={path: self._read(name, path, head.number) for path in others},
            tombstone=item.tombstone,
            source=item.source,
            transferred_to=item.transferred_to,
        )
        return record, item

    def _contents(self, name: str, version: int, item: Item) -> dict[str, bytes]:
        return {file.path: self._read(name, DOC + file.path, version) for file in item.files}

    def _read(self, name: str, path: str, version: int) -> bytes:
        try:
            file = self._content.open(name, path, version)
        except FileMissing as error:
            raise ContentDamaged(name=name, problem="record", reason=str(error)) from error
        if self._integrity is None:
            verified = VerifiedFile(file, name, path, None)
        else:
            verified = self._integrity.verified_file(file, name, path)
        with verified:
            return verified.read_all()


def _size(item: Item) -> int:
    return sum(file.size for file in item.files)
