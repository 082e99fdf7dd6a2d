"""Whose request it is."""

from __future__ import annotations

import pytest

from ibi.standard.networks import network
from ibi.web.request import reader_address

PROXIES = (network("10.0.0.0/8"), network("::1/128"))


@pytest.mark.parametrize(
    ("client", "forwarded", "reader"),
    [
        ("8.8.8.8", [], "8.8.8.8"),
        ("8.8.8.8", ["1.1.1.1"], "8.8.8.8"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["1.1.1.1"], "1.1.1.1"),
        ("::1", ["1.1.1.1"], "1.1.1.1"),
        ("::ffff:10.0.0.1", ["1.1.1.1"], "1.1.1.1"),
        ("10.0.0.1", ["6.6.6.6, 1.1.1.1"], "1.1.1.1"),
        ("10.0.0.1", ["6.6.6.6", "1.1.1.1"], "1.1.1.1"),
        ("10.0.0.1", ["1.1.1.1, 10.9.9.9"], "1.1.1.1"),
        ("10.0.0.1", ["10.9.9.9"], "10.9.9.9"),
        ("10.0.0.1", ["1.1.1.1, nonsense"], None),
        ("10.0.0.1", ["1.1.1.1,"], None),
        ("10.0.0.1", ["2001:db8::1%eth0"], "2001:db8::1"),
        ("10.0.0.1", ["1.1.1.1" + ", 10.0.0.2" * 10_000], "10.0.0.2"),
        ("10.0.0.1", ["1.1.1.1%" + "a" * 60_000], None),
        ("somewhere", ["1.1.1.1"], None),
        (None, ["1.1.1.1"], None),
    ],
)
def test_only_proxies_of_ours_speak_for_others(client: str | None, forwarded: list[str], reader: str | None) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"client": None if client is None else (client, 1), "headers": headers}
    address = reader_address(scope, PROXIES)
    assert (None if address is None else str(address)) == reader
