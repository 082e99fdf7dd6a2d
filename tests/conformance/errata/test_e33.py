"""E33: the encoding of file names in requests."""

from __future__ import annotations

import pytest

from ibi.persistent_url import PersistentUrl

ITEM = "/8JMKD3MGP7W/3EPGUE5"


def test_a_path_is_read_as_utf_8() -> None:
    assert PersistentUrl.parse(f"{ITEM}/Relat%C3%B3rio%20Final.pdf").file_path == "/Relatório Final.pdf"


def test_a_path_that_is_not_utf_8_is_read_as_iso_8859_1() -> None:
    assert PersistentUrl.parse(f"{ITEM}/Relat%f3rio%20Final.pdf").file_path == "/Relatório Final.pdf"


def test_a_path_is_written_in_utf_8() -> None:
    url = PersistentUrl.parse(f"{ITEM}/Relat%f3rio%20Final.pdf")
    assert str(url) == "http://urlib.net/8JMKD3MGP7W/3EPGUE5/Relat%C3%B3rio%20Final.pdf"


def test_what_a_person_types_needs_no_encoding() -> None:
    assert PersistentUrl.parse("8JMKD3MGP7W/3EPGUE5/Relatório Final.pdf").file_path == "/Relatório Final.pdf"


def test_what_a_person_types_survives_beside_an_escape_in_iso_8859_1() -> None:
    assert PersistentUrl.parse("8JMKD3MGP7W/3EPGUE5/ó%f3").file_path == "/óó"


@pytest.mark.parametrize(
    "target",
    [
        "/8JMKD3MGP7W%2F3EPGUE5%2Fa.pdf",
        "/8JMKD3MGP7W%2f3EPGUE5/a.pdf",
        "/%38JMKD3MGP7W/3EPGUE5/a%2Epdf",
    ],
)
def test_the_whole_path_is_decoded_slashes_too(target: str) -> None:
    assert PersistentUrl.parse(target) == PersistentUrl.parse(f"{ITEM}/a.pdf")


@pytest.mark.parametrize(
    ("encoded", "plain"), [("%21%3A%28oai_dc%29", "!:(oai_dc)"), ("%2B(pt-BR)", "+(pt-BR)"), ("%3F%3F", ":")]
)
def test_an_encoded_modifier_is_a_modifier(encoded: str, plain: str) -> None:
    assert PersistentUrl.parse(f"{ITEM}{encoded}").relation.modifier == plain


def test_a_path_is_decoded_once() -> None:
    assert PersistentUrl.parse(f"{ITEM}/100%2525").file_path == "/100%25"


@pytest.mark.parametrize("path", ["/100%", "/%zz", "/%f", "/a%%20b"])
def test_a_percent_sign_without_two_hex_digits_stands_for_itself(path: str) -> None:
    assert PersistentUrl.parse(f"{ITEM}{path}").file_path == path.replace("%20", " ")


def test_a_plus_in_a_path_is_a_plus() -> None:
    assert PersistentUrl.parse(f"{ITEM}/a+b").file_path == "/a+b"
