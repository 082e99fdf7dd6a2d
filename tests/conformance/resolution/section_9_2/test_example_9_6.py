"""R Example 9.6: CRIARPAR gives the date of the last edition, which is that of an item that has no next one."""

from __future__ import annotations

from tests.support.standards_archives import MTC_M16D, REPORT


def test_the_date_of_the_last_edition_is_that_of_the_item() -> None:
    assert MTC_M16D.pair("timestamp.lastedition", REPORT) == "timestamp.lastedition 2013-10-04T14:32:14Z"
