"""Archives on loopback sockets whose every byte a test says, and which tell every byte they got.

Nothing of the product is used here: what it sends and what it is told are compared with what tests print. They run in a
thread of their own, for resolvers in this process or in others.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["EMPTY", "LoopbackArchive", "LoopbackArchives", "Says", "Talk", "plain", "target_of"]

T = TypeVar("T")
Says = Callable[[bytes], bytes]
"""A whole response to a whole request."""
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Whatever somebody does with a connection."""
_PATIENCE = 60.0
_TURNS = 5
"""Of the event loop, within which a connection that was just accepted has a task, and one that was closed is gone."""


def plain(body: bytes, *headers: bytes) -> bytes:
    """A response as an Archive sends it."""
    head = [b"HTTP/1.1 200 OK", b"Content-Type: text/plain", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


EMPTY = plain(b"")


def target_of(request: bytes) -> bytes:
    """Of `GET target HTTP/1.1`."""
    return request.split(b" ", 2)[1]


@dataclass
class LoopbackArchive:
    host: str
    says: Says | None
    talk: Talk | None
    port: int = 0
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)
    """Of the connections there are."""
    server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def wait(self, number: int) -> list[bytes]:
        """All that was asked once so much was."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.requests) >= number, _PATIENCE), self.requests
            return list(self.requests)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.add(writer)
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, asyncio.CancelledError):
            if self.talk is not None:
                await self.talk(reader, writer)
            while self.says is not None:
                request = await reader.readuntil(b"\r\n\r\n")
                with self.changed:
                    self.requests.append(request)
                    self.changed.notify_all()
                writer.write(self.says(request))
                await writer.drain()
        self.writers.discard(writer)
        writer.close()


class LoopbackArchives:
    """Up while entered; then all connections are ended."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loopback-archives")
        self._servers: list[asyncio.Server] = []

    def __enter__(self) -> LoopbackArchives:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE)
        self._loop.close()

    def open(self, says: Says | None = None, *, talk: Talk | None = None, host: str = "127.0.0.1") -> LoopbackArchive:
        """One more, on a port that was free."""
        archive = LoopbackArchive(host, says, talk)
        self._run(self._open(archive))
        return archive

    def shut(self, archive: LoopbackArchive) -> None:
        """Have it take no connection any more, and end those there are."""
        self._run(self._shut(archive))

    def reopen(self, archive: LoopbackArchive) -> None:
        """One that was shut, on its port of before."""
        self._run(self._open(archive))

    async def _open(self, archive: LoopbackArchive) -> None:
        server = await asyncio.start_server(archive.serve, archive.host, archive.port, backlog=512)
        archive.port, archive.server = server.sockets[0].getsockname()[1], server
        self._servers.append(server)

    async def _shut(self, archive: LoopbackArchive) -> None:
        if archive.server is not None:
            archive.server.close()
            self._servers.remove(archive.server)
            archive.server = None
        for writer in tuple(archive.writers):
            writer.transport.abort()

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        for _ in range(_TURNS):
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await asyncio.sleep(0)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)
