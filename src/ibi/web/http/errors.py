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
from ibi.services.limits import LimitExceeded

PROBLEM = "application/problem+json"
LONGEST_RETRY = 3600
"""Seconds at most in Retry-After: even a clock that is years behind may be corrected within the hour. Limits know
exactly when there is room again."""


class ErrorStatus(NamedTuple):
    """How an error code is answered."""

    status: int
    field: str | None = None
    """The part of the request at fault, where the code alone tells it."""
    told: bool = True
    """Whether callers get the message too; one about this machine's files goes to the log alone."""


_INTERNAL = ErrorStatus(500, told=False)

# 400 is for a request that cannot be understood, 422 for one that is understood and contradicts an earlier one, as
# draft-ietf-httpapi-idempotency-key-header has it (its 409 is for two at once, which here share one answer); 503 is for
# what will pass.
ANSWERS: Mapping[str, ErrorStatus] = {
    # any application
    "error": _INTERNAL,
    "internal-error": ErrorStatus(500),
    "server-starting": ErrorStatus(503),
    "server-stopping": ErrorStatus(503),
    "server-full": ErrorStatus(503),
    "archive-switched-off": ErrorStatus(503),
    "too-many-connections": ErrorStatus(503),
    "too-many-open-files": ErrorStatus(503),
    "head-too-large": ErrorStatus(431),
    "not-found": ErrorStatus(404, "path"),
    "method-not-allowed": ErrorStatus(405, "method"),
    "not-acceptable": ErrorStatus(406, "Accept"),
    "misdirected-request": ErrorStatus(421, "Host"),
    "unsupported-media-type": ErrorStatus(415),
    "body-too-large": ErrorStatus(413, "body"),
    "body-too-slow": ErrorStatus(408, "body"),
    "upload-too-slow": ErrorStatus(408, "body"),
    "malformed-body": ErrorStatus(400, "body"),
    "unknown-member": ErrorStatus(400),
    "member-missing": ErrorStatus(400),
    "invalid-member": ErrorStatus(400),
    "invalid-parameter": ErrorStatus(400),
    "epoch-ended": ErrorStatus(410),
    "harvest-refused": ErrorStatus(400),
    "harvest-busy": ErrorStatus(503),
    "dump-interrupted": ErrorStatus(503),
    # values of the standard
    "invalid-input": ErrorStatus(400),
    "invalid-instant": ErrorStatus(400),
    "invalid-granularity": ErrorStatus(400),
    "invalid-label": ErrorStatus(400),
    "invalid-language-tag": ErrorStatus(400),
    "invalid-origin": ErrorStatus(400),
    "invalid-pairs": ErrorStatus(400),
    "invalid-relation": ErrorStatus(400),
    "invalid-message": ErrorStatus(400),
    "not-a-party": ErrorStatus(400, "holder"),
    "not-lost": ErrorStatus(409, "lost"),
    "invalid-persistent-url": ErrorStatus(400),
    "missing-pair": ErrorStatus(400),
    "missing-subject": ErrorStatus(400),
    "punctuated-label": ErrorStatus(404),
    "repeated-pair": ErrorStatus(400),
    "unknown-subject": ErrorStatus(400),
    # an Archive's items (E24)
    "unknown-item": ErrorStatus(404, "path"),
    "unknown-version": ErrorStatus(404, "path"),
    "item-deleted": ErrorStatus(410, "path"),
    "item-elsewhere": ErrorStatus(404, "path"),
    "original-elsewhere": ErrorStatus(404, "path"),
    "related-item-missing": ErrorStatus(404, "path"),
    "no-such-translation": ErrorStatus(404, "path"),
    "no-such-file": ErrorStatus(404, "path"),
    "unknown-format": ErrorStatus(404, "format"),
    "listing-not-permitted": ErrorStatus(403),
    "precondition-failed": ErrorStatus(412),
    "range-not-satisfiable": ErrorStatus(416, "Range"),
    # what an Archive refuses to keep or to change
    "invalid-item": ErrorStatus(400),
    "invalid-metadata": ErrorStatus(400),
    "invalid-network": ErrorStatus(400),
    "invalid-file-name": ErrorStatus(400),
    "invalid-file-path": ErrorStatus(400),
    "source-refused": ErrorStatus(400, told=False),
    "unreadable-record": ErrorStatus(400, "record"),
    "act-refused": ErrorStatus(400),
    "title-missing": ErrorStatus(400, "title"),
    "nothing-to-publish": ErrorStatus(400, "files"),
    "translation-language-missing": ErrorStatus(400, "language"),
    "transfer-refused": ErrorStatus(409),
    "peer-silent": ErrorStatus(502),
    "peer-refused": ErrorStatus(502),
    "peer-refused-token": ErrorStatus(502),
    "no-transfer-service": ErrorStatus(502),
    "too-many-offers": ErrorStatus(429),
    "release-not-believed": ErrorStatus(403),
    "original-not-given": ErrorStatus(403),
    "invalid-provenance": ErrorStatus(400, "chain"),
    "still-in-doubt": ErrorStatus(503),
    "archive-in-doubt": ErrorStatus(503),
    "item-in-doubt": ErrorStatus(503),
    "unknown-stage": ErrorStatus(400, "stage"),
    "label-taken": ErrorStatus(409),
    "alternate-taken": ErrorStatus(409, "alternates"),
    "not-allowed-now": ErrorStatus(409),
    "already-there": ErrorStatus(409),
    "original-needed": ErrorStatus(409),
    "service-item-stays": ErrorStatus(409),
    "untransferable-item": ErrorStatus(409),
    "second-successor": ErrorStatus(409),
    "edition-loop": ErrorStatus(409),
    "second-metadata-item": ErrorStatus(409),
    "metadata-of-itself": ErrorStatus(409),
    "metadata-of-metadata": ErrorStatus(409),
    "described-metadata": ErrorStatus(409),
    "second-translation": ErrorStatus(409),
    "translation-of-translation": ErrorStatus(409),
    "translations-of-its-own": ErrorStatus(409),
    "language-of-group": ErrorStatus(409, "language"),
    "version-not-restorable": ErrorStatus(409),
    # collections
    "unknown-collection": ErrorStatus(404, "path"),
    "invalid-collection": ErrorStatus(400),
    "collection-exists": ErrorStatus(409, "name"),
    "collection-full": ErrorStatus(409),
    "found-by-search": ErrorStatus(409),
    # drafts
    "unknown-draft": ErrorStatus(404, "path"),
    "not-a-draft": ErrorStatus(409, "path"),
    "draft-busy": ErrorStatus(409, "path"),
    "draft-published": ErrorStatus(409, "path"),
    "draft-outdated": ErrorStatus(409, "path"),
    "deletion-request": ErrorStatus(409, "path"),
    "deletion-lapsed": ErrorStatus(409, "path"),
    "fields-refused": ErrorStatus(409, "refused"),
    "refused-before": ErrorStatus(400),
    "changed-elsewhere": ErrorStatus(409),
    "too-many-files": ErrorStatus(413, "files"),
    "deposit-too-large": ErrorStatus(413, "body"),
    "too-many-drafts": ErrorStatus(409),
    "drafts-too-large": ErrorStatus(413, "body"),
    "draft-share-used": ErrorStatus(507),
    "disk-nearly-full": ErrorStatus(507),
    "under-review": ErrorStatus(409, "path"),
    "not-under-review": ErrorStatus(409, "path"),
    "review-needed": ErrorStatus(409, "path"),
    "review-outdated": ErrorStatus(409, "path"),
    "invalid-comment": ErrorStatus(400, "text"),
    "unknown-upload": ErrorStatus(404, "path"),
    "upload-busy": ErrorStatus(423, "path"),
    "upload-offset": ErrorStatus(409),
    "tus-version": ErrorStatus(412, "Tus-Resumable"),
    "checksum-mismatch": ErrorStatus(460, "Upload-Checksum"),
    "upload-unfinished": ErrorStatus(409, "files"),
    "upload-too-long": ErrorStatus(413, "body"),
    # requests of readers
    "invalid-field": ErrorStatus(400),
    "invalid-request": ErrorStatus(400),
    "too-many-requests": ErrorStatus(429),
    "unknown-request": ErrorStatus(404, "path"),
    "request-answered": ErrorStatus(409),
    "link-over": ErrorStatus(404),
    "nothing-withheld": ErrorStatus(409),
    "digest-mismatch": ErrorStatus(400),
    "invalid-digest": ErrorStatus(400),
    "relations-of-item": ErrorStatus(400),
    "read-only-archive": ErrorStatus(403),
    "register-refused": ErrorStatus(502),
    "register-missing": ErrorStatus(503),
    "claimed-elsewhere": ErrorStatus(409),
    "not-related": ErrorStatus(409),
    "wrong-language": ErrorStatus(409, "language"),
    "audit-broken": ErrorStatus(503, told=False),
    "audit-incomplete": ErrorStatus(503, told=False),
    "no-such-claim": ErrorStatus(404, "claimant"),
    "claim-withdrawn": ErrorStatus(409, "claimant"),
    "language-not-known": ErrorStatus(409, "claimant"),
    # notifications of other Archives and services
    "invalid-notification": ErrorStatus(400, "body"),
    "item-not-claimable": ErrorStatus(404, "body"),
    "sandbox-claim": ErrorStatus(403, "body"),
    "notification-conflict": ErrorStatus(409, "id"),
    "inbox-full": ErrorStatus(429),
    "too-many-notifications": ErrorStatus(429),
    "claim-accepted": ErrorStatus(409, "claimant"),
    # keys and what is signed with them
    "invalid-key": ErrorStatus(400, "key"),
    "invalid-statement": ErrorStatus(400),
    "key-damaged": ErrorStatus(503, told=False),
    "key-lost": ErrorStatus(503, told=False),
    # Copies of items of other Archives
    "not-wanted": ErrorStatus(409),
    "own-label": ErrorStatus(409),
    "sandbox-item": ErrorStatus(403),
    "wrong-object": ErrorStatus(502),
    "wrong-digest": ErrorStatus(502),
    "not-the-original": ErrorStatus(409),
    "original-deleted": ErrorStatus(410),
    "copy-too-large": ErrorStatus(413),
    "copy-has-too-many-files": ErrorStatus(413),
    "copies-too-large": ErrorStatus(507),
    "source-cut": ErrorStatus(502),
    "no-copy-service": ErrorStatus(502),
    "source-gone": ErrorStatus(404),
    "no-source": ErrorStatus(400, "from"),
    "unsafe-source": ErrorStatus(403, "from"),
    "copy-under-way": ErrorStatus(409),
    "copy-stopped": ErrorStatus(503),
    "unknown-job": ErrorStatus(404, "path"),
    "too-many-jobs": ErrorStatus(503),
    "no-label-given": ErrorStatus(400, "labels"),
    "missing-consent": ErrorStatus(400, "sure"),
    # what an Archive keeps, and should be able to read
    "content-changed": ErrorStatus(409),
    "content-exists": ErrorStatus(409),
    "content-missing": _INTERNAL,
    "content-damaged": ErrorStatus(500),
    "first-reading-under-way": ErrorStatus(503),
    "item-changing": ErrorStatus(503),
    # Of an item of an earlier version, while its files are read through for their sums.
    "crc-unknown": ErrorStatus(503),
    "file-missing": _INTERNAL,
    "invalid-document": _INTERNAL,
    "newer-document": _INTERNAL,
    "unread-member": _INTERNAL,
    # the register of a resolver
    "key-refused": ErrorStatus(403),
    "signature-missing": ErrorStatus(403),
    "signature-refused": ErrorStatus(403),
    "too-many-attempts": ErrorStatus(429),
    "hashing-busy": ErrorStatus(503),
    "too-many-traces": ErrorStatus(503),
    "too-many-links": ErrorStatus(503),
    "weak-key": ErrorStatus(400, "key"),
    "already-registered": ErrorStatus(409, "labels"),
    "prefix-taken": ErrorStatus(409, "prefixes"),
    "unknown-archive": ErrorStatus(404, "path"),
    "unknown-dispute": ErrorStatus(404, "path"),
    "cross-site-request": ErrorStatus(403),
    # what is followed, and who is told
    "invalid-follow": ErrorStatus(400, "search"),
    "own-service": ErrorStatus(400, "holder"),
    "settled-holder": ErrorStatus(409, "holder"),
    "too-many-holders": ErrorStatus(409, "holder"),
    "unknown-holder": ErrorStatus(404, "holder"),
    "unknown-follow": ErrorStatus(404, "id"),
    "follows-itself": ErrorStatus(400, "source"),
    "insecure-source": ErrorStatus(400, "token"),
    "unusable-source-token": ErrorStatus(400, "token"),
    "unknown-at-source": ErrorStatus(404, "label"),
    "source-away": ErrorStatus(502, "source"),
    "source-unusable": ErrorStatus(502, "source"),
    "feed-begun-again": ErrorStatus(502, "source"),
    "invalid-webhook": ErrorStatus(400, "url"),
    "unknown-webhook": ErrorStatus(404, "id"),
    "too-many-webhooks": ErrorStatus(409),
    # accounts
    "not-authenticated": ErrorStatus(401, "Authorization"),
    "not-allowed": ErrorStatus(403, "Authorization"),
    "not-your-item": ErrorStatus(403, "Authorization"),
    "unknown-account": ErrorStatus(404, "owner"),
    "beyond-role": ErrorStatus(400, "scope"),
    "unknown-token": ErrorStatus(404, "id"),
    "token-exists": ErrorStatus(409, "id"),
    "invalid-scope": ErrorStatus(400, "scope"),
    "invalid-token-name": ErrorStatus(400, "name"),
    "person-exists": ErrorStatus(409, "name"),
    "unknown-person": ErrorStatus(404, "name"),
    "invalid-person-name": ErrorStatus(400, "name"),
    "invalid-mail": ErrorStatus(400, "mail"),
    "mail-taken": ErrorStatus(409, "mail"),
    "invalid-role": ErrorStatus(400, "role"),
    "bad-invitation": ErrorStatus(403),
    "unknown-invitation": ErrorStatus(404, "invitation"),
    "last-admin": ErrorStatus(409, "name"),
    "too-many-tokens": ErrorStatus(409),
    "too-many-tokens-made": ErrorStatus(429),
    "code-needed": ErrorStatus(403),
    "provider-away": ErrorStatus(502),
    "provider-busy": ErrorStatus(503),
    "mail-busy": ErrorStatus(503),
    "no-mail-server": ErrorStatus(409),
    "provider-refused": ErrorStatus(403),
    "unknown-identity": ErrorStatus(403),
    "identity-taken": ErrorStatus(409),
    "too-many-refusals": ErrorStatus(503, told=False),
    "weak-password": ErrorStatus(400, "password"),
    "bad-sign-in": ErrorStatus(403),
    "too-many-guesses": ErrorStatus(429),
    "foreign-form": ErrorStatus(403),
    "signed-out": ErrorStatus(403),
    "signed-in-anew": ErrorStatus(403),
    "invalid-expiry": ErrorStatus(400, "expires"),
    # minting
    "invalid-count": ErrorStatus(400, "count"),
    "invalid-idempotency-key": ErrorStatus(400, "Idempotency-Key"),
    "idempotency-conflict": ErrorStatus(422, "Idempotency-Key"),
    "key-reused": ErrorStatus(422, "Idempotency-Key"),
    "clock-refused": ErrorStatus(503),
    "clock-behind": ErrorStatus(503),
    "clock-before-build": ErrorStatus(503),
    "clock-jumped": ErrorStatus(503),
    "queue-too-long": ErrorStatus(503, "count"),
    "another-instance": ErrorStatus(503),
    "minter-stopping": ErrorStatus(503),
    "identity-not-global": ErrorStatus(503),
    "identity-changed": ErrorStatus(503),
    "sandbox-is-final": ErrorStatus(503),
    # the store
    "store-unwritable": ErrorStatus(503),
    "disk-refused": ErrorStatus(503, told=False),
    "disk-full": ErrorStatus(507),
    "draft-damaged": _INTERNAL,
    "upload-damaged": ErrorStatus(500),
    "lock-held": ErrorStatus(503, told=False),
    "lock-refused": ErrorStatus(503, told=False),
    "mint-log-broken": ErrorStatus(503, told=False),
    "mint-log-lost": ErrorStatus(503, told=False),
    "storage": ErrorStatus(503, told=False),
    "store-closed": ErrorStatus(503, told=False),
    "store-damaged": ErrorStatus(503, told=False),
    "store-incomplete": ErrorStatus(503, told=False),
    "store-forked": _INTERNAL,
    "store-newer": ErrorStatus(503, told=False),
    "not-a-store": ErrorStatus(503, told=False),
    "identity-missing": ErrorStatus(503, told=False),
    "identity-in-use": ErrorStatus(503, told=False),
    "data-directory-copied": ErrorStatus(503, told=False),
    "archive-record-damaged": ErrorStatus(503, told=False),
    "archive-record-lost": ErrorStatus(503, told=False),
    "archive-record-missing": ErrorStatus(503, told=False),
    "no-archive-item": ErrorStatus(503, told=False),
    "several-archive-items": ErrorStatus(503, told=False),
    "change-unfinished": ErrorStatus(503, told=False),
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


def answer_to(error: IbiError) -> ErrorStatus:
    return ANSWERS.get(error.code, _INTERNAL)


def log_untold(error: IbiError, log: FilteringBoundLogger) -> None:
    """Log what is wrong with this server, of which clients are told only that something is."""
    if not answer_to(error).told:
        log.error("refused", code=error.code, detail=str(error), exc_info=error)


def problem_document(error: IbiError) -> _Problem:
    """The error as problem details, to be encoded."""
    answer = answer_to(error)
    return _Problem(
        f"urn:ibi:problem:{error.code}",
        error.code.replace("-", " ").capitalize(),
        answer.status,
        str(error) if answer.told else UNTOLD,
        _field(error, answer),
        _wait(error, answer.status),
    )


def problem(error: IbiError) -> Response:
    """The error as problem details, with the headers that go with its status."""
    answer, body = answer_to(error), problem_document(error)
    retry = body.retry_after
    headers = {"cache-control": "no-store", **_headers(error, answer.status, retry)}
    return Response(_ENCODER.encode(body), answer.status, headers, PROBLEM)


def retry_after(error: IbiError) -> int:
    """Whole seconds after which to ask again: at least what the error says, at most an hour unless it is a limit."""
    seconds = _named_wait(error)
    if isinstance(error, LimitExceeded):
        return error.retry_after
    return 1 if seconds is None else min(LONGEST_RETRY, max(1, ceil(seconds)))


def retry_header(error: IbiError) -> dict[str, str]:
    """`Retry-After` for an error that says when to ask again, for answers that are no problem details."""
    wait = _wait(error, answer_to(error).status)
    return {} if wait is None else {"retry-after": str(wait)}


def _wait(error: IbiError, status: int) -> int | None:
    """What is temporarily unavailable always says when to ask again, and who asked too often if it is known."""
    is_known = status == HTTPStatus.TOO_MANY_REQUESTS and _named_wait(error) is not None
    return retry_after(error) if is_known or status == HTTPStatus.SERVICE_UNAVAILABLE else None


def _named_wait(error: IbiError) -> int | float | Fraction | None:
    seconds = getattr(error, "retry_after", error.parameters.get("retry_after"))
    return seconds if isinstance(seconds, int | float | Fraction) else None


def _field(error: IbiError, answer: ErrorStatus) -> str | None:
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
