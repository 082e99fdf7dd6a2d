"""R Table 9.4: the grammar of the forms of an IBI."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms

REP = "rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57"
IBIP = "ibip 8JMKD3MGP7W/3EPGUE5"


@pytest.mark.parametrize("text", [REP, IBIP, f"{REP} {IBIP}"])
def test_either_form_or_both_are_given(text: str) -> None:
    assert str(LabelForms.parse(text)) == text
    assert LabelForms.parse(text).words == tuple(text.split())


def test_both_are_written_with_the_repository_name_first() -> None:
    assert str(LabelForms.parse(f"{IBIP} {REP}")) == f"{REP} {IBIP}"


def test_the_forms_of_some_labels_are_those_labels() -> None:
    rep, ibip = parse(REP.split()[1]), parse(IBIP.split()[1])
    assert LabelForms.of(ibip, rep) == LabelForms.parse(f"{REP} {IBIP}")
    assert LabelForms.of(rep).labels == (rep,)


def test_the_spelling_of_a_label_is_kept() -> None:
    assert str(LabelForms.parse("ibip 8jmkd3mgp7w/3epgue5")) == "ibip 8jmkd3mgp7w/3epgue5"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rep",
        "8JMKD3MGP7W/3EPGUE5",
        "rep 8JMKD3MGP7W/3EPGUE5",
        "ibip sid.inpe.br/mtc-m19/2013/09.04.12.27.57",
        f"{REP} {REP}",
        f"{IBIP} ibip",
        f"{REP} {IBIP} x y",
        "url http://host/",
        REP.replace(" ", "\t"),
        REP.replace(" ", "\u3000"),
        f"{REP} ibip 8JMKD3MGP7W",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidMessage):
        LabelForms.parse(text)


def test_two_labels_of_different_instants_are_not_forms_of_one_item() -> None:
    with pytest.raises(InvalidMessage, match="different times"):
        LabelForms.parse(f"{REP} ibip 8JMKD3MGP8W/35MME4E")
