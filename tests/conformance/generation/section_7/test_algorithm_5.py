"""G Algorithm 5, MOUNTPREFIXOFIBIPOFANITEM, with E7."""

from __future__ import annotations

import pytest

from ibi import InvalidLabel
from ibi.standard.label.generate import mount_prefix_of_ibip


@pytest.mark.parametrize(
    ("ip", "port", "prefix"),
    [
        ("150.163.34.243", 800, "8JMKD3MGP8W"),
        ("150.163.2.174", 800, "J8LNKAN8PW"),
        ("150.163.34.239", 808, "8JMKD3MGP3W34T"),
        ("127.0.0.1", 800, "LK47B6W"),
        ("2001:252:0:1::2008:6", 800, "7URMDHLL9SSN2D89MX"),
        ("2001:252:0:1::2008:6", 1, "7URMDHLL9SSN2D89MX3"),
    ],
)
def test_address_and_port_are_coded(ip: str, port: int, prefix: str) -> None:
    assert mount_prefix_of_ibip(ip, port) == prefix


def test_port_800_is_omitted() -> None:
    assert mount_prefix_of_ibip("150.163.34.243", 800).endswith("W")


def test_port_80_is_not_omitted() -> None:
    """Several virtual hosts may share port 80."""
    assert mount_prefix_of_ibip("150.163.34.243", 80) == "8JMKD3MGP8W4U"


def test_an_ipv4_address_is_followed_by_w_and_an_ipv6_address_by_x() -> None:
    assert "W" in mount_prefix_of_ibip("150.163.34.243", 801)
    assert "X" in mount_prefix_of_ibip("2001:252::1", 801)


@pytest.mark.parametrize(
    "ip", ["", "150.163.34", "150.163.34.256", "mtc-m18.sid.inpe.br", "1.2.3.4 ", "1.2.3.4/32", "[::1]"]
)
def test_what_is_no_address_is_refused(ip: str) -> None:
    with pytest.raises(InvalidLabel):
        mount_prefix_of_ibip(ip, 800)


@pytest.mark.parametrize("port", [-1, 0, 65536])
def test_what_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(InvalidLabel):
        mount_prefix_of_ibip("150.163.34.243", port)
