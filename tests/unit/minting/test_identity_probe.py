"""Asking a real server who mints there."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from ibi.minting.client import NoIdentity, ask_identity
from ibi.minting.rules.minter import Rules
from ibi.minting.service.guard import MintGuard, OwnAddress
from ibi.minting.service.queue import MintQueue
from ibi.standard.identity import Identity
from tests.support.memory.ticks import MemoryTicks
from tests.support.running_jobs import running
from tests.support.set_clocks import SetClocks

IDENTITY = Identity("sid.inpe.br", "150.163.34.243")

CARD = {"prefixes": {"rep": "inpe.br/sid", "ibip": None}, "instance": "x"}


def http(status: str, body: bytes, *headers: str) -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers))
    return f"{head}\r\n".encode() + body


@contextmanager
def server(answer: bytes | None) -> Iterator[tuple[str, list[bytes]]]:
    """Answers one request with these bytes; with None, never."""
    heard: list[bytes] = []
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                heard.append(connection.recv(65536))
                if answer is not None:
                    connection.sendall(answer)
                else:
                    done.wait(30)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", heard
        finally:
            done.set()
            thread.join(30)


async def test_the_card_of_the_minter_is_given() -> None:
    with server(http("200 OK", json.dumps(CARD).encode())) as (url, heard):
        assert await ask_identity(f"{url}/base/") == CARD
    assert heard[0].startswith(b"GET /base/api/identity HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"authorization" not in heard[0].lower()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (http("404 Not Found", b""), "status 404"),
        (http("302 Found", b"", "Location: http://127.0.0.1/"), "status 302"),
        (http("200 OK", b"<html>"), "something else"),
        (http("200 OK", b"[" * 20_000), "something else"),
        (http("200 OK", b'{"prefixes": 1}'), "something else"),
        (http("200 OK", b"x" * 100_000), "too large"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "could not be read"),
    ],
)
async def test_anything_else_is_no_identity(answer: bytes, reason: str) -> None:
    with server(answer) as (url, _), pytest.raises(NoIdentity, match=reason):
        await ask_identity(url)


async def test_a_server_that_says_nothing_is_given_up() -> None:
    with server(None) as (url, _), pytest.raises(NoIdentity, match=r"no answer within 0\.1 seconds"):
        await ask_identity(url, within=0.1)


@pytest.mark.parametrize("host", ["169.254.169.254", "168.63.129.16", "[fe80::1]", "0.0.0.0", "127.1"])
async def test_addresses_beside_the_machine_are_not_dialled(host: str) -> None:
    with pytest.raises(NoIdentity):
        await ask_identity(f"http://{host}:9", within=5)


_HOSTILE = {
    "prefixes of lists": http("200 OK", b'{"prefixes": {"rep": ["inpe.br/sid"]}, "instance": {}}'),
    "prefixes of objects": http("200 OK", b'{"prefixes": {"rep": {"a": 1}}}'),
    "a list": http("200 OK", b"[1, 2]"),
    "a number": http("200 OK", b"1e999"),
    "garbage": http("200 OK", b"\xff\xfe\x00garbage"),
    "another encoding": http("200 OK", '{"prefixes": {"rep": "x"}}'.encode("utf-16")),
    "half a character": http("200 OK", b'{"prefixes": {"rep": "\\ud800"}}'),
    "a deep one": http("200 OK", b'{"prefixes":' * 10_000),
    "a huge number": http("200 OK", b'{"prefixes": ' + b"9" * 10_000 + b"}"),
    "a compressed one": http("200 OK", b"\x1f\x8b\x08\x00", "Content-Encoding: gzip"),
    "a redirect to itself": http("301 Moved", b"", "Location: /api/identity"),
    "a huge body": http("200 OK", b"x" * 200_000),
    "no HTTP": b"\x00" * 100,
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
    "two lengths": http("200 OK", b"{}", "Content-Length: 7"),
}


@pytest.mark.parametrize("name", _HOSTILE)
async def test_an_unreadable_answer_of_the_own_address_keeps_no_caller_of_the_minter_waiting(name: str) -> None:
    ticks, clocks = MemoryTicks(), SetClocks()
    ticks.freeze(IDENTITY)
    ticks.set_doubt(in_doubt=True)
    with server(_HOSTILE[name]) as (url, _), capture_logs() as logs:
        guard = MintGuard(ticks, OwnAddress(url, IDENTITY, ask_identity))
        queue = MintQueue(ticks, IDENTITY, Rules(), clocks, guard=guard, sleep=clocks.sleep)
        async with running(*queue.jobs()) as runner, asyncio.timeout(20):
            assert (await queue.mint(1, "ana")).batch.count == 1
            assert [each.failures for each in runner.health()] == [0, 0, 0]
    told = next(each for each in logs if each["event"] == "asked the own address who mints there")
    assert told["answer"] == "no minter of this name"
