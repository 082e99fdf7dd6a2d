"""Errors as answers: problem details (RFC 9457), and the headers for each status."""

from __future__ import annotations

from fractions import Fraction
from http import HTTPStatus
from math import ceil

import msgspec
from msgspec import UNSET
from starlette.responses import Response
from structlog.typing import FilteringBoundLogger

from ibi.jobs.limits import LimitExceeded
from ibi.minting.resources import ProblemResource
from ibi.standard.errors import ErrorKind, IbiError

PROBLEM = "application/problem+json"
LONGEST_RETRY = 3600
"""Largest Retry-After in seconds: even a clock that is years behind may be corrected within the hour. A limit knows its
exact time."""


UNTOLD = "This server cannot do it at the moment; its log says why."


_ENCODER = msgspec.json.Encoder()


def log_untold(error: IbiError, log: FilteringBoundLogger) -> None:
    """Log the details of a fault of this server. Clients only learn that there is one."""
    if not error.kind.is_told:
        log.error("refused", code=error.code, detail=str(error), exc_info=error)


def problem_details(error: IbiError) -> ProblemResource:
    field, wait = _field(error), _wait(error)
    return ProblemResource(
        f"urn:ibi:problem:{error.code}",
        error.code.replace("-", " ").capitalize(),
        error.kind.status,
        str(error) if error.kind.is_told else UNTOLD,
        UNSET if field is None else field,
        UNSET if wait is None else wait,
    )


def problem(error: IbiError) -> Response:
    """Return the error as problem details, with the headers for its status."""
    body = problem_details(error)
    headers = {"cache-control": "no-store", **_headers(error, body.retry_after or None)}
    return Response(_ENCODER.encode(body), body.status, headers, PROBLEM)


def retry_after(error: IbiError) -> int:
    """Return the whole seconds after which to ask again: at least those of the error, at most an hour unless it is a
    limit."""
    seconds = _named_wait(error)
    if isinstance(error, LimitExceeded):
        return error.retry_after
    return 1 if seconds is None else min(LONGEST_RETRY, max(1, ceil(seconds)))


def retry_header(error: IbiError) -> dict[str, str]:
    """Return `Retry-After` for an error that has a time to ask again, for answers other than problem details."""
    wait = _wait(error)
    return {} if wait is None else {"retry-after": str(wait)}


def _wait(error: IbiError) -> int | None:
    """Return the wait: a 503 always has one, and a 429 if it is known."""
    status = error.kind.status
    is_known = status == HTTPStatus.TOO_MANY_REQUESTS and _named_wait(error) is not None
    return retry_after(error) if is_known or status == HTTPStatus.SERVICE_UNAVAILABLE else None


def _named_wait(error: IbiError) -> int | float | Fraction | None:
    seconds = getattr(error, "retry_after", error.parameters.get("retry_after"))
    return seconds if isinstance(seconds, int | float | Fraction) else None


def _field(error: IbiError) -> str | None:
    named = error.parameters.get("field")
    return named if isinstance(named, str) else error.request_field


def _headers(error: IbiError, retry: int | None) -> dict[str, str]:
    if error.kind is ErrorKind.UNAUTHENTICATED:
        return {"www-authenticate": 'Bearer realm="ibi"'}
    needed = error.parameters.get("needed")
    if error.kind is ErrorKind.FORBIDDEN and needed is not None:
        return {"www-authenticate": f'Bearer realm="ibi", error="insufficient_scope", scope="{needed}"'}
    if error.kind is ErrorKind.METHOD_NOT_ALLOWED:
        return {"allow": str(error.parameters.get("allowed"))}
    if error.kind is ErrorKind.RANGE_NOT_SATISFIABLE:
        return {"content-range": f"bytes */{error.parameters.get('size')}"}
    return {} if retry is None else {"retry-after": str(retry)}
