from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.search.terms import Term, Terms, read_terms
from ibi.label import parse


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("Red SEA", [Term(("red",)), Term(("sea",), True)], []),
        ('"Red sea" x', [Term(("red", "sea")), Term(("x",))], []),
        ('x "Red sea"', [Term(("x",)), Term(("red", "sea"))], []),
        ("“red” «sea»", [Term(("red",)), Term(("sea",))], []),
        ("red -sea", [Term(("red",))], [Term(("sea",))]),
        ('-"red sea" blue', [Term(("blue",), True)], [Term(("red", "sea"))]),
        ("mtc-m18", [Term(("mtc", "m18"), True)], []),
        ("red - sea", [Term(("red",)), Term(("sea",), True)], []),
        ('red "sea', [Term(("red",)), Term(("sea",), True)], []),
        ('""', [], []),
        ("a", [Term(("a",))], []),
    ],
)
def test_terms(text: str, wanted: list[Term], unwanted: list[Term]) -> None:
    terms = read_terms(text)
    assert (list(terms.wanted), list(terms.unwanted)) == (wanted, unwanted)


def test_blank_is_not_hopeless() -> None:
    assert read_terms(" ") == Terms()
    assert not read_terms("").is_hopeless
    assert read_terms("!").is_hopeless
    assert not read_terms("-x").is_hopeless


def test_labels_are_found_once_each() -> None:
    label = parse("8JMKD3MGP8W/34PGRBS")
    assert read_terms("http://urlib.net/8JMKD3MGP8W/34PGRBS and 8jmkd3mgp8w/34pgrbs.").labels == (label,)


def test_there_are_not_endlessly_many() -> None:
    terms = read_terms("word " * 1_000 + "8JMKD3MGP8W/34PGRBS " * 1_000)
    assert len(terms.wanted) == 32


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    terms = read_terms(text)
    assert all(term.words for term in (*terms.wanted, *terms.unwanted))
    assert sum(term.is_beginning for term in terms.wanted) <= 1
    assert not any(term.is_beginning for term in (*terms.wanted[:-1], *terms.unwanted))
