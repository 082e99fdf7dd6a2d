"""Readers who do not want what is kept, as browsers and older clients say it (RFC 9111 §5)."""

from __future__ import annotations

import pytest

from ibi.web.request import is_wanted_anew


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"cache-control": "no-cache"}, True),
        ({"cache-control": "max-age=0"}, True),
        ({"cache-control": "Max-Age=0"}, True),
        ({"cache-control": "no-transform, max-age=00, x"}, True),
        ({"cache-control": 'max-age="0"'}, True),
        ({"pragma": "no-cache"}, True),
        ({"pragma": "No-Cache"}, True),
        ({"pragma": "no-cache", "cache-control": "no-cache"}, True),
        ({}, False),
        ({"cache-control": "max-age=05"}, False),
        ({"cache-control": "max-age=3600"}, False),
        ({"cache-control": "s-max-age=0"}, False),
        ({"cache-control": "max-stale=0"}, False),
        ({"cache-control": "max-age"}, False),
        ({"pragma": "x"}, False),
        ({"pragma": "no-cache", "cache-control": "max-age=60"}, False),
        ({"pragma": "no-cache", "cache-control": "only-if-cached"}, False),
    ],
)
def test_what_the_reader_says_of_caches(headers: dict[str, str], expected: bool) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert is_wanted_anew(raw) is expected
