"""Small JSON bodies, read within bounds of size and time."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from ibi.web.http.headers import RawHeaders, only_value
from ibi.web.http.request_errors import BodyTooLarge, BodyTooSlow, MalformedBody, UnsupportedMediaType

MOST = 64 * 1024
"""Bytes of a body."""

PATIENCE = 30.0
"""Seconds for a body to arrive."""


async def read_body(headers: RawHeaders, receive: Receive, most: int = MOST, patience: float = PATIENCE) -> bytes:
    """Read the whole body. An announced length that is too great is refused at once; the bytes that arrive are counted
    anyway."""
    _check_announced(headers, most)
    try:
        async with asyncio.timeout(patience):
            return await _receive_all(receive, most)
    except TimeoutError:
        raise BodyTooSlow(seconds=f"{patience:g}") from None


def _check_announced(headers: RawHeaders, most: int) -> None:
    try:
        length = (only_value(headers, b"content-length") or "0").lstrip("0")
    except ValueError:
        raise MalformedBody(reason="two lengths are announced for it") from None
    # Compared as text first: a number of sixty thousand digits is not worth converting.
    if length.isascii() and length.isdigit() and (len(length) > len(str(most)) or int(length) > most):
        raise BodyTooLarge(most=most)


async def _receive_all(receive: Receive, most: int) -> bytes:
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise BodyTooLarge(most=most)
    return bytes(body)


def check_json(headers: RawHeaders) -> None:
    """Refuse a body that is not declared as JSON without an encoding."""
    if _only_header(headers, "Content-Type").partition(";")[0].strip() != "application/json":
        raise UnsupportedMediaType(field="Content-Type", wanted="application/json")
    if _only_header(headers, "Content-Encoding") not in {"", "identity"}:
        raise UnsupportedMediaType(field="Content-Encoding", wanted="sent as it is, without a coding")


def _only_header(headers: RawHeaders, name: str) -> str:
    try:
        return (only_value(headers, name.lower().encode("ascii")) or "").lower()
    except ValueError:
        raise UnsupportedMediaType(field=name, wanted="described once") from None
