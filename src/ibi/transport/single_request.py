"""The HTTP client of services on an event loop: each request has a connection of its own.

Archives are asked over connections that are kept (`ibi.transport.archive_http`), of the same make.

Redirects are not followed, cookies and proxies are not known, and certificates are checked. The addresses are looked up
before, once, and nothing else than those is dialled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from ssl import SSLContext
from typing import Final

from ibi.model.visibility import IpNetwork
from ibi.origin import Origin
from ibi.resolver.trace import Failure
from ibi.transport.address_guard import AddressGuard, Checked, NameLookup
from ibi.transport.http_connection import HttpConnection, HttpResponse, connection_failure
from ibi.transport.server_url import default_tls

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
    await connection.open(address, where, tls)
    return connection


class SingleRequests:
    """Sends requests from an event loop. Its caller bounds the time of each.

    A guard judges addresses that a stranger may have named. A look-up alone serves for servers that the settings name:
    they may be anywhere, also in a private network or on this machine.
    """

    def __init__(self, names: AddressGuard | NameLookup, tls: SSLContext | None = None) -> None:
        """`tls` is for servers of HTTPS; without it the machine's authorities are trusted."""
        self._names, self._tls = names, tls

    async def send(
        self,
        origin: Origin,
        target: str,
        fields: Mapping[str, str],
        *,
        most: int,
        networks: Sequence[IpNetwork] = (),
        body: bytes | None = None,
    ) -> HttpResponse | Failure:
        """Send a POST with the `body`, or a GET without one, and return an answer of at most so many bytes. All texts
        are ASCII and free of control characters. A connection that cannot be opened is an `OSError`, or a `ValueError`
        for a name that no certificate can have."""
        where = await self._find(origin, networks)
        if isinstance(where, Failure):
            return where
        connection = await connect(where, most, (self._tls or default_tls()) if origin.scheme == "https" else None)
        return await exchange(connection, origin.authority, target, fields, body)

    async def _find(self, origin: Origin, networks: Sequence[IpNetwork]) -> Checked | Failure:
        if isinstance(self._names, AddressGuard):
            return await self._names.check_address(origin.authority, origin.effective_port, networks)
        addresses = await self._names.addresses(origin.host)
        if not addresses:
            raise OSError(None, f"the name {origin.host} was not found")
        return Checked(origin.host, origin.effective_port, tuple(addresses))


async def settle(request: Awaitable[HttpResponse | Failure], within: float) -> HttpResponse | Failure:
    """Return the result of a request after at most so many seconds. It never raises for what a server does."""
    try:
        async with asyncio.timeout(within):
            return await request
    except (OSError, ValueError) as error:
        return connection_failure(error)


async def exchange(
    connection: HttpConnection, authority: str, target: str, fields: Mapping[str, str], body: bytes | None = None
) -> HttpResponse | Failure:
    """Send one request and close the connection."""
    sent = {"Host": authority, "User-Agent": "ibi", **({} if body is None else {"Accept": "*/*"}), **fields}
    sent |= {} if body is None else {"Content-Length": str(len(body))}
    head = f"{'GET' if body is None else 'POST'} {target} HTTP/1.1\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    head += "Accept-Encoding: identity\r\nConnection: close\r\n\r\n"
    request = _SingleExchange(head.encode("ascii") + (body or b""))
    try:
        if not connection.is_open:  # the server has closed it, or spoken first
            return Failure.UNREACHABLE
        connection.send(request)
        return await request.answer
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
