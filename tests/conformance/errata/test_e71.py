"""E71: the grammar takes any two short words for an IBIp; words that decode to no address are none (E7)."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.persistent_url import PersistentUrl

BASE = "http://urlib.net/"
NAME = "a/b/2000/01.01.00.00"


@pytest.mark.parametrize(
    "text",
    [
        f"{NAME}!0!",  # a modifier in the middle of a date, twice
        f"{NAME}.00.00!01:+",
        f"{NAME}!!",
        "a/b/2000/01.01!.00:.00",
        "a/b",
        "a/b/c",
    ],
)
def test_what_only_an_ibip_that_is_none_would_derive_is_refused(text: str) -> None:
    with pytest.raises(InvalidPersistentUrl):
        PersistentUrl.parse(BASE + text)


@pytest.mark.parametrize(
    ("text", "label", "modifier", "path"),
    [
        (f"{NAME}/.0001", NAME, "", "/.0001"),
        (f"{NAME}.00/.01", f"{NAME}.00", "", "/.01"),
        (f"{NAME}!/.0!1", NAME, "!", "/.0!1"),
        (f"{NAME}-001/doc", NAME, "", "/doc"),
        ("LK47B6W/362SFKH/2000/01.01.00.00!", "LK47B6W/362SFKH", "", "/2000/01.01.00.00!"),
    ],
)
def test_a_repository_name_is_the_label_and_the_rest_is_read_behind_it(
    text: str, label: str, modifier: str, path: str
) -> None:
    url = PersistentUrl.parse(BASE + text)
    assert (url.label.spelling, url.relation.modifier, url.file_path) == (label, modifier, path)
