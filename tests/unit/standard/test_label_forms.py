from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.label import Ibip, RepositoryName
from ibi.standard.messages import LabelForms

REP = RepositoryName.parse("sid.inpe.br/mtc-m19/2013/09.04.12.27.57")
IBIP = Ibip.parse("8JMKD3MGP7W/3EPGUE5")


def test_there_is_at_least_one_form() -> None:
    with pytest.raises(InvalidMessage, match="at least one"):
        LabelForms()


def test_each_form_has_its_place() -> None:
    forms = LabelForms(REP, IBIP)
    assert (forms.rep, forms.ibip) == (REP, IBIP)
    assert forms.labels == (REP, IBIP)


def test_label_forms_are_a_value() -> None:
    assert {LabelForms(REP, IBIP), LabelForms.of(REP, IBIP)} == {LabelForms(REP, IBIP)}
    assert LabelForms(REP) != LabelForms(REP, IBIP)


def test_two_labels_of_one_form_are_refused() -> None:
    with pytest.raises(InvalidMessage):
        LabelForms.of(REP, REP)


def test_the_error_points_at_what_is_wrong_with_a_label() -> None:
    with pytest.raises(InvalidMessage, match="February") as refused:
        LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/02.30.12.27")
    assert refused.value.text[refused.value.offset :].startswith("30.12.27")


def test_each_goes_out_as_it_was_spelled_however_others_spelled_it_before() -> None:
    large, small = LabelForms.parse("ibip 8JMKD3MGP7W/3EPGUE5"), LabelForms.parse("ibip 8jmkd3mgp7w/3epgue5")
    assert large == small
    assert (large.words[1], small.words[1]) == ("8JMKD3MGP7W/3EPGUE5", "8jmkd3mgp7w/3epgue5")
    assert LabelForms.parse("ibip 8JMKD3MGP7W/3EPGUE5").words == large.words


def test_the_forms_of_one_label_hold_that_very_label() -> None:
    assert LabelForms.of(REP).rep is REP
    assert LabelForms.of(IBIP).ibip is IBIP


@pytest.mark.parametrize(
    "words", [("rep",), ("rep", str(REP), "rep", str(REP)), ("rep", str(REP), "REP", str(REP)), ()]
)
def test_what_was_refused_is_refused_again(words: tuple[str, ...]) -> None:
    for _ in range(2):
        with pytest.raises(InvalidMessage, match="rep and a name"):
            LabelForms.from_words(words)
