"""R Table 6.2: the grammar of a list of pairs, as E12 and SPEC §4 widen it."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidPairs
from ibi.standard.pairs import Pairs

# caractere = %x21-7A | %x7C | %x7E
ALPHABET = [chr(code) for code in (*range(0x21, 0x7B), 0x7C, 0x7E)]


def test_the_tables_own_list_has_two_pairs() -> None:
    assert Pairs.decode(b"a1 {a2 a3} a4 a5") == Pairs([("a1", ("a2", "a3")), ("a4", "a5")])


def test_a_word_holds_every_character_of_the_alphabet_as_it_is() -> None:
    word = "".join(ALPHABET)
    assert Pairs([("n", word)]).encode() == f"n {word}".encode()
    assert Pairs.decode(f"{word} {word}".encode()) == Pairs([(word, word)])


@pytest.mark.parametrize("code", sorted(set(range(128)) - {ord(character) for character in ALPHABET}))
def test_any_other_ascii_character_is_percent_encoded_in_a_word(code: int) -> None:
    assert Pairs([("n", chr(code))]).encode() == f"n %{code:02X}".encode()


def test_a_character_beyond_ascii_is_percent_encoded_as_utf_8() -> None:
    assert Pairs([("n", "ó")]).encode() == b"n %C3%B3"


@pytest.mark.parametrize("space", [b" ", b"\r\n", b"\n", b"   ", b"\r\n\r\n", b" \n \r\n"])
def test_blanks_and_line_ends_separate_pairs(space: bytes) -> None:
    assert Pairs.decode(b"a 1" + space + b"b 2") == Pairs([("a", "1"), ("b", "2")])


@pytest.mark.parametrize("space", [b" ", b"    ", b"\r\n ", b"\n"])
def test_any_number_of_blanks_separates_a_name_from_its_value(space: bytes) -> None:
    assert Pairs.decode(b"a" + space + b"{1 2}") == Pairs([("a", ("1", "2"))])


def test_blanks_around_a_list_mean_nothing() -> None:
    assert Pairs.decode(b"\r\n a 1\r\n") == Pairs([("a", "1")])


@pytest.mark.parametrize("body", [b"", b" ", b"\r\n", b"\n"])
def test_an_empty_body_is_the_empty_list(body: bytes) -> None:
    assert Pairs.decode(body) == Pairs()
    assert Pairs().encode() == b""


def test_one_pair_a_line_is_written_sorted_by_name_with_crlf_between_and_none_at_the_end() -> None:
    assert Pairs([("b", "2"), ("a.c", ("x", "y")), ("a", "1")]).encode() == b"a 1\r\na.c {x y}\r\nb 2"


@pytest.mark.parametrize(
    "body",
    [
        b"a",
        b"a 1 b",
        b"a{1}",
        b"a {1}b 2",
        b"a {1",
        b"a 1}",
        b"{a} 1",
        b"a {1 {2}}",
        b"a }",
        b"a {1}}",
        b"{}",
        b"a\t1",
        b"a 1\rb 2",
        b"a 1\r\r\nb 2",
        b"a 1\r",
        b"a 1\x00",
        b"a 1\x7f",
        b"a 1\x0bb 2",
        b"a 1\x1cb 2",
        b"a \xf3",
        b"a \xc3\xb3",
        b"\xef\xbb\xbfa 1",
    ],
)
def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidPairs):
        Pairs.decode(body)


@pytest.mark.parametrize("body", [b"a 1 a 1", b"a 1\r\nb 2\r\na 3"])
def test_a_name_that_is_there_twice_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidPairs, match="the name a is there twice"):
        Pairs.decode(body)
