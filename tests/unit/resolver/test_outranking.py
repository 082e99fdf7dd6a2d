"""Why another answer was better, as a trace tells it."""

from __future__ import annotations

import pytest

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.trace import Outranking, Report, Verdict
from ibi.standard.label import parse
from ibi.standard.messages import UrlRequest
from tests.support.scripted_archives import KnownHolder, Script, archive, body, drive, resolution

ITEM, NEXT = "lab.br/arq/2009/01.01.00.00", "lab.br/arq/2010/01.01.00.00"
OLD, NEW, PEER = archive("old", registered=10), archive("new", registered=20), archive("peer", registered=20)
REQUIRED = "?ibiurl.requireditemstatus=Original"
HELD_BY_NEW = KnownHolder({parse(ITEM): NEW})


def has(who: ArchiveRef, state: str = "Original", qualifier: str = "", of: str = ITEM) -> bytes:
    pairs = {f"url{qualifier}": f"http://{who.address}/x", f"contenttype{qualifier}": "Data"}
    return body(who, f"rep {of}", **pairs, **{f"state{qualifier}": state})


def points(who: ArchiveRef, pair: str, to: str = NEXT) -> bytes:
    return body(who, f"rep {ITEM}", **{pair: f"{{rep {to}}}"})


def script(who: ArchiveRef, answer: bytes) -> Script:
    """What it says of the item; whatever that leads to is there."""

    def say(request: UrlRequest) -> bytes:
        if str(request.label) == ITEM:
            return answer
        return has(who, "Original", request.relation.qualifier, of=NEXT)

    return say


def told(
    answers: dict[ArchiveRef, bytes], url: str = f"/{ITEM}", routing: KnownHolder | None = None
) -> dict[ArchiveRef, Report]:
    """What became of whom at the first question."""
    run = resolution(url, tuple(answers), routing=routing)
    drive(run, {who: script(who, answer) for who, answer in answers.items()})
    return {report.archive: report for report in run.trace.hops[0].reports}


@pytest.mark.parametrize(
    ("answers", "modifier", "routing", "better", "because"),
    [
        ({OLD: has(OLD, "Copy"), NEW: has(NEW)}, "", None, NEW, Outranking.ORIGINAL),
        ({NEW: has(NEW), OLD: has(OLD)}, "", None, OLD, Outranking.LONGER),
        ({NEW: has(NEW, "Copy"), OLD: has(OLD, "Copy")}, "", None, NEW, Outranking.SOONER),
        (
            {NEW: points(NEW, "ibi.translation(pt)"), OLD: has(OLD, "Copy", ".translation(pt)")},
            "+(pt)",
            None,
            OLD,
            Outranking.URL,
        ),
        (
            {NEW: has(NEW, "Copy", ".translation(pt)"), OLD: points(OLD, "ibi.translation(pt)")},
            "+(pt)",
            None,
            OLD,
            Outranking.LONGER,
        ),
        (
            {OLD: has(OLD, "Copy", ".lastedition"), NEW: points(NEW, "ibi.nextedition")},
            "!",
            None,
            NEW,
            Outranking.LATER_EDITION,
        ),
        (
            {OLD: has(OLD, "Original", ".lastedition"), NEW: points(NEW, "ibi.nextedition")},
            "!",
            HELD_BY_NEW,
            NEW,
            Outranking.HOLDER,
        ),
    ],
)
def test_an_answer_that_was_outranked_tells_by_what(
    answers: dict[ArchiveRef, bytes],
    modifier: str,
    routing: KnownHolder | None,
    better: ArchiveRef,
    because: Outranking,
) -> None:
    everybody = KnownHolder({} if routing is None else routing.holders, tuple(answers))  # asked at once
    reports = told(answers, f"/{ITEM}{modifier}", everybody)
    (other,) = answers.keys() - {better}
    assert reports[better].verdict in (Verdict.CHOSEN, Verdict.FOLLOWED)
    assert reports[better].because is None
    assert (reports[other].verdict, reports[other].because) == (Verdict.OUTRANKED, because)


def test_what_the_holder_deleted_is_its_word_against_that_of_others() -> None:
    gone = body(NEW, f"rep {ITEM}", state="Deleted", timestamp="2020-05-06T07:08:09Z")
    reports = told({OLD: has(OLD), NEW: gone}, routing=HELD_BY_NEW)
    assert reports[NEW].verdict is Verdict.DELETED
    assert (reports[OLD].verdict, reports[OLD].because) == (Verdict.OUTRANKED, Outranking.HOLDER)


def test_of_two_that_claim_the_original_none_is_better() -> None:
    reports = told({OLD: has(OLD), NEW: has(NEW), PEER: has(PEER, "Copy")}, f"/{ITEM}{REQUIRED}")
    assert {who: report.verdict for who, report in reports.items()} == {
        OLD: Verdict.DISPUTED,
        NEW: Verdict.DISPUTED,
        PEER: Verdict.NOT_THE_ORIGINAL,
    }


def test_a_copy_is_not_the_original_that_is_required() -> None:
    assert told({OLD: has(OLD, "Copy")}, f"/{ITEM}{REQUIRED}")[OLD].verdict is Verdict.NOT_THE_ORIGINAL
    reports = told({OLD: has(OLD, "Copy"), NEW: has(NEW)}, f"/{ITEM}{REQUIRED}")
    assert {who: report.verdict for who, report in reports.items()} == {
        OLD: Verdict.NOT_THE_ORIGINAL,
        NEW: Verdict.CHOSEN,
    }


def test_a_pointer_back_was_not_followed_and_nothing_was_better() -> None:
    def circle(request: UrlRequest) -> bytes:
        label = str(request.label)
        return body(OLD, f"rep {label}", **{"ibi.nextedition": f"{{rep {ITEM if label == NEXT else NEXT}}}"})

    run = resolution(f"/{ITEM}!", (OLD,))
    drive(run, {OLD: circle})
    assert [hop.reports[0].verdict for hop in run.trace.hops] == [Verdict.FOLLOWED, Verdict.NOT_FOLLOWED]
