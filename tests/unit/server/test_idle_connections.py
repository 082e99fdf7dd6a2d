"""How long a connection is kept over which nothing comes: by a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from ibi.server.fast_path import Head, RawResponse
from ibi.server.protocol import GuardedProtocol

KEPT = 75
REQUEST = b"GET /a/b HTTP/1.1\r\nHost: x\r\n\r\n"


class Timer:
    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self.when, self.callback, self.is_cancelled = when, callback, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Loop:
    """As much of an event loop as answers at once need."""

    def __init__(self) -> None:
        self.now, self.made = 1000.0, 0
        self._timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        self.made += 1
        self._timers.append(Timer(self.now + delay, callback))
        return self._timers[-1]

    @property
    def waiting(self) -> list[Timer]:
        return [timer for timer in self._timers if not timer.is_cancelled]

    def go_on(self, seconds: float) -> None:
        """Let time go by, and whatever is due happen in its order."""
        end = self.now + seconds
        while due := [timer for timer in self.waiting if timer.when <= end]:
            timer = min(due, key=lambda each: each.when)
            self._timers.remove(timer)
            self.now = max(self.now, timer.when)
            timer.callback()
        self.now = end


class Transport:
    def __init__(self) -> None:
        self.written, self.is_closed, self.is_broken = b"", False, False
        self.untaken = 0
        """Bytes that wait: none, because whoever is here mostly takes every answer at once."""

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return self.untaken

    def abort(self) -> None:
        self.is_broken = True

    def get_extra_info(self, _: str) -> None:
        return None

    def set_write_buffer_limits(self, high: int) -> None:
        pass


class FastEndpoint(GuardedProtocol):
    at_once = staticmethod(lambda _: RawResponse(204, Head.of([])))


class Connection:
    def __init__(self) -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            raise AssertionError("everything here is answered at once")

        self.loop, self.transport = Loop(), Transport()
        config = uvicorn.Config(app, log_config=None, timeout_keep_alive=KEPT)
        loop: Any = self.loop
        self.protocol = FastEndpoint(config, ServerState(), {}, loop)
        transport: Any = self.transport
        self.protocol.connection_made(transport)

    def ask(self, request: bytes = REQUEST) -> None:
        self.protocol.data_received(request)

    def end(self) -> None:
        """The client sends nothing more."""
        if not self.protocol.eof_received():
            self.transport.close()

    @property
    def answers(self) -> int:
        return self.transport.written.count(b"HTTP/1.1 204 ")


@pytest.fixture
def connection() -> Connection:
    return Connection()


def test_an_idle_connection_is_closed_when_its_time_is_up(connection: Connection) -> None:
    connection.ask()
    connection.loop.go_on(KEPT - 1)
    assert not connection.transport.is_closed
    connection.loop.go_on(1)
    assert connection.transport.is_closed


def test_the_time_of_a_connection_begins_anew_with_every_request(connection: Connection) -> None:
    for number in range(1, 6):
        connection.ask()
        connection.loop.go_on(KEPT - 1)
        assert (connection.answers, connection.transport.is_closed) == (number, False)
    connection.loop.go_on(1)
    assert connection.transport.is_closed


def test_many_requests_need_no_timer_each(connection: Connection) -> None:
    connection.ask()
    made = connection.loop.made
    for _ in range(1000):
        connection.ask()
        connection.loop.go_on(0.01)
    assert connection.answers == 1001
    assert connection.loop.made == made
    assert len(connection.loop.waiting) == 1


def test_a_request_that_has_begun_has_the_time_of_a_head(connection: Connection) -> None:
    connection.ask()
    connection.loop.go_on(KEPT - 1)
    connection.ask(REQUEST[:10])
    connection.loop.go_on(connection.protocol.patience - 1)
    assert not connection.transport.is_closed
    connection.ask(REQUEST[10:])
    connection.loop.go_on(KEPT - 1)
    assert (connection.answers, connection.transport.is_closed) == (2, False)
    connection.loop.go_on(1)
    assert connection.transport.is_closed


def test_a_head_that_does_not_end_is_given_up(connection: Connection) -> None:
    connection.ask()
    connection.ask(REQUEST[:10])
    connection.loop.go_on(connection.protocol.patience)
    assert connection.transport.is_closed


@pytest.mark.parametrize("error", [None, ConnectionResetError()])
def test_nothing_is_left_of_a_connection_that_is_lost(connection: Connection, error: Exception | None) -> None:
    connection.ask()
    connection.protocol.connection_lost(error)
    assert connection.loop.waiting == []


def silent_in_a_head(connection: Connection) -> None:
    connection.ask(REQUEST[:10])
    connection.loop.go_on(connection.protocol.patience)


ENDS: dict[str, Callable[[Connection], object]] = {
    "the client has said all": lambda connection: connection.end(),
    "what it says is no request": lambda connection: connection.ask(b"\0\r\n\r\n"),
    "its head does not end": silent_in_a_head,
    "its time is up": lambda connection: connection.loop.go_on(KEPT),
    "the server stops": lambda connection: connection.protocol.shutdown(),
}


@pytest.mark.parametrize("end", ENDS)
def test_however_it_ends_its_last_bytes_do_not_wait_for_ever(connection: Connection, end: str) -> None:
    connection.ask()
    connection.transport.untaken = 1000  # too few for the transport to ask for a pause
    ENDS[end](connection)
    assert connection.transport.is_closed
    connection.loop.go_on(connection.protocol.taking_patience - 1)
    assert not connection.transport.is_broken
    connection.loop.go_on(1)
    assert connection.transport.is_broken
