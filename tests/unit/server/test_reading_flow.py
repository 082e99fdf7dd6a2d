"""What a client still sends when it was answered already is read in turns with the others."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from ibi.server.protocol import GuardedProtocol

SIZE = 1 << 20
HEAD = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % SIZE


class Transport:
    def __init__(self, used: socket.socket | None = None) -> None:
        self.is_reading, self.is_broken, self.used = True, False, used

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def write(self, data: bytes) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        self.is_broken = True

    def get_extra_info(self, name: str) -> socket.socket | None:
        return self.used if name == "socket" else None

    def set_write_buffer_limits(self, high: int) -> None:
        pass


@pytest.mark.parametrize(("family", "is_broken"), [(socket.AF_INET, True), (socket.AF_UNIX, False)])
async def test_a_connection_that_was_broken_off_before_it_was_accepted_is_not_read(
    family: socket.AddressFamily, is_broken: bool
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("nothing is asked")

    config = uvicorn.Config(app, log_config=None, lifespan="off", interface="asgi3")
    config.load()
    protocol = GuardedProtocol(config, ServerState(), {}, asyncio.get_running_loop())
    with socket.socket(family) as unconnected:  # the system knows no address of its other end
        untyped: Any = Transport(unconnected)
        protocol.connection_made(untyped)
        assert untyped.is_broken is is_broken
        protocol.connection_lost(None)


async def test_a_body_that_is_dropped_is_read_a_piece_a_turn() -> None:
    answered = asyncio.Event()

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 403, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
        answered.set()

    config = uvicorn.Config(refuse, log_config=None, lifespan="off", interface="asgi3")
    config.load()
    protocol = GuardedProtocol(config, ServerState(), {}, asyncio.get_running_loop())
    untyped: Any = Transport()
    transport: Transport = untyped
    protocol.connection_made(untyped)
    protocol.data_received(HEAD)
    await answered.wait()
    seen = []
    for _ in range(4):
        seen.append(transport.is_reading)
        protocol.data_received(bytes(SIZE // 4))
        seen.append(transport.is_reading)
        await asyncio.sleep(0)
    assert seen == 4 * [True, False]
    assert transport.is_reading
    answered.clear()
    protocol.data_received(HEAD)
    await answered.wait()
    protocol.connection_lost(None)
