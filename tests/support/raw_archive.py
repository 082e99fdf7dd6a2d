"""An Archive on loopback that sends whatever bytes a test says, and tells what it got."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from ssl import SSLContext

from ibi.membership.rules.authority import ArchiveRef
from ibi.standard.label import parse
from ibi.standard.messages import (
    Acknowledgment,
    ArchiveProtocol,
    ContentType,
    LabelForms,
    State,
    UrlKey,
    UrlRequest,
    ip_addresses,
)
from tests.support.scripted_archives import body

__all__ = [
    "ACKNOWLEDGMENT",
    "ITEM",
    "LOOPBACK",
    "REQUEST",
    "SERVICE",
    "RawArchive",
    "Talk",
    "answer_of",
    "http",
    "never",
    "raw_archive",
    "until",
]

SERVICE = parse("example.org/archive/2008/03.17.15.17")
ITEM = "example.org/item/2009/07.21.13.23"
REQUEST = UrlRequest(ip_addresses("172.16.44.200"), parse(ITEM))
ACKNOWLEDGMENT = Acknowledgment(
    client_addresses=ip_addresses("172.16.44.200"),
    content_type=ContentType.DATA,
    url="http://archive.example.org/col/a?b=c",
    persistent_url=f"http://urlib.net/{ITEM}",
    url_key=UrlKey("1426203276-5985125171467764"),
    state=State.ORIGINAL,
)
LOOPBACK = (ip_network("127.0.0.0/8"),)

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def http(content: bytes = b"", *headers: str, status: str = "200 OK", kind: str = "text/plain") -> bytes:
    """A whole response."""
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(content)}", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def answer_of(archive: ArchiveRef) -> bytes:
    """The body of an answer that says where the item is."""
    url = f"http://{archive.address}/col/{ITEM}/doc/a.pdf"
    named = body(archive, f"rep {ITEM}", url=url, contenttype="Data", state="Original")
    return named + b"\r\nurlkey 1426203276-5985125171467764"


async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes everything and says nothing, until the other side has enough."""
    while await reader.read(1 << 16):
        pass


@dataclass
class RawArchive:
    """`says` is sent after each request, or talks itself to whoever connects."""

    says: bytes | Talk = b""
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    gone: int = 0
    """Connections that have ended."""
    port: int = 0
    protocol: ArchiveProtocol = ArchiveProtocol.HTTP
    closers: list[Callable[[], None]] = field(default_factory=list)

    def ref(self, host: str = "127.0.0.1", **others: object) -> ArchiveRef:
        given = {"networks": LOOPBACK, "protocol": self.protocol, **others}
        return ArchiveRef(LabelForms.of(SERVICE), f"{host}:{self.port}", **given)  # type: ignore[arg-type]

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.closers.append(writer.transport.abort)
        try:
            if not isinstance(self.says, bytes):
                await self.says(reader, writer)
                return
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.says)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.gone += 1
            writer.close()

    def hang_up(self) -> None:
        """End every connection there is."""
        closers, self.closers = self.closers, []
        for close in closers:
            close()


@asynccontextmanager
async def raw_archive(
    says: bytes | Talk = b"", *, host: str = "127.0.0.1", port: int = 0, tls: SSLContext | None = None
) -> AsyncIterator[RawArchive]:
    archive = RawArchive(says)
    server = await asyncio.start_server(archive.talk, host, port, ssl=tls)
    archive.port = server.sockets[0].getsockname()[1]
    archive.protocol = ArchiveProtocol.HTTP if tls is None else ArchiveProtocol.HTTPS
    try:
        yield archive
    finally:
        server.close()
        archive.hang_up()


async def until(holds: Callable[[], bool]) -> None:
    """What the other side of a socket notices, it notices a little later."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0.001)
