"""What strangers write is shown on one line, cut, and without control characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.safe_text import printable, quote, shorten


@given(st.text())
def test_what_is_printable_is_on_one_line_and_stays_as_long(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) == len(text)
    assert all(a in {b, " "} for a, b in zip(shown, text, strict=True))


@pytest.mark.parametrize("text", ["\x1b[2J", "a\nb", "a\rb", "\u202eb", "a\x00", "\x9b31m"])
def test_nothing_that_moves_a_cursor_is_left(text: str) -> None:
    assert not set(printable(text, "?")) & {"\x1b", "\n", "\r", "\u202e", "\x00", "\x9b"}
    assert quote(text, 80).isprintable()


@given(st.text(), st.integers(1, 40))
def test_a_shortened_text_is_no_longer_than_was_asked_for(text: str, longest: int) -> None:
    short = shorten(text, longest)
    assert len(short) <= longest
    assert short == text or short.endswith("…")


def test_a_long_quotation_says_that_it_was_cut() -> None:
    assert quote("a" * 81, 80) == repr("a" * 80 + "…")
    assert quote("a" * 80, 80) == repr("a" * 80)
