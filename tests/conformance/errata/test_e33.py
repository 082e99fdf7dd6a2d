"""E33: the encoding of file names in requests."""

from __future__ import annotations

import pytest

from ibi.standard.messages import UrlRequest, ip_addresses
from ibi.standard.persistent_url import PersistentUrl

ITEM = "/8JMKD3MGP7W/3EPGUE5"


def test_a_path_is_read_as_utf_8() -> None:
    assert PersistentUrl.parse(f"{ITEM}/Relat%C3%B3rio%20Final.pdf").file_path == "/Relatório Final.pdf"


def test_octets_that_are_not_utf_8_are_shown_as_iso_8859_1_and_stay_what_they_are() -> None:
    url = PersistentUrl.parse(f"{ITEM}/Relat%f3rio%20Final.pdf")
    assert url.shown_path == "/Relatório Final.pdf"
    assert url.file_path == "/Relat\udcf3rio Final.pdf"
    assert url.spelled_path == "/Relat%f3rio%20Final.pdf"


def test_a_path_is_written_in_its_own_octets() -> None:
    url = PersistentUrl.parse(f"{ITEM}/Relat%f3rio%20Final.pdf")
    assert str(url) == "http://urlib.net/8JMKD3MGP7W/3EPGUE5/Relat%F3rio%20Final.pdf"
    assert str(PersistentUrl.parse(f"{ITEM}/Relat%c3%b3rio")) == "http://urlib.net/8JMKD3MGP7W/3EPGUE5/Relat%C3%B3rio"


def test_what_a_person_types_needs_no_encoding() -> None:
    assert PersistentUrl.parse("8JMKD3MGP7W/3EPGUE5/Relatório Final.pdf").file_path == "/Relatório Final.pdf"


def test_what_a_person_types_survives_beside_an_escape_in_iso_8859_1() -> None:
    url = PersistentUrl.parse("8JMKD3MGP7W/3EPGUE5/ó%f3")
    assert (url.shown_path, str(url)) == ("/óó", "http://urlib.net/8JMKD3MGP7W/3EPGUE5/%C3%B3%F3")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/Relat%f3rio%20Final.pdf", "/Relat%f3rio%20Final.pdf"),
        ("/Relat%F3rio", "/Relat%F3rio"),
        ("/Relat%c3%b3rio", "/Relat%c3%b3rio"),
        ("/%c3%b3%f3", "/%c3%b3%f3"),
        ("/a%2Fb%25c", "/a%2Fb%25c"),
        ("/a%25f3", "/a%25f3"),
        ("/a+b&c=d", "/a%2Bb%26c%3Dd"),
        ("/100%", "/100%25"),
        ("/Relat\udcf3rio", "/Relat%F3rio"),
        ("/Relatório", "/Relat%C3%B3rio"),
        ("/a%20", "/a"),
    ],
)
def test_the_octets_of_a_path_go_on_to_archives_as_they_came(path: str, value: str) -> None:
    url = PersistentUrl.parse(f"{ITEM}{path}")
    request = UrlRequest(
        ip_addresses("150.163.2.175"), url.label, file_path=url.file_path, spelled_path=url.spelled_path
    )
    assert f"parsedibiurl.filepath={value}&" in request.to_query()
    assert UrlRequest.from_query(request.to_query()) == request


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
