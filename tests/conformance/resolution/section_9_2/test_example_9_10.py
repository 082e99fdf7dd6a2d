"""R Example 9.10: CRIARPARURL gives the URL of the metadata of an item."""

from __future__ import annotations

from tests.support.standards_archives import MTC_M16D, REPORT


def test_the_url_of_metadata_that_is_an_item_is_below_its_own_repository() -> None:
    assert MTC_M16D.pair("url.metadata", REPORT) == (
        "url.metadata http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.58/doc/metadata.cgi"
    )
