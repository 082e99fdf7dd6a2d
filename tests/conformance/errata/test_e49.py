"""E49: of two labels that an Archive gives for one item, the one that does not fit is dropped, and the other kept."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms

REP, IBIP = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (f"rep {REP} ibip {IBIP}", f"rep {REP} ibip {IBIP}"),
        (f"ibip {IBIP} rep {REP}", f"rep {REP} ibip {IBIP}"),
        (f"rep {REP} ibip 0OI1/nothing", f"rep {REP}"),
        (f"rep sid.inpe.br/mtc-m19/2013/02.30.12.27 ibip {IBIP}", f"ibip {IBIP}"),
        (f"rep {REP} urn something", f"rep {REP}"),
        (f"rep {REP} ibip", f"rep {REP}"),
        (REP, f"rep {REP}"),
        (IBIP, f"ibip {IBIP}"),
        (f"rep {REP} ibip 8JMKD3MGP7W/385N5PE", f"rep {REP}"),
        (f"rep {REP} rep sid.inpe.br/x/2013/09.04.12.27.57 ibip {IBIP}", f"ibip {IBIP}"),
    ],
)
def test_the_form_that_does_not_fit_is_dropped(given: str, kept: str) -> None:
    assert LabelForms.from_fitting_words(given.split(" ")) == LabelForms.parse(kept)


def test_of_two_that_were_made_at_different_times_the_one_asked_for_is_kept() -> None:
    words = f"rep {REP} ibip 8JMKD3MGP7W/385N5PE".split()
    other = parse("8JMKD3MGP7W/385N5PE")
    assert LabelForms.from_fitting_words(words, other) == LabelForms.of(other)
    assert LabelForms.from_fitting_words(words, parse(REP)) == LabelForms.of(parse(REP))


@pytest.mark.parametrize("given", ["", "rep", "rep x ibip y", "rep rep", "unknown"])
def test_nothing_that_fits_is_refused(given: str) -> None:
    with pytest.raises(InvalidMessage):
        LabelForms.from_fitting_words(given.split())


def test_what_is_recorded_of_an_own_item_has_to_fit() -> None:
    with pytest.raises(InvalidMessage):
        LabelForms.parse(f"rep {REP} ibip 8JMKD3MGP7W/385N5PE")
