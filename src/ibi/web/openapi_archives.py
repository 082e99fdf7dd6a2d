"""The part of the API's description that is about the register of the resolver."""

from __future__ import annotations

from typing import Any

from ibi.messages.key import MAX_KEY
from ibi.model.belief import ClaimKind
from ibi.model.registration import MOST_HOSTS, MOST_NETWORKS, MOST_PREFIXES
from ibi.web.openapi_parts import TEXT, TEXT_OR_NULL, YES_NO, json_answer, record, reference, refusal

_TEXTS = {"type": "array", "items": TEXT}
_YES_NO_OR_NULL = {"type": ["boolean", "null"]}
_DATE = {**TEXT, "format": "date-time"}
_DATE_OR_NULL = {**TEXT_OR_NULL, "format": "date-time"}
_FAILED = refusal("Something went wrong here.")

_PENDING = {
    "description": "An address that does not count yet: it has not confirmed, and the one before it still may answer.",
    **record({"address": TEXT, "protocol": {"enum": ["HTTP", "HTTPS"]}, "ip": TEXT, "mail": TEXT, "since": _DATE}),
}
_FOR_ADMINISTRATORS = (
    *("registered", "admin_mail", "hosts", "networks", "ip", "platform_version", "included_mail"),
    *("answered", "shared", "vouched", "waiting", "pending"),
)
_ARCHIVE = {
    "description": "A registered Archive. Without a token of the scope admin, only who is asked and where.",
    **record(
        {
            "rep": TEXT_OR_NULL,
            "ibip": TEXT_OR_NULL,
            "included": {**YES_NO, "description": "Whether it is switched on, so that resolutions ask it."},
            "address": TEXT_OR_NULL,
            "protocol": {"enum": ["HTTP", "HTTPS", None]},
            "confirmed": {**_YES_NO_OR_NULL, "description": "Whether it answered when it was last called back."},
            "since": {**_DATE_OR_NULL, "description": "When it was included with what it says now."},
            "prefixes": {
                **_TEXTS,
                "description": "Prefixes of labels of which it is the home besides those of its own label.",
            },
            "successor": {**TEXT_OR_NULL, "description": "The Archive that speaks for this one, which is gone."},
            "registered": _DATE,
            "admin_mail": TEXT_OR_NULL,
            "hosts": {**_TEXTS, "description": "Where its URLs may lead besides its own address."},
            "networks": {**_TEXTS, "description": "Not of the whole Internet, and it may be dialled there."},
            "ip": TEXT_OR_NULL,
            "platform_version": TEXT_OR_NULL,
            "included_mail": {**TEXT_OR_NULL, "description": "The administrator, as its inclusion names them."},
            "answered": {**_DATE_OR_NULL, "description": "When it last answered a call back, to some ten minutes."},
            "shared": {**YES_NO, "description": "Whether it may have a prefix that another Archive has."},
            "vouched": {
                **YES_NO,
                "description": "Whether its claims are followed while the home of an item is silent.",
            },
            "waiting": {
                **TEXT_OR_NULL,
                "description": "The other form of its label, as it claims it. Nothing proves it: `label` confirms it.",
            },
            "pending": {"oneOf": [_PENDING, {"type": "null"}]},
        },
        optional=frozenset(_FOR_ADMINISTRATORS),
    ),
}
_LETTER = {
    "description": "To the administrator: that the Archive is registered, and what to do next.",
    **record({"to": TEXT, "subject": TEXT, "text": TEXT, "sent": YES_NO, "reason": TEXT_OR_NULL}),
}
_REGISTERED = {
    "allOf": [
        reference("RegisteredArchive"),
        record(
            {
                "letter": {"oneOf": [reference("Letter"), {"type": "null"}]},
                "warnings": {**_TEXTS, "description": "What the person who registers it should know: an easy key."},
            }
        ),
    ]
}
_APPLICATION = {
    **record(
        {
            "labels": {**_TEXTS, "minItems": 1, "maxItems": 2, "description": "One IBI, in one or both forms."},
            "key": {**TEXT, "maxLength": MAX_KEY, "pattern": "^[0-9]{10,}(-[0-9]{10,})?$"},
            "admin_mail": TEXT_OR_NULL,
            "hosts": {**_TEXTS, "maxItems": MOST_HOSTS},
            "networks": {**_TEXTS, "maxItems": MOST_NETWORKS},
            "prefixes": {**_TEXTS, "maxItems": MOST_PREFIXES, "description": "Of which it is the home, too."},
            "shared": {**YES_NO, "default": False, "description": "It may have a prefix that another Archive has."},
            "allow_weak_key": {**YES_NO, "default": False, "description": "Take a key that is tried first."},
            "replace": {**YES_NO, "default": False, "description": "Give a registered Archive this new key."},
        },
        optional=frozenset({"admin_mail", "hosts", "networks", "prefixes", "shared", "allow_weak_key", "replace"}),
    ),
    "additionalProperties": False,
}
_PREFIXES = {**_TEXTS, "maxItems": MOST_PREFIXES}
_HOSTS = {**_TEXTS, "maxItems": MOST_HOSTS}
_NETWORKS = {**_TEXTS, "maxItems": MOST_NETWORKS}
_CHANGED = {
    "label": {**TEXT_OR_NULL, "description": "The other form of its label."},
    "add_prefixes": _PREFIXES,
    "remove_prefixes": _PREFIXES,
    "shared": _YES_NO_OR_NULL,
    "vouched": _YES_NO_OR_NULL,
    "successor": {**TEXT_OR_NULL, "description": "Another registered Archive, to speak for this one."},
    "no_successor": {**YES_NO, "default": False},
    "add_hosts": _HOSTS,
    "remove_hosts": _HOSTS,
    "allow": {**_NETWORKS, "description": "Networks, not of the whole Internet, in which it may be dialled."},
    "disallow": _NETWORKS,
    "admin_mail": TEXT_OR_NULL,
}
_CHANGE = {
    "description": "What is not there, or null, stays as it is. Its key, its seniority and its inclusion stay.",
    **record(_CHANGED, optional=frozenset(_CHANGED)),
    "additionalProperties": False,
}

_NOT_ADMITTED = {
    "401": refusal("There is no valid token."),
    "403": refusal("The token has not the scope admin."),
    "500": _FAILED,
    "503": refusal("Not at the moment; `retry_after` tells when to ask again."),
}
_BODY_REFUSED = {
    "400": refusal("The request cannot be understood; `field` names what is wrong."),
    "408": refusal("The body did not arrive in time."),
    "413": refusal("The body is too large."),
    "415": refusal("The body is not JSON as it stands."),
}
_UNKNOWN = {"404": refusal("There is no such Archive.")}
_LABEL = {"name": "label", "in": "path", "required": True, "schema": TEXT, "description": "In either form; any case."}


def _json_body(schema: str) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": reference(schema)}}}


_GET_ARCHIVES: dict[str, Any] = {
    "operationId": "listArchives",
    "summary": "The Archives that are registered here. More is told to administrators.",
    "security": [{}, {"token": []}],
    "responses": {
        "200": json_answer("They.", "RegisteredArchives"),
        **{status: _NOT_ADMITTED[status] for status in ("401", "500", "503")},
    },
}
_POST_ARCHIVES: dict[str, Any] = {
    "operationId": "registerArchive",
    "summary": "Register an Archive; its administrator is told by e-mail if this server can send some.",
    "security": [{"token": []}],
    "requestBody": _json_body("ArchiveApplication"),
    "responses": {
        "200": json_answer("Registered before; it has the new key.", "NewlyRegisteredArchive"),
        "201": json_answer("Registered.", "NewlyRegisteredArchive"),
        "404": refusal("There is no such Archive to give a new key to."),
        "409": refusal("It is registered already, or another Archive is the home of one of its prefixes."),
        **_BODY_REFUSED,
        **_NOT_ADMITTED,
    },
}
_GET_ARCHIVE: dict[str, Any] = {
    "operationId": "getArchive",
    "summary": "One Archive that is registered here.",
    "security": [{}, {"token": []}],
    "parameters": [_LABEL],
    "responses": {
        "200": json_answer("It.", "RegisteredArchive"),
        "400": refusal("The label is none."),
        **_UNKNOWN,
        **{status: _NOT_ADMITTED[status] for status in ("401", "500", "503")},
    },
}
_PATCH_ARCHIVE: dict[str, Any] = {
    "operationId": "changeArchive",
    "summary": "Change what is registered of an Archive, without its key.",
    "security": [{"token": []}],
    "parameters": [_LABEL],
    "requestBody": _json_body("ArchiveChange"),
    "responses": {
        "200": json_answer("The Archive as it is now.", "RegisteredArchive"),
        "409": refusal("Another Archive has this form of the label, or is the home of one of the prefixes."),
        **_UNKNOWN,
        **_BODY_REFUSED,
        **_NOT_ADMITTED,
    },
}
_DELETE_ARCHIVE: dict[str, Any] = {
    "operationId": "forgetArchive",
    "summary": "Take an Archive off the register: it is no longer asked and can no longer be included.",
    "security": [{"token": []}],
    "parameters": [_LABEL],
    "responses": {
        "200": json_answer("The Archive as it was.", "RegisteredArchive"),
        "400": refusal("The label is none."),
        **_UNKNOWN,
        **_NOT_ADMITTED,
    },
}

_GET_CLAIMS: dict[str, Any] = {
    "operationId": "listClaims",
    "summary": "What Archives claim against the word of an item's home, seen last first. No link leads there.",
    "security": [{}],
    "responses": {"200": json_answer("The claims.", "FalseClaims"), "500": _FAILED},
}

CLAIM_PATHS: dict[str, Any] = {"/api/claims": {"get": _GET_CLAIMS}}

ARCHIVE_PATHS: dict[str, Any] = {
    "/api/archives": {"get": _GET_ARCHIVES, "post": _POST_ARCHIVES},
    "/api/archives/{label}": {"get": _GET_ARCHIVE, "patch": _PATCH_ARCHIVE, "delete": _DELETE_ARCHIVE},
}
"""Joined to the paths of a server that resolves."""

ARCHIVE_SCHEMAS: dict[str, Any] = {
    "FalseClaims": record({"claims": {"type": "array", "items": reference("FalseClaim")}}),
    "FalseClaim": record(
        {
            "label": TEXT,
            "claimant": {**TEXT, "description": "The service of the Archive that claims it."},
            "home": {**TEXT, "description": "The service of the Archive that contradicts it."},
            "claim": {"enum": [kind.value for kind in ClaimKind]},
            "first_seen": _DATE,
            "last_seen": _DATE,
            "times": {"type": "integer"},
        }
    ),
    "RegisteredArchive": _ARCHIVE,
    "RegisteredArchives": record({"archives": {"type": "array", "items": reference("RegisteredArchive")}}),
    "NewlyRegisteredArchive": _REGISTERED,
    "ArchiveApplication": _APPLICATION,
    "ArchiveChange": _CHANGE,
    "Letter": _LETTER,
}
