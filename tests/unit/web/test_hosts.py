"""Which hosts are this server's: spellings of a name, ports, and addresses."""

from __future__ import annotations

import pytest

from ibi.standard.origin import Origin
from ibi.web.request import ServedHosts, requested_origin


def scope(*hosts: str) -> dict[str, object]:
    return {"type": "http", "headers": [(b"accept", b"*/*"), *((b"host", host.encode("latin-1")) for host in hosts)]}


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("ibi.example.org", "ibi.example.org", None),
        ("IBI.Example.org.", "ibi.example.org", None),
        ("ibi.example.org:80", "ibi.example.org", None),
        ("ibi.example.org.:443", "ibi.example.org", None),
        ("ibi.example.org:8765", "ibi.example.org", 8765),
        ("ibi.example.org:", "ibi.example.org", None),
        ("[2001:DB8:0::1]:8765", "2001:db8::1", 8765),
        ("[::ffff:192.0.2.1]", "192.0.2.1", None),
        ("127.0.0.1.", "127.0.0.1", None),
    ],
)
def test_an_authority_has_one_spelling(text: str, host: str, port: int | None) -> None:
    assert requested_origin(scope(text)) == requested_origin(scope(f" {text}\t")) == Origin("", host, port)


@pytest.mark.parametrize("text", ["", ".", ":80", "[::1", "[::1]x", "a:b", "a:123456", "a:\xb3", "a" * 301, "a:-1"])
def test_what_is_no_authority_is_none(text: str) -> None:
    assert requested_origin(scope(text)) is None


HOSTS = ServedHosts(
    ["https://ibi.example.org/x", "http://bytes.example.org:8080"],
    ["old.example.org", "backend:8765", "proxy.lan:443", "[2001:db8::7]:81"],
    ["192.0.2.5", "2001:db8::1"],
)


@pytest.mark.parametrize(
    "host",
    [
        *("ibi.example.org", "IBI.EXAMPLE.ORG.", "ibi.example.org:443", "ibi.example.org:8765"),
        *("bytes.example.org:8080", "bytes.example.org"),
        *("old.example.org", "old.example.org:1234", "old.example.org."),
        *("backend:8765", "BACKEND.:8765", "proxy.lan", "proxy.lan:443", "[2001:db8::7]:81"),
        *("192.0.2.5", "192.0.2.5:8765", "[2001:db8::1]", "[2001:DB8:0:0::1]:9", "[::ffff:192.0.2.5]"),
        *("localhost", "localhost:9000", "LOCALHOST.", "127.0.0.1", "127.8.9.1:1", "[::1]:8765"),
        "",  # RFC 9110 §7.2: the target has no authority
    ],
)
def test_what_is_ours_is_served_however_it_is_spelled(host: str) -> None:
    assert HOSTS.serves(scope(host))


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example",
            "evil.ibi.example.org",
            "ibi.example.org.evil.example",
            "ibi.example.org..",
            "xibi.example.org",
        ),
        *(
            "backend",
            "backend:8766",
            "proxy.lan:80x",
            "[2001:db8::7]:82",
            "192.0.2.6",
            "10.0.0.1:8765",
            "[2001:db8::2]",
        ),
        *("0.0.0.0", "localhost.evil.example", "127.0.0.1.evil.example", "127.1", "0x7f.1", "2130706433", "[::2]"),
        *("ibi.example.org:8765:1", "[::1", "ibi.example.org@evil.example", "a b"),
    ],
)
def test_every_other_host_is_not(host: str) -> None:
    assert not HOSTS.serves(scope(host))


def test_a_request_without_a_host_is_served_and_one_with_two_is_not() -> None:
    assert HOSTS.serves(scope())
    assert not HOSTS.serves(scope("ibi.example.org", "ibi.example.org"))


@pytest.mark.parametrize("listening", ["0.0.0.0", "::"])
def test_on_all_addresses_each_of_the_machine_is_ours_and_no_other(listening: str) -> None:
    hosts = ServedHosts(listening=[listening])
    assert hosts.serves(scope("127.0.0.1"))
    assert hosts.serves(scope(f"[{listening}]:8765" if ":" in listening else f"{listening}:8765"))
    assert not hosts.serves(scope("203.0.113.77"))
    assert not hosts.serves(scope("224.0.0.1"))
    assert not hosts.serves(scope("evil.example"))
