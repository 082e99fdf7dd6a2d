"""E25: percent signs in `url` and `url.persistent`; the encoding of `parsedibiurl.filepath`."""

from __future__ import annotations

import pytest

from ibi.standard.label import parse
from ibi.standard.messages import (
    Acknowledgment,
    ContentType,
    State,
    UrlKey,
    UrlRequest,
    decode_query,
    decode_url,
    encode_url,
    ip_addresses,
)

CLIENTS = ip_addresses("150.163.2.175")


def acknowledge(url: str) -> Acknowledgment:
    return Acknowledgment(
        client_addresses=CLIENTS,
        content_type=ContentType.DATA,
        url=url,
        persistent_url="http://urlib.net/LK47B6W/362SFKH",
        url_key=UrlKey("1424636122"),
        state=State.ORIGINAL,
    )


@pytest.mark.parametrize("escape", ["%20", "%f3", "%F3", "%26", "%25", "%2B"])
def test_an_escape_in_a_url_is_left_alone(escape: str) -> None:
    assert encode_url(f"http://host/a{escape}b") == f"http://host/a{escape}b"


@pytest.mark.parametrize(
    ("character", "code"),
    [("&", "%26"), ("+", "%2B"), ("=", "%3D"), ("?", "%3F"), ("#", "%23"), (" ", "%20"), ("%", "%25"), ("ó", "%C3%B3")],
)
def test_delimiters_blanks_and_lone_percent_signs_are_encoded(character: str, code: str) -> None:
    assert encode_url(f"http://host/a{character}") == f"http://host/a{code}"


@pytest.mark.parametrize("lone", ["%", "%f", "%zz", "%%20"])
def test_a_percent_sign_without_two_digits_is_encoded(lone: str) -> None:
    assert encode_url(f"http://host/{lone}") == f"http://host/{lone}".replace("%", "%25", 1)


@pytest.mark.parametrize(
    "url",
    [
        "http://host/doc/Relat%f3rio%20Final.pdf",
        "http://host/doc/metadata.cgi?choice=oai_dc",
        "http://host/x?a=1&b=2+3#end",
        "http://host/100%25",
        "https://[2001:db8::1]:8080/x?a",
    ],
)
def test_a_reader_gets_the_url_that_was_sent(url: str) -> None:
    assert Acknowledgment.from_query(acknowledge(url).to_query()).url == url


def test_a_reader_cannot_tell_an_encoded_delimiter_of_the_url_from_one_encoded_for_the_journey() -> None:
    assert encode_url("http://host/?a=b%26c") == encode_url("http://host/?a=b&c") == "http://host/%3Fa%3Db%26c"
    assert decode_url("http://host/%3Fa%3Db%26c") == "http://host/?a=b&c"


@pytest.mark.parametrize("value", ["a%2526", "a%25f3", "%25zz"])
def test_nothing_is_decoded_twice(value: str) -> None:
    assert decode_url(f"http://host/{value}") == f"http://host/{value}"
    assert encode_url(decode_url(f"http://host/{value}")) == f"http://host/{value}"


def test_a_raw_plus_sign_is_a_blank_in_a_url_too_and_stays_encoded() -> None:
    assert decode_query("url=http://host/a+b") == (("url", "http://host/a%20b"),)


def test_a_raw_delimiter_in_a_url_is_read_as_it_is() -> None:
    assert decode_query("url=http://host/?a=b&x=1") == (("url", "http://host/?a=b"), ("x", "1"))


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/reference.bib", "/reference.bib"),
        ("/Relatório Final.pdf", "/Relat%C3%B3rio%20Final.pdf"),
        ("/100%25", "/100%2525"),
        ("/a+b&c=d?e#f", "/a%2Bb%26c%3Dd%3Fe%23f"),
    ],
)
def test_a_file_path_is_encoded_once(path: str, written: str) -> None:
    request = UrlRequest(CLIENTS, parse("LK47B6W/362SFKH"), file_path=path)
    assert f"parsedibiurl.filepath={written}&" in request.to_query()
    assert UrlRequest.from_query(request.to_query()).file_path == path


@pytest.mark.parametrize("path", ["reference.bib", "/reference.bib", "%2Freference.bib"])
def test_a_file_path_is_read_with_or_without_its_leading_slash(path: str) -> None:
    query = (
        "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175&parsedibiurl.ibi=LK47B6W/362SFKH&"
        f"parsedibiurl.filepath={path}"
    )
    assert UrlRequest.from_query(query).file_path == "/reference.bib"
