"""What a trace tells of answers that led nowhere; it is put together afterwards, of how things stood at the time."""

from __future__ import annotations

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.rules.trace import Report, Verdict
from ibi.standard.label import parse
from tests.support.scripted_archives import KnownHolder, archive, body, give, resolution

LABEL, NEXT = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "sid.inpe.br/mtc-m19/2014/01.01.00.00"
IBI = f"rep {LABEL}"
ONE, TWO = archive("one"), archive("two")


def located(of: ArchiveRef, at: str | None = None, relation: str = "") -> bytes:
    values = {"state": "Copy", "contenttype": "Data", "url": f"http://{at or of.address}/x"}
    return body(of, IBI, **{f"{name}{relation}": value for name, value in values.items()}, urlkey="1234567890")


def reports(under_way: Resolution, hop: int = 0) -> dict[ArchiveRef, Report]:
    return {report.archive: report for report in under_way.trace.hops[hop].reports}


def test_an_answer_without_url_and_pointer_was_of_no_use() -> None:
    under_way = resolution(LABEL, (ONE, TWO))
    one, two = under_way.requests()
    give(under_way, one, body(ONE, IBI), 0.01)
    assert reports(under_way)[ONE].verdict is Verdict.OF_NO_USE
    give(under_way, two, located(TWO), 0.02)
    told = {archive: (report.verdict, report.answered_at) for archive, report in reports(under_way).items()}
    assert told == {ONE: (Verdict.OF_NO_USE, 0.01), TWO: (Verdict.CHOSEN, 0.02)}


def test_an_answer_whose_url_is_refused_was_of_no_use_and_the_rule_is_named() -> None:
    under_way = resolution(LABEL, (ONE, TWO))
    give(under_way, under_way.requests()[0], located(ONE, at="elsewhere.example.net"), 0.01)
    report = reports(under_way)[ONE]
    assert (report.verdict, report.broken_rule) == (Verdict.OF_NO_USE, "is_on_a_declared_host")


def test_an_answer_that_led_somewhere_when_it_came_is_not_called_useless_by_what_came_later() -> None:
    under_way = resolution(f"{LABEL}!", (ONE, TWO), routing=KnownHolder({parse(LABEL): ONE}))
    (holder,) = under_way.requests()
    under_way.advance(0.2)
    (other,) = under_way.requests()
    give(under_way, other, located(TWO, relation="__lastedition"), 0.21)
    # The holder knows of a next edition: whoever does not is no longer listened to.
    give(under_way, holder, body(ONE, IBI, ibi__nextedition=f"{{rep {NEXT}}}"), 0.22)
    verdicts = {archive: report.verdict for archive, report in reports(under_way).items()}
    assert verdicts == {ONE: Verdict.FOLLOWED, TWO: Verdict.OUTRANKED}


def test_a_trace_that_was_taken_does_not_change_any_more() -> None:
    under_way = resolution(LABEL, (ONE, TWO))
    before = under_way.trace
    give(under_way, under_way.requests()[0], b"", 0.01)
    assert {report.verdict for report in before.hops[0].reports} == {Verdict.SILENT}
    assert reports(under_way)[ONE].verdict is Verdict.EMPTY
