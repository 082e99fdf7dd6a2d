"""Which form of an answer is sent for which Accept."""

from __future__ import annotations

import pytest

from ibi.web.request import choose
from ibi.web.request_errors import NotAcceptable

JSON, LINES = "application/json", "application/x-ndjson"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ([], JSON),
        ([""], JSON),
        ([" , ,"], JSON),
        (["*/*"], JSON),
        (["application/*"], JSON),
        ([JSON], JSON),
        ([LINES], LINES),
        (["Application/X-NDJSON"], LINES),
        ([f"{LINES}; charset=utf-8"], LINES),
        ([f"{JSON}, {LINES}"], JSON),
        ([JSON, LINES], JSON),
        ([f"{LINES}, */*"], LINES),
        ([f"{LINES}, application/*;q=1"], LINES),
        ([f"{LINES}; q=0.5, */*; q=0.9"], JSON),
        ([f"{LINES};q=0.9, {JSON};q=0.5"], LINES),
        ([f"*/*, {JSON};q=0"], LINES),
        (["text/html, application/xhtml+xml, */*;q=0.8"], JSON),
        ([f"{LINES};q=1.000"], LINES),
        ([f"text/html, {LINES};q=0.001"], LINES),
    ],
)
def test_the_best_form_is_chosen(accept: list[str], chosen: str) -> None:
    assert choose(accept, (JSON, LINES)) == chosen


@pytest.mark.parametrize(
    "accept",
    ["text/html", "*/*;q=0", f"{LINES};q=0", f"{LINES};q=x", f"{LINES};q=", f"{LINES};q=nan", f"{LINES};q=1e9", "json"],
)
def test_where_none_will_do_it_is_said(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        choose([accept], (JSON, LINES))


def test_a_long_header_is_read_in_no_time() -> None:
    assert choose(["*/*;q=0.1," * 6000], (JSON, LINES)) == JSON
