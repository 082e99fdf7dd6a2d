from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.rules.search import BOUNDARY, LONGEST, join_words, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Relatório de ATIVIDADES, 2009.", ["relatorio", "de", "atividades", "2009"]),
        ("Relato\u0301rio", ["relatorio"]),
        ("Łódź Ærø Straße İstanbul ıssız", ["lodz", "aero", "strasse", "istanbul", "issiz"]),
        ("Ёлка", ["елка"]),
        ("ΣΊΣΥΦΟΣ", ["σισυφοσ"]),
        ("日本語 ガス", ["日", "本", "語", "ガ", "ス"]),
        ("한국어", ["한국어"]),
        ("हिन्दी", ["हिन्दी"]),
        ("ไทย", ["ไ", "ท", "ย"]),
        ("שָׁלוֹם", ["שלום"]),
        ("a_b-c@d/e.f", ["a", "b", "c", "d", "e", "f"]),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"]),
        ("🎉❤️", ["🎉", "❤"]),
        ("½ ① x²", ["1", "2", "1", "x2"]),
        ("· — !? \ud800", []),
        ("", []),
        ("x" * 100, ["x" * LONGEST]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_words_are_safe_to_index_and_stay_what_they_are(text: str) -> None:
    found = words(text)
    assert all(word and len(word) <= LONGEST and not set(word) & set(' "*^:(){}-+·\0') for word in found)
    assert all(ord(character) > 127 or character.isalnum() for word in found for character in word)
    "".join(found).encode()
    assert words(" ".join(found)) == found


@given(st.text(st.characters(codec="utf-8")))
def test_case_does_not_matter(text: str) -> None:
    assert words(text.casefold()) == words(text)


def test_values_are_kept_apart() -> None:
    assert join_words(["One two", "three", "!"], 100) == f"one two {BOUNDARY} three {BOUNDARY}"
    assert join_words(["One two", "three"], 2) == "one two"
    assert join_words([], 5) == ""
