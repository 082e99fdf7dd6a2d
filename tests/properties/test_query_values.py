"""Values of query strings are encoded and decoded as if one character were looked at after the other."""

from __future__ import annotations

import re
import string
from urllib.parse import quote, unquote_to_bytes

from hypothesis import given
from hypothesis import strategies as st

from ibi.standard.messages import decode_value, encode_url, encode_value

PLAIN = frozenset(string.ascii_letters + string.digits + "-._~!$'()*,;:@/")
WORDS = st.lists(
    st.sampled_from([" ", "%", "%20", "%2", "%zz", "%C3", "%A9", "%25", "+", "&", "=", "?", "#", "a", "/", "é", "€"])
)
TEXTS = WORDS.map("".join) | st.text(st.characters(exclude_categories=["Cs"]))


def escaped(character: str) -> str:
    return character if character in PLAIN else quote(character, safe="")


@given(TEXTS)
def test_every_character_of_a_value_is_encoded_by_itself(text: str) -> None:
    assert encode_value(text) == "".join(map(escaped, text))


@given(TEXTS)
def test_a_url_keeps_its_own_escapes_and_no_other_percent_sign(text: str) -> None:
    units = re.findall(r"%[0-9A-Fa-f]{2}|[\s\S]", text)
    assert encode_url(text) == "".join(unit if len(unit) == 3 else escaped(unit) for unit in units)


@given(TEXTS)
def test_escapes_that_are_utf_8_are_read_as_such(text: str) -> None:
    read = unquote_to_bytes(text.replace("+", " "))
    try:
        expected = read.decode()
    except UnicodeDecodeError:
        return  # ISO 8859-1, which has tests of its own
    assert decode_value(text) == expected
