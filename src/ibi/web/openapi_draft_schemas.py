"""What drafts look like, in the API's description."""

from __future__ import annotations

from typing import Any, Final

from ibi.model.metadata import DC_ELEMENTS
from ibi.web.openapi_parts import TEXT, TEXT_OR_NULL, record, reference
from ibi.web.openapi_records import FILE, LINKS

_DATE: Final = {**TEXT, "format": "date-time"}
_URL: Final = {**TEXT, "format": "uri"}
_NUMBER: Final = {"type": "integer", "minimum": 0}

_VALUES = {"oneOf": [TEXT, {"type": "array", "items": {"oneOf": [TEXT, reference("Value")]}}]}
_NAMED = {"oneOf": [TEXT, reference("LabelForms")]}
_DESCRIPTION: dict[str, Any] = {
    "metadata": {
        "type": "object",
        "description": "A text may stand for a value that is nothing but a text, and for a list of one.",
        "properties": {**dict.fromkeys(DC_ELEMENTS, _VALUES), "licence": TEXT, "resource_type": TEXT},
        "additionalProperties": False,
    },
    "language": {**TEXT, "description": "As in pt or pt-BR."},
    "target": {**TEXT, "description": "The file that a reader gets who names none."},
    "url": {**_URL, "description": "Where readers are sent instead: the item is a Web service, and has no files."},
    "edition_of": {**_NAMED, "description": "The item of which it is the next edition."},
    "translation_of": {**_NAMED, "description": "The item that it translates, into its `language`."},
    "describes": {**_NAMED, "description": "The item whose metadata it is."},
    "visibility": reference("Visibility"),
}
_SENT_FILE = {
    **FILE,
    "properties": {**{name: each for name, each in FILE["properties"].items() if name != "url"}, "links": LINKS},
    "required": ["path", "size", "sha512", "media_type", "links"],
}
_DRAFT = record(
    {
        "id": {**TEXT, "pattern": "^draft-[a-z2-7]{16}$"},
        "state": {"enum": ["draft", "published"]},
        "owner": {**TEXT, "description": "The name of the token that began it, or the token's id."},
        "created": _DATE,
        "updated": {**_DATE, "description": "The last change: a draft that nobody changes for long goes."},
        "size": {**_NUMBER, "description": "Bytes that were sent for it; they count for the quota of its owner."},
        "metadata": reference("Metadata"),
        "language": TEXT,
        "target": TEXT,
        "url": _URL,
        "edition_of": reference("LabelForms"),
        "translation_of": reference("LabelForms"),
        "describes": reference("LabelForms"),
        "visibility": reference("Visibility"),
        "files": {"type": "array", "items": reference("SentFile")},
        "labels": reference("LabelForms"),
        "base_version": {**_NUMBER, "description": "The version of the item that the draft was made from."},
        "links": LINKS,
    },
    optional=frozenset({*_DESCRIPTION, "labels", "base_version"}),
)
_BOUND: Final = {"type": ["integer", "null"], "minimum": 1}
_QUOTA = record(
    {
        "drafts": {**_NUMBER, "description": "How many you have, not counting those that were published."},
        "most_drafts": {**_BOUND, "description": "How many you may have (archive.most_drafts); null is any number."},
        "size": {**_NUMBER, "description": "The bytes of their files, those on their way included."},
        "most_size": {
            **_BOUND,
            "description": "How many these may be (archive.most_draft_bytes); null is any number.",
        },
    }
)
_PUBLICATION = record(
    {
        "rep": TEXT,
        "ibip": TEXT_OR_NULL,
        "persistent_url": _URL,
        "url": _URL,
        "version": _NUMBER,
        "removed": {"type": "array", "items": TEXT, "description": "Files to which links lead nowhere from now on."},
        "links": LINKS,
    }
)

DRAFT_SCHEMAS: dict[str, Any] = {
    "Description": {"type": "object", "properties": _DESCRIPTION, "additionalProperties": False},
    "SentFile": _SENT_FILE,
    "Draft": _DRAFT,
    "DraftFiles": record({"files": {"type": "array", "items": reference("SentFile")}, "target": TEXT_OR_NULL}),
    "Drafts": record(
        {"drafts": {"type": "array", "items": reference("Draft")}, "quota": reference("DraftQuota"), "links": LINKS}
    ),
    "DraftQuota": _QUOTA,
    "Publication": _PUBLICATION,
}
