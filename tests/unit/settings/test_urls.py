"""Settings that are addresses of servers: hosts that cannot be are refused where they are set."""

from __future__ import annotations

import pytest

from ibi.settings.kinds import _read_url


@pytest.mark.parametrize(
    "text",
    [
        *("https://ibi.example.org", "http://localhost:8765", "http://127.0.0.1:80", "http://[2001:db8::1]:8080"),
        *("https://my_host.lan", "https://ibi.example.org./a/b", "HTTP://IBI.EXAMPLE.ORG", "http://xn--bcher-kva.br"),
        *("http://3com.example", "http://a" + ".b" * 120),
    ],
)
def test_an_address_of_a_server_is_taken_as_it_is(text: str) -> None:
    assert _read_url(text) == text
    assert _read_url(f"{text}/") == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("http://999.1.1.1", "neither the name of a host nor an IP address"),
        ("http://1.2.3", "neither"),
        ("http://a..b", "neither"),
        ("http://.example.org", "neither"),
        ("http://-a.org", "neither"),
        ("http://a-.org", "neither"),
        ("http://" + "a" * 64 + ".org", "neither"),
        ("http://a" + ".b" * 127, "neither"),
        ("http://[zz::1]", "a name or an IP address"),
        ("http://[1.2.3.4]", "brackets"),
        ("http://2001:db8::1", "a host, perhaps with a colon and a port"),
        ("http://:80", "a name or an IP address"),
        ("http://a.org:0", "between 1 and 65535"),
        ("http://a.org:65536", "at most 65535"),
        ("http://a.org?x", None),
        ("http://a.org/?x", "no ?"),
        ("ftp://a.org", None),
        ("http://ana@a.org", None),
    ],
)
def test_one_that_cannot_be_is_refused_with_the_reason(text: str, why: str | None) -> None:
    with pytest.raises(ValueError, match=why):
        _read_url(text)
