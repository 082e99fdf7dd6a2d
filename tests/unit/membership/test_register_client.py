"""The resolver as an Archive asks it for its register: whatever it answers, nothing is raised."""

from __future__ import annotations

import socket

import pytest

from ibi.membership.client.register_client import RegisterClient
from ibi.membership.model.membership import FetchedRegister
from tests.support.raw_archive import RawArchive, http, never, raw_archive

AWAY = FetchedRegister(is_there=False)


def client(resolver: RawArchive, path: str = "") -> RegisterClient:
    return RegisterClient(f"http://127.0.0.1:{resolver.port}{path}")


async def test_the_statement_is_given_as_it_came() -> None:
    async with raw_archive(http(b"a.b.c\n")) as resolver:
        assert await client(resolver, "/sub").fetch(None) == FetchedRegister(is_there=True, statement="a.b.c")
        assert resolver.requests[0].startswith(b"GET /sub/api/register HTTP/1.1")
        assert b"if-none-match" not in resolver.requests[0].lower()


async def test_what_is_known_is_named_and_not_sent_again() -> None:
    async with raw_archive(b"HTTP/1.1 304 Not Modified\r\n\r\n") as resolver:
        assert await client(resolver).fetch('"tag"') == FetchedRegister(is_there=True, is_known=True)
        assert b'If-None-Match: "tag"' in resolver.requests[0]


@pytest.mark.parametrize("status", ["404 No", "302 Elsewhere", "500 Oops", "401 Who"])
async def test_a_resolver_that_publishes_none_is_there(status: str) -> None:
    async with raw_archive(http(b"page", status=status)) as resolver:
        assert await client(resolver).fetch(None) == FetchedRegister(is_there=True)
        assert await client(resolver).is_there(5)


@pytest.mark.parametrize("says", [http(status="502 Bad"), http(status="503 Later"), b"garbage\r\n\r\n", b"HTTP/1.1 2"])
async def test_a_proxy_without_its_server_is_away(says: bytes) -> None:
    async with raw_archive(says) as resolver:
        assert not await client(resolver).is_there(1)


async def test_one_that_says_nothing_is_away_in_time() -> None:
    async with raw_archive(never) as resolver:
        assert not await client(resolver).is_there(0.05)


async def test_one_that_does_not_listen_is_away() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        asking = RegisterClient(f"http://127.0.0.1:{bound.getsockname()[1]}")
        assert not await asking.is_there(5)
        assert await asking.fetch(None) == AWAY
