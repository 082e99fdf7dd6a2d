"""For how long an answer may be kept, and what counts as plain text."""

from __future__ import annotations

import pytest

from ibi.net.http_connection import HttpResponse, freshness


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        (b"", 0),
        (b"max-age=300", 300),
        (b"public, Max-Age=300", 300),
        (b'max-age="300"', 300),
        (b"max-age=300, max-age=300", 300),
        (b"max-age=300, max-age=600", 0),
        (b"max-age=300, s-maxage=20", 20),
        (b"max-age=300, no-store", 0),
        (b"no-cache, max-age=300", 0),
        (b"max-age=300,private", 0),
        (b'private="x-thing", max-age=300', 0),
        (b"max-age=31536000", 86_400),
        (b"max-age=99999999999999999999", 0),
        (b"max-age=-1", 0),
        (b"max-age=3e5", 0),
        (b"max-age=\xd9\xa3", 0),
        (b"max-age", 0),
        (b"=;,,\x00", 0),
    ],
)
def test_what_a_header_allows(cache_control: bytes, seconds: int) -> None:
    assert freshness(cache_control) == seconds


@pytest.mark.parametrize(("age", "seconds"), [(b"0", 300), (b"100", 200), (b"400", 0), (b"old", 0), (b"1, 2", 0)])
def test_the_time_an_answer_spent_elsewhere_counts(age: bytes, seconds: int) -> None:
    assert freshness(b"max-age=300", age) == seconds


@pytest.mark.parametrize(
    ("content_type", "content", "plain"),
    [
        (b"text/plain", b"a b", True),
        (b"Text/Plain; charset=us-ascii", b"a b", True),
        (b"", b"", True),
        (b"", b"a b", False),
        (b"text/html", b"a b", False),
        (b"text/html", b"", False),
        (b"text/plain, text/html", b"a b", False),
        (b"text/plainer", b"a b", False),
    ],
)
def test_plain_text_is_said_to_be_such_unless_it_is_nothing(content_type: bytes, content: bytes, plain: bool) -> None:
    assert HttpResponse(200, content, content_type).is_plain_text is plain
