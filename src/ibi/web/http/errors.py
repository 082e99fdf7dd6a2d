"""Errors as answers: the one table from an error's code to a status, and problem details (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from http import HTTPStatus
from math import ceil
from typing import NamedTuple

import msgspec
from starlette.responses import Response
from structlog.typing import FilteringBoundLogger

from ibi.errors import IbiError

PROBLEM = "application/problem+json"
LONGEST_RETRY = 3600
"""Seconds at most in Retry-After: even a clock that is years behind may be corrected within the hour."""


class Answer(NamedTuple):
    """How an error code is answered."""

    status: int
    field: str | None = None
    """The part of the request at fault, where the code alone tells it."""
    told: bool = True
    """Whether callers get the message too; one about this machine's files goes to the log alone."""


_INTERNAL = Answer(500, told=False)

# 400 is for a request that cannot be understood, 422 for one that is understood and contradicts an earlier one, as
# draft-ietf-httpapi-idempotency-key-header has it (its 409 is for two at once, which here share one answer); 503 is for
# what will pass.
ANSWERS: Mapping[str, Answer] = {
    # any application
    "error": _INTERNAL,
    "internal-error": Answer(500),
    "server-starting": Answer(503),
    "server-stopping": Answer(503),
    "server-full": Answer(503),
    "too-many-connections": Answer(503),
    "too-many-open-files": Answer(503),
    "head-too-large": Answer(431),
    "not-found": Answer(404, "path"),
    "method-not-allowed": Answer(405, "method"),
    "not-acceptable": Answer(406, "Accept"),
    "misdirected-request": Answer(421, "Host"),
    "unsupported-media-type": Answer(415),
    "body-too-large": Answer(413, "body"),
    "body-too-slow": Answer(408, "body"),
    "upload-too-slow": Answer(408, "body"),
    "malformed-body": Answer(400, "body"),
    "unknown-member": Answer(400),
    "member-missing": Answer(400),
    "invalid-member": Answer(400),
    "invalid-parameter": Answer(400),
    # values of the standard
    "invalid-input": Answer(400),
    "invalid-instant": Answer(400),
    "invalid-granularity": Answer(400),
    "invalid-label": Answer(400),
    "invalid-language-tag": Answer(400),
    "invalid-origin": Answer(400),
    "invalid-pairs": Answer(400),
    "invalid-relation": Answer(400),
    "invalid-message": Answer(400),
    "invalid-persistent-url": Answer(400),
    "missing-pair": Answer(400),
    "missing-subject": Answer(400),
    "punctuated-label": Answer(404),
    "repeated-pair": Answer(400),
    "unknown-subject": Answer(400),
    # an Archive's items (E24)
    "unknown-item": Answer(404, "path"),
    "item-deleted": Answer(410, "path"),
    "item-elsewhere": Answer(404, "path"),
    "original-elsewhere": Answer(404, "path"),
    "related-item-missing": Answer(404, "path"),
    "no-such-translation": Answer(404, "path"),
    "no-such-file": Answer(404, "path"),
    "unknown-format": Answer(404, "format"),
    "listing-not-permitted": Answer(403),
    "precondition-failed": Answer(412),
    "range-not-satisfiable": Answer(416, "Range"),
    # what an Archive refuses to keep or to change
    "invalid-item": Answer(400),
    "invalid-metadata": Answer(400),
    "invalid-network": Answer(400),
    "invalid-file-name": Answer(400),
    "invalid-file-path": Answer(400),
    "source-refused": Answer(400, told=False),
    "title-missing": Answer(400, "title"),
    "nothing-to-publish": Answer(400, "files"),
    "translation-language-missing": Answer(400, "language"),
    "label-taken": Answer(409),
    "not-allowed-now": Answer(409),
    "already-there": Answer(409),
    "original-needed": Answer(409),
    "service-item-stays": Answer(409),
    "untransferable-item": Answer(409),
    "second-successor": Answer(409),
    "edition-loop": Answer(409),
    "second-metadata-item": Answer(409),
    "metadata-of-itself": Answer(409),
    "metadata-of-metadata": Answer(409),
    "described-metadata": Answer(409),
    "second-translation": Answer(409),
    "translation-of-translation": Answer(409),
    "translations-of-its-own": Answer(409),
    "language-of-group": Answer(409, "language"),
    # drafts
    "unknown-draft": Answer(404, "path"),
    "not-a-draft": Answer(409, "path"),
    "draft-busy": Answer(409, "path"),
    "draft-published": Answer(409, "path"),
    "draft-outdated": Answer(409, "path"),
    "too-many-files": Answer(413, "files"),
    "deposit-too-large": Answer(413, "body"),
    "too-many-drafts": Answer(409),
    "drafts-too-large": Answer(413, "body"),
    "draft-share-used": Answer(507),
    "disk-nearly-full": Answer(507),
    "digest-mismatch": Answer(400),
    "invalid-digest": Answer(400),
    "relations-of-item": Answer(400),
    "read-only-archive": Answer(403),
    "claimed-elsewhere": Answer(409),
    "not-related": Answer(409),
    "wrong-language": Answer(409, "language"),
    # what an Archive keeps, and should be able to read
    "content-changed": Answer(409),
    "content-exists": Answer(409),
    "content-missing": _INTERNAL,
    "content-damaged": Answer(500),
    "first-reading-under-way": Answer(503),
    "file-missing": _INTERNAL,
    "invalid-document": _INTERNAL,
    "newer-document": _INTERNAL,
    # the register of a resolver
    "key-refused": Answer(403),
    "too-many-attempts": Answer(429),
    "hashing-busy": Answer(503),
    "too-many-traces": Answer(503),
    "too-many-links": Answer(503),
    "weak-key": Answer(400, "key"),
    "already-registered": Answer(409, "labels"),
    "prefix-taken": Answer(409, "prefixes"),
    "unknown-archive": Answer(404, "path"),
    "cross-site-request": Answer(403),
    # accounts
    "not-authenticated": Answer(401, "Authorization"),
    "not-allowed": Answer(403, "Authorization"),
    "unknown-token": Answer(404, "id"),
    "token-exists": Answer(409, "id"),
    "invalid-scope": Answer(400, "scope"),
    "invalid-token-name": Answer(400, "name"),
    "person-exists": Answer(409, "name"),
    "unknown-person": Answer(404, "name"),
    "invalid-person-name": Answer(400, "name"),
    "invalid-role": Answer(400, "role"),
    "weak-password": Answer(400, "password"),
    "bad-sign-in": Answer(403),
    "too-many-guesses": Answer(429),
    "foreign-form": Answer(403),
    "invalid-expiry": Answer(400, "expires"),
    # minting
    "invalid-count": Answer(400, "count"),
    "invalid-idempotency-key": Answer(400, "Idempotency-Key"),
    "idempotency-conflict": Answer(422, "Idempotency-Key"),
    "clock-refused": Answer(503),
    "clock-behind": Answer(503),
    "clock-before-build": Answer(503),
    "clock-jumped": Answer(503),
    "queue-too-long": Answer(503, "count"),
    "another-instance": Answer(503),
    "minter-stopping": Answer(503),
    "identity-not-global": Answer(503),
    "identity-changed": Answer(503),
    "sandbox-is-final": Answer(503),
    # the store
    "store-unwritable": Answer(503),
    "disk-refused": Answer(503, told=False),
    "disk-full": Answer(507),
    "draft-damaged": _INTERNAL,
    "upload-damaged": Answer(500),
    "lock-held": Answer(503, told=False),
    "lock-refused": Answer(503, told=False),
    "mint-log-broken": Answer(503, told=False),
    "mint-log-lost": Answer(503, told=False),
    "storage": Answer(503, told=False),
    "store-closed": Answer(503, told=False),
    "store-damaged": Answer(503, told=False),
    "store-incomplete": Answer(503, told=False),
    "store-forked": _INTERNAL,
    "store-newer": Answer(503, told=False),
    "not-a-store": Answer(503, told=False),
    "identity-missing": Answer(503, told=False),
    "identity-in-use": Answer(503, told=False),
    "data-directory-copied": Answer(503, told=False),
    "archive-record-damaged": Answer(503, told=False),
    "change-unfinished": Answer(503, told=False),
}

UNTOLD = "This server cannot do it at the moment; its log says why."


class _Problem(msgspec.Struct, omit_defaults=True):
    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    retry_after: int | None = None


_ENCODER = msgspec.json.Encoder()


def answer_to(error: IbiError) -> Answer:
    return ANSWERS.get(error.code, _INTERNAL)


def log_untold(error: IbiError, log: FilteringBoundLogger) -> None:
    """Log what is wrong with this server, of which clients are told only that something is."""
    if not answer_to(error).told:
        log.error("refused", code=error.code, detail=str(error), exc_info=error)


def problem(error: IbiError) -> Response:
    """The error as problem details, with the headers that go with its status."""
    answer = answer_to(error)
    retry = retry_after(error) if answer.status == HTTPStatus.SERVICE_UNAVAILABLE else None
    body = _Problem(
        f"urn:ibi:problem:{error.code}",
        error.code.replace("-", " ").capitalize(),
        answer.status,
        str(error) if answer.told else UNTOLD,
        _field(error, answer),
        retry,
    )
    headers = {"cache-control": "no-store", **_headers(error, answer.status, retry)}
    return Response(_ENCODER.encode(body), answer.status, headers, PROBLEM)


def retry_after(error: IbiError) -> int:
    """Whole seconds after which to ask again: at least what the error says, at most an hour."""
    seconds = getattr(error, "retry_after", None)
    return min(LONGEST_RETRY, max(1, ceil(seconds))) if isinstance(seconds, int | float | Fraction) else 1


def _field(error: IbiError, answer: Answer) -> str | None:
    named = error.parameters.get("field")
    return named if isinstance(named, str) else answer.field


def _headers(error: IbiError, status: int, retry: int | None) -> dict[str, str]:
    if status == HTTPStatus.UNAUTHORIZED:
        return {"www-authenticate": 'Bearer realm="ibi"'}
    needed = error.parameters.get("needed")
    if status == HTTPStatus.FORBIDDEN and needed is not None:
        return {"www-authenticate": f'Bearer realm="ibi", error="insufficient_scope", scope="{needed}"'}
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return {"allow": str(error.parameters.get("allowed"))}
    if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return {"content-range": f"bytes */{error.parameters.get('size')}"}
    return {} if retry is None else {"retry-after": str(retry)}
