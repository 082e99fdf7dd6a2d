"""Items named on the command line: labels and links alike."""

from __future__ import annotations

import pytest

from ibi.command.options import read_label
from ibi.standard.errors import InvalidLabel, InvalidPersistentUrl
from ibi.standard.label import LegacyLabel, parse

LABELS = ("sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS")


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("form", ["{}", "http://urlib.net/{}", "https://lab.br/ibi/{}", "ibi:{}", "/{}"])
def test_a_label_and_a_link_name_the_same_item(label: str, form: str) -> None:
    assert read_label(form.format(label)) == parse(label)


@pytest.mark.parametrize("rest", ["!", ":", "+(fr)", "/a.txt", "+"])
def test_a_link_that_leads_elsewhere_names_no_item(rest: str) -> None:
    with pytest.raises(InvalidPersistentUrl, match="if the item itself is meant, give 8JMKD3MGP8W/34PGRBS"):
        read_label(f"http://urlib.net/{LABELS[1]}{rest}")


def test_a_mistyped_label_is_explained_as_a_label() -> None:
    with pytest.raises(InvalidLabel):
        read_label("8JMKD3MGP8W")
    with pytest.raises(InvalidPersistentUrl):
        read_label("http://urlib.net/nothing")


@pytest.mark.parametrize("form", ["{}", "http://urlib.net/{}", "ibi:{}"])
def test_a_label_of_before_2008_is_read_as_every_other(form: str) -> None:
    assert read_label(form.format("83LX3pFwXQZ5Jpy/Bkjzd")) == LegacyLabel.parse("83LX3pFwXQZ5Jpy/Bkjzd")


@pytest.mark.parametrize("text", ["", "nonsense", "http://urlib.net/", "http://x/\x00"])
def test_what_is_neither_a_label_nor_a_link_is_refused(text: str) -> None:
    with pytest.raises((InvalidLabel, InvalidPersistentUrl)):
        read_label(text)
