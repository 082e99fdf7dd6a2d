"""What is dialled, and what is not."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import closing
from ipaddress import ip_network

import pytest

from ibi.membership.rules.authority import ArchiveRef
from ibi.net.address_guard import AddressGuard, Checked, NameLookup
from ibi.standard.label import parse
from ibi.standard.messages import ArchiveProtocol, LabelForms
from ibi.standard.networks import IpNetwork
from ibi.standard.reply import Failure

FORBIDDEN = Failure.FORBIDDEN_ADDRESS
PUBLIC, PUBLIC_6 = "150.163.2.175", "2001:12ff::1"

# Each is refused, whether it is the Archive's address or what its name stands for.
LOCAL = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.31.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "2001:db8::1",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe",
    "2001:0:a00:1:8000:63bf:6969:fd50",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "ff02::1",
]
SPELLINGS = [
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "0177.0.0.1",
    "127.0.0.01",
    "127.0.0.1.",
    "localhost.",
    "archive.example.org.",
    "１２７.0.0.1",
    "127。0。0。1",
    "ⓛocalhost",
    "127.0.0.1%2f",
    "%31%32%37.0.0.1",
    "[fe80::1%25eth0]",
    "[::1%lo]",
    "fe80::1",
    "[127.0.0.1]",
    "[::ffff:0x7f.0.0.1]",
    "user@127.0.0.1",
    "127.0.0.1:0",
    "127.0.0.1:080",
    "127.0.0.1:65536",
    "127.0.0.1:80:80",
    "127.0.0.1/",
    "127.0.0.1#",
    "127.0.0.1\\@example.org",
    "example.org\r\nHost: 127.0.0.1",
    "exa mple.org",
    "-example.org",
    "example..org",
    "",
    ":80",
    "a" * 64 + ".example.org",
]


def guard(*answers: Sequence[str], own: frozenset[tuple[str, int]] = frozenset()) -> AddressGuard:
    """Names resolve to these, one after the other, and are looked up each time."""
    return GuardAskedTwice(answers, own)


class GuardAskedTwice(AddressGuard):
    """A thread gets the same answers as the event loop."""

    def __init__(self, answers: Sequence[Sequence[str]], own: frozenset[tuple[str, int]]) -> None:
        self._left, self._found = list(answers), list[str]()
        super().__init__(own, names=NameLookup(self._look_up, kept_for=0.0))

    def _look_up(self, host: str) -> Sequence[str]:
        self._found = list(self._left.pop(0))
        return self._found

    async def check_address(
        self, authority: str, default_port: int, networks: Sequence[IpNetwork] = ()
    ) -> Checked | Failure:
        checked = await super().check_address(authority, default_port, networks)
        assert self.check_blocking(authority, default_port, networks, lambda _: self._found) == checked
        return checked


def bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


@pytest.mark.parametrize("address", LOCAL)
async def test_an_address_that_is_not_of_the_whole_internet_is_refused(address: str) -> None:
    assert await guard().check_address(bracketed(address), 80) is FORBIDDEN


@pytest.mark.parametrize("address", [*LOCAL, "fe80::1%1"])
async def test_a_name_that_stands_for_a_private_address_is_refused_wherever_it_comes_in_the_list(address: str) -> None:
    for found in ([address], [PUBLIC, address], [address, PUBLIC], [PUBLIC, PUBLIC_6, address]):
        assert await guard(found).check_address("archive.example.org", 80) is FORBIDDEN


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_an_odd_spelling_is_refused_and_no_name_server_asked(spelling: str) -> None:
    # Not even an administrator's leave makes it readable.
    networks = (ip_network("0.0.0.0/0"), ip_network("::/0"))
    assert await guard().check_address(spelling, 80, networks) is FORBIDDEN


@pytest.mark.parametrize(
    "address",
    [PUBLIC, PUBLIC_6, "::ffff:150.163.2.175", "64:ff9b::150.163.2.175", "2002:96a3:2af::1", "::150.163.2.175"],
)
async def test_a_public_address_is_dialled_also_where_it_is_wrapped(address: str) -> None:
    assert await guard().check_address(bracketed(address), 80) == Checked(address, 80, (address,))


async def test_a_name_is_dialled_at_its_addresses_and_nowhere_else() -> None:
    checked = await guard([PUBLIC, PUBLIC_6]).check_address("Archive.Example.org:8080", 80)
    assert checked == Checked("archive.example.org", 8080, (PUBLIC, PUBLIC_6))


async def test_a_name_without_an_address_is_unknown() -> None:
    assert await guard([]).check_address("archive.example.org", 80) is Failure.UNKNOWN_NAME


@pytest.mark.parametrize("found", ["", "not an address", "150.163.2.175/32"])
async def test_what_is_no_address_is_not_dialled(found: str) -> None:
    assert await guard([found]).check_address("archive.example.org", 80) is FORBIDDEN


@pytest.mark.parametrize(
    ("address", "network", "allowed"),
    [
        ("10.1.2.3", "10.1.0.0/16", True),
        ("10.2.2.3", "10.1.0.0/16", False),
        ("::ffff:10.1.2.3", "10.1.0.0/16", True),
        ("64:ff9b::10.1.2.3", "10.1.0.0/16", True),
        ("64:ff9b::10.1.2.3", "64:ff9b::/96", False),
        ("64:ff9b:1::1", "64:ff9b:1::/48", True),
        ("fd12::1", "fd12::/64", True),
        ("fd13::1", "fd12::/64", False),
        ("127.0.0.1", "127.0.0.0/8", True),
        ("::1", "127.0.0.0/8", False),
        ("0.0.0.0", "0.0.0.0/0", False),
        ("::", "::/0", False),
    ],
)
async def test_a_registration_may_allow_a_network_and_only_that(address: str, network: str, allowed: bool) -> None:
    networks = (ip_network(network),)
    literal = await guard().check_address(bracketed(address), 80, networks)
    named = await guard([PUBLIC, address]).check_address("archive.example.org", 80, networks)
    assert [isinstance(each, Checked) for each in (literal, named)] == [allowed, allowed]


@pytest.mark.parametrize(
    ("own", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "[::ffff:127.0.0.1]"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "resolves-to-it.example.org"),
        ("127.0.0.1", "0.0.0.0"),
        ("[::1]", "[0:0:0:0:0:0:0:1]"),
        ("0.0.0.0", "127.0.0.1"),
        ("0.0.0.0", "127.9.9.9"),
        ("", "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("::", "resolves-to-it.example.org"),
        ("Resolver.Example.org.", "resolver.example.ORG"),
    ],
)
async def test_our_own_address_is_refused_whatever_is_allowed(own: str, address: str) -> None:
    networks = (ip_network("0.0.0.0/0"), ip_network("::/0"))
    ours = frozenset({(own, 8765)})
    refusal = await guard(["127.0.0.1"], own=ours).check_address(f"{address}:8765", 80, networks)
    assert refusal is (FORBIDDEN if address == "0.0.0.0" else Failure.OWN_ADDRESS)


async def test_another_port_or_address_of_this_machine_is_not_ourselves() -> None:
    networks, own = (ip_network("127.0.0.0/8"),), frozenset({("127.0.0.1", 8765), ("0.0.0.0", 80)})
    for address in ("127.0.0.1:8766", "127.0.0.2:8765"):
        assert isinstance(await guard(own=own).check_address(address, 80, networks), Checked)


async def test_a_listener_on_every_address_has_also_those_of_the_network_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[object] = []

    class Probe:
        def __init__(self, *arguments: object) -> None: ...

        def bind(self, address: tuple[str, int]) -> None:
            bound.append(address)
            if address[0] != PUBLIC:
                raise OSError("not of this machine")

        def close(self) -> None: ...

    monkeypatch.setattr("ibi.net.address_guard.socket.socket", Probe)
    own = frozenset({("0.0.0.0", 80)})
    assert await guard(own=own).check_address(PUBLIC, 80) is Failure.OWN_ADDRESS
    assert isinstance(await guard(own=own).check_address("150.163.2.176", 80), Checked)
    assert set(bound) == {(PUBLIC, 0), ("150.163.2.176", 0)}


def archive(address: str, protocol: ArchiveProtocol = ArchiveProtocol.HTTP) -> ArchiveRef:
    return ArchiveRef(LabelForms.of(parse("example.org/archive/2008/03.17.15.17")), address, protocol)


@pytest.mark.parametrize(("protocol", "port"), [(ArchiveProtocol.HTTP, 80), (ArchiveProtocol.HTTPS, 443)])
async def test_without_a_port_the_protocol_has_one(protocol: ArchiveProtocol, port: int) -> None:
    assert await guard().check(archive(PUBLIC, protocol)) == Checked(PUBLIC, port, (PUBLIC,))


async def test_nothing_is_sent_to_find_out() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.setblocking(False)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        assert await guard().check_address(address, 80) is FORBIDDEN
        await asyncio.sleep(0)
        with pytest.raises(BlockingIOError):
            listener.accept()
