"""E7: how an address is spelled before it is encoded, and what a prefix must decode to."""

from __future__ import annotations

import pytest

from ibi import Ibip, Instant, InvalidLabel
from ibi.standard.label.grammar import IBIP, IPV4, IPV6, convert_from_decimal, convert_to_decimal

NOW = Instant(1234806360)


def written(ip: str) -> str:
    """The prefix of an address exactly as it is spelled."""
    system, separator = (IPV4, "W") if "." in ip else (IPV6, "X")
    return convert_from_decimal(convert_to_decimal(ip, system), IBIP) + separator


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        ("2001:0252:0000:0001:0000:0000:2008:0006", "2001:252:0:1::2008:6"),
        ("2001:252:0:1:0:0:2008:6", "2001:252:0:1::2008:6"),
        ("2001:DB8::A", "2001:db8::a"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
        ("::1", "::1"),
        ("::", "::"),
        ("::ffff:150.163.34.243", "150.163.34.243"),
        ("::ffff:96a3:22f3", "150.163.34.243"),
        ("::FFFF:127.0.0.1", "127.0.0.1"),
    ],
)
def test_the_spelling_of_rfc_5952_is_encoded(given: str, spelled: str) -> None:
    label = Ibip.from_parts(given, 800, NOW)
    assert label.ip == spelled
    assert label.prefix == written(spelled)
    assert Ibip.parse(str(label)) == label


@pytest.mark.parametrize("ip", ["fe80::1%eth0", "fe80::1%1", "::1%lo"])
def test_an_address_with_a_scope_is_refused(ip: str) -> None:
    with pytest.raises(InvalidLabel):
        Ibip.from_parts(ip, 800, NOW)


@pytest.mark.parametrize("ip", ["0.0.0.0", "0.1.2.3", "0:1:2:3:4:5:6:7", "::ffff:0.0.0.1", "0::ffff:0:1"])
def test_an_address_whose_text_begins_with_0_is_not_encodable(ip: str) -> None:
    with pytest.raises(InvalidLabel):
        Ibip.from_parts(ip, 800, NOW)


@pytest.mark.parametrize(
    "prefix", ["8JMKD3MGP8", "8JMKD3MGP8WW", "W8JMKD3MGP8W", "8JMKW3MGP8W", "8JMKD3MGP8XW", "8JMKD3MGP8WX"]
)
def test_a_prefix_has_exactly_one_w_or_x(prefix: str) -> None:
    with pytest.raises(InvalidLabel):
        Ibip.parse(f"{prefix}/34PGRBS")


@pytest.mark.parametrize(
    "ip",
    [
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256",
        "1..2.3",
        "1.2.3.04",
        "999.9.9.9",
        "1.2.3.",
        "12",
        ".1.2.3.4",
        "....",
        "1.2.3.1000",
    ],
)
def test_a_prefix_that_decodes_to_no_ipv4_address_is_no_ibip(ip: str) -> None:
    with pytest.raises(InvalidLabel):
        Ibip.parse(f"{written(ip + '.')[:-1] if '.' not in ip else written(ip)[:-1]}W/34PGRBS")


@pytest.mark.parametrize(
    "ip", ["1:2", "1::2::3", "12345::", ":::", "1:2:3:4:5:6:7:8:9", "abc", ":", "1:2:3:4:5:6:7:", "a::" * 9]
)
def test_a_prefix_that_decodes_to_no_ipv6_address_is_no_ibip(ip: str) -> None:
    with pytest.raises(InvalidLabel):
        Ibip.parse(f"{written(ip)}/34PGRBS")


@pytest.mark.parametrize(
    "ip", ["2001:0252:0:1::2008:6", "2001:252:0:1:0:0:2008:6", "2001:db8::1:1:1:1:1", "::ffff:96a3:22f3", "2001:252::0"]
)
def test_a_decoded_address_in_another_spelling_is_kept_as_it_is(ip: str) -> None:
    label = Ibip.parse(f"{written(ip)}/34PGRBS")
    assert label.ip == ip
    assert label.prefix == written(ip)
    assert str(label) == f"{written(ip)}/34PGRBS"


def test_two_spellings_of_one_address_are_two_labels() -> None:
    one = Ibip.parse(f"{written('2001:252::1')}/34PGRBS")
    other = Ibip.parse(f"{written('2001:252:0::1')}/34PGRBS")
    assert one != other


def test_the_longest_spelling_of_an_address_is_read() -> None:
    ip = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
    label = Ibip.from_parts(ip, 65535, NOW)
    assert (label.ip, label.port) == (ip, 65535)
    assert Ibip.parse(str(label)) == label
