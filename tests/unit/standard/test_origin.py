"""Where a server is: spellings, default ports, and what is none."""

from __future__ import annotations

import pickle
from ipaddress import ip_address

import pytest

from ibi.standard.origin import InvalidOrigin, Origin, authority_of, bracketed, host_of, is_same_place


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://ibi.example.org", Origin("http", "ibi.example.org")),
        ("http://ibi.example.org:80/", Origin("http", "ibi.example.org")),
        ("https://ibi.example.org:443/a/b?c#d", Origin("https", "ibi.example.org")),
        ("HTTPS://IBI.Example.org.", Origin("https", "ibi.example.org")),
        ("http://ibi.example.org:443", Origin("http", "ibi.example.org", 443)),
        ("http://ibi.example.org:", Origin("http", "ibi.example.org", 80)),
        ("http://ibi.example.org:0080?a", Origin("http", "ibi.example.org")),
        ("http://[2001:DB8:0::1]:8765#a", Origin("http", "2001:db8::1", 8765)),
        ("http://[::ffff:192.0.2.1]/", Origin("http", "192.0.2.1")),
        ("http://[fe80::1%25eth0]/", Origin("http", "fe80::1")),
        ("http://xn--bcher-kva.example", Origin("http", "XN--BCHER-KVA.example")),
        ("http://my_host", Origin("http", "my_host")),
    ],
)
def test_urls_of_one_origin_are_equal_however_they_are_spelled(url: str, origin: Origin) -> None:
    assert Origin.of_url(url) == origin
    assert hash(Origin.of_url(url)) == hash(origin)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://ibi.example.org", "https://ibi.example.org"),
        ("http://ibi.example.org:443", "https://ibi.example.org:443"),
        ("http://ibi.example.org", "http://ibi.example.org:8080"),
        ("http://ibi.example.org", "http://ibi.example.org.."),
        ("http://ibi.example.org", "http://www.ibi.example.org"),
        ("http://127.0.0.1", "http://127.1"),
        ("http://[::1]", "http://[::2]"),
    ],
)
def test_other_origins_are_not(one: str, other: str) -> None:
    assert Origin.of_url(one) != Origin.of_url(other)


def test_without_a_scheme_both_default_ports_count_as_none() -> None:
    assert Origin.parse("a.example:80") == Origin.parse("a.example:443") == Origin.parse("a.example")
    assert Origin.parse("a.example:8080") != Origin.parse("a.example")
    assert Origin.parse("a.example") != Origin.parse("a.example", "http")


def test_an_origin_is_no_text() -> None:
    assert Origin.of_url("http://a.example") != "http://a.example"


@pytest.mark.parametrize("text", ["http://IBI.Example.org.:80", "https://[2001:DB8:0::1]", "http://a.example:0"])
def test_the_spelling_is_kept(text: str) -> None:
    assert str(Origin.of_url(text)) == text


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://a.example", 80), ("https://a.example", 443), ("https://a.example:80", 80), ("http://a.example:0", 0)],
)
def test_the_port_that_is_dialled(url: str, port: int) -> None:
    assert Origin.of_url(url).effective_port == port


@pytest.mark.parametrize(
    "authority",
    [
        *(
            "",
            ".",
            ":80",
            "[::1",
            "::1",
            "[::1]x",
            "[::1]:x",
            "[]",
            "[a]",
            "[127.0.0.1]",
            "[::1%]",
            "[::1%\r\nX: y]",
            "[[::1]]",
        ),
        *("a:b", "a:123456", "a:65536", "a:٣", "a:-1", "a:80:80", "a" * 301),
        *(
            "user@a",
            "user:secret@a",
            "a b",
            "a/b",
            "a?b",
            "a#b",
            "a\\b",
            "a\r\nb",
            "bücher.example",
            "a\N{FULLWIDTH COLON}8",
        ),
    ],
)
def test_what_is_no_host_and_port_is_refused(authority: str) -> None:
    with pytest.raises(InvalidOrigin):
        Origin.parse(authority)


@pytest.mark.parametrize(
    "url", ["", "a.example", "//a.example", "ftp://a.example", "http:a.example", "http://", "http:///a"]
)
def test_what_is_no_url_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(InvalidOrigin):
        Origin.of_url(url)


@pytest.mark.parametrize(("scheme", "host", "port"), [("ftp", "a", None), ("http", "", None), ("http", "a", 65_536)])
def test_values_are_checked_too(scheme: str, host: str, port: int | None) -> None:
    with pytest.raises(InvalidOrigin):
        Origin(scheme, host, port)


def test_the_address_of_a_host_is_told() -> None:
    assert Origin.parse("[::FFFF:7f00:1]").address == ip_address("127.0.0.1")
    assert Origin.parse("127.0.0.1.").address == ip_address("127.0.0.1")
    assert Origin.parse("127.1").address is None
    assert Origin.parse("127.0.0.1%25eth0").address is None


def test_a_copy_is_equal() -> None:
    origin = Origin.of_url("https://[::1]:8765")
    assert pickle.loads(pickle.dumps(origin)) == origin
    assert eval(repr(origin), {"Origin": Origin}) == origin


@pytest.mark.parametrize(
    ("url", "authority", "host"),
    [
        ("http://a.example:80/b", "a.example:80", "a.example"),
        ("http://[::1]:8765?b", "[::1]:8765", "[::1]"),
        ("http://[::1]#b", "[::1]", "[::1]"),
        ("http://a.example:b", "a.example:b", "a.example:b"),
        ("a.example", "", ""),
    ],
)
def test_texts_are_taken_apart_as_they_are_spelled(url: str, authority: str, host: str) -> None:
    assert authority_of(url) == authority
    assert host_of(authority) == host


def test_addresses_with_colons_stand_in_brackets() -> None:
    assert (bracketed("::1"), bracketed("127.0.0.1")) == ("[::1]", "127.0.0.1")


@pytest.mark.parametrize(
    ("url", "other", "same"),
    [
        ("http://ibi.example.org", "http://IBI.example.org:80/", True),
        ("https://ibi.example.org:443", "https://ibi.example.org", True),
        ("https://ibi.example.org/a", "https://ibi.example.org/a/", True),
        ("https://ibi.example.org/a", "https://ibi.example.org/A", False),
        ("https://ibi.example.org/a", "https://ibi.example.org", False),
        ("http://ibi.example.org", "https://ibi.example.org", False),
        ("http://ibi.example.org:8080", "http://ibi.example.org", False),
        ("http://[::1]:80", "http://[0:0::1]", True),
    ],
)
def test_urls_of_servers_are_compared_by_where_they_lead(url: str, other: str, same: bool) -> None:
    assert is_same_place(url, other) is is_same_place(other, url) is same
