from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages.values import state, url
from ibi.standard.vocabulary import State


@pytest.mark.parametrize(
    "text",
    ["http://h.org", "HTTPS://h.org:8443/a%20b?c=d&e#f", "http://[::1]/", "http://h.org?q", "http://h.org/%C3%A9'(x)"],
)
def test_a_url_that_can_be_followed_is_left_as_it_is(text: str) -> None:
    assert url(text) == text


@pytest.mark.parametrize(
    ("text", "followed"),
    [
        ("http://h.org/é", "http://h.org/%C3%A9"),
        ("http://h.org/100%", "http://h.org/100%25"),
        ("http://h.org/%2", "http://h.org/%252"),
        ("http://h.org/[a] b", "http://h.org/%5Ba%5D%20b"),
    ],
)
def test_what_a_url_cannot_hold_is_encoded(text: str, followed: str) -> None:
    assert url(text) == followed


@pytest.mark.parametrize(
    "text",
    [
        "http://",
        "http:///x",
        "http://u@h.org/x",
        "http://h.org\\x/",
        "http://127.1/x",
        "http://h.org:0/",
        "http://h é.org/",
        "ftp://h.org/x",
        "httpſ://h.org/x",
    ],
)
def test_an_authority_is_judged_however_plain_the_rest_is(text: str) -> None:
    with pytest.raises(InvalidMessage):
        url(text)


@pytest.mark.parametrize("text", ["Original", "original", "ORIGINAL"])
def test_a_word_of_a_few_is_read_in_any_case(text: str) -> None:
    assert state(text) is State.ORIGINAL


@pytest.mark.parametrize("text", ["", "Original ", "ORİGINAL", "Originals"])
def test_any_other_word_is_refused(text: str) -> None:
    with pytest.raises(InvalidMessage, match="Original or Copy or Deleted"):
        state(text)
