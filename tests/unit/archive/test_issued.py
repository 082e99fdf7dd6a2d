from __future__ import annotations

import pytest

from ibi.archive.counting import Issued, issued
from ibi.model.metadata import DescriptiveMetadata, Text


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["2009"], Issued(2009)),
        (["2009-02"], Issued(2009, 2)),
        (["2009-02-16"], Issued(2009, 2, 16)),
        (["2009-02-16T17:46:00Z"], Issued(2009, 2, 16)),
        (["2009-02-30"], Issued(2009, 2)),
        (["2009-13-01"], Issued(2009)),
        (["16/02/2009"], Issued(2009)),
        (["c. 1850?"], Issued(1850)),
        (["[197-]", "1999"], Issued(1999)),
        (["20090216"], None),
        (["0000"], None),
        (["nobody knows", "٢٠٠٩"], None),
        ([], None),
    ],
)
def test_the_first_date_that_tells_a_year(dates: list[str], expected: Issued | None) -> None:
    assert issued(DescriptiveMetadata(date=tuple(map(Text, dates)))) == expected


def test_a_date_of_issue_is_written_as_precisely_as_it_is_known() -> None:
    assert [str(date) for date in (Issued(987), Issued(2009, 2), Issued(2009, 2, 6))] == [
        "0987",
        "2009-02",
        "2009-02-06",
    ]
