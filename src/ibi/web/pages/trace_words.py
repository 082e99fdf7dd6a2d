"""Steps of a resolution in words that fit on an arrow: English, to be translated where they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from ibi.resolver.answers import Reason
from ibi.resolver.outcome import (
    Deleted,
    LoopDetected,
    NoArchiveAnswered,
    NotFound,
    OriginalDisputed,
    OriginalNotFound,
    Outcome,
    Redirect,
    RelatedItemMissing,
    UnprovenClaims,
)
from ibi.resolver.trace import Failure, Outranking, Report, Verdict
from ibi.web.pages.translation import message

VERDICTS: Final[Mapping[Verdict, str]] = {
    Verdict.CHOSEN: message("here it is: this URL is taken"),
    Verdict.FOLLOWED: message("ask for another item"),
    Verdict.DISPUTED: message("it claims the Original, as another does"),
    Verdict.OUTRANKED: message("an answer, but not the best"),
    Verdict.UNPROVEN: message("a claim that nothing proves"),
    Verdict.NOT_THE_ORIGINAL: message("a Copy, not the Original"),
    Verdict.NOT_FOLLOWED: message("a hint that leads nowhere new"),
    Verdict.OF_NO_USE: message("neither a URL nor a hint"),
    Verdict.EMPTY: message("not here"),
    Verdict.DELETED: message("it was deleted"),
    Verdict.DISBELIEVED: message("an answer that breaks a rule"),
    Verdict.FAILED: message("no answer"),
    Verdict.LATE: message("an answer, too late to matter"),
    Verdict.SILENT: message("nothing came in time"),
}

FAILURES: Final[Mapping[Failure, str]] = {
    Failure.UNREACHABLE: message("could not be reached"),
    Failure.TIMED_OUT: message("took too long"),
    Failure.RESTING: message("failed too often, not asked"),
    Failure.FORBIDDEN_ADDRESS: message("an address that is not dialled"),
    Failure.REFUSED: message("refused the request"),
    Failure.MALFORMED: message("an answer that cannot be read"),
    Failure.TOO_LARGE: message("an answer that is too large"),
}

RULES: Final[Mapping[str, str]] = {
    "is_about_the_item": message("it is about another item"),
    "speaks_for_itself": message("it names another Archive than the one asked"),
    "is_on_a_declared_host": message("its URL is on a host that the Archive did not declare"),
    "has_bearable_length": message("its URL is too long"),
}
"""How an answer breaks a rule of `ibi.resolver.policy`, by the name of the rule."""

OUTRANKINGS: Final[Mapping[Outranking, str]] = {
    Outranking.HOME: message("the home of the label decides"),
    Outranking.HOLDER: message("the holder is believed first"),
    Outranking.LATER_EDITION: message("another knows of a later edition"),
    Outranking.URL: message("another has the URL itself"),
    Outranking.ORIGINAL: message("another has the Original"),
    Outranking.LONGER: message("another Archive has been registered longer"),
    Outranking.SOONER: message("another was as good, and came first"),
}

REASONS: Final[Mapping[Reason, str]] = {
    Reason.GIVEN: message("what was asked for"),
    Reason.PREFIX: message("a part of what is wanted leads there"),
    Reason.RELATED: message("what is wanted leads there"),
    Reason.NEXT_EDITION: message("the next edition"),
    Reason.LATER_EDITION: message("a later edition than the Copy"),
    Reason.NO_NEXT_EDITION: message("there is no later edition"),
    Reason.ANY_LANGUAGE: message("in any language"),
    Reason.NO_TRANSLATION: message("no translation suits"),
}


def verdict_words(report: Report) -> str:
    """The verdict on an answer in words. A valid answer whose URL is invalid still has a URL."""
    if report.broken_rule is not None and report.verdict in (Verdict.OUTRANKED, Verdict.OF_NO_USE):
        return message("a URL that is not believed")
    return VERDICTS[report.verdict]


def outcome_words(outcome: Outcome) -> str:
    match outcome:
        case Redirect():
            return message("go there")
        case NotFound():
            return message("no Archive has this item")
        case Deleted():
            return message("this item was deleted")
        case RelatedItemMissing():
            return message("the item is there, what is wanted of it is not")
        case OriginalNotFound():
            return message("there are copies only, no Original")
        case OriginalDisputed():
            return message("more than one Archive claims the Original")
        case LoopDetected():
            return message("the editions lead in a circle")
        case NoArchiveAnswered():
            return message("no Archive that could know has answered")
        case UnprovenClaims():
            return message("a claim that nothing proves")
    assert_never(outcome)
