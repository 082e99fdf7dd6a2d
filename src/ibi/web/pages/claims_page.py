"""`/claims` and `/api/claims`: claims of Archives that contradict an item's home (E66)."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.instant import Instant
from ibi.model.belief import ClaimKind, FalseClaim
from ibi.ports.registry import Beliefs
from ibi.services.promptness import ask
from ibi.web.pages.rendering import render
from ibi.web.pages.translation import message

SHOWN: Final = 200
"""Claims on the page and in the list, those seen last first."""
_HEADERS: Final = {"cache-control": "no-store"}

KINDS: Final = {
    ClaimKind.ORIGINAL: message("to hold the Original"),
    ClaimKind.DELETED: message("that it was deleted"),
    ClaimKind.NEXT_EDITION: message("that there is a later edition"),
}


class ClaimPages:
    def __init__(self, beliefs: Beliefs) -> None:
        self._beliefs = beliefs

    def routes(self) -> list[Route]:
        return [Route("/claims", self.page), Route("/api/claims", self.list)]

    async def page(self, request: Request) -> Response:
        claims = await self._claims()
        return render(request.scope, "claims.html", headers=_HEADERS, claims=claims, kinds=KINDS, instant=Instant)

    async def list(self, request: Request) -> Response:
        record = {"claims": [_record(claim) for claim in await self._claims()]}
        return Response(msgspec.json.encode(record), 200, _HEADERS, "application/json")

    async def _claims(self) -> tuple[FalseClaim, ...]:
        return await ask(self._beliefs, lambda: self._beliefs.claims(SHOWN))


def _record(claim: FalseClaim) -> dict[str, object]:
    return {
        "label": claim.label.spelling,
        "claimant": claim.claimant.spelling,
        "home": claim.home.spelling,
        "claim": claim.kind.value,
        "first_seen": str(Instant(claim.first_seen)),
        "last_seen": str(Instant(claim.last_seen)),
        "times": claim.times,
    }
