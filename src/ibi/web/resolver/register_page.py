"""The resolver's page: which Archives it asks, why one was not reached, and who is believed about a label."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.errors import InvalidInput
from ibi.instant import Instant
from ibi.model.registration import Registration
from ibi.services.membership.registration_admin import RegistrationAdmin, public_facts
from ibi.services.promptness import ask
from ibi.services.resolving.belief_report import BeliefReason, BeliefReport
from ibi.services.resolving.disputes import Disputes
from ibi.web.http.request_errors import InvalidMember, MemberMissing
from ibi.web.pages.language import message
from ibi.web.pages.rendering import render
from ibi.web.pages.words import FAILURES_BY_CODE
from ibi.web.resolver.persistent_url_app import PAGE
from ibi.web.resolver.resolver_pages import KINDS

SHOWN: Final = 500
"""Archives on the page."""
LONGEST: Final = 1000
"""Characters of a label or prefix that is asked about."""
_HEADERS: Final = {"cache-control": "no-store"}

_REASONS: Final = {
    BeliefReason.HOME: message("It is the home of this label: the Archive registered for its prefix."),
    BeliefReason.SUCCESSOR: message("The home of this label says that it gave the Original to this Archive."),
    BeliefReason.HOLDER: message("This label has no home, and this Archive held the Original when last asked."),
    BeliefReason.RULING: message("The administrator of the resolver said so when two Archives claimed the Original."),
    BeliefReason.NONE: message("This label has no home here, and it is not known who holds the Original."),
}


class RegisterPages:
    def __init__(self, admin: RegistrationAdmin, report: BeliefReport, disputes: Disputes | None = None) -> None:
        self._admin, self._report, self._disputes = admin, report, disputes

    def routes(self) -> list[Route]:
        return [Route(PAGE, self.page), Route("/api/beliefs", self.beliefs)]

    async def page(self, request: Request) -> Response:
        own = self._report.own_facts()
        archives = [] if own is None else [own]
        archives += (_shown_facts(each) for each in await asyncio.to_thread(self._admin.all))
        about, found, fault = request.query_params.get("about", "")[:LONGEST], None, None
        if about.strip():
            try:
                found = await self._about(about)
            except InvalidInput as error:
                fault = str(error)
        return render(
            request.scope,
            "resolver.html",
            headers=_HEADERS,
            archives=archives[:SHOWN],
            more=max(0, len(archives) - SHOWN),
            is_disputed=await self._is_disputed(),
            about=about,
            found=found,
            fault=fault,
            reasons={reason.value: words for reason, words in _REASONS.items()},
            failures=FAILURES_BY_CODE,
            kinds={kind.value: words for kind, words in KINDS.items()},
            moment=Instant.parse,
        )

    async def _is_disputed(self) -> bool:
        disputes = self._disputes
        return disputes is not None and await ask(disputes, lambda: disputes.are_open)

    async def beliefs(self, request: Request) -> Response:
        about = request.query_params.get("about", "")
        if not about.strip():
            raise MemberMissing(field="about")
        if len(about) > LONGEST:
            raise InvalidMember(field="about", reason=f"it has at most {LONGEST} characters")
        return Response(msgspec.json.encode(await self._about(about)), 200, _HEADERS, "application/json")

    async def _about(self, text: str) -> dict[str, Any]:
        return await ask(self._report, lambda: self._report.about(text))


def _shown_facts(registration: Registration) -> dict[str, Any]:
    """With all prefixes of which it is the home, also those of its own label."""
    return {**public_facts(registration), "prefixes": sorted(registration.home_prefixes)}
