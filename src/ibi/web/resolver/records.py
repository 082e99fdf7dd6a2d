"""Resolutions as JSON: what a persistent URL leads to, and how that was found."""

from __future__ import annotations

from typing import Final

from ibi.messages.url_list import Deletion, LeftOut, UrlList
from ibi.persistent_url import PersistentUrl
from ibi.resolver.language import Wanted, languages_offered
from ibi.resolver.outcome import Redirect
from ibi.resolver.trace import Hop, Report, Verdict
from ibi.safe_text import shorten
from ibi.services.resolving.resolution_runner import Resolved
from ibi.web.pages.reader import translations
from ibi.web.resolver.alert import archive_record, forms_record
from ibi.web.resolver.alerts import alert_about


def resolved_record(url: PersistentUrl, found: Redirect, resolved: Resolved, base: str) -> dict[str, object]:
    """`found` is the outcome of `resolved`. Its key is left out: with it, acknowledgments could be sent in the
    resolver's name."""
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
    """The trace as JSON. Times are in seconds since the resolution began."""
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
    """The verdict on an Archive's answer. One that had not come when another was chosen is no fault of the Archive."""
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
        "said": None if report.said is None else _answer_pairs(report.said),
        "left_out": [] if report.said is None else [_left_out(each) for each in report.said.left_out],
    }


def _left_out(pair: LeftOut) -> dict[str, str]:
    """A pair that could not be read, and why (E47)."""
    return {"name": shorten(pair.name, _LONGEST_NAME), "why": shorten(pair.why, _LONGEST_NAME)}


def _answer_pairs(answer: UrlList | Deletion) -> dict[str, str]:
    pairs = answer.to_pairs()
    shown = {name: value if isinstance(value, str) else " ".join(value) for name, value in pairs.items()}
    shown.pop(_SECRET, None)
    return shown
