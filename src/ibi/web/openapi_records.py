"""The part of the API's description that is about items."""

from __future__ import annotations

from typing import Any

from ibi.model.metadata import DC_ELEMENTS
from ibi.web.openapi_parts import TEXT, TEXT_OR_NULL, YES_NO, json_answer, record, reference, refusal

__all__ = ["RECORD_PATHS", "RECORD_SCHEMAS"]

_NUMBER = {"type": "integer", "minimum": 0}
_DATE = {**TEXT, "format": "date-time"}
_URL = {**TEXT, "format": "uri"}
_FORMS = {
    "description": "The labels of one item, in one or both forms.",
    **record({"rep": TEXT, "ibip": TEXT}, optional=frozenset({"rep", "ibip"})),
}
_FILE = record(
    {
        "path": TEXT,
        "size": _NUMBER,
        "sha512": {**TEXT, "pattern": "^[0-9a-f]{128}$"},
        "media_type": TEXT,
        "url": _URL,
    }
)
_FILES = {"type": "array", "items": reference("File")}
_VALUE = {
    "description": "A person or institution has a `name`, everything else a `value`.",
    **record(
        {"value": TEXT, "name": TEXT, "orcid": TEXT, "language": TEXT},
        optional=frozenset({"value", "name", "orcid", "language"}),
    ),
}
_ELEMENTS = {name: {"type": "array", "items": reference("Value")} for name in DC_ELEMENTS}
_METADATA = record(
    {**_ELEMENTS, "licence": TEXT, "resource_type": TEXT},
    optional=frozenset({*DC_ELEMENTS, "licence", "resource_type"}),
)
_VISIBILITY = record(
    {"networks": {"type": "array", "items": TEXT}, "embargo": _DATE, "listing": YES_NO},
    optional=frozenset({"networks", "embargo", "listing"}),
)
_TOMBSTONE = record(
    {"when": _DATE, "why": TEXT, "replaced_by": reference("LabelForms"), "purged": YES_NO},
    optional=frozenset({"replaced_by", "purged"}),
)
_LINKS = {
    "description": "Where to go from here, by relation.",
    "type": "object",
    "additionalProperties": _URL,
}
_RELATIONS = ("edition_of", "next_edition", "translation_of", "metadata_item", "describes")
_RECORD = record(
    {
        "labels": reference("LabelForms"),
        "state": {"enum": ["Original", "Copy", "Deleted"]},
        "version": {**_NUMBER, "description": "How many times it was published."},
        "created": _DATE,
        "updated": _DATE,
        "language": TEXT,
        "metadata": reference("Metadata"),
        "files": {**_FILES, "description": "Left out if whoever deposited the item does not want them listed."},
        "target": {**TEXT, "description": "The file that a reader gets who names none."},
        "target_url": {**_URL, "description": "Where a reader is sent instead, if the item is a Web service."},
        "visibility": reference("Visibility"),
        **{name: reference("LabelForms") for name in _RELATIONS},
        "translations": {"type": "object", "additionalProperties": reference("LabelForms")},
        "transferable": YES_NO,
        "tombstone": reference("Tombstone"),
        "links": _LINKS,
    },
    optional=frozenset(
        {
            "language",
            "metadata",
            "files",
            "target",
            "target_url",
            "visibility",
            "translations",
            "tombstone",
            *_RELATIONS,
        }
    ),
)
_RECORD_FILES = record({"files": _FILES, "target": TEXT_OR_NULL})
_DAY = record(
    {
        "date": {**TEXT, "format": "date"},
        "resolutions": _NUMBER,
        "downloads": _NUMBER,
        "robot_resolutions": _NUMBER,
        "robot_downloads": _NUMBER,
    }
)
_USAGE = record({"days": {"type": "array", "items": _DAY}, "links": _LINKS})

RECORD_SCHEMAS: dict[str, Any] = {
    "LabelForms": _FORMS,
    "File": _FILE,
    "Value": _VALUE,
    "Metadata": _METADATA,
    "Visibility": _VISIBILITY,
    "Tombstone": _TOMBSTONE,
    "Record": _RECORD,
    "RecordFiles": _RECORD_FILES,
    "RecordUsage": _USAGE,
}

_LABEL = {
    "name": "label",
    "in": "path",
    "required": True,
    "description": "A label in either form and any case; its slashes as they are, or as %2F.",
    "schema": TEXT,
}


def _get(operation: str, summary: str, name: str, **others: dict[str, Any]) -> dict[str, Any]:
    return {
        "get": {
            "operationId": operation,
            "summary": summary,
            "parameters": [_LABEL],
            "responses": {
                "200": json_answer("It.", name),
                "400": refusal("This is not a label."),
                **others,
                "404": refusal("There is no such item here."),
                "410": json_answer("The item was deleted; this is what is left.", name),
                "500": refusal("Something went wrong here; the problem names the entry of the server's log."),
            },
        }
    }


RECORD_PATHS: dict[str, Any] = {
    "/api/records/{label}": _get("getRecord", "An item: what it is, and where to go from it.", "Record"),
    "/api/records/{label}/files": _get(
        "getFiles",
        "The files of an item.",
        "RecordFiles",
        **{"403": refusal("Whoever deposited the item does not want its files listed.")},
    ),
    "/api/records/{label}/usage": _get("getUsage", "How often an item was used, day by day.", "RecordUsage"),
}
