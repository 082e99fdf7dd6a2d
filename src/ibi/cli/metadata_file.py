"""`--metadata FILE.json`: a description of an item in a file, for the commands that deposit and update one.

It is what a draft is described by over HTTP, or the elements of its `metadata` alone. Elements that it names take the
place of what there was, and null or an empty list removes them; what it does not name stays.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ibi.errors import IbiError
from ibi.model.errors import InvalidDocument
from ibi.model.item import Draft
from ibi.model.json_fields import decode_document
from ibi.model.metadata import DC_ELEMENTS
from ibi.safe_text import printable
from ibi.web.api.record_requests import MOST_JSON, parse_description

_ELEMENTS: Final = frozenset({*DC_ELEMENTS, "licence", "resource_type"})
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


def described_by_file(draft: Draft, path: Path) -> Draft:
    """`draft` with what the file says of it. `InvalidMetadataFile` tells what is wrong, and where."""
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
    return replace(draft, metadata=replace(draft.metadata, **values), **others)


def _read(path: Path) -> dict[str, Any]:
    """The document, with the elements under `metadata` however the file has them."""
    try:
        with path.open("rb") as file:
            body = file.read(MOST_JSON + 1)
    except OSError as error:
        raise _refusal(path, f"it cannot be read: {error.strerror or error}.") from None
    if len(body) > MOST_JSON:
        raise _refusal(path, f"it has more than {MOST_JSON} bytes.")
    try:
        found = decode_document(body)
    except InvalidDocument as error:
        raise _refusal(path, f"{error.reason.format(**error.details).rstrip('.')}.") from None
    if not isinstance(found, dict):
        raise _refusal(path, "it is not a JSON object.")
    # `language` is a member of both, and without any other element it is that of the item.
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
