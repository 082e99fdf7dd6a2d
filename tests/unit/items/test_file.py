"""What the bytes of a file are said to be."""

from __future__ import annotations

import pytest

from ibi.items.model.file import File, checked_media_type
from ibi.standard.document_errors import InvalidItem

DIGEST = "0" * 128
TWO_WAYS = [
    "application/pdf; a, text/html;charset=utf-8",
    "application/pdf,text/html",
    'application/pdf; a="x, text/html"',
    "application/pdf; a",
    "application/pdf; a=",
    "application/pdf; a=b c",
    'application/pdf; a="b',
    'application/pdf; a="b"c',
    "application/pdf; =b",
    "application/pdf;",
    "application/pdf; a=b;",
    "application/pdf; a=<b>",
    "application/pdf; a=" + "b" * 300,
    "application/pdf\t; a=b",
    "",
    "nonsense",
]


@pytest.mark.parametrize("said", TWO_WAYS)
def test_a_media_type_that_may_be_read_in_two_ways_is_not_taken_in(said: str) -> None:
    with pytest.raises(InvalidItem) as refused:
        checked_media_type(said)
    assert refused.value.details["field"] == "media_type"


@pytest.mark.parametrize(
    "said",
    [
        "application/pdf",
        "text/plain; charset=utf-8",
        "text/plain;charset=utf-8",
        'text/csv; charset="utf-8"; header=present',
        'text/markdown; variant="a b"',
        "application/vnd.oasis.opendocument.text",
    ],
)
def test_a_media_type_with_parameters_is_taken_in(said: str) -> None:
    assert checked_media_type(said) == said
    assert File("a", 0, DIGEST, said).media_type == said


def test_what_is_kept_already_stays_readable() -> None:
    assert File("a", 0, DIGEST, TWO_WAYS[0]).media_type == TWO_WAYS[0]
