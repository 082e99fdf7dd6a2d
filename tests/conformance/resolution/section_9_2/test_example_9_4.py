"""R Example 9.4: CRIARPAR gives the state of an item."""

from __future__ import annotations

from tests.support.standards_archives import MTC_M16D, REPORT


def test_the_item_is_held_as_original() -> None:
    assert MTC_M16D.pair("state", REPORT) == "state Original"
