"""DNS lookups, and checks of the addresses that may be dialled.

Registered Archives name their own addresses. A malicious one could name ours, or that of a neighbour that trusts us. So
a name is looked up once, all its addresses are checked, and only those addresses are dialled.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Thread
from typing import Final, Generic, Protocol, TypeVar

from ibi.net.server_url import look_up
from ibi.standard.errors import InvalidInput
from ibi.standard.label.reach import address_is_global
from ibi.standard.messages import values as wire_values
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import IpNetwork
from ibi.standard.origin import DEFAULT_PORTS, Origin
from ibi.standard.reply import Failure
from ibi.standard.vocabulary import ArchiveProtocol


def addresses_of(host: str) -> list[str]:
    """Do the same as `look_up`, but return no address if the name does not resolve."""
    try:
        return look_up(host)
    except OSError:
        return []


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Lets concurrent callers with the same question share one request.

    Each has its own future: a caller that is cancelled, or stops waiting, affects neither the request nor the other
    callers.
    """

    def __init__(self) -> None:
        self._waiting: dict[K, list[asyncio.Future[V]]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, key: K, start: Callable[[Callable[[V], None]], None]) -> asyncio.Future[V]:
        """Return the caller's own future of the result.

        `start` is called if no request for this key is running. It gets a function that must be called with the result,
        exactly once, in every case.
        """
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append(future)
            return future
        self._waiting[key] = [future]

        def finish(value: V) -> None:
            for each in self._waiting.pop(key):
                if not each.done():
                    each.set_result(value)

        start(finish)
        return future


_KEPT_FOR: Final = 30.0
_MOST_KEPT: Final = 4096
_MOST_AT_ONCE: Final = 16
"""Maximum threads for names that resolved on their last lookup, and again as many for all others. A name with a silent
DNS server keeps its thread for long, and must not block known names."""


@dataclass(slots=True, eq=False)
class _Queue:
    """Names that wait for a thread, and the number of running threads."""

    waiting: deque[str] = field(default_factory=deque)
    threads: int = 0


class NameLookup:
    """Looks up names for an event loop, and caches results for half a minute.

    `addresses_of` runs in daemon threads: a silent DNS server blocks a thread for long, and must delay neither the rest
    of the process nor its exit.
    """

    def __init__(
        self,
        addresses_of: Callable[[str], Sequence[str]] = addresses_of,
        *,
        kept_for: float = _KEPT_FOR,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._addresses_of, self._kept_for, self._monotonic = addresses_of, kept_for, monotonic
        self._kept: OrderedDict[str, tuple[float, Sequence[str]]] = OrderedDict()
        self._flights: SingleFlight[str, Sequence[str]] = SingleFlight()
        self._under_way: dict[str, Callable[[Sequence[str]], None]] = {}
        self._known, self._others = _Queue(), _Queue()

    async def addresses(self, host: str) -> Sequence[str]:
        """Return every address of `host`; none if it does not resolve."""
        kept = self._kept.get(host)
        if kept is not None and self._monotonic() < kept[0]:
            return kept[1]
        return await self._flights.join(host, lambda finish: self._ask(host, finish))

    def _ask(self, host: str, finish: Callable[[Sequence[str]], None]) -> None:
        self._under_way[host] = finish
        queue = self._known if host in self._kept else self._others
        queue.waiting.append(host)
        self._start_threads(queue)

    def _start_threads(self, queue: _Queue) -> None:
        loop = asyncio.get_running_loop()
        while queue.waiting and queue.threads < _MOST_AT_ONCE:
            queue.threads += 1
            host = queue.waiting.popleft()
            thread = Thread(target=self._in_thread, args=(host, queue, loop), name="ibi-name-lookup", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system has no more threads
                loop.call_soon(self._finish_lookup, host, queue, ())

    def _in_thread(self, host: str, queue: _Queue, loop: asyncio.AbstractEventLoop) -> None:
        found: Sequence[str] = ()
        try:
            found = self._addresses_of(host)
        finally:
            with suppress(RuntimeError):  # the loop has ended in the meantime, and all callers with it
                loop.call_soon_threadsafe(self._finish_lookup, host, queue, found)

    def _finish_lookup(self, host: str, queue: _Queue, found: Sequence[str]) -> None:
        queue.threads -= 1
        self._start_threads(queue)
        self._kept.pop(host, None)
        if found:  # failures are not cached, because the name may be new
            self._kept[host] = self._monotonic() + self._kept_for, found
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        self._under_way.pop(host)(found)


# RFC 4291 §2.5.5.1 and RFC 6052 §2.1: the IPv4 address is the last 32 bits. The prefix of RFC 8215 for networks' own
# translators is absent, because only that network knows the position of the address.
_LAST_BITS: Final = (IPv6Network("::/96"), IPv6Network("64:ff9b::/96"))
_THEMSELVES: Final = (IPv6Address("::"), IPv6Address("::1"))


def meant_by(address: IpAddress) -> tuple[IpAddress, ...]:
    """Return the addresses that `address` wraps, or the address itself. Teredo wraps two, a server and a client."""
    if isinstance(address, IPv4Address) or address in _THEMSELVES:
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.teredo is not None:
        return address.teredo
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if any(address in network for network in _LAST_BITS):
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    return (address,)


_EVERYWHERE: Final = "::"
# Public by the registries, but Azure answers its own machines there.
_METADATA: Final = frozenset({ip_address("168.63.129.16")})


OPERATOR_NETWORKS: Final = tuple(
    map(
        ip_network,
        (
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "172.16.0.0/12",
            "192.0.2.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "::1/128",
            "2001:db8::/32",
            "fc00::/7",
        ),
    )
)
"""Networks, beside the public ones, in which an installation may lie, and those for tests and examples. Allowed for
addresses from the operator, never for those from other parties."""


class NamedServer(Protocol):
    """A server that somebody else named, such as a registered Archive."""

    @property
    def address(self) -> str:
        """`host` or `host:port`."""

    @property
    def protocol(self) -> ArchiveProtocol: ...

    @property
    def networks(self) -> tuple[IpNetwork, ...]:
        """The networks that it may be in beside the public ones."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Checked addresses to dial. The name is only for the certificate and the `Host` header."""

    host: str
    port: int
    addresses: tuple[str, ...]


class AddressGuard:
    """Checks addresses before they are dialled.

    `own` is the set of addresses on which this process listens, and of the names by which others know them: it never
    asks itself. An unspecified address (`0.0.0.0`, `::`) means every address of the machine.
    """

    def __init__(self, own: frozenset[tuple[str, int]] = frozenset(), *, names: NameLookup | None = None) -> None:
        self._own = frozenset((_plain(host), port) for host, port in own)
        self._names = NameLookup() if names is None else names

    async def check(self, server: NamedServer) -> Checked | Failure:
        """Return the addresses to dial for a server, or the reason why none is allowed.

        Every address of its name has to pass: a name with both a public and a private address is a trap. Nothing is
        sent, except to the DNS servers of this machine.
        """
        return await self.check_address(server.address, DEFAULT_PORTS[server.protocol.scheme], server.networks)

    async def check_address(
        self, authority: str, default_port: int, networks: Sequence[IpNetwork] = ()
    ) -> Checked | Failure:
        """Return the same for `host[:port]`. An odd spelling of a host (`127.1`, `localhost.`) is refused without a
        lookup."""
        place = self._place(authority, default_port)
        if isinstance(place, Failure):
            return place
        found = [place[0]] if _is_address(place[0]) else await self._names.addresses(place[0])
        return self._judge(*place, found, networks)

    def check_blocking(
        self,
        authority: str,
        default_port: int,
        networks: Sequence[IpNetwork] = (),
        addresses_of: Callable[[str], Sequence[str]] = addresses_of,
    ) -> Checked | Failure:
        """Return the same in a thread, which blocks while `addresses_of` looks up the name."""
        place = self._place(authority, default_port)
        if isinstance(place, Failure):
            return place
        found = [place[0]] if _is_address(place[0]) else addresses_of(place[0])
        return self._judge(*place, found, networks)

    def _place(self, authority: str, default_port: int) -> tuple[str, int] | Failure:
        """Return the host and port to dial."""
        try:
            wire_values.host_and_port(authority)
        except InvalidInput:
            return Failure.FORBIDDEN_ADDRESS
        origin = Origin.parse(authority)
        place = origin.host.lower(), default_port if origin.port is None else origin.port
        return Failure.OWN_ADDRESS if place in self._own else place

    def _judge(self, host: str, port: int, found: Sequence[str], networks: Sequence[IpNetwork]) -> Checked | Failure:
        if not found:
            return Failure.UNKNOWN_NAME
        try:
            meant = [each for address in found for each in meant_by(ip_address(address))]
        except ValueError:
            return Failure.FORBIDDEN_ADDRESS
        if any(self._is_own(each, port) for each in meant):
            return Failure.OWN_ADDRESS
        # A connection to an unspecified address reaches this machine, so it is refused even if allowed.
        allowed = all((_is_public(each) or _is_in(each, networks)) and not each.is_unspecified for each in meant)
        return Checked(host, port, tuple(found)) if allowed else Failure.FORBIDDEN_ADDRESS

    def _is_own(self, address: IpAddress, port: int) -> bool:
        if (str(address), port) in self._own:
            return True
        return (_EVERYWHERE, port) in self._own and _is_of_this_machine(address)


def _plain(host: str) -> str:
    """Return a host in the form for comparisons. Unlike `Origin.name` it unwraps every wrapped address, and maps all
    unspecified addresses to one text."""
    host = host.strip("[]").lower()
    try:
        address = meant_by(ip_address(host or _EVERYWHERE))[0]
    except ValueError:
        return host.rstrip(".")
    return _EVERYWHERE if address.is_unspecified else str(address)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_public(address: IpAddress) -> bool:
    return address not in _METADATA and address_is_global(str(address))


def _is_in(address: IpAddress, networks: Iterable[IpNetwork]) -> bool:
    return any(address in network for network in networks)


def _is_of_this_machine(address: IpAddress) -> bool:
    """Return whether the address belongs to this machine, by binding a socket to it; nothing is sent."""
    if address.is_loopback:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
