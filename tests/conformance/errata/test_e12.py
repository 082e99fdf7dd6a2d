"""E12: `lista` wants two words or more, and `{}` is used: any number of words may stand in braces."""

from __future__ import annotations

import pytest

from ibi.standard.pairs import Pairs, Value


@pytest.mark.parametrize(
    ("body", "value"), [(b"a {}", ()), (b"a {1}", ("1",)), (b"a {1 2}", ("1", "2")), (b"a {1 2 3}", ("1", "2", "3"))]
)
def test_none_one_or_more_words_in_braces_are_read_and_written(body: bytes, value: Value) -> None:
    assert Pairs.decode(body)["a"] == value
    assert Pairs([("a", value)]).encode() == body


def test_a_word_in_braces_is_not_a_word_without_them() -> None:
    assert Pairs.decode(b"a {1}") != Pairs.decode(b"a 1")


@pytest.mark.parametrize("body", [b"a { }", b"a {\r\n}"])
def test_blanks_alone_in_braces_are_no_words(body: bytes) -> None:
    assert Pairs.decode(body) == Pairs([("a", ())])


@pytest.mark.parametrize("body", [b"a { 1 2}", b"a {1  2}", b"a {1\r\n2\n}"])
def test_any_blanks_separate_words_in_braces(body: bytes) -> None:
    assert Pairs.decode(body) == Pairs([("a", ("1", "2"))])
