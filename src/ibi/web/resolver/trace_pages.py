"""`?ibiurl.trace=html`: the trace of a resolution as a page: why a link leads where it does."""

from __future__ import annotations

from functools import partial

from babel.support import NullTranslations
from starlette.responses import Response
from starlette.types import Scope

from ibi.persistent_url import PersistentUrl
from ibi.resolver.outcome import Redirect
from ibi.resolver.trace import Report, Verdict
from ibi.services.resolving.resolver_service import Resolved
from ibi.web.pages.language import page_language
from ibi.web.pages.rendering import render
from ibi.web.pages.sequence_diagram import trace_figure
from ibi.web.pages.trace_words import FAILURES, OUTRANKINGS, REASONS, RULES, outcome_words, verdict_words
from ibi.web.pages.translation import translations


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
        reasons={reason: words.gettext(text) for reason, text in REASONS.items()},
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
    ]
    return ": ".join(words.gettext(each) for each in (verdict_words(report), *reasons) if each is not None)
