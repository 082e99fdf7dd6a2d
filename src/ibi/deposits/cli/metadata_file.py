"""`--metadata FILE.json` and `--from FILE`: a description of an item in a file, for the commands that deposit and
update items.

The JSON file has the form of a draft's description over HTTP, or only the elements of its `metadata`. Named elements
replace the existing ones; null or an empty list removes them. Other elements stay. `--from` reads a record of another
system.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from ibi.items.model.item import Description
from ibi.items.model.metadata import MOST_VALUES
from ibi.items.model.metadata_json import METADATA_MEMBERS
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import IbiError
from ibi.standard.json_fields import decode_document
from ibi.standard.safe_text import printable
from ibi.web.record_requests import MOST_JSON, parse_description

_ELEMENTS: Final = frozenset(METADATA_MEMBERS)
_MEMBERS: Final = ("metadata", "language", "visibility", "alternates")
_BY_FLAG: Final = {
    "target": "--target",
    "url": "--url",
    "edition_of": "--edition-of",
    "translation_of": "--translation-of",
    "describes": "--metadata-of",
}


class InvalidMetadataFile(IbiError):
    """{path}: {reason} Nothing was deposited or changed."""

    code = "invalid-metadata-file"


def described_by_file(before: Description, path: Path) -> Description:
    """Return the description with the values in the file. `InvalidMetadataFile` gives the fault and its place."""
    document = _read(path)
    try:
        found = parse_description(document)
    except IbiError as error:
        raise InvalidMetadataFile(path=printable(str(path)), reason=str(error)) from error
    named = document.get("metadata") or {}
    values: dict[str, Any] = {name: getattr(found.metadata, name) for name in _ELEMENTS if name in named}
    if "type" in named or "resource_type" in named:
        # A term of DCMI among the types was read as the resource type.
        values |= {"type": found.metadata.type, "resource_type": found.metadata.resource_type}
    others: dict[str, Any] = {name: getattr(found, name) for name in _MEMBERS[1:] if name in document}
    return replace(before, metadata=replace(before.metadata, **values), **others)


def described_by_record(before: Description, path: Path) -> Description:
    """Return the description with the values in a record of another system. Elements of the record replace the existing
    ones. Parts of the record that do not fit are reported."""
    from ibi.importing.rules.reading import read_records

    try:
        found = read_records(_read_bytes(path, 4 * MOST_JSON).decode())
    except UnicodeDecodeError:
        raise _refusal(path, "it is not text in UTF-8.") from None
    except InvalidMetadataFile:
        raise
    except IbiError as error:
        raise _refusal(path, str(error)) from error
    if len(found) > 1:
        raise _refusal(path, f"it has {len(found)} records, and an item is described by one.")
    (record,) = found
    if record.passed_over:
        named = ", ".join(map(printable, record.passed_over[:20]))
        click.echo(f"ibi: left out of {printable(str(path))}: {named}", err=True)
    values = {name: value for name in METADATA_MEMBERS if (value := getattr(record.metadata, name))}
    metadata = replace(before.metadata, **values)
    if metadata.count_values() > MOST_VALUES:
        raise _refusal(path, f"it describes an item by more than {MOST_VALUES} values.")
    return replace(before, metadata=metadata, language=record.language or before.language)


def _read_bytes(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            body = file.read(most + 1)
    except OSError as error:
        raise _refusal(path, f"it cannot be read: {error.strerror or error}.") from None
    if len(body) > most:
        raise _refusal(path, f"it has more than {most} bytes.")
    return body


def _read(path: Path) -> dict[str, Any]:
    """Return the document, always with its elements under `metadata`."""
    body = _read_bytes(path, MOST_JSON)
    try:
        found = decode_document(body)
    except InvalidDocument as error:
        raise _refusal(path, f"{error.reason.format(**error.details).rstrip('.')}.") from None
    if not isinstance(found, dict):
        raise _refusal(path, "it is not a JSON object.")
    # `language` is a member of both. Without any other element it is that of the item.
    document = (
        {"metadata": found} if not set(found) & set(_MEMBERS) - {"language"} and set(found) & _NO_MEMBERS else found
    )
    flag = next((name for name in document if name in _BY_FLAG), None)
    if flag is not None:
        raise _refusal(path, f"{flag} is said by {_BY_FLAG[flag]}, not by the file.")
    return document


_NO_MEMBERS: Final = _ELEMENTS - {"language"}


def _refusal(path: Path, reason: str) -> InvalidMetadataFile:
    return InvalidMetadataFile(path=printable(str(path)), reason=reason)
