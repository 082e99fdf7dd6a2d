from __future__ import annotations

import pytest

from ibi.errors import InvalidMessage
from ibi.label import Ibip, RepositoryName
from ibi.messages import LabelForms

REP = RepositoryName.parse("sid.inpe.br/mtc-m19/2013/09.04.12.27.57")
IBIP = Ibip.parse("8JMKD3MGP7W/3EPGUE5")


def test_there_is_at_least_one_form() -> None:
    with pytest.raises(InvalidMessage, match="at least one"):
        LabelForms()


def test_each_form_has_its_place() -> None:
    forms = LabelForms(REP, IBIP)
    assert (forms.rep, forms.ibip) == (REP, IBIP)
    assert forms.labels == (REP, IBIP)


def test_it_is_a_value() -> None:
    assert {LabelForms(REP, IBIP), LabelForms.of(REP, IBIP)} == {LabelForms(REP, IBIP)}
    assert LabelForms(REP) != LabelForms(REP, IBIP)


def test_two_labels_of_one_form_are_refused() -> None:
    with pytest.raises(InvalidMessage):
        LabelForms.of(REP, REP)


def test_the_error_points_at_what_is_wrong_with_a_label() -> None:
    with pytest.raises(InvalidMessage, match="February") as refused:
        LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/02.30.12.27")
    assert refused.value.text[refused.value.offset :].startswith("30.12.27")
