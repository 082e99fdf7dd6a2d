"""What the two forms have in common, and `parse` for either."""

from __future__ import annotations

import operator

import pytest

import ibi
from ibi import Ibip, Label, RepositoryName


def test_both_forms_are_labels() -> None:
    assert issubclass(RepositoryName, Label)
    assert issubclass(Ibip, Label)


def test_a_label_of_no_form_cannot_be_parsed() -> None:
    with pytest.raises(TypeError):
        Label.parse("8JMKD3MGP8W/34PGRBS")


@pytest.mark.parametrize("text", ["8JMKD3MGP8W/34PGRBS", "sid.inpe.br/mtc-m18/2009/02.16.17.46"])
def test_no_attribute_can_be_added(text: str) -> None:
    assert not hasattr(ibi.parse(text), "__dict__")


@pytest.mark.parametrize(
    ("text", "form"), [("8JMKD3MGP8W/34PGRBS", Ibip), ("sid.inpe.br/mtc-m18/2009/02.16.17.46", RepositoryName)]
)
def test_parse_tells_the_forms_apart(text: str, form: type[Label]) -> None:
    assert type(ibi.parse(text)) is form


def test_labels_are_keys() -> None:
    shelf = {ibi.parse("8JMKD3MGP8W/34PGRBS"): "one"}
    assert shelf[ibi.parse("8jmkd3mgp8w/34pgrbs")] == "one"


@pytest.mark.parametrize("other", [None, 1, "8JMKD3MGP8W/34PGRBS", ibi.Instant(1234806360)])
def test_a_label_is_compared_with_labels_only(other: object) -> None:
    label = ibi.parse("8JMKD3MGP8W/34PGRBS")
    assert label != other
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError):
            compare(label, other)  # type: ignore[arg-type]
