"""Bounds over all connections: their number, of one client and in all, and the bytes that may wait for them.

Each connection has bounds of its own; this module bounds their sum. Otherwise a few hundred clients that send requests
and do not read could fill the memory together, each of them well within its own bound.

A refused connection does not reach the application: there may be thousands, so that a refusal must cost next to
nothing. Browsers still get a page, because many people may share an address with too many connections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from enum import Enum, IntEnum, auto
from ipaddress import ip_network
from itertools import chain, islice
from typing import Final, NamedTuple, Protocol, TypeAlias

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ibi.standard.errors import IbiError
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import IpNetwork
from ibi.web.errors import problem
from ibi.web.request import RawHeaders, read_address
from ibi.web.request_middleware import harden_headers

Refusals: TypeAlias = Callable[[IbiError, bytes], bytes]
"""Makes the answer from an error and the first bytes that the client sent, perhaps none."""

_MOST_FIELDS: Final = 128


def plain_refusal(error: IbiError, _: bytes = b"") -> bytes:
    """Return the answer for programs."""
    return response_bytes(problem(error))


def response_bytes(response: Response) -> bytes:
    """Return the bytes of an answer after which the connection ends."""
    headers = [*harden_headers(response.raw_headers), (b"connection", b"close")]
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    return b"%b%b\r\n%b" % (STATUS_LINE[response.status_code], lines, bytes(response.body))


def fields_of(head: bytes) -> RawHeaders:
    """Return the headers in the first bytes of a request, as far as they can be read."""
    lines = head.partition(b"\r\n\r\n")[0].split(b"\r\n")[1 : _MOST_FIELDS + 1]
    pairs = (line.partition(b":") for line in lines)
    return [(name.lower(), value.strip(b" \t")) for name, separator, value in pairs if separator]


MOST_WAITING: Final = 48 * 1024 * 1024
"""Largest sum in bytes of unsent answers, incomplete requests, and requests that wait for their turn."""


class Buffering(Protocol):
    """A connection with waiting bytes."""

    def break_off(self) -> None:
        """End the connection at once and drop its waiting bytes."""


def _ignore(_: str) -> None:
    """The default: broken connections are not counted."""


class BufferBound:
    """The waiting bytes, by client and connection. For one event loop.

    When there are too many, the client with the most of them loses a connection: the one without progress for the
    longest time. A slow reader moves up whenever it takes some bytes, and a client with one slow download has fewer
    waiting bytes than one with a hundred. So honest readers stay.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most, self.total = most, 0
        self._clients: dict[str, dict[Buffering, int]] = {}
        self._sums: dict[str, int] = {}
        self._broken: Callable[[str], object] = _ignore

    def watch(self, broken: Callable[[str], object]) -> None:
        """Call `broken` with the client of each connection that is broken."""
        self._broken = broken

    def update(self, connection: Buffering, client: str, number: int) -> None:
        """Note that `number` bytes wait for `connection`; 0 forgets it. This may break connections, this one
        included."""
        self._remove(connection, client)
        if number:
            self._clients.setdefault(client, {})[connection] = number
            self._sums[client] = self._sums.get(client, 0) + number
            self.total += number
            self._make_room()

    def __len__(self) -> int:
        """Return the number of connections with waiting bytes."""
        return sum(map(len, self._clients.values()))

    def _remove(self, connection: Buffering, client: str) -> None:
        waiting = self._clients.get(client)
        number = None if waiting is None else waiting.pop(connection, None)
        if waiting is None or number is None:
            return
        self.total -= number
        self._sums[client] -= number
        if not waiting:
            del self._clients[client], self._sums[client]

    def _make_room(self) -> None:
        """Break connections until few enough bytes wait. A single connection stays: the size of one answer bounds its
        bytes."""
        while self.total > self._most and len(self) > 1:
            client = max(self._sums, key=self._sums.__getitem__)
            connection = next(iter(self._clients[client]))
            self._remove(connection, client)
            self._broken(client)
            connection.break_off()


_NETWORK_BITS: Final = 64
"""Leading bits of an IPv6 address that identify a client. Every machine chooses the rest for itself."""
_MOST_WAITED_FOR: Final = 64
"""Number of refused connections of the whole server that get time to read the reason."""
_MOST_CANDIDATES: Final = 16
"""Number of connections from which the one to give way is chosen."""
_EXEMPT: Final = "="
"""Prefix of a client with unlimited connections. No address begins with it."""


class Admission(Enum):
    """The decision about a new connection."""

    IN = auto()
    WAITED_FOR = auto()
    """Refused, with time to read the reason."""
    OUT = auto()
    """Refused, and closed at once."""


class Claim(IntEnum):
    """The strength of a connection's claim to its place when another one needs it, weakest first."""

    IDLE = auto()
    ASKING = auto()
    """Its request is incomplete."""
    STUCK = auto()
    """Its client does not take the answer."""
    SERVED = auto()


class Connection(Protocol):
    """A connection that may have to give way to another."""

    @property
    def claim(self) -> Claim: ...

    def give_way(self) -> None:
        """End the connection as politely as its state allows."""


class Place(NamedTuple):
    """The place of a connection while it lasts. `member` is None if it was refused."""

    admission: Admission
    client: str
    member: Connection | None = None
    is_full: bool = False
    """True if it was refused because the server is full rather than for the number of its client's connections."""
    delay: float = 0.0
    """Seconds before it is read."""


class _Unknown:
    """Stands for a connection with an unknown state."""

    claim = Claim.SERVED

    def give_way(self) -> None:
        pass


def _ignore_refusal(_: str, __: bool) -> None:
    """The default: refused connections are not counted."""


class ConnectionBound:
    """The connections of every client of one server, counted from its event loop.

    An IPv6 client is a network of 64 bits. A client in a network of `exempt` has any number of connections; if `most`
    is 0, all clients have. There are at most `total` connections, unless it is 0.

    When all places are taken, a new connection takes the place of one of the client with the most connections, if its
    own client has fewer. So many connections of a few addresses leave room for other readers.
    """

    def __init__(self, most: int, exempt: Sequence[IpNetwork] = (), total: int = 0) -> None:
        self._most, self._exempt, self.total = most, tuple(exempt), total
        self._groups: dict[str, dict[Connection, None]] = {}
        self._by_size: dict[int, dict[str, None]] = {}
        self._number = self._largest = self._waited_for = 0
        self._refused: Callable[[str, bool], object] = _ignore_refusal
        self._displaced: Callable[[str], object] = lambda _: None
        self._delay: Callable[[IpAddress], float | None] = lambda _: 0.0
        self._waiting: Sized | None = ()

    def watch(self, refused: Callable[[str, bool], object], displaced: Callable[[str], object]) -> None:
        """Call `refused` for each refused connection, with its client and whether the server was full. Call `displaced`
        with the client of each connection that has to give way."""
        self._refused, self._displaced = refused, displaced

    def pace(self, delay: Callable[[IpAddress], float | None], waiting: Sized | None = None) -> None:
        """Ask `delay` how many seconds a client's new connection waits before it is read; None refuses it.

        It is not asked while `waiting` is empty.
        """
        self._delay, self._waiting = delay, waiting

    def enter(self, address: str, connection: Connection | None = None) -> Place:
        """Return the place of a new connection from that address. Pass it to `leave` later."""
        client = self._client(address)
        delay = 0.0 if client.startswith(_EXEMPT) else self._delay_of(address)
        if delay is None:
            self._refused(client, False)
            return Place(Admission.OUT, client)
        size = len(self._groups.get(client, ()))
        if not client.startswith(_EXEMPT) and size >= self._most:
            return self._refuse(client, is_full=False)
        if self.total and self._number >= self.total and not self._make_room(size):
            return self._refuse(client, is_full=True)
        member = _Unknown() if connection is None else connection
        self._groups.setdefault(client, {})[member] = None
        self._resize(client, size, size + 1)
        return Place(Admission.IN, client, member, delay=delay)

    def _delay_of(self, text: str) -> float | None:
        if self._waiting is not None and not self._waiting:
            return 0.0  # nearly always
        address = read_address(text)
        return 0.0 if address is None else self._delay(address)

    def leave(self, place: Place) -> None:
        if place.admission is Admission.WAITED_FOR:
            self._waited_for -= 1
        elif place.member is not None:
            self._remove(place.client, place.member)

    def shed(self, number: int) -> None:
        """Make up to `number` connections give way, to free descriptors."""
        for _ in range(number):
            if not self._make_room(0):
                return

    def __len__(self) -> int:
        """Return the number of connected clients with limited connections."""
        return sum(not client.startswith(_EXEMPT) for client in self._groups)

    @property
    def number(self) -> int:
        """The number of connections that were let in."""
        return self._number

    def _refuse(self, client: str, *, is_full: bool) -> Place:
        self._refused(client.removeprefix(_EXEMPT), is_full)
        if self._waited_for >= _MOST_WAITED_FOR:
            return Place(Admission.OUT, client, is_full=is_full)
        self._waited_for += 1
        return Place(Admission.WAITED_FOR, client, is_full=is_full)

    def _make_room(self, size: int) -> bool:
        """Make a connection of a client with more than `size` of them give way; return whether one did.

        A connection with a request in progress gives way only to a client that still has fewer connections afterwards.
        """
        if size >= self._largest:
            return False
        clients = self._by_size[self._largest]
        members = chain.from_iterable(((client, member) for member in self._groups[client]) for client in clients)
        candidates = [*islice(members, _MOST_CANDIDATES)]
        client, connection = min(candidates, key=lambda each: each[1].claim)
        if connection.claim is Claim.SERVED and size + 1 >= self._largest:
            return False
        self._remove(client, connection)
        self._displaced(client.removeprefix(_EXEMPT))
        connection.give_way()
        return True

    def _remove(self, client: str, member: Connection) -> None:
        group = self._groups.get(client, {})
        if member not in group:
            return  # it had to give way
        del group[member]
        self._resize(client, len(group) + 1, len(group))
        if not group:
            del self._groups[client]

    def _resize(self, client: str, before: int, now: int) -> None:
        self._number += now - before
        if before:
            del self._by_size[before][client]
            if not self._by_size[before]:
                del self._by_size[before]
        if now:
            self._by_size.setdefault(now, {})[client] = None
        if now > self._largest:
            self._largest = now
        elif before == self._largest and before not in self._by_size:
            self._largest = now if now in self._by_size else 0

    def _client(self, text: str) -> str:
        address = read_address(text)
        if address is None or not self._most or any(address in network for network in self._exempt):
            return _EXEMPT + text
        return str(address) if address.version == 4 else str(ip_network((address, _NETWORK_BITS), strict=False))
