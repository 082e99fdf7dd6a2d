"""Asks an ASGI application without a network between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    chunks: Sequence[bytes]
    cookies: Sequence[str] = ()
    """Every Set-Cookie; `headers` has the last one."""

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    app: ASGIApp,
    method: str,
    path: str,
    headers: Iterable[tuple[str, str]] | Mapping[str, str] = (),
    body: bytes | Sequence[bytes] = b"",
    client: tuple[str, int] | None = ("192.0.2.77", 4711),
) -> Answer:
    """The application's answer. A body in several parts arrives in as many messages."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path.partition("?")[0]),
        "raw_path": path.partition("?")[0].encode(),
        "query_string": path.partition("?")[2].encode(),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
        "client": client,
        "server": ("testserver", 80),
    }
    parts = [body] if isinstance(body, bytes) else list(body) or [b""]
    arriving = [{"type": "http.request", "body": each, "more_body": True} for each in parts]
    arriving[-1]["more_body"] = False
    sent: list[Message] = []
    done = asyncio.Event()

    async def receive() -> Message:
        if arriving:
            return arriving.pop(0)
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    done.set()
    start, *rest = sent
    assert start["type"] == "http.response.start"
    assert not rest[-1].get("more_body", False)
    answer_headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    cookies = tuple(value.decode("latin-1") for name, value in start["headers"] if name == b"set-cookie")
    return Answer(start["status"], answer_headers, [each.get("body", b"") for each in rest], cookies)
