"""What a log may know of an address."""

from __future__ import annotations

import pytest

from ibi.web.request import truncate_address


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("127.0.0.1", "127.0.0.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
        ("::1", "::/48"),
        ("fe80::1%eth0", "fe80::/48"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
        ("testclient", "unknown"),
        ("", "unknown"),
        ("/run/ibi.sock", "unknown"),
    ],
)
def test_an_address_becomes_its_network(address: str, network: str) -> None:
    assert truncate_address(address) == network
