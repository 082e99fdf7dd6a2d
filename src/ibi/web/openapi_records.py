"""The part of the API's description that is about items."""

from __future__ import annotations

from typing import Any

from ibi.model.metadata import DC_ELEMENTS
from ibi.web.openapi_parts import TEXT, TEXT_OR_NULL, YES_NO, json_answer, record, reference, refusal

_NUMBER = {"type": "integer", "minimum": 0}
_DATE = {**TEXT, "format": "date-time"}
_URL = {**TEXT, "format": "uri"}
_FORMS = {
    "description": "The labels of one item, in one or both forms.",
    **record({"rep": TEXT, "ibip": TEXT}, optional=frozenset({"rep", "ibip"})),
}
FILE = record(
    {
        "path": TEXT,
        "size": _NUMBER,
        "sha512": {
            **TEXT,
            "pattern": "^[0-9a-f]{128}$",
            "description": "Left out, unless a token comes, of what is not for everybody to see.",
        },
        "media_type": TEXT,
        "url": _URL,
    },
    optional=frozenset({"sha512"}),
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
LINKS = {
    "description": "Where to go from here, by relation.",
    "type": "object",
    "additionalProperties": _URL,
}
RELATIONS = ("edition_of", "next_edition", "translation_of", "metadata_item", "describes")
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
        "target": {**TEXT, "description": "The file that a reader gets who names none. Left out as the files are."},
        "target_url": {
            **_URL,
            "description": "Where a reader is sent instead, if the item is a Web service. Left out, unless a token"
            " comes, of one that is not for everybody: the link `content` leads there whoever may see it.",
        },
        "visibility": reference("Visibility"),
        **{name: reference("LabelForms") for name in RELATIONS},
        "translations": {"type": "object", "additionalProperties": reference("LabelForms")},
        "transferable": YES_NO,
        "tombstone": reference("Tombstone"),
        "damaged": {**YES_NO, "description": "True if something that is kept of it is damaged; otherwise left out."},
        "links": LINKS,
    },
    optional=frozenset(
        {
            "damaged",
            "language",
            "metadata",
            "files",
            "target",
            "target_url",
            "visibility",
            "translations",
            "tombstone",
            *RELATIONS,
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
_USAGE = record({"days": {"type": "array", "items": _DAY}, "links": LINKS})

_TOTAL = record({"rep": TEXT, **{name: each for name, each in _DAY["properties"].items() if name != "date"}})
_ARCHIVE = record(
    {
        "begun": YES_NO,
        "rep": TEXT_OR_NULL,
        "ibip": TEXT_OR_NULL,
        "public_url": _URL,
        "content_url": _URL,
        "resolver": TEXT_OR_NULL,
        "switched_on": YES_NO,
        "membership": {"enum": ["off", "including", "included", "excluding"]},
        "confirmed": {"type": ["boolean", "null"], "description": "Whether the resolver got through to the Archive."},
        "membership_reason": TEXT_OR_NULL,
        "unreadable": {"type": "array", "items": TEXT, "description": "Items that could not be read at the start."},
        "damaged": {"type": "array", "items": TEXT, "description": "Items of which something kept is damaged."},
        "verified": {"type": "integer", "description": "Items that were verified since they were kept."},
        "never_verified": {"type": "integer"},
        "last_verification": TEXT_OR_NULL,
        "oldest_verification": TEXT_OR_NULL,
    },
    optional=frozenset(
        {
            "switched_on",
            "membership",
            "confirmed",
            "membership_reason",
            "unreadable",
            "damaged",
            "verified",
            "never_verified",
            "last_verification",
            "oldest_verification",
        }
    ),
)

RECORD_SCHEMAS: dict[str, Any] = {
    "LabelForms": _FORMS,
    "File": FILE,
    "Value": _VALUE,
    "Metadata": _METADATA,
    "Visibility": _VISIBILITY,
    "Tombstone": _TOMBSTONE,
    "Record": _RECORD,
    "Relations": record(
        {
            **{name: reference("LabelForms") for name in RELATIONS},
            "translations": {"type": "object", "additionalProperties": reference("LabelForms")},
            "links": LINKS,
        },
        optional=frozenset({*RELATIONS, "translations"}),
    ),
    "UsageTotals": record({"items": {"type": "array", "items": _TOTAL}, "links": LINKS}),
    "Archive": _ARCHIVE,
    "RecordFiles": _RECORD_FILES,
    "RecordUsage": _USAGE,
}

LABEL = {
    "name": "label",
    "in": "path",
    "required": True,
    "description": "A label in either form and any case; its slashes as they are, or as %2F.",
    "schema": TEXT,
}


def _get(operation: str, summary: str, name: str, draft: str | None = None, **others: dict[str, Any]) -> dict[str, Any]:
    """`draft` is the schema of the same of a draft, for whose owner alone there is one."""
    found = json_answer("It.", name)
    if draft is not None:
        found = {**found, "content": {"application/json": {"schema": {"oneOf": [reference(name), reference(draft)]}}}}
    return {
        "get": {
            "operationId": operation,
            "summary": summary,
            "parameters": [LABEL],
            "responses": {
                "200": found,
                "400": refusal("This is not a label."),
                "401": refusal("A token was shown, and is wrong, expired or revoked."),
                **others,
                "404": refusal("There is no such item here."),
                "410": json_answer("The item was deleted; this is what is left.", name),
                "500": refusal("Something went wrong here; the problem names the entry of the server's log."),
            },
        }
    }


RECORD_PATHS: dict[str, Any] = {
    "/api/records/{label}": _get(
        "getRecord", "An item, or a draft of yours: what it is, and where to go from it.", "Record", "Draft"
    ),
    "/api/records/{label}/files": _get(
        "getFiles",
        "The files of an item, or of a draft of yours.",
        "RecordFiles",
        "DraftFiles",
        **{"403": refusal("Whoever deposited the item does not want its files listed.")},
    ),
    "/api/records/{label}/usage": _get("getUsage", "How often an item was used, day by day.", "RecordUsage"),
}
