"""Pages of the resolver: the trace of a resolution, and false claims."""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
from babel.support import NullTranslations
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from ibi.instant import Instant
from ibi.model.belief import ClaimKind, FalseClaim
from ibi.persistent_url import PersistentUrl
from ibi.ports.registry import Beliefs
from ibi.resolver.outcome import Redirect
from ibi.resolver.trace import Report, Verdict
from ibi.services.promptness import ask
from ibi.services.resolving.belief_report import claim_facts
from ibi.services.resolving.resolved import Resolved
from ibi.web.pages.drawings import trace_figure
from ibi.web.pages.language import message, page_language, translations
from ibi.web.pages.rendering import render
from ibi.web.pages.words import FAILURES, OUTRANKINGS, RULES, STAND_INS, TRACE_REASONS, outcome_words, verdict_words

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
        record = {"claims": [claim_facts(claim) for claim in await self._claims()]}
        return Response(msgspec.json.encode(record), 200, _HEADERS, "application/json")

    async def _claims(self) -> tuple[FalseClaim, ...]:
        return await ask(self._beliefs, lambda: self._beliefs.claims(SHOWN))


def trace_page(scope: Scope, url: PersistentUrl, resolved: Resolved, base: str) -> Response:
    """The page of a trace, always with status 200: it is about the resolution, whatever its outcome."""
    words, outcome = translations(page_language(scope)), resolved.outcome
    return render(
        scope,
        "trace.html",
        headers={"cache-control": "no-store", "vary": "Accept-Language"},
        link=url.text(base, keep_spelling=True),
        plain=f"/{url.text('', keep_spelling=True)}",
        ended=words.gettext(outcome_words(outcome)),
        leads_to=outcome.url if isinstance(outcome, Redirect) else None,
        milliseconds=round(resolved.seconds * 1000, 1),
        figure=trace_figure(resolved.trace, outcome, words),
        trace=resolved.trace,
        began=resolved.began,
        reasons={reason: words.gettext(text) for reason, text in TRACE_REASONS.items()},
        became=partial(_became, is_found=isinstance(outcome, Redirect), words=words),
    )


def _became(report: Report, *, is_found: bool, words: NullTranslations) -> str:
    """The verdict on an Archive's answer, and why. An answer that had not come when another was chosen is no fault of
    the Archive."""
    if report.verdict is Verdict.SILENT and is_found:
        return words.gettext("it was not waited for: another answer was good")
    reasons = [
        FAILURES[report.failure] if report.failure is not None else None,
        RULES.get(report.broken_rule, report.broken_rule) if report.broken_rule is not None else None,
        OUTRANKINGS[report.because] if report.because is not None and report.broken_rule is None else None,
        STAND_INS[report.stands_in] if report.stands_in is not None else None,
    ]
    return ": ".join(words.gettext(each) for each in (verdict_words(report), *reasons) if each is not None)
