"""The prefix by which the home of a label is found."""

from __future__ import annotations

import pytest

from ibi.errors import InvalidLabel
from ibi.label import parse
from ibi.label.search import home_prefix, parse_home_prefix

DATE = "2009/02.16.17.46"


@pytest.mark.parametrize("spelling", ["sid.inpe.br/mtc-m18", "sid.inpe.br/mtc-m18.80", "SID.inpe.br/mtc-m18@80"])
def test_the_spellings_of_port_80_are_one_prefix(spelling: str) -> None:
    assert home_prefix(parse(f"{spelling}/{DATE}")) == "sid.inpe.br/mtc-m18"


@pytest.mark.parametrize("spelling", ["sid.inpe.br/mtc-m18.8080", "sid.inpe.br/mtc-m18@8080"])
def test_the_spellings_of_another_port_are_one_prefix_and_not_that_of_port_80(spelling: str) -> None:
    assert home_prefix(parse(f"{spelling}/{DATE}")) == "sid.inpe.br/mtc-m18.8080"


def test_the_prefix_of_an_ibip_is_compared_without_case() -> None:
    assert home_prefix(parse("8JMKD3MGP8W/34PGRBS")) == home_prefix(parse("8jmkd3mgp8w/34pgrbs")) == "8jmkd3mgp8w"


@pytest.mark.parametrize("text", ["sid.inpe.br/mtc-m18@80", "SID.inpe.br/mtc-m18", "sid.inpe.br/mtc-m18.80"])
def test_a_prefix_given_by_a_person_is_read_as_that_of_a_label(text: str) -> None:
    assert parse_home_prefix(text) == "sid.inpe.br/mtc-m18"


def test_the_prefix_of_an_ibip_is_read() -> None:
    assert parse_home_prefix("8JMKD3MGP8W") == "8jmkd3mgp8w"


@pytest.mark.parametrize(
    "text", ["", "/", "a/b/c", f"sid.inpe.br/mtc-m18/{DATE}", "8JMKD3MGP8", "0", "W", "ü.br/x", "8JMKD3MGP8W/3"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidLabel):
        parse_home_prefix(text)
