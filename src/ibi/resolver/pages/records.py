"""Resolutions and false claims as JSON and as pages: the target of a persistent URL, the trace of its resolution, and
the claims that the home of an item contradicts."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from babel.support import NullTranslations
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from ibi.jobs.promptness import ask
from ibi.membership.model.registration import ClaimKind, FalseClaim, Registration, Settlement
from ibi.membership.resources import RegisteredArchiveResource
from ibi.membership.service.registration_admin import RegistrationAdmin
from ibi.resolver.api.alert import archive_record, forms_record
from ibi.resolver.api.alerts import alert_about
from ibi.resolver.ports import Beliefs
from ibi.resolver.resources import BeliefReason, BeliefsResource, FalseClaimResource, FalseClaims
from ibi.resolver.rules.language import Wanted, languages_offered
from ibi.resolver.rules.outcome import Redirect
from ibi.resolver.rules.trace import Hop, Report, Verdict
from ibi.resolver.service.belief_report import BeliefReport
from ibi.resolver.service.disputes import Disputes
from ibi.resolver.service.resolution_runner import Resolved
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.messages.url_list import Deletion, LeftOut, UrlList
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.safe_text import shorten
from ibi.web.body import short_json
from ibi.web.drawings import trace_figure
from ibi.web.reader import message, page_language, translations
from ibi.web.rendering import render
from ibi.web.request_errors import InvalidMember, MemberMissing
from ibi.web.words import (
    ASKED_AGAIN,
    FAILURES,
    FAILURES_BY_CODE,
    OUTRANKINGS,
    RULES,
    STAND_INS,
    TRACE_REASONS,
    outcome_words,
    verdict_words,
)


def resolved_record(url: PersistentUrl, found: Redirect, resolved: Resolved, base: str) -> dict[str, object]:
    """Return the resolution as JSON. `found` is the outcome of `resolved`.

    Its key is left out: with it, anyone could send acknowledgments in the resolver's name.
    """
    answer, entry = found.answer, found.entry
    languages = languages_offered(Wanted.of(url.relation), (answer,))
    return {
        "persistent_url": url.text(base, keep_spelling=True),
        "label": url.label.spelling,
        "url": found.url,
        "state": None if entry.state is None else entry.state.value,
        "content_type": None if entry.content_type is None else entry.content_type.value,
        "timestamp": None if entry.timestamp is None else str(entry.timestamp),
        "relation": url.relation.modifier,
        "ibi": None if entry.ibi is None else forms_record(entry.ibi),
        "asked_for": forms_record(answer.ibi),
        "next_edition": None if answer.next_edition is None else forms_record(answer.next_edition),
        "languages": [str(tag) for tag in languages],
        "archive": archive_record(found.archive),
        "archive_url": f"{found.archive.protocol.scheme}://{found.archive.address}",
        "seconds": round(resolved.seconds, 6),
        "max_age": resolved.max_age,
        "was_kept": resolved.was_kept,
    }


NOT_WAITED_FOR: Final = "not waited for: another answer was sufficient"
NOT_BELIEVED: Final = "its URL was not believed"

_LONGEST_NAME: Final = 200
_SECRET = "urlkey"  # noqa: S105 - left out: with a key, acknowledgments could be forged


def trace_record(url: PersistentUrl, resolved: Resolved, base: str) -> dict[str, object]:
    """Return the trace as JSON. Times are in seconds since the resolution began."""
    outcome = resolved.outcome
    return {
        "persistent_url": url.text(base, keep_spelling=True),
        "outcome": resolved.outcome_name,
        "said": None if resolved.outcome_name == "Redirect" else alert_about(outcome, url, translations("en")).said,
        "url": outcome.url if isinstance(outcome, Redirect) else None,
        "archive": archive_record(outcome.archive) if isinstance(outcome, Redirect) else None,
        "seconds": round(resolved.seconds, 6),
        "hops": [_hop(hop, resolved) for hop in resolved.trace.hops],
    }


def why(report: Report, resolved: Resolved) -> str:
    """Return the verdict on an Archive's answer. An answer that was still due when another was chosen is no fault of
    the Archive."""
    if report.verdict is Verdict.SILENT and isinstance(resolved.outcome, Redirect):
        return NOT_WAITED_FOR
    if report.broken_rule is not None and report.verdict in (Verdict.OUTRANKED, Verdict.OF_NO_USE):
        return NOT_BELIEVED
    return report.verdict.value


def _hop(hop: Hop, resolved: Resolved) -> dict[str, object]:
    return {
        "number": hop.number,
        "parent": hop.parent,
        "label": hop.label.spelling,
        "relation": hop.relation.modifier,
        "reason": hop.reason.value,
        "home": hop.word.value,
        "archives": [_report(report, resolved) for report in hop.reports],
    }


def _report(report: Report, resolved: Resolved) -> dict[str, object]:
    answered = report.answered_at
    return {
        **archive_record(report.archive),
        "verdict": report.verdict.name.lower(),
        "why": why(report, resolved),
        "asked_at": round(report.asked_at - resolved.began, 6),
        "seconds": None if answered is None else round(answered - report.asked_at, 6),
        "failure": None if report.failure is None else report.failure.value,
        "broken_rule": report.broken_rule,
        "because": None if report.because is None else report.because.value,
        "stands_in": None if report.stands_in is None else report.stands_in.value,
        "final": report.final,
        "again": None if report.again is None else report.again.value,
        "said": None if report.said is None else _answer_pairs(report.said),
        "left_out": [] if report.said is None else [_left_out(each) for each in report.said.left_out],
    }


def _left_out(pair: LeftOut) -> dict[str, str]:
    """Return a pair that could not be read, with the reason (E47)."""
    return {"name": shorten(pair.name, _LONGEST_NAME), "why": shorten(pair.why, _LONGEST_NAME)}


def _answer_pairs(answer: UrlList | Deletion) -> dict[str, str]:
    pairs = answer.to_pairs()
    shown = {name: value if isinstance(value, str) else " ".join(value) for name, value in pairs.items()}
    shown.pop(_SECRET, None)
    return shown


PAGE: Final = "/resolver"
"""The address of the resolver's page."""
SHOWN: Final = 200
"""Number of claims on the page and in the list, latest first."""
_HEADERS: Final = {"cache-control": "no-store"}

KINDS: Final = {
    ClaimKind.ORIGINAL: message("holds the Original"),
    ClaimKind.DELETED: message("it was deleted"),
    ClaimKind.NEXT_EDITION: message("there is a later edition"),
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
        claims = [FalseClaimResource.of(claim) for claim in await self._claims()]
        return short_json(FalseClaims(claims), headers=_HEADERS)

    async def _claims(self) -> tuple[FalseClaim, ...]:
        return await ask(self._beliefs, lambda: self._beliefs.claims(SHOWN))


def trace_page(scope: Scope, url: PersistentUrl, resolved: Resolved, base: str) -> Response:
    """Render the page of a trace, always with status 200: it is about the resolution, whatever its outcome."""
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
    """Return the verdict on an Archive's answer, and the reason.

    An answer that was still due when another was chosen is no fault of the Archive.
    """
    if report.verdict is Verdict.SILENT and is_found:
        return words.gettext("not waited for: another answer was sufficient")
    reasons = [
        FAILURES[report.failure] if report.failure is not None else None,
        RULES.get(report.broken_rule, report.broken_rule) if report.broken_rule is not None else None,
        OUTRANKINGS[report.because] if report.because is not None and report.broken_rule is None else None,
        STAND_INS[report.stands_in] if report.stands_in is not None else None,
        ASKED_AGAIN[report.again] if report.again is not None else None,
    ]
    return ": ".join(words.gettext(each) for each in (verdict_words(report), *reasons) if each is not None)


_SETTLED: Final = {
    None: message("open: the known holder stays"),
    Settlement.ADMINISTRATOR: message("settled by the administrator"),
    Settlement.TRANSFER: message("settled: the Original was transferred to it"),
    Settlement.PROOF: message("settled: signed releases show another holder"),
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


ARCHIVES_SHOWN: Final = 500
"""Largest number of Archives on the page."""
LONGEST: Final = 1000
"""Largest number of characters of a requested label or prefix."""

_REASONS: Final = {
    BeliefReason.HOME: message("It is the home of this label: the Archive registered for its prefix."),
    BeliefReason.SUCCESSOR: message("The home of this label transferred the Original to this Archive."),
    BeliefReason.HOLDER: message("This label has no home, and this Archive held the Original when last asked."),
    BeliefReason.RULING: message(
        "Decided by the administrator of the resolver, when two Archives claimed the Original."
    ),
    BeliefReason.NONE: message("This label has no home here, and the holder of the Original is unknown."),
}


class RegisterPages:
    def __init__(self, admin: RegistrationAdmin, report: BeliefReport, disputes: Disputes | None = None) -> None:
        self._admin, self._report, self._disputes = admin, report, disputes

    def routes(self) -> list[Route]:
        return [Route(PAGE, self.page), Route("/api/beliefs", self.beliefs)]

    async def page(self, request: Request) -> Response:
        own = self._report.own_archive()
        archives = [] if own is None else [own]
        archives += (_with_all_prefixes(each) for each in await asyncio.to_thread(self._admin.all))
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
            archives=archives[:ARCHIVES_SHOWN],
            more=max(0, len(archives) - ARCHIVES_SHOWN),
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
        return short_json(await self._about(about), headers=_HEADERS)

    async def _about(self, text: str) -> BeliefsResource:
        return await ask(self._report, lambda: self._report.about(text))


def _with_all_prefixes(registration: Registration) -> RegisteredArchiveResource:
    """Return a registration with all prefixes that have this Archive as their home, including those of its own
    labels."""
    public = RegisteredArchiveResource.public(registration)
    return structs.replace(public, prefixes=sorted(registration.home_prefixes))
