"""The HTTP client for services on an event loop: each request has a connection of its own.

Requests to Archives use persistent connections of the same class (`ibi.membership.client.archive_http`). Redirects are
not followed, cookies and proxies are not supported, and certificates are verified. The name is looked up once, and only
its addresses are dialled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from ssl import SSLContext
from typing import Final

from ibi.net.address_guard import AddressGuard, Checked, NameLookup
from ibi.net.http_connection import HttpConnection, HttpResponse, connection_failure
from ibi.net.server_url import default_tls
from ibi.standard.networks import IpNetwork
from ibi.standard.origin import Origin
from ibi.standard.reply import Failure

_MOST_ADDRESSES: Final = 4
_FOR_ONE_ADDRESS: Final = 2.0
"""Seconds for an address before the next one is tried."""


async def connect(where: Checked, most_body: int, tls: SSLContext | None) -> HttpConnection:
    """Open a connection to the first address that accepts one. Raise `OSError` if none does, or `ValueError` for a name
    that no certificate can have.

    The caller limits the total time. The last address has all the remaining time.
    """
    addresses = where.addresses[:_MOST_ADDRESSES]
    refused: OSError = OSError("no address")
    for count, address in enumerate(addresses, 1):
        try:
            async with asyncio.timeout(_FOR_ONE_ADDRESS if count < len(addresses) else None):
                return await _connect(address, where, most_body, tls)
        except OSError as error:  # includes `TimeoutError`
            refused = error
    raise refused


async def _connect(address: str, where: Checked, most_body: int, tls: SSLContext | None) -> HttpConnection:
    connection = HttpConnection(most_body, _ignore, _ignore)
    await connection.open(address, where, tls)
    return connection


class SingleRequests:
    """Sends requests from an event loop; the caller limits the time of each.

    Use a guard for addresses that another party may have named. A plain lookup is enough for servers from the settings,
    which may lie in a private network or on this machine.
    """

    def __init__(self, names: AddressGuard | NameLookup, tls: SSLContext | None = None) -> None:
        """`tls` is for HTTPS servers; without it the machine's authorities are trusted."""
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
        """Send a POST with the `body`, or a GET without one, and return an answer of at most `most` bytes.

        All texts are ASCII without control characters. Raise `OSError` if no connection can be opened, or `ValueError`
        for a name that no certificate can have.
        """
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
    """Return the result of a request within so many seconds. It never raises an error for the server's behaviour."""
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
        if not connection.is_open:  # the server has closed it, or sent something first
            return Failure.UNREACHABLE
        connection.send(request)
        return await request.answer
    finally:
        connection.abort()


def _ignore(connection: HttpConnection) -> None:
    """Ignore the event: a connection for one request is neither reused nor replaced."""


class _SingleExchange:
    def __init__(self, request: bytes) -> None:
        self.request = request
        self.answer: asyncio.Future[HttpResponse | Failure] = asyncio.get_running_loop().create_future()

    def answered(self, response: HttpResponse | Failure) -> None:
        if not self.answer.done():
            self.answer.set_result(response)

    def unheard(self) -> bool:
        return False
