"""R Table 8.10: the grammar of a list of IP addresses."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import ip_addresses, parse_request

QUERY = "servicesubject=urlRequest&parsedibiurl.ibi=LK47B6W/362SFKH&clientinformation.ipaddress="


def test_the_tables_own_list_has_the_user_first_and_then_the_proxy() -> None:
    user, proxy = ip_addresses("172.16.44.200 150.163.68.1")
    assert (str(user), str(proxy)) == ("172.16.44.200", "150.163.68.1")


def test_addresses_are_of_either_version() -> None:
    assert [str(address) for address in ip_addresses("2001:db8::1 150.163.68.1")] == ["2001:db8::1", "150.163.68.1"]


@pytest.mark.parametrize("blank", ["%20", "+"])
def test_a_blank_separates_addresses_in_a_query(blank: str) -> None:
    request = parse_request(f"{QUERY}172.16.44.200{blank}150.163.68.1")
    assert "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&" in request.to_query()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "172.16.44",
        "172.16.44.200,150.163.68.1",
        "unknown",
        "fe80::1%25eth0",
        "172.16.44.200:80",
        "1",
        "٣.1.1.1",
        "1.1.1.1%092.2.2.2",
        "1.1.1.1%C2%A02.2.2.2",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidMessage, match=r"clientinformation\.ipaddress"):
        parse_request(f"{QUERY}{text}")
