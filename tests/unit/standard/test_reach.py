"""Which labels mean one place on the whole Internet."""

from __future__ import annotations

import pytest

from ibi import Ibip, Instant, RepositoryName
from ibi.standard.label.reach import address_is_global, host_is_global

LOCAL_ADDRESSES = {
    "this_network": ["0.0.0.0", "0.255.255.255"],
    "private": ["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"],
    "carrier_grade_nat": ["100.64.0.0", "100.127.255.255"],
    "loopback": ["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"],
    "link_local": ["169.254.0.0", "169.254.169.254", "169.254.255.255", "fe80::", "fe80::1", "febf:ffff::1"],
    "documentation": [
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.255",
        "2001:db8::",
        "2001:db8:ffff::1",
        "3fff::1",
        "3fff:fff::1",
    ],
    "protocol_assignments": ["192.0.0.1", "192.0.0.170", "2001::", "2001:1ff:ffff::1"],
    "benchmarking": ["198.18.0.0", "198.19.255.255", "2001:2::1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.0", "255.255.255.254", "4000::1", "5f00::1", "e000::1"],
    "broadcast": ["255.255.255.255"],
    "unspecified": ["::"],
    "unique_local": ["fc00::", "fd00::1", "fdff:ffff::1"],
    "site_local": ["fec0::1"],
    "discard_only": ["100::1", "100:0:0:1::1"],
    "teredo": ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "orchid": ["2001:10::1", "2001:20::1"],
    "six_to_four": ["2002::1", "2002:96a3:22f3::1", "192.88.99.1"],
    "nat64": ["64:ff9b::1", "64:ff9b::96a3:22f3", "64:ff9b:1::1"],
    "ipv4_mapped_and_local": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:c0a8:101"],
    "ipv4_compatible": ["::150.163.34.243", "::96a3:22f3"],
}

GLOBAL_ADDRESSES = [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "150.163.34.243",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.3.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "200.160.7.168",
    "223.255.255.255",
    "2001:200::",
    "2001:252:0:1::2008:6",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2003::1",
    "2606:4700:4700::1111",
    "2a00:1450::1",
    "3ffe:ffff::1",
    "::ffff:150.163.34.243",
]

LOCAL_HOSTS = [
    "ibi.localhost",
    "a.b.localhost",
    "printer.local",
    "www.test",
    "www.invalid",
    "www.example",
    "db.internal",
    "a.onion",
    "a.alt",
    "router.home.arpa",
    "localhost.localdomain",
    "archive.lan",
    "a.corp",
    "nas.home",
    "www.intranet",
    "a.b.private",
    "www.example.com",
    "example.org",
    "a.b.example.net",
]

GLOBAL_HOSTS = [
    "www.urlib.net",
    "mtc-m18.sid.inpe.br",
    "localhost.inpe.br",
    "local.br",
    "test.inpe.br",
    "www.contest",
    "www.mylocal",
    "notexample.com",
    "www.example.br",
    "arpa.net",
    "internal.inpe.br",
    "lan.inpe.br",
    "home.br",
    "www.corporation",
    "planet.mylan",
]


@pytest.mark.parametrize("ip", [ip for ips in LOCAL_ADDRESSES.values() for ip in ips])
def test_an_address_is_not_global(ip: str) -> None:
    assert not address_is_global(ip)


@pytest.mark.parametrize("ip", GLOBAL_ADDRESSES)
def test_an_address_is_global(ip: str) -> None:
    assert address_is_global(ip)


@pytest.mark.parametrize("ip", ["192.31.196.1", "192.52.193.1", "192.175.48.1", "2001:4:112::1", "2620:4f:8000::1"])
def test_an_anycast_service_address_belongs_to_no_single_host_in_either_family(ip: str) -> None:
    """AS112 and AMT (RFC 7535, RFC 7450): the same address answers from many places."""
    assert not address_is_global(ip)


@pytest.mark.parametrize("host", LOCAL_HOSTS)
def test_a_host_is_not_global(host: str) -> None:
    assert not host_is_global(host)


@pytest.mark.parametrize("host", GLOBAL_HOSTS)
def test_a_host_is_global(host: str) -> None:
    assert host_is_global(host)


@pytest.mark.parametrize(
    "ip", ["127.0.0.1", "10.1.2.3", "fd00::1", "2002:96a3:22f3::1", "64:ff9b::1", "150.163.34.243", "2a00::1"]
)
def test_a_label_is_as_global_as_its_address(ip: str) -> None:
    assert Ibip.from_parts(ip, 800, Instant(1234806360)).is_global is address_is_global(ip)


@pytest.mark.parametrize("host", [*LOCAL_HOSTS, *GLOBAL_HOSTS])
def test_a_label_is_as_global_as_its_host_in_any_case_and_on_any_port(host: str) -> None:
    label = RepositoryName.from_parts(host.upper(), 8080, Instant(0))
    assert label.is_global is host_is_global(host)


def test_an_address_in_another_spelling_is_looked_through() -> None:
    """`::ffff:7f00:1` in an IBIp of the X form decodes as it is (E7), and is still this very machine."""
    assert not address_is_global("::ffff:7f00:1")
    assert address_is_global("::ffff:96a3:22f3")
