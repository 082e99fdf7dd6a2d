"""Members of a document that a later version has written: they survive byte for byte.

A record is cut in two: the known members, which are decoded as usual, and the JSON text of the rest. When the record
is written again, that text is put back into its object. An object is found again by its place (the record itself, its
labels, metadata, visibility and tombstone). Or it is found by its place and its known members (a value of an element,
a link to another item, a file with its digest). When such a value is gone, its unknown members go too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from ibi.standard.document_errors import InvalidDocument

Members = tuple[tuple[str, bytes], ...]
"""Names, and the JSON text of each value."""

_CONTENT: Final = (("metadata",), ("files",))
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw])
_VALUE: Final = msgspec.json.Decoder()


class _Address(NamedTuple):
    """The object of a record that had the members."""

    place: tuple[str, ...]
    identity: bytes = b""
    """The known members of an object that is one of several, or that may be replaced by another."""


@dataclass(frozen=True, slots=True)
class LaterMembers:
    """The unknown members of one record."""

    schema: int
    """The schema of the version that wrote the record."""
    entries: tuple[tuple[_Address, Members], ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """The known members of an object, and those among them that are objects, or hold objects."""

    known: frozenset[str]
    objects: Mapping[str, Shape] = field(default_factory=dict)
    """One object each, found again by its place."""
    links: Mapping[str, Shape] = field(default_factory=dict)
    """One object each, found again by its known members."""
    lists: Mapping[str, Shape] = field(default_factory=dict)
    tables: Mapping[str, Shape] = field(default_factory=dict)
    """Objects under arbitrary names, found again by their known members."""
    identity: frozenset[str] | None = None
    """The members that identify one of several; all known ones by default."""


def split_later(record: bytes, shape: Shape, schema: int) -> tuple[dict[str, Any], LaterMembers]:
    """Return the known part of a record, and the rest. `record` is JSON without duplicate names in an object."""
    entries: list[tuple[_Address, Members]] = []
    try:
        known = _split(msgspec.Raw(record), shape, _Address(()), entries, is_one_of_many=False)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidDocument("the record", 0, "{cause}", cause=str(error)) from error
    return known, LaterMembers(schema, tuple(entries))


def _split(
    raw: msgspec.Raw,
    shape: Shape,
    address: _Address,
    entries: list[tuple[_Address, Members]],
    *,
    is_one_of_many: bool,
) -> Any:
    if not _begins_with(raw, b"{"):
        return _VALUE.decode(raw)  # its reader refuses this value
    known: dict[str, Any] = {}
    later: list[tuple[str, bytes]] = []
    mine: list[tuple[_Address, Members]] = []
    for name, value in _OBJECT.decode(raw).items():
        if name in shape.known:
            known[name] = _split_member(value, shape, name, address.place, mine)
        else:
            later.append((name, bytes(value)))
    if later:
        identity = _identity(known, shape) if is_one_of_many else b""
        entries.append((_Address(address.place, identity), tuple(later)))
    entries.extend(mine)
    return known


def _split_member(
    value: msgspec.Raw, shape: Shape, name: str, place: tuple[str, ...], entries: list[tuple[_Address, Members]]
) -> Any:
    inner = _Address((*place, name))
    if name in shape.objects:
        return _split(value, shape.objects[name], inner, entries, is_one_of_many=False)
    if name in shape.links:
        return _split(value, shape.links[name], inner, entries, is_one_of_many=True)
    if name in shape.lists and _begins_with(value, b"["):
        each = shape.lists[name]
        return [_split(one, each, inner, entries, is_one_of_many=True) for one in _ARRAY.decode(value)]
    if name in shape.tables and _begins_with(value, b"{"):
        each = shape.tables[name]
        return {
            key: _split(one, each, _Address((*inner.place, key)), entries, is_one_of_many=True)
            for key, one in _OBJECT.decode(value).items()
        }
    return _VALUE.decode(value)


def _begins_with(raw: msgspec.Raw, sign: bytes) -> bool:
    return bytes(memoryview(raw)[:64]).lstrip()[:1] == sign


def _identity(known: Mapping[str, Any], shape: Shape) -> bytes:
    names = shape.known if shape.identity is None else shape.identity
    return msgspec.json.encode({name: known[name] for name in sorted(names) if name in known})


def join_later(document: dict[str, Any], shape: Shape, later: LaterMembers | None) -> dict[str, Any]:
    """Return `document`, which is modified, with the members of a later version after the known ones."""
    if later is None:
        return document
    if "schema" in document:
        document["schema"] = max(document["schema"], later.schema)
    waiting: dict[_Address, list[Members]] = defaultdict(list)
    for address, members in later.entries:
        waiting[address].append(members)
    for address in waiting:
        if not address.identity:
            _make_object(document, shape, address.place)
    for address, found in _objects(document, shape, ()):
        if (members_of := waiting.get(address)) is not None and members_of:
            found.update((name, msgspec.Raw(text)) for name, text in members_of.pop(0))
    return document


def restored_later(now: LaterMembers | None, earlier: LaterMembers | None) -> LaterMembers | None:
    """Return the later members of a record after its description and files were restored from an earlier version."""
    if now is None and earlier is None:
        return None
    schema = max(each.schema for each in (now, earlier) if each is not None)
    kept = () if now is None else tuple(entry for entry in now.entries if entry[0].place[:1] not in _CONTENT)
    back = () if earlier is None else tuple(entry for entry in earlier.entries if entry[0].place[:1] in _CONTENT)
    return LaterMembers(schema, (*kept, *back))


def _make_object(document: dict[str, Any], shape: Shape, place: tuple[str, ...]) -> None:
    """Create an object that has only members of a later version."""
    for name in place:
        shape = shape.objects[name]
        document = document.setdefault(name, {})


def _objects(
    document: dict[str, Any], shape: Shape, place: tuple[str, ...]
) -> Iterator[tuple[_Address, dict[str, Any]]]:
    """Yield every object of a document that may have members of a later version, before anything is added to it."""
    yield from _inner_objects(document, shape, place)
    yield _Address(place), document


def _inner_objects(
    document: dict[str, Any], shape: Shape, place: tuple[str, ...]
) -> Iterator[tuple[_Address, dict[str, Any]]]:
    for name, each in shape.objects.items():
        if isinstance(document.get(name), dict):
            yield from _objects(document[name], each, (*place, name))
    for name, each in shape.links.items():
        if isinstance(document.get(name), dict):
            yield _Address((*place, name), _identity(document[name], each)), document[name]
    for name, each in shape.lists.items():
        for one in document.get(name, ()):
            address = _Address((*place, name), _identity(one, each))  # before its own objects get anything
            yield from _inner_objects(one, each, address.place)
            yield address, one
    for name, each in shape.tables.items():
        for key, one in document.get(name, {}).items():
            yield _Address((*place, name, key), _identity(one, each)), one
