"""E20: Deleted here, Copies there; anyone can say Deleted."""

from __future__ import annotations

from ibi.resolver.rules.outcome import Deleted, NoArchiveAnswered, NotFound, Redirect
from ibi.standard.label import parse
from ibi.standard.reply import Failure
from tests.support.scripted_archives import KnownHolder, archive, body, resolve

LABEL = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
IBI = f"rep {LABEL}"
HOME, COPY, LIAR = archive("home"), archive("copy"), archive("liar")
GONE = body(HOME, IBI, state="Deleted", timestamp="2015-03-15T02:40:14Z")
FALSELY_GONE = body(LIAR, IBI, state="Deleted", timestamp="2015-03-15T02:40:14Z")
COPIED = body(COPY, IBI, state="Copy", contenttype="Data", url="http://copy.example.org/x", urlkey="1234567890")
KNOWN = KnownHolder({parse(LABEL): HOME})


def test_the_known_holder_is_believed_and_the_copies_are_mentioned() -> None:
    outcome = resolve(LABEL, {HOME: lambda _: GONE, COPY: lambda _: COPIED}, routing=KNOWN)
    assert isinstance(outcome, Deleted)
    assert (outcome.by, outcome.copies, str(outcome.when)) == (HOME, (COPY,), "2015-03-15T02:40:14Z")


def test_of_any_other_it_does_not_count_while_an_archive_has_a_url() -> None:
    outcome = resolve(LABEL, {LIAR: lambda _: FALSELY_GONE, COPY: lambda _: COPIED})
    assert isinstance(outcome, Redirect)
    assert outcome.archive == COPY


def test_of_any_other_it_counts_if_no_archive_has_a_url_and_no_holder_is_known() -> None:
    outcome = resolve(LABEL, {LIAR: lambda _: FALSELY_GONE, COPY: lambda _: b""})
    assert isinstance(outcome, Deleted)
    assert outcome.by == LIAR


def test_of_anyone_else_it_does_not_count_while_the_known_holder_is_silent() -> None:
    scripts = {LIAR: lambda _: FALSELY_GONE, HOME: lambda _: Failure.UNREACHABLE}
    outcome = resolve(LABEL, scripts, routing=KNOWN)  # type: ignore[arg-type]
    assert isinstance(outcome, NoArchiveAnswered)
    assert outcome.home == HOME


def test_a_holder_that_has_nothing_any_more_is_no_holder() -> None:
    outcome = resolve(LABEL, {LIAR: lambda _: FALSELY_GONE, HOME: lambda _: b""}, routing=KNOWN)
    assert isinstance(outcome, Deleted)
    assert outcome.by == LIAR


def test_no_archive_has_it() -> None:
    assert isinstance(resolve(LABEL, {HOME: lambda _: b""}, routing=KNOWN), NotFound)
