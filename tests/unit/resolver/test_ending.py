"""A URL that is not believed stands in nobody's way: neither of a tombstone, nor among the Copies (E20, E31)."""

from __future__ import annotations

from ibi.resolver.rules.outcome import Deleted, Missing, RelatedItemMissing
from ibi.standard.label import parse
from tests.support.scripted_archives import KnownHolder, archive, body, resolve

LABEL = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
IBI = f"rep {LABEL}"
HOME, LIAR = archive("home"), archive("liar")
GONE = body(HOME, IBI, state="Deleted", timestamp="2015-03-15T02:40:14Z")
FOREIGN = body(LIAR, IBI, state="Original", contenttype="Data", url="http://evil.example.net/x", urlkey="1234567890")


def test_who_gives_a_url_of_another_host_does_not_hide_that_the_item_was_deleted() -> None:
    outcome = resolve(LABEL, {LIAR: lambda _: FOREIGN, HOME: lambda _: GONE})
    assert isinstance(outcome, Deleted)
    assert (outcome.by, outcome.copies) == (HOME, ())


def test_who_gives_a_url_of_another_host_is_not_among_those_that_have_a_copy() -> None:
    known = KnownHolder({parse(LABEL): HOME})
    outcome = resolve(LABEL, {LIAR: lambda _: FOREIGN, HOME: lambda _: GONE}, routing=known)
    assert isinstance(outcome, Deleted)
    assert (outcome.by, outcome.copies) == (HOME, ())


def test_if_no_archive_says_deleted_it_is_told_that_the_url_was_refused() -> None:
    outcome = resolve(LABEL, {LIAR: lambda _: FOREIGN, HOME: lambda _: b""})
    assert isinstance(outcome, RelatedItemMissing)
    assert outcome.missing is Missing.BELIEVABLE_URL
