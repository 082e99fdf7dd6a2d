"""What strangers write is shown on one line, cut, and without control characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.standard.safe_text import close_directions, printable, quote, reveal, shorten


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


_DIRECTED = st.text(
    st.sampled_from("ab\u05d0 \n\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"), max_size=30
)


def open_directions(text: str) -> list[str] | None:
    """What a text leaves open, by the rules X1 to X8 of Unicode Standard Annex 9; None if it closes what it did not
    open."""
    opened: list[str] = []
    for each in text:
        if each in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068":
            opened.append(each)
        elif each == "\u202c":
            if not opened or opened[-1] >= "\u2066":
                return None
            opened.pop()
        elif each == "\u2069":
            while opened and opened[-1] < "\u2066":
                opened.pop()
            if not opened:
                return None
            opened.pop()
    return opened


@given(_DIRECTED, _DIRECTED)
def test_closed_directions_do_not_reach_out_of_a_text(text: str, other: str) -> None:
    closed = close_directions(text)
    assert open_directions(closed) == []
    assert close_directions(closed) == closed
    assert close_directions(closed + close_directions(other)) == closed + close_directions(other)


@given(_DIRECTED)
def test_directions_that_are_closed_already_are_left_alone(text: str) -> None:
    if open_directions(text) == []:
        assert close_directions(text) == text


def test_very_many_directions_take_no_long_time() -> None:
    assert close_directions("\u202e" * 300_000 + "\u2069" * 300_000) == "\u202e" * 300_000 + "\u202c" * 300_000


def test_what_is_not_seen_is_revealed() -> None:
    assert reveal("a\u202egpj.exe\n") == "a[U+202E]gpj.exe[U+000A]"
    assert reveal("صورة é 日") == "صورة é 日"
