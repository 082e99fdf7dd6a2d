"""Documents with long lists: the same document, however it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import Response, StreamingResponse
from starlette.types import Message

from ibi.web.body import LongList, json_answer
from tests.support.asgi_client import ask

COUNTS = [0, 1, 99, 100, 101, 200, 5000]


def answer(document: dict[str, Any]) -> Response:
    return json_answer(document, 200, {"cache-control": "no-cache"}, "application/json")


@pytest.mark.parametrize("count", COUNTS)
async def test_a_list_of_any_length_is_a_list(count: int) -> None:
    values = [{"number": number, "text": "çã" * 10} for number in range(count)]
    document = {"before": [1], 'a "name"': values, "after": None}
    sent = answer({**document, 'a "name"': LongList(lambda: iter(values))})
    told = await ask(sent, "GET", "/")
    assert json.loads(told.body) == document
    assert told.headers["cache-control"] == "no-cache"
    assert told.headers["content-type"] == "application/json"


async def test_what_is_short_has_a_length_and_what_is_long_is_made_as_it_is_taken() -> None:
    made = 0

    def values() -> Iterator[str]:
        nonlocal made
        for _ in range(100_000):
            made += 1
            yield "x" * 100

    short, long = answer({"list": LongList(lambda: iter(["x"]))}), answer({"list": LongList(values)})
    assert short.headers["content-length"] == str(len(short.body))
    assert isinstance(long, StreamingResponse)
    assert made < 1000


async def sent_to(answer: Response, **scope: str) -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    await answer({"type": "http", "method": "GET", **scope}, receive, send)
    return sent


async def test_who_knows_no_chunks_gets_the_document_whole() -> None:
    values = ["x" * 100] * 5000
    start, *bodies = await sent_to(answer({"list": LongList(lambda: iter(values))}), http_version="1.0")
    whole = b"".join(body["body"] for body in bodies)
    assert json.loads(whole) == {"list": values}
    assert dict(start["headers"])[b"content-length"] == str(len(whole)).encode()


async def test_while_it_is_made_for_them_others_have_their_turn() -> None:
    turns = made = 0

    def values() -> Iterator[str]:
        nonlocal made
        for _ in range(10_000):
            made += 1
            yield "x" * 100

    async def others() -> None:
        nonlocal turns
        while made < 20_000:  # once to be measured, and once to be sent
            turns += 1
            await asyncio.sleep(0)

    long = answer({"list": LongList(values)})
    await asyncio.gather(sent_to(long, http_version="1.0"), others())
    assert made == 20_000
    assert turns > 150


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_nothing_is_made_for_who_asks_for_the_headers_alone(version: str) -> None:
    made = 0

    def values() -> Iterator[str]:
        nonlocal made
        for _ in range(100_000):
            made += 1
            yield "x" * 100

    start, body = await sent_to(answer({"list": LongList(values)}), http_version=version, method="HEAD")
    assert (start["status"], dict(start["headers"])[b"content-type"]) == (200, b"application/json")
    assert (body["body"], body["more_body"]) == (b"", False)
    assert made < 1000


async def test_a_document_of_nothing() -> None:
    assert answer({}).body == b"{}"
