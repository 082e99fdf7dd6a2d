"""E22: `archiveprotocol=HTTPS` is an extension."""

from __future__ import annotations

from asyncio import StreamReader, StreamWriter
from dataclasses import replace

import pytest

from ibi.membership.client.resolver_gateway import ResolverGateway
from ibi.standard.messages import ArchiveProtocol, InclusionRequest, InclusionStatus, service_url
from tests.support.loopback_archives import LoopbackArchives, plain, target_of
from tests.support.membership_app import MembershipApp

QUERY = (
    "archiveaddress=host.org&archiveadmemailaddress=a@host.org&archiveip=150.163.34.239&archiveplatformversion=1&"
    "archiveprotocol=HTTPS&archiveserviceibi=LK47B6W/362SFKH&registrationkey=1234567890&servicesubject=inclusionRequest"
)


def test_an_archive_may_speak_https() -> None:
    request = InclusionRequest.from_query(QUERY)
    assert request.archive_protocol is ArchiveProtocol.HTTPS
    assert request.to_query() == QUERY


def test_such_an_archive_is_asked_by_https() -> None:
    request = InclusionRequest.from_query(QUERY)
    url = service_url(request.archive_address, request.archive_service_ibi, request.archive_protocol)
    assert url == "https://host.org/LK47B6W/362SFKH"


SECURE = InclusionRequest.from_query(QUERY)
KNOWS = b"IBI-Accepts: https"


class Resolver:
    """Answers all requests alike, and knows HTTPS or not."""

    def __init__(self, *fields: bytes) -> None:
        self.fields, self.queries = fields, list[str]()

    async def __call__(self, reader: StreamReader, writer: StreamWriter) -> None:
        target = target_of(await reader.readuntil(b"\r\n\r\n")).decode()
        self.queries.append(target.partition("?")[2])
        writer.write(plain(b"status.archive included status.confirmation successful", *self.fields))
        await writer.drain()


@pytest.mark.parametrize(
    ("fields", "protocol"),
    [
        ((), "HTTP"),
        ((KNOWS,), "HTTPS"),
        ((b"ibi-accepts: gopher, HTTPS",), "HTTPS"),
        ((b"IBI-Accepts: httpsx",), "HTTP"),
    ],
)
async def test_https_is_sent_to_resolvers_that_say_they_know_it(fields: tuple[bytes, ...], protocol: str) -> None:
    resolver = Resolver(*fields)
    with LoopbackArchives() as sockets:
        gateway = ResolverGateway(f"http://{sockets.open(talk=resolver).address}")
        for _ in range(2):
            assert await gateway.send(SECURE) == InclusionStatus(confirmed=True)
    asked, *sent = resolver.queries  # asked once, without the key
    assert asked == "servicesubject=inclusionConfirmationRequest"
    assert sent == [QUERY.replace("archiveprotocol=HTTPS", f"archiveprotocol={protocol}")] * 2


async def test_an_archive_of_http_does_not_ask() -> None:
    resolver = Resolver(KNOWS)
    with LoopbackArchives() as sockets:
        gateway = ResolverGateway(f"http://{sockets.open(talk=resolver).address}")
        await gateway.send(replace(SECURE, archive_protocol=ArchiveProtocol.HTTP))
    assert resolver.queries == [QUERY.replace("HTTPS", "HTTP")]


@pytest.mark.parametrize("query", [QUERY, "servicesubject=inclusionConfirmationRequest", "servicesubject=x"])
async def test_our_resolver_says_that_it_knows_https(query: str) -> None:
    answer = await MembershipApp().send(query)
    assert answer.headers["ibi-accepts"] == "https"


@pytest.mark.parametrize("word", ["HTTP", "http", "Https", "HTTPS"])
def test_the_protocol_is_read_in_any_case(word: str) -> None:
    request = InclusionRequest.from_query(QUERY.replace("HTTPS", word))
    assert request.archive_protocol.value == word.upper()
