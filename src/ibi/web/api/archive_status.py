"""`GET /api/archive`, the status of an Archive, and `GET /api/usage`, the use of all its items; both need a read
token."""

from __future__ import annotations

from http import HTTPStatus
from itertools import islice
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import InvalidLabel
from ibi.label import RepositoryName
from ibi.model.account import Scope
from ibi.web.api.callers import Callers
from ibi.web.api.records import JSON, usage_counts
from ibi.web.http.request_errors import InvalidParameter, PathNotFound

MOST_TOTALS: Final = 10_000
"""Items in one answer."""


class StandingPages:
    def __init__(self, callers: Callers) -> None:
        self._callers, self._site = callers, callers.site

    async def archive(self, request: Request) -> Response:
        await self._callers.token(request, Scope.READ)
        site, service = self._site, self._site.profile.service
        standing = {} if site.item_services is None else await self._callers.run_short(site.item_services.standing)
        return _json(
            {
                "begun": True,
                "rep": None if service.rep is None else service.rep.spelling,
                "ibip": None if service.ibip is None else service.ibip.spelling,
                "public_url": site.public_url,
                "content_url": site.content_url,
                "resolver": site.resolver,
                **standing,
            }
        )

    async def usage(self, request: Request) -> Response:
        """Return the use of every item that was used, ordered by repository name, a page at a time."""
        await self._callers.token(request, Scope.READ)
        log, after = self._site.usage, _after(request)
        if log is None:
            raise PathNotFound()
        found = await self._callers.run_short(
            lambda: list(
                islice(((rep, usage) for rep, usage in log.totals() if after is None or rep > after), MOST_TOTALS + 1)
            )
        )
        items = [{"rep": rep.spelling, **usage_counts(usage)} for rep, usage in found[:MOST_TOTALS]]
        links = {"self": f"{self._site.public_url}/api/usage"}
        if len(found) > MOST_TOTALS:
            links["next"] = f"{links['self']}?after={found[MOST_TOTALS - 1][0].spelling}"
        return _json({"items": items, "links": links})


def _after(request: Request) -> RepositoryName | None:
    text = request.query_params.get("after")
    try:
        return None if text is None else RepositoryName.parse(text)
    except InvalidLabel as error:
        raise InvalidParameter(field="after", reason=str(error).rstrip(".")) from None


def _json(body: object) -> Response:
    return Response(msgspec.json.encode(body), HTTPStatus.OK, {"cache-control": "no-store"}, JSON)
