"""The review of a draft: its state and its entries. Times are whole seconds since 1970."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from ibi.items.model.file import File
from ibi.items.model.item import Description
from ibi.items.model.item_json import (
    alternate_document,
    file_document,
    forms_document,
    read_alternates,
    read_file,
    read_forms,
    read_instant,
    read_visibility,
    visibility_document,
)
from ibi.items.model.metadata import DescriptiveMetadata
from ibi.items.model.metadata_json import metadata_document, read_metadata
from ibi.items.model.visibility import Visibility
from ibi.people.model.account import service_account
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.json_fields import (
    Fields,
    decode_document,
    integer,
    many,
    of_object,
    of_string,
    require_type,
    string,
)
from ibi.standard.languages import LanguageTag
from ibi.standard.messages.identification import LabelForms

LONGEST_COMMENT: Final = 5000
"""Most characters of one comment."""


class ReviewState(StrEnum):
    """The state of the review of a draft."""

    SUBMITTED = "submitted"
    """It waits for a librarian, and cannot be changed."""
    RETURNED = "returned"
    """Its depositor works on it again."""
    PUBLISHED = "published"


class ReviewAct(StrEnum):
    """The action of a review entry."""

    SUBMITTED = "submitted"
    COMMENTED = "commented"
    RETURNED = "returned"
    """Sent back by a librarian."""
    WITHDRAWN = "withdrawn"
    """Taken back by its depositor."""
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """One entry of a review: an action, its author and time, and a comment. It never changes."""

    act: ReviewAct
    at: int
    account: str | None
    """None is the Archive itself."""
    name: str
    """The name of the author, for people."""
    text: str = ""
    number: int = 0
    """Assigned by the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The review of one draft after its last entry."""

    draft: str
    owner: str
    """The account of the draft."""
    depositor: str
    """The name of the person who submitted it, for people."""
    title: str
    """The title of the draft at the last entry."""
    state: ReviewState
    submitted: int
    """The time of the last submission."""
    changed: int
    """The time of the last change of state."""
    seal: str = ""
    """The seal of the content that was submitted last."""
    key: str | None = None
    """The idempotency key of the submission: a repeated request does not submit it twice."""
    label: str | None = None
    """The label of the item that it became or changes."""
    turn: int = 0
    """Its place in the queue, assigned by the store with each submission."""
    deletes: bool = False
    """True if it asks for the deletion of the item, not for the publication of the draft."""


DRAFT_ID: Final = re.compile(r"draft-[a-z2-7]{16}")
"""Stands in place of a label, and cannot be confused with one: labels have a slash."""

_SCHEMA: Final = 1
_NO_METADATA: Final = DescriptiveMetadata()


@dataclass(frozen=True, slots=True)
class Publication:
    """The result of a draft: the labels of the item, its version, and the files that it no longer has."""

    labels: LabelForms
    version: int
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestedDeletion:
    """The deletion of a published item that its depositor requests from a librarian."""

    reason: str
    replaced_by: LabelForms | None = None


@dataclass(frozen=True, slots=True)
class RefusedValue:
    """The text that was typed into a field of the form and could not be read, and the code of the error."""

    text: str
    code: str


Refused = Mapping[str, RefusedValue]
"""Refused values by the names of their fields in the form: `creators` is one field, with a line for each creator."""

_SAYS: Final[Mapping[str, Callable[[Description], object]]] = {
    "title": lambda said: said.metadata.title[:1],
    "creators": lambda said: said.metadata.creator,
    "contributors": lambda said: said.metadata.contributor,
    "publisher": lambda said: said.metadata.publisher[:1],
    "funding": lambda said: said.metadata.funding,
    "related": lambda said: said.metadata.related_identifiers,
    "places": lambda said: said.metadata.places,
    "date": lambda said: said.metadata.date[:1],
    "type": lambda said: said.metadata.type or said.metadata.resource_type,
    "licence": lambda said: said.metadata.licence,
    "language": lambda said: said.language,
    "subjects": lambda said: said.metadata.subject,
    "summary": lambda said: said.metadata.description[:1],
    "target": lambda said: said.target,
    "embargo": lambda said: said.visibility.embargo,
    "embargo_reason": lambda said: said.visibility.embargo_reason,
    "networks": lambda said: said.visibility.networks,
    "unlisted": lambda said: not said.visibility.listing,
}
"""The value behind each field of the form; of several texts the first, because the form shows no others."""
REFUSABLE: Final = frozenset(_SAYS) | {"record"}
"""Fields of the form; `record` is the pasted record of another system."""


def still_refused(refused: Refused, before: Description, after: Description) -> dict[str, RefusedValue]:
    """Return the refused values that remain when a description replaces another.

    A field is corrected when it gets a value that the draft did not have. The old value alone corrects nothing:
    otherwise a client that sends back the unchanged description would drop the text that was typed.
    """
    return {name: each for name, each in refused.items() if not _is_corrected(name, before, after)}


def _is_corrected(name: str, before: Description, after: Description) -> bool:
    read_value = _SAYS.get(name)
    if read_value is None:
        return False
    value = read_value(after)
    return bool(value) and value != read_value(before)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRecord:
    """One draft. Only `owner` may see and change it."""

    id: str
    owner: str
    created: Instant
    description: Description
    labels: LabelForms | None = None
    """The labels of the item that it changes; None if it will become a new one."""
    base: int | None = None
    """The version of that item from which it was made."""
    kept: tuple[File, ...] = ()
    """The files that it has from there."""
    reserved: LabelForms | None = None
    """The labels of the new item, from the time when they were told or its publication began: it never gets others."""
    publication: Publication | None = None
    refused: Refused = field(default_factory=dict)
    """Values that the form could not read: until they are corrected, the draft is neither published nor submitted."""
    deletion: RequestedDeletion | None = None
    """The draft asks for the deletion of its item, and changes nothing else of it."""


def description_document(description: Description) -> dict[str, Any]:
    return _present(
        metadata=metadata_document(description.metadata) or None,
        language=None if description.language is None else str(description.language),
        target=description.target,
        url=description.target_url,
        edition_of=forms_document(description.edition_of),
        translation_of=forms_document(description.translation_of),
        describes=forms_document(description.describes),
        visibility=visibility_document(description.visibility) or None,
        alternates=[alternate_document(alternate) for alternate in description.alternates] or None,
    )


def refused_document(refused: Refused) -> dict[str, dict[str, str]]:
    return {name: {"text": each.text, "code": each.code} for name, each in refused.items()}


def deletion_document(deletion: RequestedDeletion | None) -> dict[str, Any] | None:
    if deletion is None:
        return None
    return _present(reason=deletion.reason, replaced_by=forms_document(deletion.replaced_by))


def encode_draft(record: DraftRecord) -> bytes:
    published = record.publication
    document = _present(
        schema=_SCHEMA,
        id=record.id,
        owner=record.owner,
        created=str(record.created),
        description=description_document(record.description),
        labels=forms_document(record.labels),
        base=record.base,
        kept=[file_document(file) for file in record.kept] or None,
        reserved=forms_document(record.reserved),
        publication=None
        if published is None
        else {
            "labels": forms_document(published.labels),
            "version": published.version,
            "removed": list(published.removed),
        },
        refused=refused_document(record.refused) or None,
        deletion=deletion_document(record.deletion),
    )
    return json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n"


def _present(**members: object) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _tag(text: str) -> LanguageTag:
    return LanguageTag.parse(text, registered=False)


@of_object
def read_description(found: Fields) -> Description:
    return Description(
        metadata=found.optional("metadata", read_metadata, _NO_METADATA),
        language=found.nullable("language", of_string(_tag)),
        target=found.nullable("target", string),
        target_url=found.nullable("url", string),
        edition_of=found.nullable("edition_of", read_forms),
        translation_of=found.nullable("translation_of", read_forms),
        describes=found.nullable("describes", read_forms),
        visibility=found.optional("visibility", read_visibility, Visibility.PUBLIC),
        alternates=found.optional("alternates", read_alternates, ()),
    )


@of_object
def _read_publication(found: Fields) -> Publication:
    return Publication(
        found.required("labels", read_forms),
        found.required("version", integer),
        found.optional("removed", many(string), ()),
    )


@of_object
def _read_refused_value(found: Fields) -> RefusedValue:
    return RefusedValue(found.required("text", string), found.required("code", string))


@of_object
def _read_deletion(found: Fields) -> RequestedDeletion:
    return RequestedDeletion(found.required("reason", string), found.nullable("replaced_by", read_forms))


def read_refused(value: object, path: str) -> Refused:
    members = require_type(dict, value, path)
    return {name: _read_refused_value(each, f"{path}.{name}") for name, each in members.items()}


def _account(owner: str) -> str:
    """Return the owner account. Earlier versions wrote the service account of a token's name as `name:…`."""
    return service_account(owner.removeprefix("name:")) if owner.startswith("name:") else owner


def decode_draft(body: bytes) -> DraftRecord:
    """Return the draft in a record. Raise `InvalidDocument` that names the wrong member."""
    found = Fields(decode_document(body), "draft.json")
    found.check_schema(_SCHEMA)
    try:
        record = DraftRecord(
            id=found.required("id", string),
            owner=_account(found.required("owner", string)),
            created=found.required("created", read_instant),
            description=found.required("description", read_description),
            labels=found.nullable("labels", read_forms),
            base=found.nullable("base", integer),
            kept=found.optional("kept", many(read_file), ()),
            reserved=found.nullable("reserved", read_forms),
            publication=found.nullable("publication", _read_publication),
            refused=found.optional("refused", read_refused, {}),
            deletion=found.nullable("deletion", _read_deletion),
        )
    except InvalidDocument:
        raise
    except InvalidInput as error:
        raise InvalidDocument("draft.json", 0, "{cause}", cause=str(error)) from error
    found.finish()
    return record
