"""R Example 9.11: CRIARPARURL gives the URL of a file that is part of an item; its path is without `/` (E30)."""

from __future__ import annotations

import pytest

from tests.support.standards_archives import MTC_M16D


@pytest.mark.parametrize("path", ["reference.bib", "/reference.bib"])
def test_the_file_named_stands_in_the_place_of_the_target_file(path: str) -> None:
    assert MTC_M16D.pair("url", "LK47B6W/362SFKH", path=path) == (
        "url http://mtc-m16d.sid.inpe.br/col/iconet.com.br/banon/2009/09.09.22.01/doc/reference.bib"
    )
