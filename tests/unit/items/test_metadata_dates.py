"""Dates of a description."""

from __future__ import annotations

import pytest

from ibi.items.model.metadata import DescriptiveMetadata, Text, check_dates, checked_date
from ibi.standard.document_errors import InvalidMetadata


@pytest.mark.parametrize(
    "text",
    [
        "1985-04-12",
        "1985-04",
        "1985",
        "0000",
        "2024-02-29",
        "1985-04-12T23:20:30Z",
        "1985-04-12T23:20:30-04:00",
        "1964/2008",
        "2004-06/2006-08",
        "2004-02-01/2005-02-08",
        "2004-02-01/2005-02",
        "2005/2006-02",
        "2004/2004-02",
        "2004-02/2004",
    ],
)
def test_what_edtf_level_0_has_is_a_date(text: str) -> None:
    assert checked_date(text) == text


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("yesterday", 0),
        ("ca. 1999", 0),
        ("31/01/2027", 0),
        ("2027-1-1", 0),
        ("2027-13", 5),
        ("2027-00", 5),
        ("2023-02-29", 8),
        ("2027-04-31", 8),
        ("20270131", 0),
        ("2027-01-31T25:00:00Z", 11),
        ("2027-01-31T12:00:00", 0),
        ("2027/", 5),
        ("/2027", 0),
        ("2027/2026", 5),
        ("2027-02/2027-01", 8),
        ("2026/2027/2028", 5),
        ("２０２７", 0),
        ("2027\n", 0),
        ("2" * 1000, 0),
    ],
)
def test_what_is_no_date_is_refused_with_its_place(text: str, offset: int) -> None:
    with pytest.raises(InvalidMetadata) as refusal:
        checked_date(text)
    assert refusal.value.details["field"] == "date"
    assert refusal.value.offset == offset
    assert len(str(refusal.value)) < 500


def test_what_an_item_has_already_is_no_matter() -> None:
    metadata = DescriptiveMetadata(date=(Text("ca. 1999"), Text("2001")))
    check_dates(metadata, {"ca. 1999"})
    with pytest.raises(InvalidMetadata):
        check_dates(metadata)
