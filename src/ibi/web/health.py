"""`GET /healthz`, whether the process lives, and `GET /readyz`, whether it would mint. For machines that watch it."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import IbiError
from ibi.services.readiness import Readiness
from ibi.web.errors import retry_after

__all__ = ["HealthPage", "healthz"]

_NO_STORE = {"cache-control": "no-store"}


async def healthz(_: Request) -> Response:
    return Response(b'{"status":"alive"}', HTTPStatus.OK, _NO_STORE, "application/json")


class HealthPage:
    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness

    async def readyz(self, _: Request) -> Response:
        reasons = await self._readiness.reasons()
        body = {"ready": not reasons, "reasons": [_reason(each) for each in reasons]}
        status, headers = HTTPStatus.OK, _NO_STORE
        if reasons:
            wait = min(retry_after(each) for each in reasons)
            status, headers = HTTPStatus.SERVICE_UNAVAILABLE, {**_NO_STORE, "retry-after": str(wait)}
        return Response(msgspec.json.encode(body), status, headers, "application/json")


def _reason(error: IbiError) -> dict[str, object]:
    return {"code": error.code, "detail": str(error), "retry_after": retry_after(error)}
