"""The connections to one Archive, the queue of requests for them, and the circuit breaker."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from ssl import SSLContext
from typing import Final

from ibi.membership.rules.authority import ArchiveRef
from ibi.net.address_guard import AddressGuard, Checked, SingleFlight
from ibi.net.http_connection import HttpConnection, HttpResponse, connection_failure
from ibi.standard.reply import Failure, Reply
from ibi.standard.vocabulary import ArchiveProtocol

_THRESHOLD: Final = 5
_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0


class CircuitBreaker:
    """Holds back requests from an Archive that failed several times in a row, until a probe succeeds.

    A reader's request is never the probe: a reader should not wait for an Archive that is known to fail. Probes follow
    pauses that double. An answered probe lets requests pass again. If the first of them fails, the Archive rests at
    once, for twice as long. Times are monotonic, in seconds.
    """

    __slots__ = ("_failures", "_first_rest", "_longest_rest", "_probing", "_rest", "_threshold", "_until")

    def __init__(
        self, *, threshold: int = _THRESHOLD, first_rest: float = _FIRST_REST, longest_rest: float = _LONGEST_REST
    ) -> None:
        self._threshold, self._first_rest, self._longest_rest = threshold, first_rest, longest_rest
        self._rest = first_rest
        self._failures = 0
        self._until: float | None = None
        self._probing = False

    @property
    def is_closed(self) -> bool:
        """True if requests may pass."""
        return self._until is None

    @property
    def probe_at(self) -> float | None:
        """The time of the next probe; None while none is due."""
        return None if self._probing else self._until

    def begin_probe(self) -> None:
        """Record that a probe is sent: `succeeded`, `answered_probe`, `failed` or `unused` follows."""
        self._probing = True

    def answered_probe(self) -> None:
        """Record an answered probe: the Archive is there. Only an answered request shows that it answers requests
        too."""
        if self._until is not None:
            self._failures, self._until, self._rest = self._threshold - 1, None, self._longer_rest
        self._probing = False

    def succeeded(self) -> None:
        """Record that the Archive answered a request of any kind."""
        self._failures, self._until, self._probing, self._rest = 0, None, False, self._first_rest

    def unused(self, now: float) -> None:
        """Record that nothing was sent after all. If this was a probe, the next one is due after the same pause."""
        if self._probing:
            self._until, self._probing = now + self._rest, False

    def failed(self, now: float) -> None:
        """Record a failed request. Requests that were sent before the rest began do not prolong it."""
        if self._until is None:
            self._failures += 1
            if self._failures >= self._threshold:
                self._until = now + self._rest
        elif self._probing:
            self._rest = self._longer_rest
            self._until, self._probing = now + self._rest, False

    @property
    def _longer_rest(self) -> float:
        return min(2 * self._rest, self._longest_rest)


class ConnectionAllowance:
    """Limits the number of connections to all Archives together.

    A place is taken before a connection is opened, and given back once it is closed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._idle: OrderedDict[HttpConnection, float] = OrderedDict()
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def taken(self) -> int:
        return self._taken

    def take(self, wake: Callable[[], None]) -> bool:
        """Take a place and return whether there was one. If not, `wake` is called when there may be one."""
        if self._taken >= self._most and self._idle:
            next(iter(self._idle)).abort()
        if self._taken >= self._most:
            self._waiting.append(wake)
            return False
        self._taken += 1
        return True

    def give_back(self, connection: HttpConnection | None = None) -> None:
        """Give a place back, because the connection is gone or was never made."""
        if connection is not None:
            self._idle.pop(connection, None)
        self._taken -= 1
        while self._waiting and self._taken < self._most:
            self._waiting.popleft()()

    def note_idle(self, connection: HttpConnection, now: float) -> None:
        """Allow the connection to be closed when another one needs a place, or at once if a request waits for a
        place."""
        self._idle[connection] = now
        if self._waiting:
            connection.abort()

    def note_busy(self, connection: HttpConnection) -> None:
        del self._idle[connection]

    def close_idle_since(self, then: float) -> float | None:
        """Close connections that were idle since then. Return when the longest idle remaining one was last used; None
        if none is idle."""
        while self._idle:
            connection, since = next(iter(self._idle.items()))
            if since > then:
                return since
            connection.abort()
        return None


_MOST_WAITING: Final = 256
_MOST_ADDRESSES: Final = 4
"""Maximum addresses of one name that are tried, one after the other."""

_REST_OF_HEAD: Final = (
    " HTTP/1.1\r\nHost: {}\r\nUser-Agent: ibi\r\nAccept: text/plain\r\nAccept-Encoding: identity\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits for requests to one Archive. Times are in seconds."""

    connect: float = 2.0
    """Time for the DNS lookup, the connection and the TLS handshake."""
    total: float = 5.0
    """Time for a whole request. A caller with less time stops waiting earlier."""
    most_body: int = 256 * 1024
    connections: int = 32
    """Maximum connections to one Archive."""
    connections_in_all: int = 512
    idle: float = 30.0
    """Time after which an unused connection is closed."""
    lifetime: float = 300.0
    """Maximum age of a connection, because the name may have another address by then."""


class Call:
    """A request to an Archive. `done` gets the answer, once."""

    __slots__ = (
        "_done",
        "_line",
        "connection",
        "deadline",
        "had_no_time",
        "left_late",
        "peer",
        "request",
        "was_sent_again",
    )

    def __init__(
        self, line: ArchiveLine, request: bytes, deadline: float, done: Callable[[HttpResponse | Failure], None]
    ) -> None:
        self._line, self.request, self.deadline = line, request, deadline
        self._done: Callable[[HttpResponse | Failure], None] | None = done
        self.connection: HttpConnection | None = None
        self.peer: str | None = None
        """The IP address that answered."""
        self.was_sent_again = False
        self.left_late = False
        """True if the request waited so long for a connection that little time was left for an answer."""
        self.had_no_time = False
        """True if the request was given up because of such a wait. Then the load was too high, and the Archive has not
        failed."""

    @property
    def is_done(self) -> bool:
        return self._done is None

    def answered(self, response: HttpResponse | Failure) -> None:
        if self.connection is not None:
            self.peer = self.connection.peer
        done, self._done, self.connection = self._done, None, None
        if done is not None:
            done(response)

    def unheard(self) -> bool:
        """Send the request again, once; return whether that was done. A server may close an idle connection just when a
        request is on its way, which is no failure."""
        if self.was_sent_again or self.is_done:
            return False
        self.was_sent_again, self.connection = True, None
        self._line.send_again(self)
        return True

    def give_up(self, failure: Failure) -> None:
        """Stop waiting for the answer: `done` gets the failure, and the connection is closed."""
        connection = self.connection
        self.had_no_time = connection is None or self.left_late
        try:
            self.answered(failure)
        finally:
            if connection is not None:
                connection.abort()


class ArchiveLine:
    """The connections to one Archive as registered. If its address or networks change, a new line replaces it."""

    def __init__(
        self,
        archive: ArchiveRef,
        guard: AddressGuard,
        budgets: Budgets,
        allowance: ConnectionAllowance,
        tls: Callable[[], SSLContext],
    ) -> None:
        self.archive, self._guard, self._budgets, self._allowance, self._tls = archive, guard, budgets, allowance, tls
        self.breaker = CircuitBreaker()
        self.flights: SingleFlight[str, Reply] = SingleFlight()
        self.last_used = 0.0
        self._target = f"GET /{archive.service.labels[0].spelling}?"
        self._rest_of_head = _REST_OF_HEAD.format(archive.address)
        self._waiting: deque[Call] = deque()
        self._idle: list[HttpConnection] = []
        self._opened: dict[HttpConnection, float] = {}
        self._dials: set[asyncio.Task[None]] = set()
        self._dialling = 0
        self._is_queued = False
        self._is_closed = False

    @property
    def is_unused(self) -> bool:
        return not (self._opened or self._dialling or self._waiting or self.flights)

    def request(self, query: str) -> bytes:
        """Return the bytes of a request (R §6.1)."""
        return f"{self._target}{query}{self._rest_of_head}".encode("ascii")

    def send(self, call: Call) -> None:
        if self._idle:
            self._send_over(self._idle.pop(), call)
        elif self._has_room():
            self._waiting.append(call)
            self._dial()
        else:
            call.give_up(Failure.TIMED_OUT)

    def send_again(self, call: Call) -> None:
        self._waiting.appendleft(call)
        self._dial()

    async def close(self) -> None:
        self._is_closed = True
        dials = tuple(self._dials)
        for dial in dials:
            dial.cancel()
        for connection in tuple(self._opened):
            connection.abort()
        self._fail_waiting(Failure.UNREACHABLE)
        if dials:
            await asyncio.wait(dials)

    def _send_over(self, connection: HttpConnection, call: Call) -> None:
        self._allowance.note_busy(connection)
        call.connection = connection
        connection.send(call)

    def _release(self, connection: HttpConnection) -> None:
        """Reuse a connection after its answer, or close it if it is too old."""
        if asyncio.get_running_loop().time() - self._opened[connection] >= self._budgets.lifetime:
            connection.abort()
        else:
            self._use(connection)

    def _use(self, connection: HttpConnection) -> None:
        """Give the connection to the next call, or keep it idle."""
        call, now = self._next_call(), asyncio.get_running_loop().time()
        if call is not None:
            call.connection, call.left_late = connection, call.deadline - now < self._budgets.total / 2
            connection.send(call)
        else:
            self._idle.append(connection)
            self._allowance.note_idle(connection, now)

    def _forget_lost(self, connection: HttpConnection) -> None:
        if self._opened.pop(connection, None) is not None:
            if connection in self._idle:
                self._idle.remove(connection)
            self._allowance.give_back(connection)
            self._dial()

    def _has_room(self) -> bool:
        """Return whether one more call may wait. Calls that were given up meanwhile do not count."""
        if len(self._waiting) >= _MOST_WAITING:
            self._waiting = deque(call for call in self._waiting if not call.is_done)
        return len(self._waiting) < _MOST_WAITING

    def _next_call(self) -> Call | None:
        while self._waiting:
            call = self._waiting.popleft()
            if not call.is_done:
                return call
        return None

    def _fail_waiting(self, failure: Failure) -> None:
        waiting, self._waiting = self._waiting, deque()
        for call in waiting:
            call.answered(failure)

    def _dial(self) -> None:
        """Open a connection for each waiting call, within the limits."""
        while (
            not (self._is_closed or self._is_queued)
            and len(self._waiting) > self._dialling
            and len(self._opened) + self._dialling < self._budgets.connections
        ):
            if not self._allowance.take(self._wake):
                self._is_queued = True
                return
            self._dialling += 1
            dial = asyncio.get_running_loop().create_task(self._open())
            self._dials.add(dial)
            dial.add_done_callback(self._dials.discard)

    def _wake(self) -> None:
        self._is_queued = False
        self._dial()

    async def _open(self) -> None:
        connection: HttpConnection | Failure = Failure.UNREACHABLE
        try:
            connection = await self._connection()
        finally:
            self._dialling -= 1
            if isinstance(connection, Failure):
                self._allowance.give_back()
        if isinstance(connection, HttpConnection):
            self._opened[connection] = asyncio.get_running_loop().time()
            self._use(connection)
        elif connection.is_address or not self._opened:
            self._fail_waiting(connection)

    async def _connection(self) -> HttpConnection | Failure:
        """Open a connection to an address that was checked just now. TLS still verifies the name."""
        try:
            async with asyncio.timeout(self._budgets.connect):
                checked = await self._guard.check(self.archive)
                return checked if isinstance(checked, Failure) else await self._to_one_of(checked)
        except TimeoutError:
            return Failure.TIMED_OUT

    async def _to_one_of(self, checked: Checked) -> HttpConnection | Failure:
        addresses = checked.addresses[:_MOST_ADDRESSES]
        failure = Failure.UNREACHABLE
        for address in addresses:
            try:
                async with asyncio.timeout(self._budgets.connect / len(addresses)):
                    connection = await self._to(address, checked)
            except TimeoutError:
                failure = Failure.TIMED_OUT
            except (OSError, ValueError) as error:
                failure = connection_failure(error)
            else:
                if connection.is_open:
                    return connection
        return failure

    async def _to(self, address: str, checked: Checked) -> HttpConnection:
        secure = self.archive.protocol is ArchiveProtocol.HTTPS
        connection = HttpConnection(self._budgets.most_body, self._release, self._forget_lost)
        await connection.open(address, checked, self._tls() if secure else None)
        return connection
