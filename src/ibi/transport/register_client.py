"""The resolver of an Archive, as it is asked for its register, and whether it is there.

Its URL comes from the settings of this installation: it may be any, also in a private network or on this machine.
Redirects are not followed, and what comes is bounded; whether it may be believed is decided by its signature.
"""

from __future__ import annotations

import asyncio
from ssl import SSLContext
from typing import Final

from ibi.model.membership import FetchedRegister
from ibi.resolver.trace import Failure
from ibi.signing import LONGEST_STATEMENT
from ibi.transport.address_guard import Checked, NameLookup
from ibi.transport.http_connection import HttpConnection, HttpResponse
from ibi.transport.server_url import ServerUrl
from ibi.transport.single_request import connect, default_tls, get

_TIMEOUT: Final = 20.0
_OUT_OF_ORDER: Final = frozenset({502, 503, 504})
_LONGEST_PAGE: Final = 64 * 1024


class RegisterClient:
    """Never raises for what the resolver does. `tls` is for one of HTTPS; without it the machine's authorities are
    trusted."""

    def __init__(self, resolver: str, *, names: NameLookup | None = None, tls: SSLContext | None = None) -> None:
        self._server, self._names, self._tls = ServerUrl.parse(resolver), names or NameLookup(), tls

    async def fetch(self, etag: str | None) -> FetchedRegister:
        response = await self._get(
            "/api/register",
            "application/jose",
            _TIMEOUT,
            LONGEST_STATEMENT,
            {} if etag is None else {"If-None-Match": etag},
        )
        if not isinstance(response, HttpResponse) or response.status in _OUT_OF_ORDER:
            return FetchedRegister(is_there=False)
        if response.status != 200:
            return FetchedRegister(is_there=True, is_known=response.status == 304)
        return FetchedRegister(is_there=True, statement=response.body.decode("ascii", "replace").strip())

    async def is_there(self, within: float) -> bool:
        """Whether a server answers at the address of the resolver, in so many seconds: one of another make has no page
        for it, and any answer will do."""
        response = await self._get("/healthz", "*/*", within, _LONGEST_PAGE, {})
        return isinstance(response, HttpResponse) and response.status not in _OUT_OF_ORDER

    async def _get(
        self, path: str, accept: str, within: float, most_body: int, headers: dict[str, str]
    ) -> HttpResponse | Failure:
        try:
            async with asyncio.timeout(within):
                connection = await self._connect(most_body)
                authority = self._server.origin.authority
                return await get(connection, authority, f"{self._server.path}{path}", accept, headers)
        except (OSError, ValueError):  # `TimeoutError` is one; the latter for names that no certificate can have
            return Failure.UNREACHABLE

    async def _connect(self, most_body: int) -> HttpConnection:
        origin = self._server.origin
        addresses = await self._names.addresses(origin.host)
        if not addresses:
            raise OSError(None, f"the name {origin.host} was not found")
        where = Checked(origin.host, origin.effective_port, tuple(addresses))
        return await connect(where, most_body, (self._tls or default_tls()) if self._server.is_secure else None)
