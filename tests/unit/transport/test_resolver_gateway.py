"""Requests as a resolver really gets them, and what is made of its answers."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from ibi.archive.membership import Failure, exclusion_of
from ibi.label import parse
from ibi.messages import (
    ArchiveProtocol,
    ErrorAnswer,
    ExclusionStatus,
    InclusionRequest,
    InclusionStatus,
    RegistrationKey,
    ip_address,
)
from ibi.transport.resolver_gateway import ResolverGateway
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
        assert isinstance(outcome, Failure)
        assert outcome.sent
        resolver.next()
        assert resolver.received.empty()  # a redirect is not followed


async def test_a_resolver_that_is_away_got_nothing() -> None:
    with scripted_resolver(away=True) as resolver:
        outcome = await ResolverGateway(resolver.url).send(INCLUSION)
    assert isinstance(outcome, Failure)
    assert not outcome.sent


async def test_a_resolver_that_says_nothing_is_not_waited_for() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert await ResolverGateway(url, timeout=0.05).send(INCLUSION) == Failure(
            "it did not answer within 0.05 seconds"
        )
        assert await ResolverGateway(url).send(INCLUSION, within=0.05) == Failure(
            "it did not answer within 0.05 seconds"
        )


@pytest.mark.parametrize("status", [403, 500])
async def test_an_error_that_quotes_the_key_does_not_pass_it_on(status: int) -> None:
    with scripted_resolver((status, f"error {{registrationkey={KEY} is wrong}}".encode())) as resolver:
        outcome = await ResolverGateway(resolver.url).send(INCLUSION)
    assert "is wrong" in repr(outcome)
    assert KEY not in repr(outcome)
