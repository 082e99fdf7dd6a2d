"""E29: `ibi.translation(en)` of Example 9.2 shows one form where `ibi` shows two. As far as the value is concerned."""

from __future__ import annotations

import pytest

from ibi.standard.label import parse
from ibi.standard.messages import LabelForms

REP = "sid.inpe.br/mtc-m18@80/2009/07.21.13.23"
IBIP = "8JMKD3MGP8W/35MME4E"


@pytest.mark.parametrize("known", [(REP,), (IBIP,), (REP, IBIP)])
def test_the_forms_known_are_data(known: tuple[str, ...]) -> None:
    assert [str(label) for label in LabelForms.of(*map(parse, known)).labels] == list(known)


@pytest.mark.parametrize(("given", "asked"), [(REP, IBIP), (IBIP, REP), (REP, REP), (IBIP, IBIP)])
def test_an_answer_with_only_the_other_form_is_accepted_if_its_instant_is_the_same(given: str, asked: str) -> None:
    assert LabelForms.of(parse(given)).may_name(parse(asked))


@pytest.mark.parametrize("asked", ["8JMKD3MGP8W/35MMLL8", "sid.inpe.br/mtc-m18/2009/07.21.14.43"])
def test_a_label_of_another_instant_is_of_another_item(asked: str) -> None:
    assert not LabelForms.of(parse(REP)).may_name(parse(asked))
    assert not LabelForms.of(parse(IBIP)).may_name(parse(asked))


@pytest.mark.parametrize("asked", ["sid.inpe.br/mtc-m18/2009/07.21.13.23", "8JMKD3MGP7W/35MME4E"])
def test_a_form_that_is_given_names_nothing_else_even_at_the_same_instant(asked: str) -> None:
    assert not LabelForms.of(parse(REP), parse(IBIP)).may_name(parse(asked))
