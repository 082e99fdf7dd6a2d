"""The records of an item: `item.json` is the same everywhere, and `local.json` belongs to this Archive.

Copies of one item have the same `item.json`. It includes the access rules for the bytes, which bind every holder.
State, owner, tombstone, the source of a Copy, the target of a transfer and whether the Original is transferable are
each Archive's own.

Reading returns exactly the written values. Unknown members are kept with the item, and are written again unchanged
(`later_members`): dropping the data of a newer version would be a silent loss. A record with `requires_schema` is
refused by every version that does not know that schema, because it would be misread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields as fields_of
from typing import Any, Final

import msgspec

from ibi.items.model.description_values import Alternate
from ibi.items.model.file import File
from ibi.items.model.item import Custody, Description, Item, Tombstone
from ibi.items.model.metadata import DescriptiveMetadata
from ibi.items.model.metadata_json import METADATA_SHAPE, is_of_schema_3, metadata_document, read_metadata
from ibi.items.model.related_link import ClaimRelation, RelatedLink
from ibi.items.model.visibility import Visibility
from ibi.standard.document_errors import InvalidDocument, UnreadMember
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.json_fields import (
    Fields,
    boolean,
    decode_document,
    integer,
    many,
    member,
    of_object,
    of_string,
    require_type,
    string,
)
from ibi.standard.label import Label, parse
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms
from ibi.standard.networks import network
from ibi.standard.unknown_members import LaterMembers, Shape, join_later, split_later
from ibi.standard.vocabulary import ArchiveProtocol, State

SCHEMA: Final = 3
"""The latest version of both documents. A document gets the number of the first version that has all its members.

So an Archive with an older version reads all documents that it can, and refuses the rest.
"""
_SINCE_2: Final = frozenset({"alternates", "owner", "declined", "related", "source_protocol", "original_tombstone"})

Document = dict[str, Any]

_FORMS: Final = ("rep", "ibip")
_DESCRIBED: Final = tuple(each.name for each in fields_of(Description))
_HELD: Final = tuple(each.name for each in fields_of(Custody))
_LINKS: Final = ("edition_of", "next_edition", "translation_of", "metadata_item", "describes")


def encode_item(item: Item) -> bytes:
    return _encode(whole_item_document(item))


def encode_local(item: Item) -> bytes:
    return _encode(whole_local_document(item))


def whole_item_document(item: Item) -> Document:
    """Return the document with members of a later version; only for encoding."""
    return join_later(item_document(item), _ITEM_SHAPE, item.later[0])


def whole_local_document(item: Item) -> Document:
    """Return the local document, like `whole_item_document`."""
    return join_later(local_document(item), _LOCAL_SHAPE, item.later[1])


def _encode(document: Document) -> bytes:
    """Encode in UTF-8, indented and in a fixed order: the lines of two records differ only where the items do."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def item_document(item: Item) -> Document:
    document = _without_absent(
        {
            "schema": 1,
            "labels": forms_document(item.labels),
            "version": item.version,
            "created": str(item.created),
            "updated": str(item.updated),
            "language": _text(item.language),
            "metadata": metadata_document(item.metadata),
            "files": [file_document(file) for file in item.files],
            "target": item.target,
            "target_url": item.target_url,
            "visibility": visibility_document(item.visibility),
            "alternates": [alternate_document(alternate) for alternate in item.alternates],
            **{name: forms_document(getattr(item, name)) for name in _LINKS},
            "translations": {str(tag): forms_document(forms) for tag, forms in item.translations},
            "related": [_related_document(link) for link in item.related],
        }
    )
    if is_of_schema_3(item.metadata):
        return document | {"schema": 3}
    is_recent = item.visibility.embargo_reason is not None or any("crc32" in file for file in document.get("files", ()))
    return document | {"schema": 2} if is_recent or not _SINCE_2.isdisjoint(document) else document


def local_document(item: Item) -> Document:
    document = _without_absent(
        {
            "schema": 1,
            "state": item.state.value,
            "transferable": item.transferable,
            "source": item.source,
            "source_protocol": None if item.source_protocol is None else item.source_protocol.value,
            "original_tombstone": None
            if item.original_tombstone is None
            else tombstone_document(item.original_tombstone),
            "transferred_to": None if item.transferred_to is None else item.transferred_to.spelling,
            "owner": item.owner,
            "declined": [forms_document(forms) for forms in item.declined],
            "tombstone": None if item.tombstone is None else tombstone_document(item.tombstone),
        }
    )
    return document if _SINCE_2.isdisjoint(document) else document | {"schema": 2}


def _without_absent(document: Document) -> Document:
    return {name: value for name, value in document.items() if value is not None and value != [] and value != {}}


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)


def forms_document(forms: LabelForms | None) -> Document | None:
    return None if forms is None else {label.form: label.spelling for label in forms.labels}


def file_document(file: File) -> Document:
    document = {"path": file.path, "size": file.size, "sha512": file.sha512, "media_type": file.media_type}
    return document if file.crc32 is None else {**document, "crc32": file.crc32}


def alternate_document(alternate: Alternate) -> Document:
    return {"scheme": alternate.scheme, "value": alternate.value}


def _related_document(link: RelatedLink) -> Document:
    return _without_absent({"kind": link.kind.value, "url": link.url, "name": link.name, "relation": link.relation})


def visibility_document(visibility: Visibility) -> Document:
    shown: Document = {"networks": list(map(str, visibility.networks)), "embargo": _text(visibility.embargo)}
    rest = {"listing": None if visibility.listing else False, "embargo_reason": visibility.embargo_reason}
    return _without_absent({**shown, **rest})


def tombstone_document(tombstone: Tombstone) -> Document:
    shown: Document = {
        "when": str(tombstone.when),
        "why": tombstone.why,
        "replaced_by": forms_document(tombstone.replaced_by),
    }
    return _without_absent({**shown, "purged": tombstone.purged or None})


def decode_item(item_json: bytes, local_json: bytes, *, files: Sequence[File] | None = None) -> Item:
    """Return the item of these records; raise `InvalidDocument` that names the wrong field.

    `files` are those of the item if the record leaves them out.
    """
    shared, shared_later = _read_record(item_json, "item.json", _read_shared, _ITEM_SHAPE)
    local, local_later = _read_record(local_json, "local.json", _read_local, _LOCAL_SHAPE)
    described = {name: shared.pop(name) for name in _DESCRIBED}
    held = {name: local.pop(name) for name in _HELD}
    values = {**shared, **local, "later": (shared_later, local_later)}
    if files is not None:
        values["files"] = files
    try:
        return Item(description=Description(**described), custody=Custody(**held), **values)
    except InvalidInput as error:
        raise InvalidDocument("item.json", 0, "{cause}", cause=str(error)) from error


def _read_record(
    record: bytes, name: str, read: Callable[[Fields], Document], shape: Shape
) -> tuple[Document, LaterMembers | None]:
    """Return the known values of a record, and its unknown members; few records have any."""
    fields = Fields(decode_document(record), name)
    schema = fields.open_schema(SCHEMA)
    try:
        return read(fields), LaterMembers(schema) if schema > SCHEMA else None
    except UnreadMember:
        known, later = split_later(record, shape, schema)
        fields = Fields(known, name)
        fields.open_schema(SCHEMA)
        return read(fields), later


def _tag(text: str) -> LanguageTag:
    return LanguageTag.parse(text, registered=False)


read_instant = of_string(Instant.parse)
read_label = of_string(parse)
_read_tag = of_string(_tag)


@of_object
def read_forms(fields: Fields) -> LabelForms:
    return LabelForms.from_words(
        word for name in _FORMS if (label := fields.nullable(name, string)) is not None for word in (name, label)
    )


@of_object
def read_file(fields: Fields) -> File:
    return File(
        fields.required("path", string),
        fields.required("size", integer),
        fields.required("sha512", string),
        fields.required("media_type", string),
        fields.nullable("crc32", string),
    )


@of_object
def _read_alternate(fields: Fields) -> Alternate:
    return Alternate(fields.required("scheme", string), fields.required("value", string))


_read_kind = of_string(member(ClaimRelation))


@of_object
def _read_related(fields: Fields) -> RelatedLink:
    kind, url = fields.required("kind", _read_kind), fields.required("url", string)
    return RelatedLink(kind, url, fields.nullable("name", string), fields.nullable("relation", string))


_read_networks = many(of_string(network))


@of_object
def read_visibility(fields: Fields) -> Visibility:
    networks = fields.optional("networks", _read_networks, ())
    embargo, listing = fields.nullable("embargo", read_instant), fields.optional("listing", boolean, True)
    return Visibility(networks, embargo, listing, fields.nullable("embargo_reason", string))


@of_object
def read_tombstone(fields: Fields) -> Tombstone:
    return Tombstone(
        fields.required("when", read_instant),
        fields.required("why", string),
        fields.nullable("replaced_by", read_forms),
        fields.optional("purged", boolean, False),
    )


def _read_translations(value: object, path: str) -> tuple[tuple[LanguageTag, LabelForms], ...]:
    texts = require_type(dict, value, path)
    return tuple((_tag(str(tag)), read_forms(forms, f"{path}.{tag}")) for tag, forms in texts.items())


_read_files = many(read_file)
read_alternates = many(_read_alternate)
_read_related_links = many(_read_related)
_NO_METADATA = DescriptiveMetadata()


def _read_shared(fields: Fields) -> Document:
    values: Document = {
        "labels": fields.required("labels", read_forms),
        "version": fields.required("version", integer),
        "created": fields.required("created", read_instant),
        "updated": fields.required("updated", read_instant),
        "language": fields.nullable("language", _read_tag),
        "metadata": fields.optional("metadata", read_metadata, _NO_METADATA),
        "files": fields.optional("files", _read_files, ()),
        "target": fields.nullable("target", string),
        "target_url": fields.nullable("target_url", string),
        "visibility": fields.optional("visibility", read_visibility, Visibility.PUBLIC),
        "alternates": fields.optional("alternates", read_alternates, ()),
        **{name: fields.nullable(name, read_forms) for name in _LINKS},
        "translations": fields.optional("translations", _read_translations, ()),
        "related": fields.optional("related", _read_related_links, ()),
    }
    fields.finish()
    return values


_read_state = of_string(member(State))
_read_protocol = of_string(member(ArchiveProtocol))


def _read_local(fields: Fields) -> Document:
    values: Document = {
        "state": fields.required("state", _read_state),
        "transferable": fields.required("transferable", boolean),
        "source": fields.nullable("source", string),
        "source_protocol": fields.nullable("source_protocol", _read_protocol),
        "original_tombstone": fields.nullable("original_tombstone", read_tombstone),
        "transferred_to": fields.nullable("transferred_to", read_label),
        "owner": fields.nullable("owner", string),
        "declined": fields.optional("declined", many(read_forms), ()),
        "tombstone": fields.nullable("tombstone", read_tombstone),
    }
    fields.finish()
    return values


class _Forms(msgspec.Struct, frozen=True):
    rep: str | None = None
    ibip: str | None = None


class _OtherName(msgspec.Struct, frozen=True):
    scheme: str
    value: str


class _Named(msgspec.Struct, frozen=True):
    labels: _Forms
    alternates: tuple[_OtherName, ...] = ()
    edition_of: _Forms | None = None
    next_edition: _Forms | None = None
    translation_of: _Forms | None = None
    metadata_item: _Forms | None = None
    describes: _Forms | None = None


_NAMED: Final = msgspec.json.Decoder(_Named)


def decode_names(item_json: bytes) -> frozenset[Label | Alternate]:
    """Return the labels of an item, its other names, and the labels in its relations, faster than reading the item.

    Other members of the record, or of a later version, are ignored.
    """
    try:
        named = _NAMED.decode(item_json)
        alternates = (Alternate(each.scheme, each.value) for each in named.alternates)
        return frozenset((*_named_labels(named), *alternates))
    except (msgspec.MsgspecError, InvalidInput) as error:
        raise InvalidDocument("item.json", 0, "{cause}", cause=str(error)) from error


def _named_labels(named: _Named) -> Iterator[Label]:
    for forms in (named.labels, *(getattr(named, name) for name in _LINKS)):
        if forms is not None:
            yield from (parse(text) for text in (forms.rep, forms.ibip) if text is not None)


_FORMS_SHAPE: Final = Shape(frozenset(_FORMS))
_FILE_SHAPE: Final = Shape(
    frozenset({"path", "size", "sha512", "media_type", "crc32"}), identity=frozenset({"path", "sha512"})
)
_ITEM_SHAPE: Final = Shape(
    frozenset(
        {
            *("schema", "labels", "version", "created", "updated", "language", "metadata", "files"),
            *("target", "target_url", "visibility", "alternates", "translations", "related", *_LINKS),
        }
    ),
    objects={
        "labels": _FORMS_SHAPE,
        "metadata": METADATA_SHAPE,
        "visibility": Shape(frozenset({"networks", "embargo", "listing", "embargo_reason"})),
    },
    links=dict.fromkeys(_LINKS, _FORMS_SHAPE),
    lists={
        "files": _FILE_SHAPE,
        "alternates": Shape(frozenset({"scheme", "value"})),
        "related": Shape(frozenset({"kind", "url", "name", "relation"})),
    },
    tables={"translations": _FORMS_SHAPE},
)
_TOMBSTONE_SHAPE: Final = Shape(
    frozenset({"when", "why", "replaced_by", "purged"}), links={"replaced_by": _FORMS_SHAPE}
)
_LOCAL_SHAPE: Final = Shape(
    frozenset(
        {
            *("schema", "state", "transferable", "source", "source_protocol", "transferred_to", "owner", "declined"),
            *("tombstone", "original_tombstone"),
        }
    ),
    objects={"tombstone": _TOMBSTONE_SHAPE, "original_tombstone": _TOMBSTONE_SHAPE},
)
