"""R Example 9.12: CRIARPARURL gives the URL of the page that lists the files of an item."""

from __future__ import annotations

import pytest

from tests.support.standards_archives import MTC_M16D


@pytest.mark.parametrize("path", [None, "/reference.bib", "/no-such-file"])
def test_the_list_of_files_wins_over_a_path(path: str | None) -> None:
    assert MTC_M16D.pair("url", "LK47B6W/362SFKH", path=path, file_list=True) == (
        "url http://mtc-m16d.sid.inpe.br/displaydoccontent.cgi/LK47B6W/362SFKH?displaytype=FileList"
    )


def test_a_list_of_files_is_data() -> None:
    """E35."""
    assert MTC_M16D.pair("contenttype", "LK47B6W/362SFKH", file_list=True) == "contenttype Data"
