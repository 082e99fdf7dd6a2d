"""Our URLs: what they look like, and that any file name survives in them."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.rules.profile import ArchiveUrls, encoded_path
from tests.properties.item_strategies import paths
from tests.support.standards_archives import forms, item

REP = "Lab.br/Arq@80/2020/01.02.03.04"
ITEM = item(REP, at="2020-01-02T03:04:05Z", files=("a b.pdf",))
URLS = ArchiveUrls("https://arq.lab.br", "https://files.lab.br")


def test_bytes_are_at_the_content_url_under_the_name_as_it_is_spelled() -> None:
    assert URLS.file(ITEM, "a b.pdf") == f"https://files.lab.br/col/{REP}/doc/a%20b.pdf"


def test_pages_are_at_the_public_url() -> None:
    assert URLS.metadata(ITEM, None, None) == f"https://arq.lab.br/col/{REP}/metadata"
    assert URLS.metadata(ITEM, None, "oai_dc") == f"https://arq.lab.br/col/{REP}/metadata?format=oai_dc"
    assert URLS.file_list(ITEM) == f"https://arq.lab.br/col/{REP}/doc/?list"


def test_metadata_that_is_an_item_is_at_its_own_place_and_its_formats_at_the_items() -> None:
    own = item("lab.br/arq/2020/01.02.03.05", at="2020-01-02T03:04:05Z", files=("m.xml",), describes=forms(REP))
    assert URLS.metadata(ITEM, own, None) == "https://files.lab.br/col/lab.br/arq/2020/01.02.03.05/doc/m.xml"
    assert URLS.metadata(ITEM, own, "oai_dc") == f"https://arq.lab.br/col/{REP}/metadata?format=oai_dc"


@pytest.mark.parametrize(
    ("path", "encoded"),
    [
        ("@relatorio.pdf", "@relatorio.pdf"),
        ("Relatório Final.pdf", "Relat%C3%B3rio%20Final.pdf"),
        ("100%25.csv", "100%2525.csv"),
        ("a+b&c=d?e#f", "a%2Bb%26c%3Dd%3Fe%23f"),
        ('{a}|^`"<>', "%7Ba%7D%7C%5E%60%22%3C%3E"),
    ],
)
def test_names_are_encoded_once_in_utf_8(path: str, encoded: str) -> None:
    assert encoded_path(path) == encoded


@given(paths | st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_every_name_comes_back_from_its_url(path: str) -> None:
    url = URLS.file(ITEM, path)
    parts = urlsplit(url)
    assert (parts.netloc, parts.query, parts.fragment) == ("files.lab.br", "", "")
    assert unquote(parts.path) == f"/col/{REP}/doc/{path}"
    assert url.isascii()
    assert not any(sign in url for sign in " {}\r\n")
