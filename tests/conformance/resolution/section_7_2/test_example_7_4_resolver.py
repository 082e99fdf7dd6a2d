"""R Example 7.4 at the resolver: the Archive is called back at the address it gave, over a real connection."""

from __future__ import annotations

import socket

import pytest

from ibi.membership.client.archive_http import ArchiveHttp
from ibi.net.address_guard import AddressGuard
from tests.support.membership_app import REP, MembershipApp, query
from tests.support.raw_archive import raw_archive

SUCCESSFUL = b"status.archive included status.confirmation successful"
UNSUCCESSFUL = b"status.archive included status.confirmation unsuccessful"
LOOPBACK = ("127.0.0.0/8",)


def said(content: bytes, status: str = "200 OK", kind: str = "text/plain") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


async def test_the_archive_is_asked_byte_for_byte_what_is_printed() -> None:
    archives = ArchiveHttp(AddressGuard())
    resolver = MembershipApp(answers=archives.confirm)
    await resolver.register(networks=LOOPBACK)
    async with raw_archive(said(b"confirmation yes")) as archive:
        address = f"127.0.0.1:{archive.port}"
        answer = await resolver.send(query(archiveaddress=address))
        await archives.close()
    assert answer.body == SUCCESSFUL
    (request,) = archive.requests
    line, *headers = request.decode().split("\r\n")
    assert line == f"GET /{REP}?servicesubject=inclusionConfirmationRequest HTTP/1.1"
    assert f"host: {address}" in [header.lower() for header in headers]
    assert b"1234567890" not in request


@pytest.mark.parametrize(
    "answer",
    [
        said(b"confirmation no"),
        said(b""),
        said(b"confirmation yes", status="503 Service Unavailable"),
        said(b"confirmation yes", status="302 Found"),
        said(b"error {what?}"),
        said(b"<html>confirmation yes</html>", kind="text/html"),
        b"confirmation yes\r\n\r\n",
    ],
)
async def test_whatever_else_it_says_it_is_included_and_not_confirmed(answer: bytes) -> None:
    archives = ArchiveHttp(AddressGuard())
    resolver = MembershipApp(answers=archives.confirm)
    await resolver.register(networks=LOOPBACK)
    async with raw_archive(answer) as archive:
        told = await resolver.send(query(archiveaddress=f"127.0.0.1:{archive.port}"))
        await archives.close()
    assert (told.status, told.body) == (200, UNSUCCESSFUL)
    assert resolver.addresses == [f"127.0.0.1:{archive.port}"]


async def test_an_archive_that_is_not_there_is_included_and_not_confirmed() -> None:
    archives = ArchiveHttp(AddressGuard())
    resolver = MembershipApp(answers=archives.confirm)
    await resolver.register(networks=LOOPBACK)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # not listening
        told = await resolver.send(query(archiveaddress=f"127.0.0.1:{bound.getsockname()[1]}"))
    await archives.close()
    assert told.body == UNSUCCESSFUL


async def test_an_address_of_our_own_network_is_not_called_unless_it_was_allowed() -> None:
    archives = ArchiveHttp(AddressGuard())
    resolver = MembershipApp(answers=archives.confirm)
    await resolver.register()
    async with raw_archive(said(b"confirmation yes")) as archive:
        told = await resolver.send(query(archiveaddress=f"127.0.0.1:{archive.port}"))
        await archives.close()
    assert told.body == UNSUCCESSFUL
    assert archive.connections == 0
