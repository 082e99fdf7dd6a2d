"""Documents with long lists: the same document, however it is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import Response, StreamingResponse
from starlette.types import Message

from ibi.web.long_json import json_answer
from tests.asgi_client import ask

COUNTS = [0, 1, 99, 100, 101, 200, 5000]


def answer(document: dict[str, Any]) -> Response:
    return json_answer(document, 200, {"cache-control": "no-cache"}, "application/json")


@pytest.mark.parametrize("count", COUNTS)
async def test_a_list_of_any_length_is_a_list(count: int) -> None:
    values = [{"number": number, "text": "çã" * 10} for number in range(count)]
    document = {"before": [1], 'a "name"': values, "after": None}
    sent = answer({**document, 'a "name"': iter(values)})
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

    short, long = answer({"list": iter(["x"])}), answer({"list": values()})
    assert short.headers["content-length"] == str(len(short.body))
    assert isinstance(long, StreamingResponse)
    assert made < 1000


async def test_who_knows_no_chunks_gets_the_document_whole() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    values = ["x" * 100] * 5000
    await answer({"list": iter(values)})({"type": "http", "http_version": "1.0"}, receive, send)
    start, body = sent
    assert json.loads(body["body"]) == {"list": values}
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()


async def test_a_document_of_nothing() -> None:
    assert answer({}).body == b"{}"
