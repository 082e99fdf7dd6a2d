"""Connections to Archives: kept, shared, bounded, and all gone in the end."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import cast

import pytest
import uvloop

from ibi.membership.client.archive_connections import ArchiveLine, Budgets, Call, CircuitBreaker, ConnectionAllowance
from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.rules.authority import ArchiveRef
from ibi.net.address_guard import AddressGuard, NameLookup
from ibi.standard.label import parse
from ibi.standard.messages import ArchiveProtocol, LabelForms, UrlRequest, ip_addresses
from ibi.standard.reply import Answered, Failure, Reply
from tests.support.raw_archive import (
    ACKNOWLEDGMENT,
    LOOPBACK,
    REQUEST,
    SERVICE,
    RawArchive,
    answer_of,
    http,
    never,
    raw_archive,
    until,
)
from tests.support.scripted_archives import read

LONG = 60.0
NOTHING = Answered(None)
PAIRS = answer_of(ArchiveRef(LabelForms.of(SERVICE), "archive.example.org"))


def request(number: int) -> UrlRequest:
    """One of many, all different."""
    label = parse(f"example.org/item/2009/07.21.{number // 60:02}.{number % 60:02}")
    return UrlRequest(ip_addresses("172.16.44.200"), label)


@pytest.fixture
async def archives() -> AsyncIterator[ArchiveHttp]:
    asking = ArchiveHttp(AddressGuard())
    yield asking
    await asking.close()


class Gate:
    """An Archive that answers everybody when it is opened."""

    def __init__(self, says: bytes = http()) -> None:
        self.says, self.opened, self.requests = says, asyncio.Event(), 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            self.requests += 1
            await self.opened.wait()
            writer.write(self.says)


# --- kept ------------------------------------------------------------------------------------------------------------


async def test_a_connection_is_used_again(archives: ArchiveHttp) -> None:
    async with raw_archive(http()) as archive:
        for number in range(20):
            assert await archives.ask(archive.ref(), request(number), within=LONG) == NOTHING
        assert archive.connections == 1
        assert len(archive.requests) == 20


@pytest.mark.parametrize(
    "says",
    [
        http(b"", "Connection: close"),
        http().replace(b"HTTP/1.1", b"HTTP/1.0"),
        http() + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nextra",
        http() + b"garbage",
    ],
)
async def test_a_connection_is_not_used_again_when_the_archive_says_so_or_says_too_much(
    archives: ArchiveHttp, says: bytes
) -> None:
    async with raw_archive(says) as archive:
        for number in range(3):
            assert await archives.ask(archive.ref(), request(number), within=LONG) == NOTHING
        assert archive.connections == 3


async def test_an_answer_to_nothing_is_never_taken_for_the_next(archives: ArchiveHttp) -> None:
    more = asyncio.Event()

    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(http())
        await more.wait()
        writer.write(http(PAIRS))
        await never(reader, writer)

    async with raw_archive(twice) as archive:
        assert await archives.ask(archive.ref(), request(1), within=LONG) == NOTHING
        more.set()
        await until(lambda: archive.gone == 1)
        assert await archives.ask(archive.ref(), request(2), within=LONG) == NOTHING


async def test_a_connection_that_ended_while_it_was_idle_is_no_failure(archives: ArchiveHttp) -> None:
    async with raw_archive(http()) as archive:
        for number in range(5):
            assert await archives.ask(archive.ref(), request(number), within=LONG) == NOTHING
            archive.hang_up()


async def test_a_connection_that_ends_just_when_it_is_used_again_is_no_failure(archives: ArchiveHttp) -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(http())
        await reader.readuntil(b"\r\n\r\n")

    async with raw_archive(once) as archive:
        for number in range(4):
            assert await archives.ask(archive.ref(), request(number), within=LONG) == NOTHING
        assert archive.connections == 4


async def test_a_request_is_sent_again_once_and_not_forever(archives: ArchiveHttp) -> None:
    calls = 0

    async def less_and_less(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        await reader.readuntil(b"\r\n\r\n")
        if calls == 1:
            writer.write(http())
            await reader.readuntil(b"\r\n\r\n")

    async with raw_archive(less_and_less) as archive:
        assert await archives.ask(archive.ref(), request(1), within=LONG) == NOTHING
        assert await archives.ask(archive.ref(), request(2), within=LONG) is Failure.UNREACHABLE
        assert calls == 2


def test_an_archive_that_is_unheard_a_second_time_has_failed() -> None:
    class Line:
        again = 0

        def send_again(self, call: Call) -> None:
            self.again += 1

    line = Line()
    call = Call(cast("ArchiveLine", line), b"", 0.0, lambda response: None)
    assert [call.unheard(), call.unheard(), line.again] == [True, False, 1]


async def test_a_question_that_waits_for_a_connection_that_is_lost_gets_another() -> None:
    archives = ArchiveHttp(AddressGuard(), budgets=Budgets(connections=1))
    gate = Gate(b"garbage")
    async with raw_archive(gate) as archive:
        asking = [asyncio.create_task(archives.ask(archive.ref(), request(n), within=LONG)) for n in range(5)]
        await until(lambda: gate.requests == 1)
        gate.opened.set()
        assert await asyncio.gather(*asking) == [Failure.MALFORMED] * 5
        assert archive.connections == 5
    await archives.close()


async def test_idle_and_old_connections_are_closed() -> None:
    idle = ArchiveHttp(AddressGuard(), budgets=Budgets(idle=0.02))
    old = ArchiveHttp(AddressGuard(), budgets=Budgets(lifetime=0.0))
    async with raw_archive(http()) as archive:
        await idle.ask(archive.ref(), REQUEST, within=LONG)
        await until(lambda: archive.gone == 1)
        for _ in range(2):
            await old.ask(archive.ref(), REQUEST, within=LONG)
        await until(lambda: archive.gone == 3)
    await idle.close()
    await old.close()


# --- shared ----------------------------------------------------------------------------------------------------------


async def test_the_same_at_the_same_time_is_asked_once(archives: ArchiveHttp) -> None:
    gate = Gate(http(PAIRS))
    async with raw_archive(gate) as archive:
        asking = [asyncio.create_task(archives.ask(archive.ref(), REQUEST, within=LONG)) for _ in range(10)]
        await until(lambda: gate.requests == 1)
        asking[0].cancel()
        assert await archives.ask(archive.ref(), REQUEST, within=0.01) is Failure.TIMED_OUT
        gate.opened.set()
        replies = await asyncio.gather(*asking, return_exceptions=True)
        assert isinstance(replies[0], asyncio.CancelledError)
        assert replies[1:] == [Answered(read(PAIRS))] * 9
        assert gate.requests == 1


async def test_what_differs_in_a_byte_is_asked_apart(archives: ArchiveHttp) -> None:
    gate = Gate()
    spelled_alike = [parse("example.org/item/2009/07.21.13.23"), parse("Example.org/item/2009/07.21.13.23")]
    assert spelled_alike[0] == spelled_alike[1]
    asked = [UrlRequest(ip_addresses("172.16.44.200"), label) for label in spelled_alike]
    asked.append(UrlRequest(ip_addresses("172.16.44.201"), spelled_alike[0]))
    async with raw_archive(gate) as archive:
        asking = [asyncio.create_task(archives.ask(archive.ref(), each, within=LONG)) for each in asked]
        await until(lambda: gate.requests == 3)
        gate.opened.set()
        assert await asyncio.gather(*asking) == [NOTHING] * 3


async def test_acknowledgments_of_the_same_are_not_shared(archives: ArchiveHttp) -> None:
    gate = Gate(http(b"notice {acknowledgment received}"))
    async with raw_archive(gate) as archive:
        thanking = [asyncio.create_task(archives.acknowledge(archive.ref(), ACKNOWLEDGMENT)) for _ in range(2)]
        await until(lambda: gate.requests == 2)
        gate.opened.set()
        assert await asyncio.gather(*thanking) == [True, True]


async def test_a_flight_whose_passengers_have_all_left_still_lands(archives: ArchiveHttp) -> None:
    gate = Gate()
    async with raw_archive(gate) as archive:
        assert await archives.ask(archive.ref(), REQUEST, within=0.05) is Failure.TIMED_OUT
        await until(lambda: gate.requests == 1)
        gate.opened.set()
        assert await archives.ask(archive.ref(), REQUEST, within=LONG) == NOTHING
        assert archive.connections == 1


# --- given a rest ----------------------------------------------------------------------------------------------------


@pytest.fixture
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    breaker = partial(CircuitBreaker, first_rest=0.01, longest_rest=0.02)
    monkeypatch.setattr("ibi.membership.client.archive_connections.CircuitBreaker", breaker)


async def until_awake(archives: ArchiveHttp, archive: RawArchive) -> Reply:
    """The first reply that it gives itself."""
    for _ in range(10_000):
        reply = await archives.ask(archive.ref(), REQUEST, within=LONG)
        if reply is not Failure.RESTING:
            return reply
        await asyncio.sleep(0.001)
    raise AssertionError("it rests for ever")


@pytest.mark.usefixtures("short_rests")
async def test_an_archive_that_fails_is_probed_until_it_is_back_and_no_reader_waits_for_that(
    archives: ArchiveHttp,
) -> None:
    async with raw_archive(http(status="503 Later")) as archive:
        replies = [await archives.ask(archive.ref(), request(number), within=LONG) for number in range(8)]
        assert replies == [Failure.REFUSED] * 5 + [Failure.RESTING] * 3
        await until(lambda: len(archive.requests) >= 8)
        assert all(b"inclusionConfirmationRequest" in each for each in archive.requests[5:])
        assert await archives.ask(archive.ref(), REQUEST, within=LONG) is Failure.RESTING
        archive.says = http(b"confirmation yes")
        seen = len(archive.requests)
        await until(lambda: len(archive.requests) > seen)
        archive.says = http()
        await until_awake(archives, archive)
        assert await archives.ask(archive.ref(), REQUEST, within=LONG) == NOTHING


@pytest.mark.usefixtures("short_rests")
async def test_an_archive_that_answers_probes_and_nothing_else_rests_after_one_more_failure(
    archives: ArchiveHttp,
) -> None:
    probes: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            received = await reader.readuntil(b"\r\n\r\n")
            if b"inclusionConfirmationRequest" in received:
                probes.append(received)
                writer.write(http(b"confirmation yes"))
            else:
                writer.write(http(status="503 Later"))

    async with raw_archive(talk) as archive:
        for number in range(5):
            await archives.ask(archive.ref(), request(number), within=LONG)
        await until(lambda: bool(probes))
        assert await until_awake(archives, archive) is Failure.REFUSED
        assert await archives.ask(archive.ref(), REQUEST, within=LONG) is Failure.RESTING


async def test_one_that_says_it_is_back_is_called_although_it_rests(archives: ArchiveHttp) -> None:
    async with raw_archive(http(status="503 Later")) as archive:
        for number in range(5):
            await archives.ask(archive.ref(), request(number), within=LONG)
        archive.says = http(b"confirmation yes")
        assert await archives.ask(archive.ref(), REQUEST, within=LONG) is Failure.RESTING
        assert (await archives.confirm(archive.ref())).confirmed
        archive.says = http()
        assert await archives.ask(archive.ref(), REQUEST, within=LONG) == NOTHING


@pytest.mark.parametrize("says", [http(status="500 Oops"), http(status="404 No"), http(b"{{{"), b"garbage", http()])
async def test_no_reader_can_make_an_archive_rest_by_asking_for_a_bad_item(archives: ArchiveHttp, says: bytes) -> None:
    async with raw_archive(says) as archive:
        replies = [await archives.ask(archive.ref(), request(number), within=LONG) for number in range(20)]
        assert Failure.RESTING not in replies
        assert len(archive.requests) == 20


async def test_each_archive_rests_for_itself(archives: ArchiveHttp) -> None:
    async with raw_archive(http(status="503 Later")) as failing, raw_archive(http()) as well:
        for number in range(8):
            await archives.ask(failing.ref(), request(number), within=LONG)
        assert await archives.ask(well.ref(), REQUEST, within=LONG) == NOTHING


async def test_an_address_that_is_forbidden_tires_no_archive(archives: ArchiveHttp) -> None:
    async with raw_archive(http()) as archive:
        reference = archive.ref(networks=())
        replies = {await archives.ask(reference, request(number), within=LONG) for number in range(20)}
        assert replies == {Failure.FORBIDDEN_ADDRESS}


# --- bounded ---------------------------------------------------------------------------------------------------------


async def test_one_archive_gets_so_many_connections_and_the_rest_wait() -> None:
    archives, gate = ArchiveHttp(AddressGuard(), budgets=Budgets(connections=3)), Gate()
    async with raw_archive(gate) as archive:
        asking = [asyncio.create_task(archives.ask(archive.ref(), request(n), within=LONG)) for n in range(20)]
        await until(lambda: gate.requests == 3)
        gate.opened.set()
        assert await asyncio.gather(*asking) == [NOTHING] * 20
        assert archive.connections == 3
    await archives.close()


async def test_more_than_may_wait_are_turned_away_at_once() -> None:
    archives, gate = ArchiveHttp(AddressGuard(), budgets=Budgets(connections=1)), Gate()
    async with raw_archive(gate) as archive:
        asking = [asyncio.create_task(archives.ask(archive.ref(), request(n), within=LONG)) for n in range(300)]
        await until(lambda: sum(task.done() for task in asking) >= 40)
        gate.opened.set()
        replies = await asyncio.gather(*asking)
        assert (replies.count(NOTHING), replies.count(Failure.TIMED_OUT)) == (256, 44)
    await archives.close()


async def test_many_that_wait_in_vain_are_no_failure_of_the_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("ibi.membership.client.archive_http._now", lambda: now)
    archives, gate = ArchiveHttp(AddressGuard(), budgets=Budgets(connections=1)), Gate()
    async with raw_archive(gate) as archive:
        asking = [asyncio.create_task(archives.ask(archive.ref(), request(n), within=LONG)) for n in range(50)]
        await until(lambda: gate.requests == 1)
        now = 5.0
        assert await asyncio.gather(*asking) == [Failure.TIMED_OUT] * 50
        gate.opened.set()
        assert await archives.ask(archive.ref(), REQUEST, within=LONG) == NOTHING
    await archives.close()


@pytest.mark.parametrize(("left", "is_late"), [(1.0, True), (50.0, False)])
async def test_a_call_that_had_waited_too_long_at_its_turn_is_no_failure_of_the_archive(
    left: float, is_late: bool
) -> None:
    gate, replies = Gate(), list[object]()
    async with raw_archive(gate) as archive:
        budgets = Budgets(total=60.0)
        line = ArchiveLine(archive.ref(), AddressGuard(), budgets, ConnectionAllowance(1), ssl.create_default_context)
        call = Call(line, line.request("a=b"), asyncio.get_running_loop().time() + left, replies.append)
        line.send(call)
        await until(lambda: gate.requests == 1)
        call.give_up(Failure.TIMED_OUT)
        assert (call.had_no_time, replies) == (is_late, [Failure.TIMED_OUT])
        await line.close()


async def test_all_archives_together_get_so_many_connections() -> None:
    archives = ArchiveHttp(AddressGuard(), budgets=Budgets(connections_in_all=4))
    async with raw_archive(http(), host="0.0.0.0") as archive:
        hosts = [f"127.0.0.{number}" for number in range(1, 41)]
        for _ in range(3):
            replies = await asyncio.gather(*(archives.ask(archive.ref(host), REQUEST, within=LONG) for host in hosts))
            assert replies == [NOTHING] * 40
            await until(lambda: archive.connections - archive.gone <= 4)
        assert len(archive.requests) == 120
    await archives.close()


async def test_silent_archives_hold_up_no_question_for_longer_than_their_budget() -> None:
    archives = ArchiveHttp(AddressGuard(), budgets=Budgets(connections_in_all=4, total=0.2))
    async with raw_archive(never, host="0.0.0.0") as silent, raw_archive(http()) as well:
        asking = [
            asyncio.create_task(archives.ask(silent.ref(f"127.0.0.{number}"), REQUEST, within=LONG))
            for number in range(1, 9)
        ]
        await until(lambda: silent.connections == 4)
        assert await archives.ask(well.ref(), REQUEST, within=LONG) in (Failure.TIMED_OUT, NOTHING)
        assert set(await asyncio.gather(*asking)) == {Failure.TIMED_OUT}
        assert await archives.ask(well.ref(), REQUEST, within=LONG) == NOTHING
    await archives.close()


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def ask_all(archives: ArchiveHttp, references: Iterable[ArchiveRef], first: int) -> list[Reply]:
    return await asyncio.gather(
        *(archives.ask(each, request(first + at), within=0.05) for at, each in enumerate(references))
    )


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted by Linux")
async def test_dead_and_slow_archives_leave_nothing_behind() -> None:
    with closing(socket.socket()) as dead:
        dead.bind(("127.0.0.1", 0))
        port = dead.getsockname()[1]
        async with raw_archive(never, host="0.0.0.0") as slow, raw_archive(http(b"{{{"), host="0.0.0.0") as bad:
            before = descriptors()
            archives = ArchiveHttp(AddressGuard(), budgets=Budgets(total=0.1, connect=0.1, connections_in_all=40))
            for first in range(0, 500, 50):
                hosts = [f"127.0.{first}.{number}" for number in range(1, 18)] if first < 250 else ["127.0.0.1"] * 17
                gone = [ArchiveRef(LabelForms.of(SERVICE), f"{host}:{port}", networks=LOOPBACK) for host in hosts]
                references = [*gone, *(slow.ref(host) for host in hosts), *(bad.ref(host) for host in hosts)]
                replies = await ask_all(archives, references, first)
                assert not any(isinstance(reply, Answered) for reply in replies)
                await until(lambda: descriptors() - before <= 2 * 40)  # both ends are in this process
            await archives.close()
            await until(lambda: descriptors() == before)


async def test_closing_ends_what_is_under_way() -> None:
    archives = ArchiveHttp(AddressGuard(), budgets=Budgets(connections=8))
    async with raw_archive(never) as archive:
        asking = [asyncio.create_task(archives.ask(archive.ref(), request(n), within=LONG)) for n in range(20)]
        await until(lambda: archive.connections == 8)
        await archives.close()
        assert set(await asyncio.gather(*asking)) == {Failure.UNREACHABLE}
        await until(lambda: archive.gone == 8)


# --- HTTPS (E22) -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of archive.example.org, signed by itself."""
    place = tmp_path_factory.mktemp("tls")
    key, cert = place / "key.pem", place / "cert.pem"
    name = ["-subj", "/CN=archive.example.org", "-addext", "subjectAltName=DNS:archive.example.org"]
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    try:
        subprocess.run([*new, *name, "-keyout", key, "-out", cert], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl makes the certificate")
    return key, cert


def contexts(certificate: tuple[Path, Path]) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    key, cert = certificate
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=str(cert))


def https(tls: ssl.SSLContext | None) -> ArchiveHttp:
    return ArchiveHttp(AddressGuard(names=NameLookup(lambda host: ["127.0.0.1"])), tls=tls)


async def test_an_archive_of_https_is_asked_at_the_checked_address_and_known_by_its_name(
    certificate: tuple[Path, Path],
) -> None:
    server, client = contexts(certificate)
    archives = https(client)
    async with raw_archive(http(PAIRS), tls=server) as archive:
        for number in range(3):
            asked = archives.ask(archive.ref("archive.example.org"), request(number), within=LONG)
            assert await asked == Answered(read(PAIRS))
        assert archive.connections == 1
        await archives.close()


@pytest.mark.parametrize(("host", "trusted"), [("other.example.org", True), ("archive.example.org", False)])
async def test_a_certificate_of_another_or_of_a_stranger_is_refused(
    certificate: tuple[Path, Path], host: str, trusted: bool
) -> None:
    server, client = contexts(certificate)
    archives = https(client if trusted else None)
    async with raw_archive(http(PAIRS), tls=server) as archive:
        assert await archives.ask(archive.ref(host), REQUEST, within=LONG) is Failure.BAD_CERTIFICATE
        assert archive.requests == []
    await archives.close()


async def test_a_handshake_that_never_ends_is_given_up() -> None:
    names = NameLookup(lambda host: ["127.0.0.1"])
    archives = ArchiveHttp(AddressGuard(names=names), budgets=Budgets(connect=0.1))
    async with raw_archive(never) as archive:
        reference = archive.ref("archive.example.org", protocol=ArchiveProtocol.HTTPS)
        assert await archives.ask(reference, REQUEST, within=LONG) is Failure.TIMED_OUT
        await until(lambda: archive.connections == archive.gone == 1)
    await archives.close()


# --- the loop of the server ------------------------------------------------------------------------------------------


def test_the_quicker_loop_serves_as_well() -> None:
    async def asked() -> tuple[list[Reply], RawArchive]:
        archives = ArchiveHttp(AddressGuard())
        async with raw_archive(http(PAIRS)) as archive:
            replies = [await archives.ask(archive.ref(), request(number), within=LONG) for number in range(5)]
            archive.hang_up()
            replies.append(await archives.ask(archive.ref(), request(5), within=LONG))
            await archives.close()
            return replies, archive

    replies, archive = uvloop.run(asked())
    assert replies == [Answered(read(PAIRS))] * 6
    assert archive.connections == 2
