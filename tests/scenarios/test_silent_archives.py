"""Nobody can be asked: the resolver says so in time, to programs and to people in their language (E24)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from ibi.resolver.rules.policy import Policy
from tests.support.loopback_archives import LoopbackArchives, plain
from tests.support.whole_resolver import WholeResolver, whole_resolver

ITEM = "/8JMKD3MGP7W/3EPGUE5"
BUDGET = Policy(budget=0.5, patience=0.3, hedge_delay=0.01)
"""Far shorter than anybody here would take, or the client waits."""
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
TITLES = {
    "en": "No Archive could be asked",
    "pt-BR": "Nenhum Arquivo pôde ser consultado",
    "es": "No se pudo consultar ningún Archivo",
}


def service(number: int) -> str:
    """Each of a prefix of its own, which has one home."""
    return f"lab.br/arq{number or ''}/2009/07.21.14.{number:02}"


def member(resolver: WholeResolver, number: int, address: str) -> str:
    resolver.register(service(number), "127.0.0.0/8")
    assert resolver.include(service(number), address).startswith(b"status.archive included")
    return address


@contextmanager
def refusing() -> Iterator[str]:
    """An address where nobody listens, and where nobody else can while this goes on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


async def hears_only(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Confirms its inclusion, then takes everything and says nothing."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(plain(b"confirmation yes"))
    while await reader.read(1 << 16):
        pass


async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A head that never ends, a byte at a time."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(plain(b"confirmation yes"))
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


@pytest.fixture
def resolver() -> Iterator[WholeResolver]:
    with whole_resolver(policy=BUDGET) as running:
        yield running


@pytest.fixture
def sockets() -> Iterator[LoopbackArchives]:
    with LoopbackArchives() as opened:
        yield opened


def check(resolver: WholeResolver, first: int, asked: int) -> None:
    """Each answer comes, although whoever is waited for would let the reader wait for minutes. Whoever keeps silent is
    not waited for again and again: from then on it is one that cannot be asked."""
    answer, said = resolver.get(ITEM)
    assert (answer.status, said["type"]) == (first, "urn:ibi:problem:no-archive-answered"), said
    assert (said["archives_asked"], len(said["archives_silent"])) == (asked, asked)
    assert answer.getheader("cache-control") == "no-store"
    assert answer.getheader("retry-after") == "30"
    for language, title in TITLES.items():
        answer, said = resolver.get(ITEM, Accept_Language=language)
        assert (answer.status in {first, 502}, said["title"]) == (True, title)
        answer, page = resolver.get(ITEM, Accept=BROWSER, Accept_Language=language)
        assert (answer.status in {first, 502}, answer.getheader("content-language")) == (True, language)
        assert title in page.decode()
        assert f"127.0.0.1:{said['archives_silent'][0]['address'].partition(':')[2]}" in page.decode()


def test_archives_that_refuse_the_connection_are_a_bad_gateway(resolver: WholeResolver) -> None:
    with ExitStack() as bound:
        for number in range(3):
            member(resolver, number, bound.enter_context(refusing()))
        check(resolver, 502, 3)
        (hop,) = resolver.trace(ITEM)["hops"]
        assert {one["verdict"] for one in hop["archives"]} == {"failed"}


def test_archives_that_say_nothing_or_never_finish_are_a_gateway_time_out(
    resolver: WholeResolver, sockets: LoopbackArchives
) -> None:
    member(resolver, 0, sockets.open(talk=hears_only).address)
    member(resolver, 1, sockets.open(talk=drips).address)
    check(resolver, 504, 2)


def test_a_known_home_that_fell_silent_is_named(resolver: WholeResolver, sockets: LoopbackArchives) -> None:
    """What another has nothing of is not "not found" as long as the Archive that had it cannot be asked."""
    said = (
        b"archiveaddress 127.0.0.1:%d\r\nibi {ibip 8JMKD3MGP7W/3EPGUE5}\r\n"
        b"ibi.archiveservice {rep lab.br/arq/2009/07.21.14.00}\r\nibi.platformsoftware {}\r\n"
        b"contenttype Data\r\nstate Original\r\nurl http://127.0.0.1:%d/a.pdf"
    )
    silent: list[bool] = []

    def says(request: bytes) -> bytes:
        if silent:
            raise ConnectionResetError
        if b"inclusionConfirmationRequest" in request:
            return plain(b"confirmation yes")
        return plain(said % (home.port, home.port))

    home = sockets.open(says)
    member(resolver, 0, home.address)
    member(resolver, 1, sockets.open(lambda _: plain(b"")).address)
    assert resolver.location(f"{ITEM}?ibiurl.requireditemstatus=Original") == f"http://{home.address}/a.pdf"
    silent.append(True)
    answer, told = resolver.get(f"{ITEM}:")
    assert (answer.status, told["home"]["address"]) == (502, home.address)
    assert home.address in told["detail"]


def test_a_resolver_that_knows_no_archive_says_that(resolver: WholeResolver) -> None:
    answer, said = resolver.get(ITEM)
    assert (answer.status, said["detail"]) == (502, "This resolver knows no Archive that it could ask.")
