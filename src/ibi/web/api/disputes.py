"""`/api/disputes`: who claims an Original beside its known holder. The list is public; administrators settle it."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.label import parse
from ibi.model.account import Scope
from ibi.services.promptness import ask, beside
from ibi.services.resolving.disputes import Disputes, dispute_facts
from ibi.services.resolving.resolver_service import ResolverService
from ibi.web.api.archives import read_json
from ibi.web.api.authentication import Authentication, name_of
from ibi.web.http.request import by_method, percent_decode, raw_path
from ibi.web.http.request_errors import PathNotFound

PREFIX: Final = b"/api/disputes/"
_HEADERS: Final = {"cache-control": "no-store"}


class _Ruling(msgspec.Struct, forbid_unknown_fields=True):
    holder: str


class DisputeEndpoints:
    """Labels hold slashes: the path is read as it came."""

    def __init__(self, disputes: Disputes, authentication: Authentication, resolving: ResolverService) -> None:
        self._disputes, self._authentication, self._resolving = disputes, authentication, resolving

    def routes(self) -> list[Route]:
        return [
            Route("/api/disputes", self.list),
            Route("/api/disputes/{label:path}", by_method(PUT=self.settle), methods=["PUT"]),
        ]

    async def list(self, request: Request) -> Response:
        settled = request.query_params.get("settled", "") == "yes"
        disputes = await ask(self._disputes, lambda: self._disputes.all(settled=settled))
        return _answer({"disputes": [dispute_facts(each) for each in disputes]})

    async def settle(self, request: Request) -> Response:
        """Say who holds the Original."""
        token = await self._authentication.require(request.scope["headers"], Scope.ADMIN)
        path = raw_path(request.scope)
        if not path.startswith(PREFIX):
            raise PathNotFound()
        label, wanted = parse(percent_decode(path[len(PREFIX) :])), await read_json(request, _Ruling)
        holder = parse(wanted.holder)
        disputes = await beside(lambda: self._disputes.settle(label, holder, name_of(token)))
        self._resolving.forget((label,))
        return _answer({"disputes": [dispute_facts(each) for each in disputes]})


def _answer(body: object) -> Response:
    return Response(msgspec.json.encode(body), 200, _HEADERS, "application/json")
