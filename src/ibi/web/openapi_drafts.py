"""The part of the API's description that is about changes: drafts made and published, items related and deleted."""

from __future__ import annotations

from typing import Any, Final

from ibi.archive.drafts import MOST_FILES
from ibi.web.descriptions import MOST_JSON
from ibi.web.drafts import MOST_LISTED, MOST_MESSAGE
from ibi.web.idempotency import MAX_KEY
from ibi.web.openapi_parts import TEXT, json_answer, reference, refusal
from ibi.web.openapi_records import LABEL
from ibi.web.records import MOST_REASON

__all__ = ["DRAFT_PATHS"]

_JSON: Final = "application/json"
_TOKEN: Final[list[dict[str, list[str]]]] = [{"token": []}]

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
_BODY = {
    "400": refusal("The body cannot be understood; `field` names the member that is wrong."),
    "408": refusal("The body did not arrive in time."),
    "413": refusal("The body is too large."),
    "415": refusal("The body is not JSON as it stands."),
}
_CHALLENGE = {"description": "The scheme to authenticate with: Bearer.", "required": True, "schema": TEXT}
_ALWAYS = {
    "401": refusal("The token is missing, wrong, expired or revoked.", WWW_Authenticate=_CHALLENGE),
    "403": refusal("The token's scope is too small, or nothing is changed through this server."),
    "500": refusal("Something went wrong here; the problem names the entry of the server's log."),
    "503": refusal("The store cannot be used at the moment, or the server is stopping."),
}
_FULL = {"507": refusal("The disk is full. Nothing was changed, and nothing is lost.")}
_UNKNOWN = {"404": refusal("There is no such draft, or it is not yours.")}
_CONFLICT = {
    "409": refusal("This is not possible now: it is published, is being published, or was changed by somebody else.")
}
_CHANGED = {"412": refusal("It is not as If-Match expects it.")}
_NO_CONTENT = {"204": {"description": "It is gone."}}


def _operation(
    operation: str, summary: str, *parameters: dict[str, Any], body: object = None, **parts: dict[str, Any]
) -> dict[str, Any]:
    described: dict[str, Any] = {"operationId": operation, "summary": summary, "security": _TOKEN}
    if parameters:
        described["parameters"] = list(parameters)
    if body is not None:
        described["requestBody"] = body
    return {**described, "responses": {**parts["answers"], **_ALWAYS}}


def _json_body(schema: dict[str, Any], *, required: bool, most: int) -> dict[str, Any]:
    return {
        "required": required,
        "description": f"At most {most} bytes.",
        "content": {_JSON: {"schema": schema}},
    }


_DESCRIBING = _json_body(reference("Description"), required=False, most=MOST_JSON)
_MESSAGE = _json_body(
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
}
_SAID = _json_body(
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
        "The file, of any size up to the setting archive.largest_deposit for all files together. Its media type is"
        " that of Content-Type if that says something, or else what its name tells."
    ),
    "content": {"*/*": {"schema": {**TEXT, "format": "binary"}}},
}


def _query(name: str, description: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "description": description, "schema": schema}


_DRAFTS = {
    "get": _operation(
        "listDrafts",
        "The drafts that are yours; all of them with a token of the scope admin.",
        _query("state", "Only drafts are listed.", {"const": "draft"}, required=True),
        _query("after", "The id after which to begin.", TEXT),
        _query("limit", "How many.", {"type": "integer", "minimum": 1, "maximum": MOST_LISTED}),
        answers={"200": json_answer("Drafts.", "Drafts"), "400": refusal("A parameter is wrong.")},
    ),
    "post": _operation(
        "beginDraft",
        "Begin a draft of a new item.",
        body=_DESCRIBING,
        answers={"201": json_answer("The draft.", "Draft"), **_BODY, **_FULL},
    ),
}
_RECORD = {
    "put": _operation(
        "describeDraft",
        "Describe a draft: what is not said any more, it is not.",
        LABEL,
        _IF_MATCH,
        body=_DESCRIBING,
        answers={"200": json_answer("The draft.", "Draft"), **_BODY, **_UNKNOWN, **_CONFLICT, **_CHANGED, **_FULL},
    ),
    "delete": _operation(
        "deleteRecord",
        "Delete an item, which leaves a tombstone; or discard a draft, which leaves nothing.",
        LABEL,
        _query("reason", f"Why; everybody may read it. At most {MOST_REASON} characters. Not for a draft.", TEXT),
        _query("replaced_by", "A label: the item that readers should look at instead.", TEXT),
        _query(
            "purge", "Remove earlier versions too, for good: takes a token of the scope admin.", {"type": "boolean"}
        ),
        answers={
            "200": json_answer("What is left of the item.", "Record"),
            **_NO_CONTENT,
            "400": refusal("This is not a label, or the reason is missing."),
            **_CONFLICT,
            **_CHANGED,
            "404": refusal("There is no such item or draft here."),
            **_FULL,
        },
    ),
}
_FILE = {
    "put": _operation(
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
            **_UNKNOWN,
            "408": refusal("The body stopped arriving."),
            **_CONFLICT,
            **_CHANGED,
            "413": refusal("The deposit is too large, or has too many files."),
            "415": refusal("The body is coded."),
            **_FULL,
        },
    ),
    "delete": _operation(
        "removeFile",
        "Remove a file from a draft.",
        LABEL,
        _PATH,
        _IF_MATCH,
        answers={
            **_NO_CONTENT,
            "400": refusal("No file has such a name."),
            "404": refusal("There is no such draft or file."),
            **_CONFLICT,
            **_CHANGED,
        },
    ),
}
_NOT_HERE = {"404": refusal("There is no such item here, or no draft of it that is yours.")}
_UPDATE = {
    "get": _operation(
        "getDraftOfItem",
        "Your draft of an item, the one that was changed last.",
        LABEL,
        answers={"200": json_answer("The draft.", "Draft"), "400": refusal("This is not a label."), **_NOT_HERE},
    ),
    "post": _operation(
        "beginUpdate",
        "Begin a draft that changes an item: with its files, and its description unless another is given.",
        LABEL,
        body=_DESCRIBING,
        answers={"201": json_answer("The draft.", "Draft"), **_BODY, **_NOT_HERE, **_CONFLICT, **_FULL},
    ),
    "put": _operation(
        "describeUpdate",
        "Describe your draft of an item; one is begun if there is none.",
        LABEL,
        _IF_MATCH,
        body=_DESCRIBING,
        answers={
            "200": json_answer("The draft.", "Draft"),
            "201": json_answer("A new draft.", "Draft"),
            **_BODY,
            **_NOT_HERE,
            **_CONFLICT,
            **_CHANGED,
            **_FULL,
        },
    ),
    "delete": _operation(
        "discardUpdate",
        "Discard your draft of an item; the item stays as it is.",
        LABEL,
        _IF_MATCH,
        answers={**_NO_CONTENT, "400": refusal("This is not a label."), **_NOT_HERE, **_CONFLICT, **_CHANGED},
    ),
}
_PUBLISH = {
    "post": _operation(
        "publish",
        "Publish a draft: it becomes an item, or another version of one. Everything is on the disk before the answer.",
        LABEL,
        _KEY,
        _IF_MATCH,
        body=_MESSAGE,
        answers={
            "201": json_answer("The item, also if it was published before.", "Publication"),
            **_BODY,
            "400": refusal("Something is missing or contradicts itself: a title, a file, the target, two names."),
            **_UNKNOWN,
            **_CONFLICT,
            **_CHANGED,
            **_FULL,
        },
    )
}
_RELATIONS_ANSWERS = {
    "200": json_answer("The item.", "Record"),
    **_BODY,
    "404": refusal("There is no such item here."),
    "409": refusal("It cannot be said, or was not said: a second next edition, another language, another item."),
    **_FULL,
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
            "500": _ALWAYS["500"],
        },
    },
    "post": _operation(
        "relate",
        "Say which item is the next edition, or a translation, of this one.",
        LABEL,
        body=_SAID,
        answers=_RELATIONS_ANSWERS,
    ),
    "delete": _operation(
        "withdrawRelation",
        "Withdraw what was said.",
        LABEL,
        *(_query(name, each.get("description", "The language."), TEXT) for name, each in _RELATION.items()),
        answers=_RELATIONS_ANSWERS,
    ),
}
_USAGE = {
    "get": _operation(
        "getUsageOfAll",
        "How often each item was used, in the order of repository names; for whoever has a token that allows to read.",
        _query("after", "The repository name after which to begin.", TEXT),
        answers={
            "200": json_answer("Items.", "UsageTotals"),
            "400": refusal("A parameter is wrong."),
            "404": refusal("Nothing is counted here."),
        },
    )
}
_ARCHIVE = {
    "get": _operation(
        "getArchive",
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
