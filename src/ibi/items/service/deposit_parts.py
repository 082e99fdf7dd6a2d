"""The parts of a deposit or an update: its files, the other names of the item, and the key of a repeated deposit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import file_digest, sha512
from typing import Final

from ibi.items.model.content import Bytes, Copy, Keep, Move, Source, TakenFile
from ibi.items.model.description_values import Alternate
from ibi.items.model.file import DEFAULT_MEDIA_TYPE, UNKNOWN_SHA_512, File
from ibi.items.model.item import Draft, Item, name_one_item
from ibi.items.model.item_json import decode_item, item_document
from ibi.items.ports.archive_store import ContentDamaged, ContentMissing, FileMissing
from ibi.items.ports.catalog import Catalog
from ibi.items.rules.errors import AlternateTaken, KeyReused
from ibi.items.service.file_selection import media_type_of
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import DOC, ITEM, LOCAL, name_of
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State

_LITTLE: Final = 1 << 20
"""Bytes of an item's files below which it is stored together with others."""


class DepositedFiles:
    """The files of a draft, by their paths below `doc/`, with the source and the known facts of each.

    `kept` are the files that the item has already. A media type comes from the draft, if it has the file, or else from
    the name.
    """

    def __init__(self, draft: Draft, sources: Mapping[str, Source], kept: Mapping[str, File] | None = None) -> None:
        self._draft, self._sources, self._kept = draft, sources, kept or {}
        self._types = {file.path: file.media_type for file in draft.files if file.media_type != DEFAULT_MEDIA_TYPE}
        self._expected = tuple(self._expect(path, source) for path, source in sources.items())

    def expected_draft(self) -> Draft:
        """Return the draft with these files, as far as they are known before they are read."""
        return replace(self._draft, files=self._expected)

    @property
    def stored(self) -> dict[str, Source]:
        """The sources for a store, which has the files below `doc/`."""
        return {
            path: Keep(DOC + source.path) if isinstance(source, Keep) else source
            for path, source in self._sources.items()
        }

    @property
    def are_at_hand(self) -> bool:
        """True if all files are here already, and small enough to store without delay."""
        return sum(map(_size_at_hand, self._sources.values())) < _LITTLE

    def describe(self, taken: Mapping[str, TakenFile]) -> tuple[File, ...]:
        """Return the files, with the facts that taking them in has found."""
        return tuple(
            file if isinstance(self._sources[file.path], Keep) else _file(file, taken[file.path])
            for file in self._expected
        )

    def digests(self) -> dict[str, str | None]:
        """Return their SHA-512, lower-case hexadecimal; None for a source that can be read only once. Reads files that
        were not hashed yet: for repeated deposits."""
        return {path: _digest(source) for path, source in self._sources.items()}

    def _expect(self, path: str, source: Source) -> File:
        if not isinstance(source, Keep):
            return File(path, 0, UNKNOWN_SHA_512, self._types.get(path) or media_type_of(path))
        known = self._kept.get(source.path)
        if known is None:
            raise FileMissing(name="the item", path=source.path, version="now")
        return replace(known, path=path, media_type=self._types.get(path, known.media_type))


def _file(expected: File, taken: TakenFile) -> File:
    return File(expected.path, taken.size, taken.digest, expected.media_type, taken.crc32)


def _digest(source: Source) -> str | None:
    if isinstance(source, Bytes):
        return sha512(source.content).hexdigest()
    if isinstance(source, Move) and source.sent is not None:
        return source.sent.digest
    if isinstance(source, Move | Copy):
        with suppress(OSError, ValueError), open(source.path, "rb") as file:  # noqa: PTH123 - a name as it was given
            return file_digest(file, "sha512").hexdigest()
    return None


def _size_at_hand(source: Source) -> int:
    """Return the size, or too many bytes if nobody knows how long the source takes to read."""
    if isinstance(source, Bytes):
        return len(source.content)
    if isinstance(source, Move):
        with suppress(OSError, ValueError):  # opening it reports the error
            return os.lstat(source.path).st_size
    return _LITTLE


class NameCheck:
    """Refuses names that other items have, and remembers the names that it allowed.

    A label of before 2008, a DOI, an ARK or a handle leads to one item of an Archive, so a second item cannot get the
    name. Names of deleted items are free. Names that two items share already stay: an earlier version did not check,
    they were set by hand, or one item is a Copy.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._allowed: dict[tuple[str, str], LabelForms] = {}

    def allow(self, alternates: Iterable[Alternate], labels: LabelForms) -> None:
        """Let the item of these labels have the names. `AlternateTaken` if another item has one of them."""
        wanted = [each for each in alternates if each.names_one_item]
        for each in wanted:
            holder = self._holder(each, labels)
            if holder is not None:
                raise AlternateTaken(alternate=str(each), label=str(holder.labels[0]))
        self._allowed |= {(each.scheme, each.key): labels for each in wanted}

    def _holder(self, alternate: Alternate, labels: LabelForms) -> LabelForms | None:
        """Return the labels of another item that has the name."""
        allowed = self._allowed.get((alternate.scheme, alternate.key))
        if allowed is not None:
            return allowed
        found = (item for item in self._catalog.find_alternate(alternate) if item.state is not State.DELETED)
        return next((item.labels for item in found if not name_one_item(item.labels, labels)), None)


@contextmanager
def giving_names(kept: ItemRepository, alternates: Iterable[Alternate]) -> Iterator[NameCheck]:
    """Lock these names, so that no two items get one of them at a time. For a caller that holds no item yet."""
    names = {f"{each.scheme}:{each.key}" for each in alternates if each.names_one_item}
    check = NameCheck(kept.catalog)
    if not names:
        yield check
        return
    with kept.locks.hold_names(*names):
        yield check


_SAID: Final = ("metadata", "language", "target_url", "visibility", "alternates")
_NAMED: Final = ("edition_of", "translation_of", "describes")


def require_same(kept: ItemRepository, known: Item, wanted: Item, digests: Mapping[str, str | None]) -> None:
    """Raise `KeyReused` if `known` was deposited with other content than `wanted`, whose files have these digests.

    A repeated key gives the same item if the content is the same. The first version of the item's object stands for the
    key. No later change touches it, and it is on the disk as long as the item: nothing else has to be written with a
    key.
    """
    first = first_version(kept, name_of(known))
    if first is None or first.tombstone is not None:
        return  # purged since, or damaged: its first content is unknown, and it is the item of the key
    found = ", ".join(_differences(first, wanted, digests))
    if found:
        raise KeyReused(label=str(known.rep), differences=found)


def first_version(kept: ItemRepository, name: str) -> Item | None:
    """Return the item as it was deposited; None if that is no longer known."""
    try:
        with kept.open_record(name, ITEM, 1) as item, kept.open_record(name, LOCAL, 1) as local:
            return decode_item(item.read_all(), local.read_all())
    except (ContentMissing, ContentDamaged, FileMissing, InvalidDocument):
        return None


def _differences(first: Item, wanted: Item, digests: Mapping[str, str | None]) -> Iterator[str]:
    before, now = (item_document(item.without_files()) for item in (first, wanted))
    yield from (name for name in _SAID if before.get(name) != now.get(name))
    if first.target != wanted.target:
        yield "target"
    for name in _NAMED:
        if not _name_same_item(getattr(first, name), getattr(wanted, name)):
            yield name
    if not _have_same_files(first, wanted, digests):
        yield "files"


def _name_same_item(one: LabelForms | None, other: LabelForms | None) -> bool:
    """Return whether both name one item, or neither names any."""
    return one is other if one is None or other is None else name_one_item(one, other)


def _have_same_files(first: Item, wanted: Item, digests: Mapping[str, str | None]) -> bool:
    there = {file.path: file for file in first.files}
    coming = {file.path: file for file in wanted.files}
    return there.keys() == coming.keys() and all(
        file.media_type == there[path].media_type and digests.get(path) in {None, there[path].sha512}
        for path, file in coming.items()
    )
