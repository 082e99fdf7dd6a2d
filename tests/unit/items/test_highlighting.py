"""What is marked in what was found, and which line of a summary is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.rules.highlighting import LINE, ScanBudget, highlight, line_of_text, summary_line
from ibi.items.rules.search import word_spans, words
from ibi.items.rules.search_terms import SearchField, read_terms


def marked(text: str, query: str, field: SearchField | None = None) -> list[str]:
    return [piece.text for piece in highlight(text, read_terms(query), field) if piece.is_sought]


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("Relatório de Atividades", "RELATORIO", ["Relatório"]),
        ("Relato\u0301rio", "relatorio", ["Relato\u0301rio"]),
        ("Atividades anuais", "anu", ["anuais"]),
        ("anual anuais anu", '"anu"', ["anu"]),
        ("the red sea, red", '"red sea"', ["red sea"]),
        ("日本語の文書", "本語", ["本語"]),
        ("हिन्दी साहित्य", "हिन्दी", ["हिन्दी"]),
        ("red blue", "red OR blue -green", ["red", "blue"]),
        ("red blue", "subject:red", []),
        ("green", "-green", []),
        ("<b>red</b>", "red", ["red"]),
        ("mtc-m18 x", "mtc-m18 x", ["mtc-m18", "x"]),
        ("", "red", []),
    ],
)
def test_words_are_marked_as_they_are_written(text: str, query: str, found: list[str]) -> None:
    assert marked(text, query) == found


def test_a_field_marks_its_own_words() -> None:
    assert marked("red blue", "title:red creator:blue", SearchField.TITLE) == ["red"]
    assert marked("red blue", "year:2001 type:red", SearchField.TITLE) == []


def test_a_line_is_around_what_was_sought() -> None:
    text = "Beginning. " + "filling words here " * 50 + "then the penguins came " + "and more of it " * 50
    line = summary_line(text, read_terms("penguins"))
    shown = "".join(piece.text for piece in line)
    assert [piece.text for piece in line if piece.is_sought] == ["penguins"]
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) <= LINE + 4
    assert "".join(piece.text for piece in summary_line(text, read_terms("x"))).startswith("Beginning. filling")


def text_line(texts: Iterable[str], query: str, budget: ScanBudget | None = None) -> str:
    return "".join(piece.text for piece in line_of_text(texts, read_terms(query), budget or ScanBudget()))


def test_a_line_of_texts_is_of_the_first_that_has_the_whole_phrase() -> None:
    texts = ["sea and red", "the red lake", "some way to the red sea"]
    assert text_line(texts, '"red sea"') == "some way to the red sea"
    assert text_line(texts, '"red ocean"') == ""


def test_texts_are_looked_at_for_all_items_of_a_list_together_and_no_further() -> None:
    read: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(100):
            read.append(number)
            yield "a" * 3_000 if number else "filling " * 1_000

    budget = ScanBudget(20_000)
    assert text_line(texts(), "penguins", budget) == ""
    assert len(read) < 10
    assert text_line(["penguins"], "penguins", budget) == ""
    assert text_line(["penguins"], "penguins") == "penguins"


def test_a_text_in_which_words_only_seem_to_be_is_not_looked_at_to_its_end() -> None:
    seeming = "\ufdfa " * 1_000  # one sign, which is four words when it is compared
    phrase = " ".join(words("\ufdfa")[1:3])
    looked: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(1_000):
            looked.append(number)
            yield seeming

    assert text_line(texts(), f'"{phrase}"') == ""
    assert len(looked) < 100


@given(st.text(max_size=300), st.text(max_size=20))
def test_nothing_is_lost_or_added(text: str, query: str) -> None:
    terms = read_terms(query)
    assert "".join(piece.text for piece in highlight(text, terms)) == text
    assert len("".join(piece.text for piece in summary_line(text, terms))) <= len(text) + 4


@given(st.text(max_size=60))
def test_the_words_of_the_spans_are_the_words(text: str) -> None:
    spans = list(word_spans(text))
    assert all(start < end for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    if text.isascii():
        assert [word for start, end in spans for word in words(text[start:end])] == words(text)
