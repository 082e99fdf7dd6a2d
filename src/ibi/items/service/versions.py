"""Earlier versions of items: listed, read, opened and restored. Their bytes are verified like all content.

A version is one of the OCFL object, from 1 on: publications, and changes of relations in between. A purge leaves one
version, so that nothing of the others is found here either. The caller judges the rights of readers: a version is as
closed as the item is now, and as it was itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from ibi.items.model.content import Change, Keep, KeptObject, Source
from ibi.items.model.item import Draft, Item
from ibi.items.model.item_json import decode_item
from ibi.items.model.metadata_json import METADATA_MEMBERS
from ibi.items.model.visibility import Visibility
from ibi.items.ports.archive_store import Content, ContentDamaged, FileMissing
from ibi.items.rules import life_cycle
from ibi.items.rules.errors import UnknownVersion, VersionNotRestorable
from ibi.items.rules.life_cycle import Updated
from ibi.items.service.deposits import Deposits, address_of
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.integrity.verified_file import VerifiedFile
from ibi.items.service.item_repository import ItemRepository, PendingItem
from ibi.items.service.stored_item import DOC, ITEM, LOCAL, name_of
from ibi.standard.clock_reading import Clocks
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.translatable import message
from ibi.standard.unknown_members import restored_later

_ITEM: Final = (
    "state",
    "language",
    "target",
    "target_url",
    "visibility",
    "alternates",
    "edition_of",
    "next_edition",
    "translation_of",
    "translations",
    "metadata_item",
    "describes",
    "transferable",
    "source",
    "transferred_to",
)
"""Fields of an item without `metadata.` before their name. Readers are not shown the owner."""


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """`fields` are named as in the record of an item: `metadata.title`, `visibility`. Files are paths."""

    fields: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Files with other bytes."""
    removed: tuple[str, ...] = ()

    def without_files(self) -> VersionChanges:
        """Return the changes that may be shown where files are not listed."""
        return VersionChanges(tuple(name for name in self.fields if name != "target"))


def changes_between(before: Item | None, after: Item) -> VersionChanges:
    """Return the differences between `before` and `after`. In a first version, every file counts as added."""
    old = {} if before is None else {file.path: file for file in before.files}
    new = {file.path: file for file in after.files}
    same = old.keys() & new.keys()
    return VersionChanges(
        () if before is None else tuple(_changed_fields(before, after)),
        tuple(sorted(new.keys() - old.keys())),
        tuple(sorted(path for path in same if old[path].sha512 != new[path].sha512)),
        tuple(sorted(old.keys() - new.keys())),
    )


def _changed_fields(before: Item, after: Item) -> list[str]:
    described = [
        f"metadata.{name}"
        for name in METADATA_MEMBERS
        if getattr(before.metadata, name) != getattr(after.metadata, name)
    ]
    return described + [name for name in _ITEM if getattr(before, name) != getattr(after, name)]


@dataclass(frozen=True, slots=True)
class ItemVersion:
    """One version of an item, with the changes that it made."""

    number: int
    change: Change
    item: Item | None
    """None if the item was not here in this version, because its Original had gone, or if the records of this version
    are damaged."""
    changes: VersionChanges
    """Without the names of files, if this version or the one before it did not list them."""
    is_current: bool

    def visibility(self, now: Item) -> Visibility:
        """Return the visibility of its files: readers must be allowed to see those of the item now, and these at their
        time."""
        return now.visibility if self.item is None else now.visibility.and_also(self.item.visibility)


_CURRENT: Final = message("it is the current one")
_EMPTY: Final = message("it has no content")
_MOST_READ: Final = 2 << 20
"""Bytes of records that are read for one list."""


class _ReadItem(NamedTuple):
    item: Item | None
    size: int
    """Bytes of its record."""


class Versions:
    """The versions of the items of one Archive. Calls block, from any thread."""

    def __init__(self, content: Content, integrity: Integrity | None = None, most_read: int = _MOST_READ) -> None:
        """`most_read` bounds the bytes of records for one list."""
        self._content, self._integrity, self._most_read = content, integrity, most_read

    def list(self, item: Item, *, before: int | None = None, most: int) -> tuple[ItemVersion, ...]:
        """Return the versions of an item, newest first: at most `most`, of those before the version `before`. An item
        with long records gives fewer, but not none."""
        kept = self._content.read(name_of(item))
        last = len(kept.versions) if before is None else min(max(before - 1, 0), len(kept.versions))
        found: list[ItemVersion] = []
        newer, left = self._item(kept, last), self._most_read
        for number in range(last, max(last - most, 0), -1):
            older = self._item(kept, number - 1)
            found.append(self._version(kept, number, older.item, newer.item))
            newer, left = older, left - newer.size
            if left < newer.size:  # the next step would read at least about as much
                break
        return tuple(found)

    def find(self, item: Item, number: int) -> ItemVersion:
        """Return a version. `UnknownVersion` if there is none of that number; `ContentDamaged` if it cannot be read."""
        kept = self._content.read(name_of(item))
        _check_number(item, number, kept)
        found, before = self._read(kept, number), self._item(kept, number - 1)
        return self._version(kept, number, before.item, found.item)

    def open_file(self, item: Item, number: int, path: str) -> VerifiedFile:
        """Open a file of a version, verified as it is read; `FileMissing` if the version has none of that path."""
        name = name_of(item)
        try:
            file = self._content.open(name, DOC + path, number)
        except ContentDamaged as error:
            if self._integrity is not None:
                self._integrity.note_error(name, error, path)
            raise
        if self._integrity is None:
            return VerifiedFile(file, name, path, None)
        return self._integrity.verified_file(file, name, path)

    def _version(self, kept: KeptObject, number: int, before: Item | None, item: Item | None) -> ItemVersion:
        changes = VersionChanges() if item is None else changes_between(before, item)
        if not all(each is None or each.visibility.listing for each in (before, item)):
            changes = changes.without_files()
        return ItemVersion(number, kept.versions[number - 1].change, item, changes, number == len(kept.versions))

    def _item(self, kept: KeptObject, number: int) -> _ReadItem:
        try:
            return self._read(kept, number) if number else _ReadItem(None, 0)
        except ContentDamaged:
            return _ReadItem(None, 0)  # noted; the others can be listed all the same

    def _read(self, kept: KeptObject, number: int) -> _ReadItem:
        if ITEM not in kept.versions[number - 1].files:
            return _ReadItem(None, 0)
        try:
            record, local = self._record(kept.name, ITEM, number), self._record(kept.name, LOCAL, number)
            return _ReadItem(decode_item(record, local), len(record) + len(local))
        except (FileMissing, InvalidDocument) as error:
            raise ContentDamaged(name=kept.name, problem="record", reason=str(error)) from error

    def _record(self, name: str, path: str, number: int) -> bytes:
        file = self._content.open(name, path, number)
        verified = (
            VerifiedFile(file, name, path, None)
            if self._integrity is None
            else self._integrity.verified_file(file, name, path)
        )
        with verified as record:
            return record.read_all()


def _check_number(item: Item, number: int, kept: KeptObject) -> None:
    if not 1 <= number <= len(kept.versions):
        raise UnknownVersion(label=str(item.rep), version=number, latest=len(kept.versions))


class Restoring:
    """Makes the description and the files of an earlier version those of a new one. Calls block, from any thread."""

    def __init__(self, kept: ItemRepository, deposits: Deposits, clocks: Clocks) -> None:
        """`deposits` checks the rights of the actor."""
        self._kept, self._deposits, self._clocks = kept, deposits, clocks
        self._versions = Versions(kept.content, kept.integrity)

    def restore(self, label: Label, number: int, who: str, message: str | None = None) -> Updated:
        """Restore an earlier version as a new one, and return the item. Relations, visibility and other names stay as
        they are now: an earlier version may have been open to more readers, and links to the newer names must not die.
        If it was open to fewer readers, and has files that are gone since, restoring it makes the item more visible,
        and needs that right."""
        item = self._kept.find(label)
        name = name_of(item)
        self._kept.require_changeable(name)
        before = self._kept.read(name)
        self._deposits.require_update(before.item, before.item.visibility)
        if number == before.head:
            raise VersionNotRestorable(label=str(label), version=number, reason=_CURRENT)
        earlier = self._versions.find(before.item, number).item
        if earlier is None or earlier.tombstone is not None:
            raise VersionNotRestorable(label=str(label), version=number, reason=_EMPTY)
        if not _contents(earlier) <= _contents(before.item):
            self._deposits.require_update(before.item, before.item.visibility, shown_before=earlier.visibility)
        now = Instant(self._clocks.seconds())
        expected = life_cycle.update(before.item, _draft(before.item, earlier), now)
        later = restored_later(before.item.later[0], earlier.later[0]), before.item.later[1]
        restored = replace(expected.item, later=later)
        files: dict[str, Source] = {file.path: Keep(DOC + file.path, number) for file in earlier.files}
        change = Change(who, message or f"Restored from version {number}", now, address_of(who))
        with self._kept.changing(name):
            self._kept.revise(PendingItem(name, lambda _: restored, files, change), before.head)
            self._kept.settle(name)
            self._kept.note(self._deposits.entry("restore", name, change.message))
        return replace(expected, item=restored)


def _contents(item: Item) -> set[tuple[str, str]]:
    """Return the content that visibility restricts: the files of an item, or the URL of a service."""
    return {(file.path, file.sha512) for file in item.files} | ({("", item.target_url)} if item.target_url else set())


def _draft(now: Item, earlier: Item) -> Draft:
    return Draft(
        labels=now.labels,
        description=replace(
            earlier.description.without_relations(), visibility=now.visibility, alternates=now.alternates
        ),
        files=tuple(earlier.files),
    )
