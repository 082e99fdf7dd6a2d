"""When whom is asked, how long is waited, and how it ends. Times are given, none pass."""

from __future__ import annotations

import pytest

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import (
    Missing,
    NoArchiveAnswered,
    NotFound,
    OriginalDisputed,
    OriginalNotFound,
    Redirect,
    RelatedItemMissing,
)
from ibi.resolver.rules.question import Asking
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.rules.trace import Verdict
from ibi.standard.label import parse
from ibi.standard.messages import State
from ibi.standard.reply import Failure
from tests.support.scripted_archives import KnownHolder, archive, body, give, resolution, resolve

LABEL, NEXT = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "sid.inpe.br/mtc-m19/2014/01.01.00.00"
IBI = f"rep {LABEL}"
ONE, TWO, THREE = archive("one"), archive("two"), archive("three")
ALL = (ONE, TWO, THREE)


def found(of: ArchiveRef, state: str = "Copy", relation: str = "", ibi: str = IBI, **others: str) -> bytes:
    values = {"state": state, "contenttype": "Data", "url": f"http://{of.address}/x"}
    qualified = {f"{name}{relation}": value for name, value in values.items()}
    return body(of, ibi, **qualified, urlkey="1234567890", **others)


def asked(under_way: Resolution) -> dict[ArchiveRef, Asking]:
    return {asking.archive: asking for asking in under_way.requests()}


def chosen(under_way: Resolution) -> ArchiveRef | None:
    return under_way.outcome.archive if isinstance(under_way.outcome, Redirect) else None


# --- whom to ask ---


def test_the_likely_ones_are_asked_first_and_the_others_after_the_hedge_delay() -> None:
    under_way = resolution(LABEL, ALL, routing=KnownHolder(first=(TWO,)))
    assert [*asked(under_way)] == [TWO]
    assert under_way.wake_at == 0.2
    under_way.advance(0.1)
    assert not asked(under_way)
    under_way.advance(0.2)
    assert [*asked(under_way)] == [ONE, THREE]


def test_the_others_are_asked_at_once_when_the_likely_ones_have_nothing() -> None:
    under_way = resolution(LABEL, ALL, routing=KnownHolder(first=(TWO,)))
    give(under_way, asked(under_way)[TWO], b"", 0.01)
    assert [*asked(under_way)] == [ONE, THREE]


def test_a_likely_one_that_has_the_original_saves_asking_the_others() -> None:
    under_way = resolution(LABEL, ALL, routing=KnownHolder(first=(TWO,)))
    give(under_way, asked(under_way)[TWO], found(TWO, "Original"), 0.01)
    assert chosen(under_way) == TWO
    assert not asked(under_way)


def test_others_are_asked_for_the_original_if_a_likely_one_has_a_copy() -> None:
    under_way = resolution(LABEL, ALL, routing=KnownHolder(first=(TWO,)))
    give(under_way, asked(under_way)[TWO], found(TWO), 0.01)
    give(under_way, asked(under_way)[ONE], found(ONE, "Original"), 0.02)
    assert chosen(under_way) == ONE


@pytest.mark.parametrize("url", [f"{LABEL}?ibiurl.requireditemstatus=Original", f"{LABEL}!"])
def test_all_are_asked_at_once_for_an_original_and_for_a_last_edition_whose_holder_is_not_known(url: str) -> None:
    assert [*asked(resolution(url, ALL, routing=KnownHolder(first=(TWO,))))] == [*ALL]


def test_an_archive_that_is_not_included_is_not_asked_however_likely() -> None:
    assert [*asked(resolution(LABEL, (ONE,), routing=KnownHolder({parse(LABEL): TWO}, (TWO,))))] == [ONE]


# --- which answer is taken ---


def test_an_original_is_taken_at_once() -> None:
    under_way = resolution(LABEL, ALL)
    give(under_way, asked(under_way)[TWO], found(TWO, "Original"), 0.01)
    assert chosen(under_way) == TWO


def test_a_copy_is_taken_after_the_hedge_delay() -> None:
    under_way = resolution(LABEL, ALL)
    give(under_way, asked(under_way)[TWO], found(TWO), 0.01)
    assert under_way.outcome is None
    under_way.advance(under_way.wake_at)
    assert chosen(under_way) == TWO


def test_an_original_within_the_hedge_delay_outranks_a_copy() -> None:
    under_way = resolution(LABEL, ALL)
    askings = asked(under_way)
    give(under_way, askings[TWO], found(TWO), 0.01)
    give(under_way, askings[ONE], found(ONE, "Original"), 0.15)
    assert chosen(under_way) == ONE
    verdicts = {report.archive: report.verdict for report in under_way.trace.hops[0].reports}
    assert verdicts == {ONE: Verdict.CHOSEN, TWO: Verdict.OUTRANKED, THREE: Verdict.SILENT}


def test_an_archive_that_knows_of_a_next_edition_outranks_an_old_copy() -> None:
    under_way = resolution(f"{LABEL}!", ALL)
    askings = asked(under_way)
    give(under_way, askings[ONE], found(ONE, relation=".lastedition"), 0.01)
    give(under_way, askings[TWO], body(TWO, IBI, **{"ibi.nextedition": f"{{rep {NEXT}}}"}), 0.1)
    under_way.advance(0.2)
    assert {str(asking.request.label) for asking in under_way.requests()} == {NEXT}


def test_the_known_holder_decides_whether_there_is_a_next_edition() -> None:
    under_way = resolution(f"{LABEL}!", ALL, routing=KnownHolder({parse(LABEL): ONE}, (TWO,)))
    askings = asked(under_way)
    give(under_way, askings[TWO], body(TWO, IBI, **{"ibi.nextedition": f"{{rep {NEXT}}}"}), 0.01)
    assert under_way.outcome is None
    give(under_way, askings[ONE], found(ONE, "Original", ".lastedition"), 0.4)
    assert chosen(under_way) == ONE


def test_two_originals_are_an_alert_that_names_both() -> None:
    scripts = {each: (lambda _, each=each: found(each, "Original")) for each in (ONE, TWO)}
    outcome = resolve(f"{LABEL}?ibiurl.requireditemstatus=Original", scripts)
    assert isinstance(outcome, OriginalDisputed)
    assert outcome.claimants == (ONE, TWO)


def test_an_original_waits_for_every_archive() -> None:
    under_way = resolution(f"{LABEL}?ibiurl.requireditemstatus=Original", ALL)
    askings = asked(under_way)
    give(under_way, askings[ONE], found(ONE, "Original"), 0.01)
    give(under_way, askings[TWO], b"", 3.0)
    assert under_way.outcome is None
    give(under_way, askings[THREE], found(THREE, "Original"), 4.0)
    assert isinstance(under_way.outcome, OriginalDisputed)


def test_no_original_names_the_copies_and_the_silent() -> None:
    scripts = {ONE: lambda _: found(ONE), TWO: lambda _: Failure.UNREACHABLE}
    outcome = resolve(f"{LABEL}?ibiurl.requireditemstatus=Original", scripts)  # type: ignore[arg-type]
    assert isinstance(outcome, OriginalNotFound)
    assert (outcome.copies, outcome.silence.silent) == ((ONE,), (TWO,))


def test_a_copy_leads_to_the_original_that_another_has() -> None:
    """E53: the Archive of the first edition has a Copy of the second."""
    last = {"ibi.lastedition": f"{{rep {NEXT}}}", "ibi.nextedition": f"{{rep {NEXT}}}"}
    scripts = {
        ONE: lambda request: found(ONE, relation=".lastedition", **last) if str(request.label) == LABEL else b"",
        TWO: lambda request: found(TWO, "Original", ibi=f"rep {NEXT}") if str(request.label) == NEXT else b"",
    }
    outcome = resolve(f"{LABEL}!?ibiurl.requireditemstatus=Original", scripts)
    assert isinstance(outcome, Redirect)
    assert outcome.archive == TWO


def test_a_next_edition_that_no_archive_has_does_not_hide_the_original() -> None:
    """E53."""
    lie = body(ONE, IBI, **{"ibi.nextedition": f"{{rep {NEXT}}}"})
    scripts = {
        ONE: lambda request: lie if str(request.label) == LABEL else b"",
        TWO: lambda request: found(TWO, "Original", ".lastedition") if str(request.label) == LABEL else b"",
    }
    outcome = resolve(f"{LABEL}!?ibiurl.requireditemstatus=Original", scripts)
    assert isinstance(outcome, Redirect)
    assert outcome.archive == TWO


# --- pointers ---


def test_an_item_that_no_archive_has_gives_way_to_another_pointer() -> None:
    """`+`: one names a text that does not exist, the other one that does."""

    def lying(request: object) -> bytes:
        return body(ONE, IBI, **{"ibi.translation(pt)": "{rep sid.inpe.br/none/2014/01.01.00.00}"})

    scripts = {
        ONE: lambda request: lying(request) if str(request.label) == LABEL else b"",
        TWO: lambda request: (
            body(TWO, IBI, **{"ibi.translation(pt)": f"{{rep {NEXT}}}"})
            if str(request.label) == LABEL
            else found(TWO, ibi=f"rep {NEXT}")
            if str(request.label) == NEXT
            else b""
        ),
    }
    outcome = resolve(f"{LABEL}+", scripts, "pt")
    assert isinstance(outcome, Redirect)
    assert outcome.archive == TWO


def test_a_late_answer_reopens_its_question() -> None:
    under_way = resolution(LABEL, ALL)
    askings = asked(under_way)
    give(under_way, askings[ONE], b"", 0.01)
    give(under_way, askings[TWO], b"", 0.01)
    under_way.advance(3.0)
    assert under_way.outcome is None
    give(under_way, askings[THREE], found(THREE), 4.0)
    assert chosen(under_way) == THREE


def test_a_relation_without_a_translation_is_asked_again_without_that_verb() -> None:
    scripts = {ONE: lambda request: body(ONE, IBI) if request.relation.steps else found(ONE)}
    assert isinstance(resolve(f"{LABEL}+", scripts), Redirect)
    outcome = resolve(f"{LABEL}:", scripts)
    assert isinstance(outcome, RelatedItemMissing)
    assert outcome.missing is Missing.METADATA


# --- ends ---


def test_a_miss_names_the_silent_and_the_other_spellings() -> None:
    outcome = resolve("sid.inpe.br/mtc-m18/2009/07.21.14.43", {ONE: lambda _: b"", TWO: lambda _: Failure.TIMED_OUT})
    assert isinstance(outcome, NotFound)
    assert (outcome.silence.asked, outcome.silence.silent) == (2, (TWO,))
    assert [label.prefix for label in outcome.suggestions] == ["sid.inpe.br/mtc-m18@80", "sid.inpe.br/mtc-m18.80"]


@pytest.mark.parametrize("archives", [(), ALL])
def test_no_archive_can_be_asked(archives: tuple[ArchiveRef, ...]) -> None:
    outcome = resolve(LABEL, {each: lambda _: Failure.UNREACHABLE for each in archives})
    assert isinstance(outcome, NoArchiveAnswered)
    assert (outcome.silence.silent, outcome.timed_out) == (archives, False)


def test_everything_ends_within_the_budget() -> None:
    under_way = resolution(LABEL, ALL, now=100.0)
    askings = asked(under_way)
    while under_way.outcome is None:
        assert under_way.wake_at <= 105.0
        under_way.advance(under_way.wake_at)
    assert isinstance(under_way.outcome, NoArchiveAnswered)
    assert under_way.outcome.timed_out
    give(under_way, askings[ONE], found(ONE), 106.0)
    assert isinstance(under_way.outcome, NoArchiveAnswered)
    assert under_way.trace.hops[0].reports[0].verdict is Verdict.LATE


def test_an_answer_that_comes_twice_counts_once() -> None:
    under_way = resolution(f"{LABEL}?ibiurl.requireditemstatus=Original", (ONE, TWO))
    askings = asked(under_way)
    for _ in range(2):
        give(under_way, askings[ONE], found(ONE, "Original"), 0.01)
    give(under_way, askings[TWO], b"", 0.01)
    assert chosen(under_way) == ONE


# --- the redirect ---


def test_the_items_own_pairs_go_into_the_redirect_and_not_into_the_acknowledgment() -> None:
    outcome = resolve(f"{LABEL}?a=%20b&c", {ONE: lambda _: found(ONE)})
    assert isinstance(outcome, Redirect)
    assert outcome.url == "http://one.example.org/x?a=%20b&c"
    assert outcome.acknowledgment is not None
    assert outcome.acknowledgment.url == "http://one.example.org/x"
    assert outcome.acknowledgment.state is State.COPY
    assert outcome.acknowledgment.persistent_url == f"http://urlib.net:80/{LABEL}?a=%20b&c"


def test_no_pairs_go_onto_a_list_of_files() -> None:
    outcome = resolve(f"{LABEL}?a=b&ibiurl.verblist=GetFileList", {ONE: lambda _: found(ONE)})
    assert isinstance(outcome, Redirect)
    assert outcome.url == "http://one.example.org/x"


def test_without_a_key_there_is_no_archive_to_thank() -> None:
    text = found(ONE).replace(b"\r\nurlkey 1234567890", b"")
    outcome = resolve(LABEL, {ONE: lambda _: text})
    assert isinstance(outcome, Redirect)
    assert outcome.acknowledgment is None
