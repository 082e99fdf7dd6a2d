"""Archives on loopback: what they get, and what is made of what they send, however badly they behave."""

from __future__ import annotations

import asyncio
import gzip
import socket
from contextlib import closing
from dataclasses import replace
from ipaddress import ip_address, ip_network
from urllib.parse import parse_qsl

import pytest

from ibi.membership.client.archive_connections import Budgets, Call
from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import CallBack
from ibi.net.address_guard import AddressGuard, NameLookup
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms, UrlRequest, ip_addresses
from ibi.standard.networks import NO_READER
from ibi.standard.relation import Relation
from ibi.standard.reply import Answered, Failure, Reply
from tests.support.raw_archive import (
    ACKNOWLEDGMENT,
    ITEM,
    LOOPBACK,
    REQUEST,
    SERVICE,
    Talk,
    answer_of,
    http,
    never,
    raw_archive,
    until,
)
from tests.support.scripted_archives import body, read

LONG = 60.0
ANY = ArchiveRef(LabelForms.of(SERVICE), "archive.example.org")
PAIRS = answer_of(ANY)


async def said_by(says: bytes | Talk, *, within: float = LONG, budgets: Budgets | None = None) -> Reply:
    """What is made of the answer of an Archive that says so."""
    archives = ArchiveHttp(AddressGuard(), budgets=budgets or Budgets())
    async with raw_archive(says) as archive:
        try:
            return await archives.ask(archive.ref(), REQUEST, within=within)
        finally:
            await archives.close()


# --- what is sent ----------------------------------------------------------------------------------------------------


async def test_an_archive_gets_the_bytes_of_the_standard_and_who_asks_gets_its_answer() -> None:
    archives = ArchiveHttp(AddressGuard())
    request = UrlRequest(
        ip_addresses("172.16.44.200 150.163.68.1"),
        parse("sid.inpe.br/mtc-m18@80/2009/07.21.13.23"),
        Relation.from_qualifier(".translation(pt).metadata(oai_dc)"),
        file_path="/Relatório Final+1.pdf",
    )
    async with raw_archive(http(PAIRS, "Cache-Control: max-age=300")) as archive:
        assert await archives.ask(archive.ref(), request, within=LONG) == Answered(read(PAIRS), 300)
        (sent,) = archive.requests
        assert sent.startswith(f"GET /{SERVICE.spelling}?{request.to_query()} HTTP/1.1\r\n".encode())
        headers = dict(line.split(": ") for line in sent.decode().split("\r\n")[1:-2])
        assert headers == {
            "Host": f"127.0.0.1:{archive.port}",
            "User-Agent": "ibi",
            "Accept": "text/plain",
            "Accept-Encoding": "identity",
        }
        await archives.close()


async def test_the_label_of_the_service_goes_out_as_it_is_spelled() -> None:
    archives = ArchiveHttp(AddressGuard())
    async with raw_archive(http()) as archive:
        both = LabelForms.parse("rep sid.INPE.br/mtc-m19@80/2009/08.21.17.02")
        reference = ArchiveRef(both, f"127.0.0.1:{archive.port}", networks=LOOPBACK)
        assert await archives.ask(reference, REQUEST, within=LONG) == Answered(None)
        assert archive.requests[0].startswith(b"GET /sid.INPE.br/mtc-m19@80/2009/08.21.17.02?")
        await archives.close()


@pytest.mark.parametrize(
    ("says", "heard"),
    [
        (http(b"notice {acknowledgment received}"), True),
        (http(b"notice {something else}"), False),
        (http(b""), False),
        (http(b"error {no}", status="400 Bad Request"), False),
        (http(b"notice {acknowledgment received}", status="302 Found"), False),
    ],
)
async def test_an_acknowledgment_goes_to_the_registered_address(says: bytes, heard: bool) -> None:
    archives = ArchiveHttp(AddressGuard())
    async with raw_archive(says) as archive:
        assert await archives.acknowledge(archive.ref(), ACKNOWLEDGMENT) is heard
        assert archive.requests[0].startswith(f"GET /{SERVICE.spelling}?{ACKNOWLEDGMENT.to_query()} ".encode())
        await archives.close()


@pytest.mark.parametrize(
    ("says", "confirmed"), [(http(b"confirmation yes"), True), (http(b"confirmation no"), False), (http(), False)]
)
async def test_an_archive_that_is_called_back(says: bytes, confirmed: bool) -> None:
    archives = ArchiveHttp(AddressGuard())
    async with raw_archive(says) as archive:
        assert await archives.confirm(archive.ref()) == CallBack(
            confirmed, ip_address("127.0.0.1"), None if confirmed else Failure.MALFORMED
        )
        expected = f"GET /{SERVICE.spelling}?servicesubject=inclusionConfirmationRequest HTTP/1.1\r\n"
        assert archive.requests[0].startswith(expected.encode())
        await archives.close()


async def test_no_archive_is_there_to_thank_or_to_confirm() -> None:
    archives = ArchiveHttp(AddressGuard())
    with closing(socket.socket()) as taken:  # bound, so that nobody else listens there, and not listening
        taken.bind(("127.0.0.1", 0))
        away = ArchiveRef(LabelForms.of(SERVICE), f"127.0.0.1:{taken.getsockname()[1]}", networks=LOOPBACK)
        assert await archives.confirm(away) == CallBack(False, None, Failure.CONNECTION_REFUSED)
        assert not await archives.acknowledge(away, ACKNOWLEDGMENT)
        assert await archives.ask(away, REQUEST, within=LONG) is Failure.CONNECTION_REFUSED
    await archives.close()


# --- what comes back -------------------------------------------------------------------------------------------------

LISTS = [
    (http(b""), None),
    (http(b"  \r\n"), None),
    (http(PAIRS), read(PAIRS)),
    (http(PAIRS.replace(b"\r\n", b"\n"), kind="text/plain; charset=utf-8"), read(PAIRS)),
    (http(PAIRS, "Content-Encoding: identity"), read(PAIRS)),
    (http(body(ANY, f"rep {ITEM}", state="Deleted")), read(body(ANY, f"rep {ITEM}", state="Deleted"))),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", None),
    (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nAge: 1\r\n\r\n" + http(PAIRS), read(PAIRS)),
    (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"%x\r\n%b\r\n%x;a=b\r\n%b\r\n0\r\nCache-Control: no-store\r\n\r\n" % (9, PAIRS[:9], len(PAIRS) - 9, PAIRS[9:]),
        read(PAIRS),
    ),
]


@pytest.mark.parametrize(("says", "answer"), LISTS)
async def test_an_answer_is_read(says: bytes, answer: object) -> None:
    assert await said_by(says) == Answered(answer)  # type: ignore[arg-type]


@pytest.mark.parametrize(("says", "answer"), LISTS)
async def test_an_answer_may_come_byte_by_byte(says: bytes, answer: object) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for at in range(len(says)):
            writer.write(says[at : at + 1])
            await writer.drain()
            await asyncio.sleep(0)
        await never(reader, writer)

    assert await said_by(drip) == Answered(answer)  # type: ignore[arg-type]


async def test_a_body_may_end_with_the_connection() -> None:
    async def closing_it(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + PAIRS)

    assert await said_by(closing_it) == Answered(read(PAIRS))


REFUSALS = ["301 Moved", "302 Found", "307 Elsewhere", "400 Bad", "403 No", "404 Not Found", "500 Oops", "503 Later"]


@pytest.mark.parametrize("status", REFUSALS)
async def test_another_status_is_a_refusal_and_no_redirect_is_followed(status: str) -> None:
    async with raw_archive(http(PAIRS)) as elsewhere:
        says = http(PAIRS, f"Location: http://127.0.0.1:{elsewhere.port}/", status=status)
        assert await said_by(says) is Failure.REFUSED
        assert elsewhere.connections == 0


MALFORMED = {
    "an error of the protocol": http(b"error {out of order}"),
    "a success without content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "a part": http(PAIRS, status="206 Partial Content"),
    "a page": http(b"<html></html>", kind="text/html"),
    "pairs in a page": http(PAIRS + b"\r\n<hr>", kind="text/html"),
    "pairs that are called JSON": http(PAIRS, kind="application/json"),
    "pairs that are called nothing": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(PAIRS), PAIRS),
    "gzip": http(gzip.compress(PAIRS), "Content-Encoding: gzip"),
    "gzip by name only": http(PAIRS, "Content-Encoding: gzip"),
    "two encodings": http(PAIRS, "Content-Encoding: identity", "Content-Encoding: gzip"),
    "an encoding of the transfer": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
    ),
    "two lengths": http(PAIRS, "Content-Length: 3"),
    "the same length twice": http(PAIRS, f"Content-Length: {len(PAIRS)}"),
    "a length and chunks": http(PAIRS, "Transfer-Encoding: chunked"),
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: -1\r\n\r\n",
    "chunks that are none": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"
    ),
    "HTTP/0.9": PAIRS,
    "HTTP/0.9 in HTML": b"<html>archiveaddress a</html>",
    "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    "another version": http(PAIRS).replace(b"HTTP/1.1", b"HTTP/2.0"),
    "another protocol": http(PAIRS).replace(b"HTTP/1.1", b"RTSP/1.0"),
    "a status line of garbage": http(PAIRS).replace(b"200 OK", b"OK 200"),
    "a header that is folded": http(PAIRS, "X-A: b\r\n c"),
    "a header without a name": http(PAIRS, ": b"),
    "another protocol from here on": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "nothing but hints": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 20,
}


@pytest.mark.parametrize("says", MALFORMED.values(), ids=MALFORMED)
async def test_what_cannot_be_read_is_no_answer(says: bytes) -> None:
    expected = Failure.REFUSED if b"error {" in says else Failure.MALFORMED
    assert await said_by(says) is expected


UNREADABLE = {
    "no pairs": http(b"{{{"),
    "no ASCII": http(b"\xff\xfe"),
    "pairs of something else": http(b"confirmation yes"),
}


@pytest.mark.parametrize("says", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_answer_of_which_nothing_needed_can_be_read_is_a_failure_of_its_own(says: bytes) -> None:
    assert await said_by(says) is Failure.UNREADABLE


async def test_any_white_space_parts_the_pairs_of_an_answer() -> None:
    assert isinstance(await said_by(http(PAIRS.replace(b"\r\n", b"\r"))), Answered)


HUGE = {
    "by its length": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1001\r\n\r\n",
    "by a length beyond numbers": b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999\r\n\r\n",
    "in fact": b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + b" " * 1001,
    "in chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"64\r\n%b\r\n" % (b" " * 100) * 11,
    "in crumbs": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;%b\r\n \r\n" % (b"a" * 1000) * 100,
    "in its head": b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 5000,
    "in one header": b"HTTP/1.1 200 OK\r\nX-A: " + b"b" * 50_000,
}


@pytest.mark.parametrize("says", HUGE.values(), ids=HUGE)
async def test_what_is_too_large_is_not_read_to_its_end(says: bytes) -> None:
    assert await said_by(says, budgets=Budgets(most_body=1000)) is Failure.TOO_LARGE


async def test_a_body_of_exactly_what_is_read_is_read() -> None:
    assert await said_by(http(b" " * 1000), budgets=Budgets(most_body=1000)) == Answered(None)


@pytest.mark.parametrize(
    "sent", [b"HTTP/1.1 200", http(PAIRS)[:-1], b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"]
)
async def test_an_answer_that_breaks_off_is_none(sent: bytes) -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        await writer.drain()

    assert await said_by(break_off) is Failure.MALFORMED


async def test_one_that_hangs_up_without_a_word_was_not_reached() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    assert await said_by(hang_up) is Failure.UNREACHABLE


# --- time ------------------------------------------------------------------------------------------------------------


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n")
    while not writer.is_closing():
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("talk", [never, dripping])
async def test_who_asks_waits_no_longer_than_it_has(talk: Talk) -> None:
    assert await said_by(talk, within=0.1) is Failure.TIMED_OUT


@pytest.mark.parametrize("talk", [never, dripping])
async def test_who_asks_waits_no_longer_than_the_budget_of_the_archive(talk: Talk) -> None:
    archives = ArchiveHttp(AddressGuard(), budgets=Budgets(total=0.1))
    async with raw_archive(talk) as archive:
        assert await archives.ask(archive.ref(), REQUEST, within=LONG) is Failure.TIMED_OUT
        await until(lambda: archive.gone == archive.connections)  # it is hung up on, and not left to talk on
        assert not (await archives.confirm(archive.ref())).confirmed
        await archives.close()


@pytest.mark.parametrize("within", [0.0, -1.0])
async def test_one_that_has_no_time_left_sends_nothing(within: float) -> None:
    archives = ArchiveHttp(AddressGuard())
    async with raw_archive(http()) as archive:
        assert await archives.ask(archive.ref(), REQUEST, within=within) is Failure.TIMED_OUT
        assert archive.connections == 0
    await archives.close()


async def test_connecting_has_a_budget_of_its_own() -> None:
    archives = ArchiveHttp(AddressGuard(), budgets=Budgets(connect=0.1))
    with closing(socket.create_server(("127.0.0.1", 0), backlog=0)) as full:
        address = full.getsockname()
        queue = [socket.socket() for _ in range(4)]
        for each in queue:  # fill the queue of those who are not accepted: nobody else gets through
            each.setblocking(False)
            each.connect_ex(address)
        reference = ArchiveRef(LabelForms.of(SERVICE), f"127.0.0.1:{address[1]}", networks=LOOPBACK)
        assert await archives.ask(reference, REQUEST, within=LONG) is Failure.TIMED_OUT
        for each in queue:
            each.close()
    await archives.close()


# --- addresses -------------------------------------------------------------------------------------------------------


async def test_a_forbidden_address_gets_no_packet() -> None:
    archives = ArchiveHttp(AddressGuard())
    async with raw_archive(http()) as archive:
        reference = archive.ref(networks=())
        assert await archives.ask(reference, REQUEST, within=LONG) is Failure.FORBIDDEN_ADDRESS
        assert not await archives.acknowledge(reference, ACKNOWLEDGMENT)
        assert not (await archives.confirm(reference)).confirmed
        assert archive.connections == 0
    await archives.close()


async def test_ourselves_neither_although_the_network_is_allowed() -> None:
    async with raw_archive(http()) as archive:
        archives = ArchiveHttp(AddressGuard(frozenset({("0.0.0.0", archive.port)})))
        for host in ("127.0.0.1", "127.0.0.7", "[::ffff:127.0.0.1]"):
            assert await archives.ask(archive.ref(host), REQUEST, within=LONG) is Failure.OWN_ADDRESS
        assert archive.connections == 0
        await archives.close()


async def test_a_name_that_changes_its_mind_reaches_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """First it stands for a public address, which is dialled as such; the next time it is asked, for a private one."""
    answers = [["150.163.2.175"], ["127.0.0.1"], ["127.0.0.1"]]
    dialled: list[object] = []

    async def dial(factory: object, host: str, port: int, **others: object) -> None:
        dialled.append(host)
        raise ConnectionRefusedError

    names = NameLookup(lambda host: answers.pop(0), kept_for=0.0)
    archives = ArchiveHttp(AddressGuard(names=names))
    async with raw_archive(http()) as archive:
        reference = archive.ref("rebinding.example.org", networks=())
        with monkeypatch.context() as patched:
            patched.setattr(asyncio.get_running_loop(), "create_connection", dial)
            assert await archives.ask(reference, REQUEST, within=LONG) is Failure.CONNECTION_REFUSED
        assert dialled == ["150.163.2.175"]
        assert await archives.ask(reference, REQUEST, within=LONG) is Failure.FORBIDDEN_ADDRESS
        assert len(answers) == 1  # looked up once for each connection
        assert archive.connections == 0
    await archives.close()


async def test_a_name_is_dialled_where_it_was_checked_and_not_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def only_numbers(host: str, *arguments: object, **others: object) -> object:
        assert host == "127.0.0.1"
        return real(host, *arguments, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", only_numbers)
    asked: list[str] = []

    def addresses_of(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    archives = ArchiveHttp(AddressGuard(names=NameLookup(addresses_of)))
    async with raw_archive(http(PAIRS)) as archive:
        reference = archive.ref("archive.example.org", networks=(ip_network("127.0.0.1/32"),))
        assert await archives.ask(reference, REQUEST, within=LONG) == Answered(read(PAIRS))
        assert f"\r\nHost: archive.example.org:{archive.port}\r\n".encode() in archive.requests[0]
    assert asked == ["archive.example.org"]
    await archives.close()


async def test_of_several_addresses_the_first_that_answers_is_taken() -> None:
    names = NameLookup(lambda host: ["127.0.0.2", "127.0.0.1"])
    archives = ArchiveHttp(AddressGuard(names=names))
    async with raw_archive(http(PAIRS)) as archive:
        assert await archives.ask(archive.ref("archive.example.org"), REQUEST, within=LONG) == Answered(read(PAIRS))
    await archives.close()


# --- without a reader (E76) ------------------------------------------------------------------------------------------


async def told_to(archives: ArchiveHttp, *clients: str) -> list[str]:
    """The addresses that an Archive learns from a question and from its thanks."""
    known = ip_addresses(" ".join(clients))
    async with raw_archive(http()) as archive:
        await archives.ask(archive.ref(), replace(REQUEST, client_addresses=known), within=LONG)
        await archives.acknowledge(archive.ref(), ACKNOWLEDGMENT.for_clients(known))
        await archives.close()
        targets = (each.split(b" ", 2)[1].decode("ascii") for each in archive.requests)
        return [dict(parse_qsl(each.partition("?")[2]))["clientinformation.ipaddress"] for each in targets]


@pytest.mark.parametrize("own", ["150.163.2.7", "2001:db8::7"])
async def test_an_archive_learns_our_own_address_in_the_place_of_one_that_nobody_has(own: str) -> None:
    archives = ArchiveHttp(AddressGuard(), own_address=ip_address(own))
    assert await told_to(archives, str(NO_READER)) == [own, own]
    archives = ArchiveHttp(AddressGuard(), own_address=ip_address(own))
    assert await told_to(archives, "::", "150.163.68.1", "10.0.0.1") == ["150.163.68.1 10.0.0.1"] * 2
    archives = ArchiveHttp(AddressGuard(), own_address=ip_address(own))
    assert await told_to(archives, "172.16.44.200") == ["172.16.44.200"] * 2


async def test_an_archive_learns_nothing_where_addresses_are_hidden() -> None:
    assert await told_to(ArchiveHttp(AddressGuard()), str(NO_READER)) == ["0.0.0.0"] * 2


async def test_an_error_of_one_overdue_call_leaves_no_other_without_its_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archives, told = ArchiveHttp(AddressGuard(), budgets=Budgets(total=0.05)), list[str]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(str(context["exception"])))
    give_up, left = Call.give_up, [None]

    def give_up_or_fail(call: Call, failure: Failure) -> None:
        if left:
            left.pop()
            raise RuntimeError("nobody expects this")
        give_up(call, failure)

    monkeypatch.setattr(Call, "give_up", give_up_or_fail)
    async with raw_archive(never) as archive, asyncio.timeout(LONG):
        asked = asyncio.ensure_future(archives.confirm(archive.ref()))
        await asyncio.sleep(0)  # its call is the first
        for _ in range(3):
            assert (await archives.confirm(archive.ref())).failure is Failure.TIMED_OUT
        assert told == ["nobody expects this"]
        asked.cancel()
        await archives.close()


async def test_an_error_of_a_breaker_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    archives, told = ArchiveHttp(AddressGuard(), budgets=Budgets(total=0.05)), list[str]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(str(context["exception"])))
    monkeypatch.setattr(archives, "_probe_later", lambda _: 1 / 0)
    async with raw_archive(never) as archive, asyncio.timeout(LONG):
        both = await asyncio.gather(archives.confirm(archive.ref()), archives.confirm(archive.ref()))
        assert {each.failure for each in both} == {Failure.TIMED_OUT}
        assert told == ["division by zero"] * 2
        await archives.close()


async def test_tidying_goes_on_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    archives, told = ArchiveHttp(AddressGuard(), budgets=Budgets(idle=0.02)), list[str]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(str(context["exception"])))
    monkeypatch.setattr(archives._allowance, "close_idle_since", lambda _: 1 / 0)
    async with raw_archive(http(PAIRS)) as archive, asyncio.timeout(LONG):
        await archives.ask(archive.ref(), REQUEST, within=LONG)
        await until(lambda: len(told) == 3)
    await archives.close()
