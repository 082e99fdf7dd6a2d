"""One GET over a connection of its own, on real sockets."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import closing
from ipaddress import ip_network

import pytest

from ibi.net import single_request
from ibi.net.address_guard import AddressGuard, Checked, NameLookup
from ibi.net.http_connection import HttpResponse
from ibi.net.server_url import default_tls
from ibi.net.single_request import SingleRequests, connect, exchange, settle
from ibi.standard.origin import Origin
from ibi.standard.reply import Failure
from tests.support.mail_server import CERTIFICATE, trusting
from tests.support.raw_archive import RawArchive, Talk, http, never, raw_archive, until

MOST = 1000


def there(archive: RawArchive, *addresses: str, host: str = "archive.example.org") -> Checked:
    return Checked(host, archive.port, addresses or ("127.0.0.1",))


async def ask(where: Checked, tls: ssl.SSLContext | None = None) -> HttpResponse | Failure:
    return await exchange(await connect(where, MOST, tls), where.host, "/a?b=c", {"Accept": "text/plain"})


async def test_the_request_is_sent_as_it_is_and_the_connection_closed() -> None:
    async with raw_archive(http(b"yes")) as archive:
        assert await ask(there(archive)) == HttpResponse(200, b"yes", b"text/plain")
    assert archive.requests == [
        b"GET /a?b=c HTTP/1.1\r\nHost: archive.example.org\r\nUser-Agent: ibi\r\nAccept: text/plain\r\n"
        b"Accept-Encoding: identity\r\nConnection: close\r\n\r\n"
    ]


async def test_a_redirect_is_an_answer_and_not_followed() -> None:
    async with raw_archive() as archive:
        archive.says = http(b"", f"Location: http://127.0.0.1:{archive.port}/other", status="302 Found")
        answer = await ask(there(archive))
        assert isinstance(answer, HttpResponse)
        assert answer.status == 302
    assert archive.connections == 1


async def test_an_answer_is_bounded() -> None:
    async with raw_archive(http(b"x" * (MOST + 1))) as archive:
        assert await ask(there(archive)) is Failure.TOO_LARGE


async def test_an_address_that_takes_no_connection_is_left_for_the_next() -> None:
    async with raw_archive(http(b"yes")) as archive:
        assert isinstance(await ask(there(archive, "127.0.0.2", "127.0.0.1")), HttpResponse)


async def test_an_address_that_says_nothing_is_left_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_request, "_FOR_ONE_ADDRESS", 0.1)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(CERTIFICATE)
    async with raw_archive(http(b"yes"), tls=server) as archive:
        # It accepts connections and never says a word of TLS.
        with closing(socket.create_server(("127.0.0.2", archive.port))):
            where = there(archive, "127.0.0.2", "127.0.0.1", host="127.0.0.1")
            assert isinstance(await ask(where, trusting()), HttpResponse)


async def test_no_more_than_four_addresses_are_dialled() -> None:
    async with raw_archive(http(b"yes")) as archive:
        dead = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
        with pytest.raises(ConnectionRefusedError):
            await ask(there(archive, *dead, "127.0.0.1"))
    assert archive.connections == 0


async def test_without_an_address_there_is_no_connection() -> None:
    with pytest.raises(OSError, match="no address"):
        await connect(Checked("archive.example.org", 80, ()), MOST, None)


@pytest.mark.parametrize(("host", "trusted"), [("other.example.org", True), ("127.0.0.1", False)])
async def test_a_certificate_of_another_or_of_a_stranger_is_refused(host: str, trusted: bool) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(CERTIFICATE)
    async with raw_archive(http(b"yes"), tls=server) as archive:
        with pytest.raises(ssl.SSLCertVerificationError):
            await ask(there(archive, host=host), trusting() if trusted else default_tls())
    assert archive.requests == []


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _speak_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example.org ESMTP\r\n")
    await never(reader, writer)


@pytest.mark.parametrize("says", [_hang_up, _speak_first])
async def test_a_server_that_closes_or_speaks_first_is_not_waited_for(says: Talk) -> None:
    async with raw_archive(says) as archive:
        connection = await connect(there(archive), MOST, None)
        await asyncio.sleep(0.05)
        assert await exchange(connection, "archive.example.org", "/", {}) is Failure.UNREACHABLE


async def test_the_connection_of_a_request_that_is_given_up_is_closed() -> None:
    async with raw_archive(never) as archive:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await ask(there(archive))
        await until(lambda: archive.gone == 1)


async def test_a_server_of_the_settings_may_be_anywhere_and_a_strangers_may_not() -> None:
    async with raw_archive(http(b"yes")) as archive:
        names, place = NameLookup(lambda host: ("127.0.0.1",)), Origin("http", "ibi.example.org", archive.port)
        answer = await SingleRequests(names).send(place, "/a", {"X": "y"}, most=MOST, body=b"no")
        assert answer == HttpResponse(200, b"yes", b"text/plain")
        judged = SingleRequests(AddressGuard(names=names))
        assert await judged.send(place, "/a", {}, most=MOST) is Failure.FORBIDDEN_ADDRESS
        networks = (ip_network("127.0.0.0/8"),)
        assert isinstance(await judged.send(place, "/a", {}, most=MOST, networks=networks), HttpResponse)
    assert archive.requests[0].splitlines() == [
        b"POST /a HTTP/1.1",
        f"Host: {place.authority}".encode(),
        *(b"User-Agent: ibi", b"Accept: */*", b"X: y", b"Content-Length: 2"),
        *(b"Accept-Encoding: identity", b"Connection: close", b""),
    ]


async def test_a_request_that_is_settled_never_raises_for_what_a_server_does() -> None:
    unknown = SingleRequests(NameLookup(lambda host: ()))
    assert await settle(unknown.send(Origin("http", "ibi.example.org"), "/", {}, most=MOST), 5.0) is Failure.UNREACHABLE
    here = SingleRequests(NameLookup(lambda host: ("127.0.0.1",)))
    async with raw_archive(never) as archive:
        silent = here.send(Origin("http", "ibi.example.org", archive.port), "/", {}, most=MOST)
        assert await settle(silent, 0.05) is Failure.TIMED_OUT
