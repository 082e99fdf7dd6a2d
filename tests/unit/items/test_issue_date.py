from __future__ import annotations

import pytest

from ibi.items.model.metadata import DescriptiveMetadata, IssueDate, Text, issue_date


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["2009"], IssueDate(2009)),
        (["2009-02"], IssueDate(2009, 2)),
        (["2009-02-16"], IssueDate(2009, 2, 16)),
        (["2009-02-16T17:46:00Z"], IssueDate(2009, 2, 16)),
        (["2009-02-30"], IssueDate(2009, 2)),
        (["2009-13-01"], IssueDate(2009)),
        (["16/02/2009"], IssueDate(2009)),
        (["c. 1850?"], IssueDate(1850)),
        (["[197-]", "1999"], IssueDate(1999)),
        (["20090216"], None),
        (["0000"], None),
        (["nobody knows", "٢٠٠٩"], None),
        ([], None),
    ],
)
def test_the_first_date_that_tells_a_year(dates: list[str], expected: IssueDate | None) -> None:
    assert issue_date(DescriptiveMetadata(date=tuple(map(Text, dates)))) == expected


def test_a_date_of_issue_is_written_as_precisely_as_it_is_known() -> None:
    assert [str(date) for date in (IssueDate(987), IssueDate(2009, 2), IssueDate(2009, 2, 6))] == [
        "0987",
        "2009-02",
        "2009-02-06",
    ]
