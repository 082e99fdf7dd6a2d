"""`GET /healthz`, whether the process lives, and `GET /readyz`, whether it can mint and serve its items. For
monitoring."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import IbiError
from ibi.services.readiness import Readiness
from ibi.web.http.errors import UNTOLD, answer_to, retry_after

_READY = b'{"ready":true,"reasons":[]}'
_NO_STORE = {"cache-control": "no-store"}


async def healthz(_: Request) -> Response:
    return Response(b'{"status":"alive"}', HTTPStatus.OK, _NO_STORE, "application/json")


class HealthPage:
    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness

    async def readyz(self, _: Request) -> Response:
        reasons = await self._readiness.reasons()
        return not_ready(reasons) if reasons else Response(_READY, HTTPStatus.OK, _NO_STORE, "application/json")


def not_ready(reasons: Sequence[IbiError]) -> Response:
    body = {"ready": False, "reasons": [_reason(each) for each in reasons]}
    wait = min(retry_after(each) for each in reasons)
    headers = {**_NO_STORE, "retry-after": str(wait)}
    return Response(msgspec.json.encode(body), HTTPStatus.SERVICE_UNAVAILABLE, headers, "application/json")


def _reason(error: IbiError) -> dict[str, object]:
    """One reason as JSON. A message about this machine's files goes to the log alone."""
    detail = str(error) if answer_to(error).told else UNTOLD
    return {"code": error.code, "detail": detail, "retry_after": retry_after(error)}
