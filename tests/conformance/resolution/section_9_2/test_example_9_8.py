"""R Example 9.8: CRIARPARIBI gives the IBI of what is related to an item."""

from __future__ import annotations

from tests.support.standards_archives import MTC_M16D, REPORT


def test_the_metadata_has_an_ibi_of_its_own_of_which_one_form_is_known() -> None:
    expected = "ibi.metadata {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.58}"
    assert MTC_M16D.pair("ibi.metadata", REPORT) == expected


def test_the_last_edition_is_the_item_itself_in_both_forms() -> None:
    expected = "ibi.lastedition {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}"
    assert MTC_M16D.pair("ibi.lastedition", REPORT) == expected
