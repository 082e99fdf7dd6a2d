"""How the text of a search is read: nothing is refused, and what means nothing is words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.model.search import YearSpan
from ibi.items.rules.search_terms import SearchField, Term, Terms, read_terms
from ibi.standard.label import parse

RED, SEA, BLUE = Term(("red",)), Term(("sea",)), Term(("blue",))
TITLE, CREATOR, SUBJECT, TYPE = SearchField.TITLE, SearchField.CREATOR, SearchField.SUBJECT, SearchField.TYPE


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("Red SEA", [RED, Term(("sea",), True)], []),
        ('"Red sea" x', [Term(("red", "sea")), Term(("x",))], []),
        ('x "Red sea"', [Term(("x",)), Term(("red", "sea"))], []),
        ("“red” «sea»", [RED, SEA], []),
        ("red -sea", [RED], [SEA]),
        ('-"red sea" blue', [Term(("blue",), True)], [Term(("red", "sea"))]),
        ("mtc-m18", [Term(("mtc", "m18"), True)], []),
        ("red - sea", [RED, Term(("sea",), True)], []),
        ('red "sea', [RED, Term(("sea",), True)], []),
        ('""', [], []),
        ("a", [Term(("a",))], []),
    ],
)
def test_words_and_phrases(text: str, wanted: list[Term], unwanted: list[Term]) -> None:
    terms = read_terms(text)
    assert (list(terms.wanted), list(terms.unwanted)) == ([(term,) for term in wanted], unwanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("title:red", [(Term(("red",), True, TITLE),)]),
        ('TITLE:"red sea" x', [(Term(("red", "sea"), False, TITLE),), (Term(("x",)),)]),
        ("título:red autor:sea", [(Term(("red",), False, TITLE),), (Term(("sea",), True, CREATOR),)]),
        ("creator: banon", [(Term(("banon",), True, CREATOR),)]),
        ("subject:sea type:thesis", [(Term(("sea",), False, SUBJECT),), (Term(("thesis",), True, TYPE),)]),
        ("year:2001..2010", [(YearSpan(2001, 2010),)]),
        ("year:2009", [(YearSpan(2009, 2009),)]),
        ("ano:2001-2010", [(YearSpan(2001, 2010),)]),
        ("year:2010..2001", [(YearSpan(2001, 2010),)]),
        ("year:..1999 red", [(YearSpan(0, 1999),), (Term(("red",), True),)]),
        ("year:2001..", [(YearSpan(2001, 9999),)]),
        ("red OR blue", [(RED, Term(("blue",), True))]),
        ("sea red OR blue", [(SEA,), (RED, Term(("blue",), True))]),
        ('red OR "sea" OR title:blue', [(RED, SEA, Term(("blue",), True, TITLE))]),
        ("year:2001 OR year:2003", [(YearSpan(2001, 2001), YearSpan(2003, 2003))]),
    ],
)
def test_fields_years_and_alternatives(text: str, wanted: list[object]) -> None:
    assert list(read_terms(text).wanted) == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("OR red", ["or", "red"]),
        ("red OR", ["red", "or"]),
        ("red or blue", ["red", "or", "blue"]),
        ("red OR -blue", ["red", "or"]),
        ("title:", ["title"]),
        ('title:""', ["title"]),
        ("year:soon", ["year", "soon"]),
        ("year:..", ["year"]),
        ("year:20011", ["year", "20011"]),
        ("subtitle:red", ["subtitle", "red"]),
        ("colour:red", ["colour", "red"]),
        ("red:", ["red"]),
    ],
)
def test_what_cannot_be_read_is_words(text: str, words: list[str]) -> None:
    terms = read_terms(text)
    assert [word for term in terms.wanted_terms for word in term.words] == words
    assert all(isinstance(clause, Term) and clause.field is None for group in terms.wanted for clause in group)


def test_fields_may_be_unwanted_too() -> None:
    assert read_terms("-title:red -year:2001").unwanted == (Term(("red",), False, TITLE), YearSpan(2001, 2001))


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


@given(st.text() | st.lists(st.sampled_from(["OR", "-", "title:", '"', "year:", "20..", "x", " "])).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    terms = read_terms(text)
    found = [*(clause for group in terms.wanted for clause in group), *terms.unwanted]
    assert all(clause.words for clause in found if isinstance(clause, Term))
    assert sum(term.is_beginning for term in terms.wanted_terms) <= 1
    assert not any(clause.is_beginning for clause in terms.unwanted if isinstance(clause, Term))


@pytest.mark.parametrize(
    ("text", "span", "written"),
    [
        ("2001", (2001, 2001), "2001"),
        ("1..20", (1, 20), "0001..0020"),
        ("..5", (0, 5), "..0005"),
        ("7..", (7, 9999), "0007.."),
    ],
)
def test_a_span_of_years_is_written_as_it_is_read(text: str, span: tuple[int, int], written: str) -> None:
    found = YearSpan.parse(text)
    assert found == span
    assert str(found) == written
    assert YearSpan.parse(written) == found
