"""What asking many Archives at once costs, beside a bare asyncio client that sends the same and reads what comes.

All Archives are warm: connections are open. One asks for an item that all have, and reads from each R Example 6.2 in
words of its own, other ones each time, so that nobody can remember having read them; the other asks for an item that
nobody has, which is what nearly all Archives say of nearly every item. The bare client reads neither headers nor pairs.
`python -m bench.fan_out` measures this suite alone.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from ipaddress import ip_network
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from bench.figure import Figure, figure_table
from bench.serving import running
from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.rules.authority import ArchiveRef
from ibi.net.address_guard import AddressGuard
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms, UrlRequest, ip_addresses
from ibi.standard.reply import Answered

__all__ = ["figures"]

ARCHIVES = (10, 100, 500)
ROUNDS = 7
REQUESTS = 2_000
"""Of one round."""
AIM = 8.0
SERVICE = parse("sid.inpe.br/mtc-m19@80/2009/08.21.17.02")
CLIENT = ip_addresses("172.16.44.200 150.163.68.1")
HELD = UrlRequest(CLIENT, parse("sid.inpe.br/mtc-m19/2013/09.04.12.27.57"))
UNKNOWN = UrlRequest(CLIENT, parse("sid.inpe.br/mtc-m19/2013/09.04.12.27.58"))
LOOPBACK = (ip_network("127.0.0.0/8"),)
# With the Archive's address, the time, the address again, and two numbers of the answer.
EXAMPLE_6_2 = b"\r\n".join(
    [
        b"archiveaddress %b",
        b"contenttype Data",
        b"ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}",
        b"ibi.archiveservice {rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02}",
        b"ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        b"state Original",
        b"timestamp 2013-10-%02dT%02d:%02d:%02dZ",
        b"url http://%b/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/%d/Relat%%f3rio%%20Final.pdf",
        b"urlkey 1426203276-%016d",
    ]
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: %d\r\ncache-control: max-age=300\r\n\r\n"

FanOut = Callable[[], Coroutine[Any, Any, object]]


def figures() -> list[Figure]:
    with running((sys.executable, "-m", "bench.fan_out", "serve"), Path.cwd()) as server:
        return [
            figure
            for request, said in ((UNKNOWN, "nothing"), (HELD, "Example 6.2"))
            for number in ARCHIVES
            for figure in run(measured(server.port, number, request, said))
        ]


async def measured(port: int, number: int, request: UrlRequest, said: str) -> Sequence[Figure]:
    """Both clients in turns, each on connections of its own."""
    archives = [
        ArchiveRef(LabelForms.of(SERVICE), f"127.0.{1 + at // 250}.{1 + at % 250}:{port}", networks=LOOPBACK)
        for at in range(number)
    ]
    http = ArchiveHttp(AddressGuard())
    streams = [await asyncio.open_connection(*archive.address.split(":")) for archive in archives]
    written = [as_written(archive, request) for archive in archives]

    async def bare() -> None:
        await asyncio.gather(*(exchanged(*stream, sent) for stream, sent in zip(streams, written, strict=True)))

    async def ours() -> None:
        replies = await asyncio.gather(*(http.ask(archive, request, within=5.0) for archive in archives))
        assert all(isinstance(reply, Answered) for reply in replies), replies[:3]

    rounds = [(await cpu_each(bare, number), await cpu_each(ours, number)) for _ in range(ROUNDS + 1)][1:]
    await http.close()
    for _, writer in streams:
        writer.close()
    return list(compared(number, said, rounds))


def compared(number: int, said: str, rounds: Sequence[tuple[float, float]]) -> Iterator[Figure]:
    ratios = [ours / bare for bare, ours in rounds]
    ratio = median(ratios)
    bare, ours = (median(times) for times in zip(*rounds, strict=True))
    name = f"{number} warm Archives, each says {said}"
    yield Figure(f"{name}: bare asyncio (reference)", bare, "µs CPU", 1.0)
    note = f"{min(ratios):.2f} to {max(ratios):.2f}× in {len(ratios)} rounds"
    yield Figure(name, ours, "µs CPU", ratio, f"≤ {AIM:g}×", ratio <= AIM, note)


async def cpu_each(fan_out: FanOut, number: int) -> float:
    """µs of a request."""
    await fan_out()
    times = max(1, REQUESTS // number)
    start = time.process_time()
    for _ in range(times):
        await fan_out()
    return 1e6 * (time.process_time() - start) / (times * number)


def as_written(archive: ArchiveRef, request: UrlRequest) -> bytes:
    target = f"/{SERVICE.spelling}?{request.to_query()}"
    headers = f"Host: {archive.address}\r\nUser-Agent: ibi\r\nAccept: text/plain\r\nAccept-Encoding: identity\r\n\r\n"
    return f"GET {target} HTTP/1.1\r\n{headers}".encode()


async def exchanged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    return await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r")[0]))


# --- the Archives ----------------------------------------------------------------------------------------------------


class Archive(asyncio.Protocol):
    """All of them: one listener has every loopback address."""

    held = HELD.label.spelling.encode()
    numbers = count(1)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        host, port = transport.get_extra_info("sockname")[:2]
        self._address = f"{host}:{port}".encode()

    def data_received(self, data: bytes) -> None:
        body = said_by(self._address, next(self.numbers)) if self.held in data else b""
        self._transport.write(HEAD % len(body) + body)


def said_by(address: bytes, number: int) -> bytes:
    """The answer of one Archive, with that number among all answers."""
    days, seconds = divmod(number, 86_400)
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return EXAMPLE_6_2 % (address, 1 + days % 31, hour, minute, second, address, number, number)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Archive, "0.0.0.0", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def run(main: Coroutine[Any, Any, Any]) -> Any:
    """On the event loop that the server has."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        run(serve())
    else:
        print(figure_table(figures()))
