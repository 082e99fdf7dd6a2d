"""What is marked in what was found, and which line of a summary is shown."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.highlighting import LINE, highlight, summary_line
from ibi.archive.search import word_spans, words
from ibi.archive.search_terms import SearchField, read_terms


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
