"""`GET /api/openapi.json`: the API described for programs. Written by hand; tests hold it against the routes."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi import __version__
from ibi.minting.minter import MAX_COUNT
from ibi.web.body import MOST
from ibi.web.errors import LONGEST_RETRY, PROBLEM
from ibi.web.labels import JSON, MAX_KEY, NDJSON

__all__ = ["document", "openapi"]


def document() -> dict[str, Any]:
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


async def openapi(_: Request) -> Response:
    return Response(msgspec.json.encode(document()), media_type=JSON)


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _json(description: str, name: str) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": _ref(name)}}}


def _header(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "required": True, "schema": schema}


def _refusal(description: str, **headers: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": description, "content": {PROBLEM: {"schema": _ref("Problem")}}}
    return (
        {**answer, "headers": {name.replace("_", "-"): header for name, header in headers.items()}}
        if headers
        else answer
    )


_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_YES_NO = {"type": "boolean"}
_PORT = {"type": "integer", "minimum": 1, "maximum": 65535}
_RETRY = {"type": "integer", "minimum": 1, "maximum": LONGEST_RETRY}
_SECONDS = {"type": "number", "minimum": 0}
_COUNT = {"type": "integer", "minimum": 1, "maximum": MAX_COUNT}
_RETRY_AFTER = _header("Seconds after which asking again makes sense.", _RETRY)
_CHALLENGE = _header("The scheme to authenticate with: Bearer.", _TEXT)

_LABEL = _object(
    {
        "rep": {**_TEXT, "description": "The repository name."},
        "ibip": {**_TEXT_OR_NULL, "description": "The IBIp of the same instant; null where the minter has no address."},
        "instant": {**_TEXT, "format": "date-time", "description": "The instant that both were made from, in UTC."},
        "sandbox": {**_YES_NO, "description": "Whether it is only for trying out: nobody guarantees its uniqueness."},
    }
)
_LABELS = _object({"labels": {"type": "array", "items": _ref("Label")}})
_IDENTITY = _object(
    {
        "host": _TEXT,
        "ip": _TEXT_OR_NULL,
        "host_port": _PORT,
        "ip_port": _PORT,
        "prefixes": _object({"rep": _TEXT, "ibip": _TEXT_OR_NULL}),
        "is_global": {**_YES_NO, "description": "Whether host and address mean one place in the whole Internet."},
        "sandbox": _YES_NO,
        "granularity": {**_TEXT, "description": "Seconds between two dates (`60`, `1`, `0.1` …), or `auto`."},
        "wait_bound": {**_SECONDS, "description": "Longest wait, in seconds, at granularity `auto` and a right clock."},
        "longest_wait": {**_SECONDS, "description": "Longest wait in seconds before a request is refused instead."},
        "max_count": {**_COUNT, "description": "Most labels in one request."},
        "clock": _object(
            {
                "accepted": {**_YES_NO, "description": "Whether this machine's clock is believed at the moment."},
                "code": {**_TEXT_OR_NULL, "description": "If not, the code of the reason,"},
                "reason": {**_TEXT_OR_NULL, "description": "and the reason."},
            }
        ),
    }
)
_TOKEN = _object(
    {
        "id": _TEXT,
        "name": _TEXT,
        "scope": {"enum": ["read", "deposit", "admin"]},
        "created": {**_TEXT, "format": "date-time"},
        "expires": {**_TEXT_OR_NULL, "format": "date-time"},
        "revoked": {**_TEXT_OR_NULL, "format": "date-time"},
    }
)
_NEW_TOKEN = _object(
    {"token": {**_TEXT, "description": "The text to be shown to this server."}, **_TOKEN["properties"]}
)
_TOKENS = _object({"tokens": {"type": "array", "items": _ref("Token")}})
_READINESS = _object(
    {
        "ready": _YES_NO,
        "reasons": {"type": "array", "items": _object({"code": _TEXT, "detail": _TEXT, "retry_after": _RETRY})},
    }
)
_PROBLEM: dict[str, Any] = {
    "description": "Problem details (RFC 9457).",
    "type": "object",
    "properties": {
        "type": {**_TEXT, "pattern": "^urn:ibi:problem:[a-z-]+$"},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "field": {**_TEXT, "description": "The member, header or part of the request at fault."},
        "retry_after": _RETRY,
    },
    "required": ["type", "title", "status", "detail"],
}

_FAILED = _refusal("Something went wrong here; the problem names the entry of the server's log.")

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
            "schema": {**_TEXT, "minLength": 1, "maxLength": MAX_KEY, "pattern": "^[ -~]+$"},
        }
    ],
    "requestBody": {
        "required": False,
        "description": f"At most {MOST} bytes. No body asks for one label.",
        "content": {JSON: {"schema": {**_object({"count": _COUNT}), "additionalProperties": False}}},
    },
    "responses": {
        "201": {
            "description": "The labels, in the order of their instants. Large answers come as a stream.",
            "headers": {"Cache-Control": _header("Always no-store.", {"const": "no-store"})},
            "content": {
                JSON: {"schema": _ref("Labels")},
                NDJSON: {"schema": {**_TEXT, "description": "One `Label` a line, each line ended by a line feed."}},
            },
        },
        "400": _refusal("The body or a header cannot be understood; `field` names what is wrong."),
        "401": _refusal("The token is missing, wrong, expired or revoked.", WWW_Authenticate=_CHALLENGE),
        "403": _refusal("The token's scope is less than deposit.", WWW_Authenticate=_CHALLENGE),
        "406": _refusal("Accept allows none of the forms of the answer."),
        "408": _refusal("The body did not arrive in time."),
        "413": _refusal("The body is too large."),
        "415": _refusal("The body is not JSON as it stands."),
        "422": _refusal("The key was used before for another count."),
        "500": _FAILED,
        "503": _refusal(
            "Nothing can be minted now: the clock of the machine cannot be trusted, too many labels are waited for, the"
            " store cannot be written, or the server is stopping.",
            Retry_After=_RETRY_AFTER,
        ),
    },
}
_FOR_ADMINISTRATORS = {
    "401": _refusal("The token is missing, wrong, expired or revoked.", WWW_Authenticate=_CHALLENGE),
    "403": _refusal("The token's scope is less than admin.", WWW_Authenticate=_CHALLENGE),
    "500": _FAILED,
    "503": _refusal("The store cannot be used, or the server is stopping.", Retry_After=_RETRY_AFTER),
}
_GET_TOKENS: dict[str, Any] = {
    "operationId": "listTokens",
    "summary": "Every token, revoked ones too; never their secrets.",
    "security": [{"token": []}],
    "responses": {"200": _json("The tokens.", "Tokens"), **_FOR_ADMINISTRATORS},
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
                        "name": _TEXT,
                        "expires": {**_TEXT_OR_NULL, "format": "date-time"},
                    },
                    "required": ["scope"],
                    "additionalProperties": False,
                }
            }
        },
    },
    "responses": {
        "201": _json("The new token.", "NewToken"),
        "400": _refusal("The body cannot be understood; `field` names what is wrong."),
        "408": _refusal("The body did not arrive in time."),
        "413": _refusal("The body is too large."),
        "415": _refusal("The body is not JSON as it stands."),
        **_FOR_ADMINISTRATORS,
    },
}
_DELETE_TOKEN: dict[str, Any] = {
    "operationId": "revokeToken",
    "summary": "Revoke a token, at once and for good. A second time changes nothing.",
    "security": [{"token": []}],
    "parameters": [{"name": "id", "in": "path", "required": True, "schema": _TEXT}],
    "responses": {
        "200": _json("The token as it is now.", "Token"),
        "404": _refusal("There is no such token."),
        **_FOR_ADMINISTRATORS,
    },
}
_GET_IDENTITY: dict[str, Any] = {
    "operationId": "getIdentity",
    "summary": "Who mints here, how finely, and whether its clock is believed.",
    "responses": {"200": _json("The identity.", "Identity"), "500": _FAILED},
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
        "200": {"description": "It does.", "content": {JSON: {"schema": _object({"status": {"const": "alive"}})}}},
        "500": _FAILED,
    },
}
_GET_READYZ: dict[str, Any] = {
    "operationId": "getReadiness",
    "summary": "Whether a label asked for now would be minted.",
    "responses": {
        "200": _json("It would.", "Readiness"),
        "500": _FAILED,
        "503": {**_json("It would not, for these reasons.", "Readiness"), "headers": {"Retry-After": _RETRY_AFTER}},
    },
}
_GET_METRICS: dict[str, Any] = {
    "operationId": "getMetrics",
    "summary": "Counters for Prometheus.",
    "responses": {
        "200": {"description": "In Prometheus' text format.", "content": {"text/plain": {"schema": _TEXT}}},
        "500": _FAILED,
    },
}
