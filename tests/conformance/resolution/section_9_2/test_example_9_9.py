"""R Example 9.9: CRIARPARURL gives the URL of an item: that of its target file."""

from __future__ import annotations

from tests.support.standards_archives import MTC_M16D


def test_the_url_is_that_of_the_target_file() -> None:
    assert MTC_M16D.pair("url", "LK47B6W/362SFKH") == (
        "url http://mtc-m16d.sid.inpe.br/col/iconet.com.br/banon/2009/09.09.22.01/doc/@relatorio.pdf"
    )
