"""The part of the API's description that is about changes: drafts made and published, items related and deleted."""

from __future__ import annotations

from typing import Any

from ibi.archive.drafts import MOST_FILES
from ibi.web.api.descriptions import MOST_JSON
from ibi.web.api.drafts import MOST_LISTED, MOST_MESSAGE
from ibi.web.api.records import MOST_REASON
from ibi.web.http.headers import MAX_KEY
from ibi.web.openapi_operation import (
    ALWAYS,
    BODY,
    CHANGED,
    CONFLICT,
    FULL,
    MANY,
    NEARLY_FULL,
    NO_CONTENT,
    UNKNOWN,
    json_body,
    operation,
    query,
)
from ibi.web.openapi_parts import TEXT, json_answer, reference, refusal
from ibi.web.openapi_records import LABEL

_PATH = {
    "name": "path",
    "in": "path",
    "required": True,
    "description": "The name of the file in the item, UTF-8; with slashes if it is in a folder.",
    "schema": TEXT,
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The tag (ETag) of what is to be changed: refused if it has changed since.",
    "schema": TEXT,
}
_DESCRIBING = json_body(reference("Description"), required=False, most=MOST_JSON)
_MESSAGE = json_body(
    {
        "type": "object",
        "properties": {"message": {**TEXT, "maxLength": MOST_MESSAGE, "description": "For the item's history."}},
        "additionalProperties": False,
    },
    required=False,
    most=64 * 1024,
)
_RELATION = {
    "next_edition": {**TEXT, "description": "A label: the item that is the edition after this one."},
    "translation": {**TEXT, "description": "A label: the item that is the text in `language`."},
    "language": TEXT,
    "metadata_item": {**TEXT, "description": "A label: the item that is the metadata of this one."},
}
_SAID = json_body(
    {"type": "object", "properties": _RELATION, "additionalProperties": False}, required=True, most=64 * 1024
)
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": (
        "One draft becomes one item, however often it is asked for. With a key, another draft that is published with"
        " it (with the same token, within 24 hours at least) gives the item of the first."
    ),
    "schema": {**TEXT, "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[ -~]+$"},
}
_DIGEST = {
    "name": "Repr-Digest",
    "in": "header",
    "required": False,
    "description": "sha-512 or sha-256 of the file (RFC 9530; Content-Digest and Digest are read too): it is checked.",
    "schema": TEXT,
}
_ANY_BYTES = {
    "required": True,
    "description": (
        "The file, of any size up to the setting archive.largest_deposit for all files together, and up to"
        " archive.most_draft_bytes for all drafts of their owner. Its media type is that of Content-Type if that says"
        " something, or else what its name tells."
    ),
    "content": {"*/*": {"schema": {**TEXT, "format": "binary"}}},
}


_DRAFTS = {
    "get": operation(
        "listDrafts",
        "Your drafts, or all of them with a token of the scope admin; and how much of your quota is left.",
        query("state", "Only drafts are listed.", {"const": "draft"}, required=True),
        query("after", "The id after which to begin.", TEXT),
        query("limit", "How many.", {"type": "integer", "minimum": 1, "maximum": MOST_LISTED}),
        answers={"200": json_answer("Drafts.", "Drafts"), "400": refusal("A parameter is wrong.")},
    ),
    "post": operation(
        "beginDraft",
        "Begin a draft of a new item.",
        body=_DESCRIBING,
        answers={"201": json_answer("The draft.", "Draft"), **BODY, "409": refusal(MANY), **NEARLY_FULL},
    ),
}
_RECORD = {
    "put": operation(
        "describeDraft",
        "Describe a draft: what is not said any more, it is not.",
        LABEL,
        _IF_MATCH,
        body=_DESCRIBING,
        answers={"200": json_answer("The draft.", "Draft"), **BODY, **UNKNOWN, **CONFLICT, **CHANGED, **FULL},
    ),
    "delete": operation(
        "deleteRecord",
        "Delete an item, which leaves a tombstone; or discard a draft, which leaves nothing.",
        LABEL,
        query("reason", f"Why; everybody may read it. At most {MOST_REASON} characters. Not for a draft.", TEXT),
        query("replaced_by", "A label: the item that readers should look at instead.", TEXT),
        query("purge", "Remove earlier versions too, for good: takes a token of the scope admin.", {"type": "boolean"}),
        answers={
            "200": json_answer("What is left of the item.", "Record"),
            **NO_CONTENT,
            "400": refusal("This is not a label, or the reason is missing."),
            **CONFLICT,
            **CHANGED,
            "404": refusal("There is no such item or draft here."),
            **FULL,
        },
    ),
}
_FILE = {
    "put": operation(
        "sendFile",
        f"Send a file of a draft, or send it anew; a draft has at most {MOST_FILES}.",
        LABEL,
        _PATH,
        _IF_MATCH,
        {**_IF_MATCH, "name": "If-None-Match", "description": "* if there should be no such file yet."},
        _DIGEST,
        body=_ANY_BYTES,
        answers={
            "200": json_answer("The file, in the place of what it was.", "SentFile"),
            "201": json_answer("The file.", "SentFile"),
            "400": refusal("The name cannot be kept, or what arrived is not what was sent."),
            **UNKNOWN,
            "408": refusal("The body stopped arriving, or arrived too slowly. The draft has what it had before."),
            **CONFLICT,
            **CHANGED,
            "413": refusal(
                "The deposit is too large, or has too many files; or there is more in your drafts than the setting"
                " archive.most_draft_bytes allows: publish or discard one of them."
            ),
            "415": refusal("The body is coded."),
            **NEARLY_FULL,
        },
    ),
    "delete": operation(
        "removeFile",
        "Remove a file from a draft.",
        LABEL,
        _PATH,
        _IF_MATCH,
        answers={
            **NO_CONTENT,
            "400": refusal("No file has such a name."),
            "404": refusal("There is no such draft or file."),
            **CONFLICT,
            **CHANGED,
        },
    ),
}
_NOT_HERE = {"404": refusal("There is no such item here, or no draft of it that is yours.")}
_UPDATE = {
    "get": operation(
        "getDraftOfItem",
        "Your draft of an item, the one that was changed last.",
        LABEL,
        answers={"200": json_answer("The draft.", "Draft"), "400": refusal("This is not a label."), **_NOT_HERE},
    ),
    "post": operation(
        "beginUpdate",
        "Begin a draft that changes an item: with its files, and its description unless another is given.",
        LABEL,
        body=_DESCRIBING,
        answers={
            "201": json_answer("The draft.", "Draft"),
            **BODY,
            **_NOT_HERE,
            "409": refusal(f"The item cannot be changed any more, or this: {MANY}"),
            **NEARLY_FULL,
        },
    ),
    "put": operation(
        "describeUpdate",
        "Describe your draft of an item; one is begun if there is none.",
        LABEL,
        _IF_MATCH,
        body=_DESCRIBING,
        answers={
            "200": json_answer("The draft.", "Draft"),
            "201": json_answer("A new draft.", "Draft"),
            **BODY,
            **_NOT_HERE,
            "409": refusal(f"The draft is being published or changed by somebody else; or, if it is a new one: {MANY}"),
            **CHANGED,
            **NEARLY_FULL,
        },
    ),
    "delete": operation(
        "discardUpdate",
        "Discard your draft of an item; the item stays as it is.",
        LABEL,
        _IF_MATCH,
        answers={**NO_CONTENT, "400": refusal("This is not a label."), **_NOT_HERE, **CONFLICT, **CHANGED},
    ),
}
_PUBLISH = {
    "post": operation(
        "publish",
        "Publish a draft: it becomes an item, or another version of one. Everything is on the disk before the answer.",
        LABEL,
        _KEY,
        _IF_MATCH,
        body=_MESSAGE,
        answers={
            "201": json_answer("The item, also if it was published before.", "Publication"),
            **BODY,
            "400": refusal("Something is missing or contradicts itself: a title, a file, the target, two names."),
            **UNKNOWN,
            **CONFLICT,
            **CHANGED,
            **FULL,
        },
    )
}
_RELATIONS_ANSWERS = {
    "200": json_answer("The item.", "Record"),
    **BODY,
    "404": refusal("There is no such item here."),
    "409": refusal("It cannot be said, or was not said: a second next edition, another language, another item."),
    **FULL,
}
_RELATIONS = {
    "get": {
        "operationId": "getRelations",
        "summary": "What an item says of others.",
        "parameters": [LABEL],
        "responses": {
            "200": json_answer("It.", "Relations"),
            "400": refusal("This is not a label."),
            "404": refusal("There is no such item here."),
            "500": ALWAYS["500"],
        },
    },
    "post": operation(
        "relate",
        "Say which item is the next edition, or a translation, of this one.",
        LABEL,
        body=_SAID,
        answers=_RELATIONS_ANSWERS,
    ),
    "delete": operation(
        "withdrawRelation",
        "Withdraw what was said.",
        LABEL,
        *(query(name, each.get("description", "The language."), TEXT) for name, each in _RELATION.items()),
        answers=_RELATIONS_ANSWERS,
    ),
}
_USAGE = {
    "get": operation(
        "getUsageOfAll",
        "How often each item was used, in the order of repository names; for whoever has a token that allows to read.",
        query("after", "The repository name after which to begin.", TEXT),
        answers={
            "200": json_answer("Items.", "UsageTotals"),
            "400": refusal("A parameter is wrong."),
            "404": refusal("Nothing is counted here."),
        },
    )
}
_ARCHIVE = {
    "get": operation(
        "getOwnArchive",
        "The Archive: its labels and addresses, and how it stands with its resolver.",
        answers={"200": json_answer("It.", "Archive")},
    )
}

DRAFT_PATHS: dict[str, Any] = {
    "/api/records": _DRAFTS,
    "/api/records/{label}": _RECORD,
    "/api/records/{label}/files/{path}": _FILE,
    "/api/records/{label}/draft": _UPDATE,
    "/api/records/{label}/publish": _PUBLISH,
    "/api/records/{label}/relations": _RELATIONS,
    "/api/usage": _USAGE,
    "/api/archive": _ARCHIVE,
}
