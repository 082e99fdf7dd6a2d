"""`GET /api/openapi.json`: the API described for programs. Written by hand; tests hold it against the routes."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi import __version__
from ibi.minting.minter import MAX_COUNT
from ibi.web.api.labels import JSON, NDJSON
from ibi.web.http.body import MOST
from ibi.web.http.errors import LONGEST_RETRY
from ibi.web.http.headers import MAX_KEY
from ibi.web.openapi_archives import ARCHIVE_PATHS, ARCHIVE_SCHEMAS, CLAIM_PATHS
from ibi.web.openapi_draft_schemas import DRAFT_SCHEMAS
from ibi.web.openapi_drafts import DRAFT_PATHS
from ibi.web.openapi_parts import TEXT, TEXT_OR_NULL, YES_NO, header, json_answer, record, reference, refusal
from ibi.web.openapi_records import RECORD_PATHS, RECORD_SCHEMAS


def document(*, archive: bool = False, register: bool = False) -> dict[str, Any]:
    """The description; with an Archive, of its items too, and with a `register`, of a resolver's Archives."""
    described = _document()
    if archive:
        described["info"]["summary"] = "Mints Internet Based Identifiers, and keeps what they name."
        for path, operations in (*RECORD_PATHS.items(), *DRAFT_PATHS.items()):
            described["paths"].setdefault(path, {}).update(operations)
        described["components"]["schemas"] |= RECORD_SCHEMAS | DRAFT_SCHEMAS
    if register:
        described["paths"] |= ARCHIVE_PATHS | CLAIM_PATHS
        described["components"]["schemas"] |= ARCHIVE_SCHEMAS
    return described


def _document() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ibi",
            "version": __version__,
            "summary": "Mints Internet Based Identifiers.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": {
            "/api/labels": {"post": _POST_LABELS},
            "/api/identity": {"get": _GET_IDENTITY},
            "/api/openapi.json": {"get": _GET_OPENAPI},
            "/api/tokens": {"get": _GET_TOKENS, "post": _POST_TOKENS},
            "/api/tokens/{id}": {"delete": _DELETE_TOKEN},
            "/healthz": {"get": _GET_HEALTHZ},
            "/readyz": {"get": _GET_READYZ},
            "/metrics": {"get": _GET_METRICS},
        },
        "components": {
            "schemas": {
                "Label": _LABEL,
                "Labels": _LABELS,
                "Identity": _IDENTITY,
                "Readiness": _READINESS,
                "Token": _TOKEN,
                "NewToken": _NEW_TOKEN,
                "Tokens": _TOKENS,
                "Problem": _PROBLEM,
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of `ibi token create`, in the Authorization header.",
                }
            },
        },
    }


class OpenApiPage:
    def __init__(self, *, archive: bool, register: bool = False) -> None:
        self._body = msgspec.json.encode(document(archive=archive, register=register))

    async def get(self, _: Request) -> Response:
        return Response(self._body, media_type=JSON)


_PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
_RETRY = {"type": "integer", "minimum": 1, "maximum": LONGEST_RETRY}
_SECONDS = {"type": "number", "minimum": 0}
_COUNT = {"type": "integer", "minimum": 1, "maximum": MAX_COUNT}
_RETRY_AFTER = header("Seconds after which asking again makes sense.", _RETRY)
_CHALLENGE = header("The scheme to authenticate with: Bearer.", TEXT)

_LABEL = record(
    {
        "rep": {**TEXT, "description": "The repository name."},
        "ibip": {**TEXT_OR_NULL, "description": "The IBIp of the same instant; null where the minter has no address."},
        "instant": {**TEXT, "format": "date-time", "description": "The instant that both were made from, in UTC."},
        "sandbox": {**YES_NO, "description": "Whether it is only for trying out: nobody guarantees its uniqueness."},
    }
)
_LABELS = record({"labels": {"type": "array", "items": reference("Label")}})
_IDENTITY = record(
    {
        "host": TEXT,
        "ip": TEXT_OR_NULL,
        "host_port": _PORT,
        "ip_port": _PORT,
        "prefixes": record({"rep": TEXT, "ibip": TEXT_OR_NULL}),
        "is_global": {**YES_NO, "description": "Whether host and address mean one place in the whole Internet."},
        "sandbox": YES_NO,
        "instance": {**TEXT, "description": "Tells this minter from a copy of it that answers in the same name."},
        "granularity": {**TEXT, "description": "Seconds between two dates (`60`, `1`, `0.1` …), or `auto`."},
        "wait_bound": {**_SECONDS, "description": "Longest wait, in seconds, at granularity `auto` and a right clock."},
        "longest_wait": {**_SECONDS, "description": "Longest wait in seconds before a request is refused instead."},
        "max_count": {**_COUNT, "description": "Most labels in one request."},
        "clock": record(
            {
                "accepted": {**YES_NO, "description": "Whether this machine's clock is believed at the moment."},
                "code": {**TEXT_OR_NULL, "description": "If not, the code of the reason,"},
                "reason": {**TEXT_OR_NULL, "description": "and the reason."},
            }
        ),
    }
)
_TOKEN = record(
    {
        "id": TEXT,
        "name": TEXT,
        "scope": {"enum": ["read", "deposit", "admin"]},
        "created": {**TEXT, "format": "date-time"},
        "expires": {**TEXT_OR_NULL, "format": "date-time"},
        "revoked": {**TEXT_OR_NULL, "format": "date-time"},
    }
)
_NEW_TOKEN = record({"token": {**TEXT, "description": "The text to be shown to this server."}, **_TOKEN["properties"]})
_TOKENS = record({"tokens": {"type": "array", "items": reference("Token")}})
_READINESS = record(
    {
        "ready": YES_NO,
        "reasons": {"type": "array", "items": record({"code": TEXT, "detail": TEXT, "retry_after": _RETRY})},
    }
)
_PROBLEM: dict[str, Any] = {
    "description": "Problem details (RFC 9457).",
    "type": "object",
    "properties": {
        "type": {**TEXT, "pattern": "^urn:ibi:problem:[a-z-]+$"},
        "title": TEXT,
        "status": {"type": "integer"},
        "detail": TEXT,
        "field": {**TEXT, "description": "The member, header or part of the request at fault."},
        "retry_after": _RETRY,
    },
    "required": ["type", "title", "status", "detail"],
}

_FAILED = refusal("Something went wrong here; the problem names the entry of the server's log.")

_POST_LABELS: dict[str, Any] = {
    "operationId": "mintLabels",
    "summary": "Mint labels.",
    "description": (
        "Labels that nobody has, had or will have. They are on disk before the first byte of the answer is sent. A"
        " request that is refused mints nothing."
    ),
    "security": [{"token": []}],
    "parameters": [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": (
                "With a key, asking again (with the same token, within 24 hours at least) gets the same labels. A new"
                " request takes a new key."
            ),
            "schema": {**TEXT, "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[ -~]+$"},
        }
    ],
    "requestBody": {
        "required": False,
        "description": f"At most {MOST} bytes. No body asks for one label.",
        "content": {JSON: {"schema": {**record({"count": _COUNT}), "additionalProperties": False}}},
    },
    "responses": {
        "201": {
            "description": "The labels, in the order of their instants. Large answers come as a stream.",
            "headers": {"Cache-Control": header("Always no-store.", {"const": "no-store"})},
            "content": {
                JSON: {"schema": reference("Labels")},
                NDJSON: {"schema": {**TEXT, "description": "One `Label` a line, each line ended by a line feed."}},
            },
        },
        "400": refusal("The body or a header cannot be understood; `field` names what is wrong."),
        "401": refusal("The token is missing, wrong, expired or revoked.", WWW_Authenticate=_CHALLENGE),
        "403": refusal("The token's scope is less than deposit.", WWW_Authenticate=_CHALLENGE),
        "406": refusal("Accept allows none of the forms of the answer."),
        "408": refusal("The body did not arrive in time."),
        "413": refusal("The body is too large."),
        "415": refusal("The body is not JSON as it stands."),
        "422": refusal("The key was used before for another count."),
        "500": _FAILED,
        "503": refusal(
            "Nothing can be minted now: the clock of the machine cannot be trusted, too many labels are waited for, the"
            " store cannot be written, another instance mints in the same name, or the server is stopping.",
            Retry_After=_RETRY_AFTER,
        ),
    },
}
_FOR_ADMINISTRATORS = {
    "401": refusal("The token is missing, wrong, expired or revoked.", WWW_Authenticate=_CHALLENGE),
    "403": refusal("The token's scope is less than admin.", WWW_Authenticate=_CHALLENGE),
    "500": _FAILED,
    "503": refusal("The store cannot be used, or the server is stopping.", Retry_After=_RETRY_AFTER),
}
_GET_TOKENS: dict[str, Any] = {
    "operationId": "listTokens",
    "summary": "Every token, revoked ones too; never their secrets.",
    "security": [{"token": []}],
    "responses": {"200": json_answer("The tokens.", "Tokens"), **_FOR_ADMINISTRATORS},
}
_POST_TOKENS: dict[str, Any] = {
    "operationId": "createToken",
    "summary": "Create a token; its text is in this answer and never shown again.",
    "security": [{"token": []}],
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": {
                    "type": "object",
                    "properties": {
                        "scope": {"enum": ["read", "deposit", "admin"]},
                        "name": TEXT,
                        "expires": {**TEXT_OR_NULL, "format": "date-time"},
                    },
                    "required": ["scope"],
                    "additionalProperties": False,
                }
            }
        },
    },
    "responses": {
        "201": json_answer("The new token.", "NewToken"),
        "400": refusal("The body cannot be understood; `field` names what is wrong."),
        "408": refusal("The body did not arrive in time."),
        "413": refusal("The body is too large."),
        "415": refusal("The body is not JSON as it stands."),
        **_FOR_ADMINISTRATORS,
    },
}
_DELETE_TOKEN: dict[str, Any] = {
    "operationId": "revokeToken",
    "summary": "Revoke a token, at once and for good. A second time changes nothing.",
    "security": [{"token": []}],
    "parameters": [{"name": "id", "in": "path", "required": True, "schema": TEXT}],
    "responses": {
        "200": json_answer("The token as it is now.", "Token"),
        "404": refusal("There is no such token."),
        **_FOR_ADMINISTRATORS,
    },
}
_GET_IDENTITY: dict[str, Any] = {
    "operationId": "getIdentity",
    "summary": "Who mints here, how finely, and whether its clock is believed.",
    "responses": {"200": json_answer("The identity.", "Identity"), "500": _FAILED},
}
_GET_OPENAPI: dict[str, Any] = {
    "operationId": "getDescription",
    "summary": "This description.",
    "responses": {"200": {"description": "It.", "content": {JSON: {"schema": {"type": "object"}}}}, "500": _FAILED},
}
_GET_HEALTHZ: dict[str, Any] = {
    "operationId": "getHealth",
    "summary": "Whether the process lives.",
    "responses": {
        "200": {"description": "It does.", "content": {JSON: {"schema": record({"status": {"const": "alive"}})}}},
        "500": _FAILED,
    },
}
_GET_READYZ: dict[str, Any] = {
    "operationId": "getReadiness",
    "summary": "Whether a label asked for now would be minted.",
    "responses": {
        "200": json_answer("It would.", "Readiness"),
        "500": _FAILED,
        "503": {
            **json_answer("It would not, for these reasons.", "Readiness"),
            "headers": {"Retry-After": _RETRY_AFTER},
        },
    },
}
_GET_METRICS: dict[str, Any] = {
    "operationId": "getMetrics",
    "summary": "Counters for Prometheus.",
    "responses": {
        "200": {"description": "In Prometheus' text format.", "content": {"text/plain": {"schema": TEXT}}},
        "500": _FAILED,
    },
}
