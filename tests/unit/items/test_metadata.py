"""Descriptive metadata: what may stand in it."""

from __future__ import annotations

import pytest

from ibi.items.model.description_values import MAX_TEXT
from ibi.items.model.metadata import DC_ELEMENTS, Agent, DescriptiveMetadata, Licence, Orcid, Text
from ibi.standard.document_errors import InvalidMetadata
from ibi.standard.languages import LanguageTag


def test_there_are_the_fifteen_elements_of_dublin_core() -> None:
    assert len(DC_ELEMENTS) == 15
    assert all(DescriptiveMetadata().values(element) == () for element in DC_ELEMENTS)


@pytest.mark.parametrize(
    "text",
    [
        "0000-0002-1825-0097",
        "https://orcid.org/0000-0002-1825-0097",
        "http://www.orcid.org/0000-0002-1825-0097/",
        "0000000218250097",
        " 0000-0002-1825-0097 ",
    ],
)
def test_an_orcid_is_read_in_any_of_its_forms_and_written_in_one(text: str) -> None:
    assert str(Orcid(text)) == "0000-0002-1825-0097"
    assert Orcid(text).url == "https://orcid.org/0000-0002-1825-0097"


def test_the_check_digit_may_be_x() -> None:
    assert str(Orcid("0000-0002-1694-233x")) == "0000-0002-1694-233X"


@pytest.mark.parametrize("digit", "012345689X")
def test_a_mistyped_orcid_fails_its_check_digit(digit: str) -> None:
    with pytest.raises(InvalidMetadata, match="last digit"):
        Orcid(f"0000-0002-1825-009{digit}")


@pytest.mark.parametrize("text", ["", "0000", "0000-0002-1825-00977", "orcid", "٠٠٠٠-0002-1825-0097", "x" * 10_000])
def test_what_is_no_orcid_is_refused(text: str) -> None:
    with pytest.raises(InvalidMetadata, match="sixteen"):
        Orcid(text)


@pytest.mark.parametrize("text", ["CC-BY-4.0", "GPL-2.0+", "MIT", "https://creativecommons.org/licenses/by/4.0/"])
def test_a_licence_is_an_identifier_or_a_url(text: str) -> None:
    assert str(Licence(text)) == text
    assert Licence(text).url.startswith("http")


@pytest.mark.parametrize("text", ["", "CC BY", "javascript:alert(1)", "ftp://a/b", "https://a b", "x" * 70])
def test_anything_else_is_no_licence(text: str) -> None:
    with pytest.raises(InvalidMetadata):
        Licence(text)


@pytest.mark.parametrize("text", ["", "  \n", "a\0b", "a\x1b[31m", "\ud800", "\uffff", "x" * (MAX_TEXT + 1)])
def test_a_value_says_something_that_can_be_written_anywhere(text: str) -> None:
    with pytest.raises(InvalidMetadata) as refusal:
        Text(text)
    str(refusal.value).encode()
    with pytest.raises(InvalidMetadata):
        Agent(text)


def test_paragraphs_are_kept() -> None:
    assert Text("one\n\ttwo\r\n").value == "one\n\ttwo\r\n"


def test_titles_in_the_language_asked_for_come_first() -> None:
    en, pt = LanguageTag("en"), LanguageTag("pt")
    metadata = DescriptiveMetadata(title=(Text("a"), Text("b", en), Text("c", pt), Text("d", pt)))
    assert metadata.titles() == ("a", "b", "c", "d")
    assert metadata.titles(pt) == ("c", "d", "a", "b")
