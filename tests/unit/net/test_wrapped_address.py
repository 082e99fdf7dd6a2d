"""What an IPv6 address leads to."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from ibi.net.address_guard import meant_by


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("150.163.2.175", ["150.163.2.175"]),
        ("2001:12ff::1", ["2001:12ff::1"]),
        ("::1", ["::1"]),
        ("::", ["::"]),
        ("::ffff:127.0.0.1", ["127.0.0.1"]),
        ("::ffff:7f00:1", ["127.0.0.1"]),
        ("::127.0.0.1", ["127.0.0.1"]),
        ("64:ff9b::169.254.169.254", ["169.254.169.254"]),
        ("64:ff9b:1::7f00:1", ["64:ff9b:1::7f00:1"]),
        ("2002:7f00:1::", ["127.0.0.1"]),
        # RFC 4380 §4: the server as it is, the client with every bit turned over.
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", ["65.54.227.120", "192.0.2.45"]),
        ("fd00:ec2::254", ["fd00:ec2::254"]),
    ],
)
def test_what_is_wrapped_is_meant(address: str, meant: list[str]) -> None:
    assert [str(each) for each in meant_by(ip_address(address))] == meant
