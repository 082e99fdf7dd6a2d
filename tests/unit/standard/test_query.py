from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import decode_query, decode_value, encode_query, encode_url, encode_value
from ibi.standard.messages.values import QUERY_LIMIT, RepeatedPair, select


def test_pairs_keep_their_order() -> None:
    pairs = (("b", "1"), ("a", "2"), ("b", "3"))
    assert encode_query(pairs) == "b=1&a=2&b=3"
    assert decode_query("b=1&a=2&b=3") == pairs


def test_a_pair_without_an_equals_sign_has_an_empty_value_and_an_empty_pair_is_none() -> None:
    assert decode_query("&a&&b=&=c&") == (("a", ""), ("b", ""), ("", "c"))
    assert decode_query("") == ()


def test_only_the_first_equals_sign_separates() -> None:
    assert decode_query("a=b=c") == (("a", "b=c"),)


def test_names_are_decoded_too() -> None:
    assert decode_query("service%73ubject=urlRequest") == (("servicesubject", "urlRequest"),)


def test_the_name_decides_how_a_value_is_encoded() -> None:
    assert encode_query([("url", "%20?"), ("other", "%20?")]) == "url=%20%3F&other=%2520%3F"
    assert decode_query("url=%20%3F&other=%2520%3F") == (("url", "%20?"), ("other", "%20?"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("%C3%B3", "ó"),
        ("%f3", "ó"),
        ("%F3%C3%B3", "óÃ³"),
        ("ó%f3", "óó"),
        ("%", "%"),
        ("%2", "%2"),
        ("%zz%20", "%zz "),
        ("%25%32%30", "%20"),
        ("\ud800%20", "\ud800 "),
        ("%ED%A0%80", "í\xa0\x80"),
    ],
)
def test_escapes_are_utf_8_or_else_iso_8859_1(value: str, text: str) -> None:
    assert decode_value(value) == text


@pytest.mark.parametrize("character", '"<>[]\\^`{|}\x00\x7f\n')
def test_what_a_uri_cannot_hold_is_encoded(character: str) -> None:
    assert encode_value(character) == encode_url(character) == f"%{ord(character):02X}"


@pytest.mark.parametrize("encode", [encode_value, encode_url])
def test_half_a_surrogate_pair_cannot_be_written(encode: type[str]) -> None:
    with pytest.raises(InvalidMessage):
        encode("a\ud800")


def test_a_query_longer_than_the_limit_is_not_read() -> None:
    decode_query("a" * QUERY_LIMIT)
    with pytest.raises(InvalidMessage, match="at most"):
        decode_query("a" * (QUERY_LIMIT + 1))


def test_what_is_not_known_is_ignored_and_what_is_known_stands_there_once() -> None:
    pairs = (("a", "1"), ("x", "2"), ("x", "3"))
    assert select(pairs, {"a", "b"}) == {"a": "1"}
    with pytest.raises(RepeatedPair):
        select(pairs, {"x"})
