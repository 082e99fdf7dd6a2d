"""One request over a connection of its own, for questions that an event loop asks rarely.

Redirects are not followed, cookies and proxies are not known, and certificates are checked. The addresses are looked up
before, once, and nothing else than those is dialled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from ssl import SSLContext
from typing import Final

from ibi.resolver.trace import Failure
from ibi.transport.address_guard import Checked
from ibi.transport.http_connection import HttpConnection, HttpResponse

_MOST_ADDRESSES: Final = 4
_FOR_ONE_ADDRESS: Final = 2.0
"""Seconds after which an address that does not answer is left for the next one."""


async def connect(where: Checked, most_body: int, tls: SSLContext | None) -> HttpConnection:
    """Open a connection to the first address that takes one; `OSError` if none does, `ValueError` for a name that no
    certificate can have.

    The caller bounds the time of the whole. The last address has all that is left of it.
    """
    addresses = where.addresses[:_MOST_ADDRESSES]
    refused: OSError = OSError("no address")
    for count, address in enumerate(addresses, 1):
        try:
            async with asyncio.timeout(_FOR_ONE_ADDRESS if count < len(addresses) else None):
                return await _connect(address, where, most_body, tls)
        except OSError as error:  # `TimeoutError` is one
            refused = error
    raise refused


async def _connect(address: str, where: Checked, most_body: int, tls: SSLContext | None) -> HttpConnection:
    connection = HttpConnection(most_body, _ignore, _ignore)
    try:
        await asyncio.get_running_loop().create_connection(
            lambda: connection, address, where.port, ssl=tls, server_hostname=where.host if tls else None
        )
    except BaseException:
        connection.abort()
        raise
    return connection


_NO_FIELDS: Final[Mapping[str, str]] = {}


async def get(
    connection: HttpConnection, authority: str, target: str, accept: str, fields: Mapping[str, str] = _NO_FIELDS
) -> HttpResponse | Failure:
    """Ask for `target` and close the connection. All texts are ASCII and free of control characters."""
    return await _send(connection, "GET", authority, target, {"Accept": accept, **fields}, b"")


async def post(
    connection: HttpConnection, authority: str, target: str, body: bytes, fields: Mapping[str, str]
) -> HttpResponse | Failure:
    """The same with a body, whose type is among the `fields`."""
    length = {"Content-Length": str(len(body))}
    return await _send(connection, "POST", authority, target, {"Accept": "*/*", **fields, **length}, body)


async def _send(
    connection: HttpConnection, method: str, authority: str, target: str, fields: Mapping[str, str], body: bytes
) -> HttpResponse | Failure:
    head = f"{method} {target} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: ibi\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    head += "Accept-Encoding: identity\r\nConnection: close\r\n\r\n"
    exchange = _SingleExchange(head.encode("ascii") + body)
    try:
        if not connection.is_open:  # the server has closed it, or spoken first
            return Failure.UNREACHABLE
        connection.send(exchange)
        return await exchange.answer
    finally:
        connection.abort()


def _ignore(connection: HttpConnection) -> None:
    """One request, one connection: there is nothing to keep or to replace."""


class _SingleExchange:
    def __init__(self, request: bytes) -> None:
        self.request = request
        self.answer: asyncio.Future[HttpResponse | Failure] = asyncio.get_running_loop().create_future()

    def answered(self, response: HttpResponse | Failure) -> None:
        if not self.answer.done():
            self.answer.set_result(response)

    def unheard(self) -> bool:
        return False
