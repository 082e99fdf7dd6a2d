"""`/disputes`: Originals that a second Archive claims, for people (E93).

Short: the list alone; it is for programs, and settled, at `ibi.web.api.disputes`.
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.instant import Instant
from ibi.model.belief import Settlement
from ibi.services.promptness import ask
from ibi.services.resolving.disputes import Disputes
from ibi.web.pages.language import message
from ibi.web.pages.rendering import render
from ibi.web.resolver.resolver_pages import KINDS

_SETTLED: Final = {
    None: message("open: the known holder stays"),
    Settlement.ADMINISTRATOR: message("settled by the administrator"),
    Settlement.TRANSFER: message("settled: the Original was given to it"),
    Settlement.PROOF: message("settled: signed releases say that another has it"),
}


class DisputePages:
    def __init__(self, disputes: Disputes) -> None:
        self._disputes = disputes

    def routes(self) -> list[Route]:
        return [Route("/disputes", self.page)]

    async def page(self, request: Request) -> Response:
        disputes = await ask(self._disputes, self._disputes.all)
        return render(
            request.scope,
            "disputes.html",
            headers={"cache-control": "no-store"},
            disputes=disputes,
            is_open=any(each.settled_by is None for each in disputes),
            kinds=KINDS,
            settled=_SETTLED,
            instant=Instant,
        )
