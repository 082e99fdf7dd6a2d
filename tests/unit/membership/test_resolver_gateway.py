"""Requests as a resolver really gets them, and what is made of its answers."""

from __future__ import annotations

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from ibi.membership.client.resolver_gateway import ResolverGateway
from ibi.membership.model.membership import RequestFailure, exclusion_of
from ibi.net.address_guard import NameLookup
from ibi.standard.label import parse
from ibi.standard.messages import (
    ArchiveProtocol,
    ErrorAnswer,
    ExclusionStatus,
    InclusionRequest,
    InclusionStatus,
    RegistrationKey,
    ip_address,
)
from tests.support.mail_server import CERTIFICATE, trusting
from tests.support.raw_archive import http, never, raw_archive
from tests.support.scripted_resolver import EXCLUDED, INCLUDED, UNCONFIRMED, scripted_resolver

KEY = "1234567890"
INCLUSION = InclusionRequest(
    archive_address="mtc-m21.sid.inpe.br",
    archive_service_ibi=parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39"),
    archive_ip=ip_address("150.163.34.239"),
    archive_protocol=ArchiveProtocol.HTTP,
    platform_version="2014:11.09.02.16.15",
    admin_mail_address="banon@dpi.inpe.br",
    registration_key=RegistrationKey(KEY),
)
# R Examples 7.2 and 7.3.
SAME = {
    "archiveaddress=mtc-m21.sid.inpe.br",
    "archiveserviceibi=sid.inpe.br/mtc-m21/2012/06.05.15.34.39",
    "archiveip=150.163.34.239",
    "archiveprotocol=HTTP",
    "archiveplatformversion=2014:11.09.02.16.15",
    "archiveadmemailaddress=banon@dpi.inpe.br",
    f"registrationkey={KEY}",
}


@pytest.mark.parametrize(("body", "confirmed"), [(INCLUDED, True), (UNCONFIRMED, False)])
async def test_example_7_2_arrives_and_its_answer_is_read(body: bytes, confirmed: bool) -> None:
    with scripted_resolver((200, body)) as resolver:
        assert await ResolverGateway(resolver.url).send(INCLUSION) == InclusionStatus(confirmed)
        request = resolver.next()
    assert request.path == "/J8LNKB5R7W/3FUQHC5"
    assert request.pairs == SAME | {"servicesubject=inclusionRequest"}


async def test_example_7_3_arrives_and_its_answer_is_read() -> None:
    with scripted_resolver((200, EXCLUDED)) as resolver:
        assert await ResolverGateway(resolver.url).send(exclusion_of(INCLUSION)) == ExclusionStatus()
        assert resolver.next().pairs == SAME | {"servicesubject=exclusionRequest"}


async def test_a_resolver_may_lie_below_a_path() -> None:
    with scripted_resolver((200, EXCLUDED)) as resolver:
        await ResolverGateway(f"{resolver.url}/ibi/").send(exclusion_of(INCLUSION))
        assert resolver.next().path == "/ibi/J8LNKB5R7W/3FUQHC5"


@pytest.mark.parametrize("status", [400, 403])
async def test_a_refusal_is_one(status: int) -> None:
    with scripted_resolver((status, b"error {not registered}")) as resolver:
        assert await ResolverGateway(resolver.url).send(INCLUSION) == ErrorAnswer("not registered")


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"error {out of order}"),
        (503, INCLUDED),
        (429, b"error {slowly}"),
        (200, b"error {out of order}"),
        (200, b""),
        (200, EXCLUDED),
        (200, b"<html>{{{"),
        (200, b"\xff\xfe"),
        (200, b"status.archive included status.confirmation successful " + b" " * 10_000),
        (404, b"<html>not here</html>"),
        (302, INCLUDED),
    ],
)
async def test_anything_else_is_a_failure_after_which_nothing_is_certain(status: int, body: bytes) -> None:
    with scripted_resolver((status, body)) as resolver:
        outcome = await ResolverGateway(resolver.url).send(INCLUSION)
        assert isinstance(outcome, RequestFailure)
        assert outcome.sent
        resolver.next()
        assert resolver.received.empty()  # a redirect is not followed


async def test_a_resolver_that_is_away_got_nothing() -> None:
    with scripted_resolver(away=True) as resolver:
        outcome = await ResolverGateway(resolver.url).send(INCLUSION)
    assert isinstance(outcome, RequestFailure)
    assert not outcome.sent


async def test_a_resolver_that_says_nothing_is_not_waited_for() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert await ResolverGateway(url, timeout=0.05).send(INCLUSION) == RequestFailure(
            "it did not answer within 0.05 seconds"
        )
        assert await ResolverGateway(url).send(INCLUSION, within=0.05) == RequestFailure(
            "it did not answer within 0.05 seconds"
        )


async def test_the_request_is_one_get_without_cookies_and_encodings() -> None:
    async with raw_archive(http(INCLUDED, "Set-Cookie: a=b")) as resolver:
        gateway = ResolverGateway(f"http://127.0.0.1:{resolver.port}")
        for _ in range(2):
            assert await gateway.send(INCLUSION) == InclusionStatus(confirmed=True)
    for request in resolver.requests:
        line, *headers = request.decode().rstrip().split("\r\n")
        assert line == f"GET /J8LNKB5R7W/3FUQHC5?{INCLUSION.to_query()} HTTP/1.1"
        assert headers == [
            f"Host: 127.0.0.1:{resolver.port}",
            "User-Agent: ibi",
            "Accept: text/plain",
            "Accept-Encoding: identity",
            "Connection: close",
        ]
    assert resolver.connections == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (http(b"<html>" * 1000, status="404 Not Found"), "it answers, with status 404, what no resolver would"),
        (http(b"x" * 5000, status="302 Found"), "it sends elsewhere, and the key goes to one resolver only"),
        (http(b"x" * 70_000), "the connection failed (its answer was too large)"),
        (http(b"x", "Content-Encoding: gzip"), "the connection failed (its answer could not be read)"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the connection failed (its answer could not be read)"),
    ],
)
async def test_why_an_answer_is_none_is_told(answer: bytes, reason: str) -> None:
    async with raw_archive(answer) as resolver:
        assert await ResolverGateway(f"http://127.0.0.1:{resolver.port}").send(INCLUSION) == RequestFailure(reason)


async def test_a_resolver_that_hangs_up_may_have_got_the_request() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener, ThreadPoolExecutor() as threads:
        closed = threads.submit(lambda: listener.accept()[0].close())
        outcome = await ResolverGateway(f"http://127.0.0.1:{listener.getsockname()[1]}").send(INCLUSION)
        closed.result()
    assert outcome == RequestFailure("the connection failed (closed without an answer)")


async def test_a_name_is_looked_up_once_and_its_addresses_tried_in_turn() -> None:
    asked: list[str] = []

    def lookup(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.2", "127.0.0.1"]

    async with raw_archive(http(INCLUDED)) as resolver:
        gateway = ResolverGateway(f"http://resolver.example.org:{resolver.port}", names=NameLookup(lookup))
        assert await gateway.send(INCLUSION) == InclusionStatus(confirmed=True)
    assert asked == ["resolver.example.org"]
    assert f"\r\nHost: resolver.example.org:{resolver.port}\r\n".encode() in resolver.requests[0]


async def test_a_name_that_nothing_is_known_of_got_nothing() -> None:
    gateway = ResolverGateway("http://resolver.example.org", names=NameLookup(lambda host: []))
    assert await gateway.send(INCLUSION) == RequestFailure(
        "it cannot be reached: the name resolver.example.org was not found", sent=False
    )


@pytest.mark.parametrize(
    ("host", "trusted", "reached"), [("127.0.0.1", True, True), ("localhost", True, False), ("127.0.0.1", False, False)]
)
async def test_the_key_is_sent_to_a_resolver_of_https_only_if_its_certificate_is_right(
    host: str, trusted: bool, reached: bool
) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(CERTIFICATE)
    async with raw_archive(http(INCLUDED), tls=server) as resolver:
        names = NameLookup(lambda host: ["127.0.0.1"])
        tls = trusting() if trusted else None
        outcome = await ResolverGateway(f"https://{host}:{resolver.port}", names=names, tls=tls).send(INCLUSION)
    if reached:
        assert outcome == InclusionStatus(confirmed=True)
    else:
        assert isinstance(outcome, RequestFailure)
        assert "its certificate was not accepted (" in outcome.reason
        assert not outcome.sent
    assert len(resolver.requests) == reached


async def test_a_handshake_that_never_ends_is_given_up() -> None:
    async with raw_archive(never) as resolver:
        gateway = ResolverGateway(f"https://127.0.0.1:{resolver.port}", timeout=0.1)
        assert await gateway.send(INCLUSION) == RequestFailure("it did not answer within 0.1 seconds")


@pytest.mark.parametrize("status", [403, 500])
async def test_an_error_that_quotes_the_key_does_not_pass_it_on(status: int) -> None:
    with scripted_resolver((status, f"error {{registrationkey={KEY} is wrong}}".encode())) as resolver:
        outcome = await ResolverGateway(resolver.url).send(INCLUSION)
    assert "is wrong" in repr(outcome)
    assert KEY not in repr(outcome)
