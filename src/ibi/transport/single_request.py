"""One request over a connection of its own, for what is asked rarely: who mints at an address, a resolver, feeds; and
the URL of a server, on which requests are built.

Redirects are not followed, cookies and proxies are not known, and certificates are checked. The addresses are looked up
before, once, and nothing else than those is dialled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection, HTTPSConnection
from ssl import SSLContext, create_default_context
from typing import Final

from ibi.errors import IbiError
from ibi.origin import DEFAULT_PORTS, InvalidOrigin, Origin, authority_of, host_of
from ibi.resolver.trace import Failure
from ibi.transport.address_guard import OPERATOR_NETWORKS, AddressGuard, Checked
from ibi.transport.errors import InvalidServer
from ibi.transport.http_connection import HttpConnection, HttpResponse

# --- the URL of a server ----------------------------------------------------------------------------------------------

# The URL of a server: the part that requests are built on, and a connection to it.


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """Where a server is, and the path that everything of it lies under, without its final slash."""

    origin: Origin
    path: str

    @classmethod
    def parse(cls, server: str) -> ServerUrl:
        """Read `http://…` or `https://…`; a user name, query or fragment in it is a mistake and refused."""
        if not (server.isascii() and server.isprintable()) or " " in server:
            raise InvalidServer(server=repr(server), reason="it holds characters that an address has not")
        scheme, authority = server.partition("://")[0].lower(), authority_of(server)
        if scheme not in DEFAULT_PORTS or not authority:
            raise InvalidServer(server=server, reason="it looks like https://ibi.example.org")
        if "@" in authority:
            # Not repeated whole: what stands there may be a password.
            raise InvalidServer(server=host_of(authority.rpartition("@")[2]), reason="a user name has no place in it")
        path = server.partition("://")[2].removeprefix(authority)
        if "?" in path or "#" in path:
            raise InvalidServer(server=server, reason="it has neither ? nor #")
        try:
            origin = Origin.parse(authority.lower(), scheme)
        except InvalidOrigin as error:
            raise InvalidServer(server=server, reason=error.reason) from None
        return cls(origin, path.rstrip("/"))

    def __str__(self) -> str:
        return f"{self.origin}{self.path}"

    @property
    def is_secure(self) -> bool:
        return self.origin.scheme == "https"

    @property
    def is_private(self) -> bool:
        """Whether no other machine can listen in: encrypted, or on this very machine."""
        return self.is_secure or _is_loopback(self.origin)

    def connection(self, timeout: float) -> HTTPConnection:
        """Not opened yet. No proxy is asked, and certificates are checked."""
        kind = HTTPSConnection if self.is_secure else HTTPConnection
        return kind(self.origin.host, self.origin.effective_port, timeout=timeout)


def is_on_loopback(server: str) -> bool:
    """Whether a URL names the machine itself."""
    return _is_loopback(ServerUrl.parse(server).origin)


def _is_loopback(origin: Origin) -> bool:
    return origin.name == "localhost" or (origin.address is not None and origin.address.is_loopback)


# --- requests ---------------------------------------------------------------------------------------------------------

_MOST_ADDRESSES: Final = 4
_FOR_ONE_ADDRESS: Final = 2.0
"""Seconds after which an address that does not answer is left for the next one."""


@cache
def default_tls() -> SSLContext:
    """Trusts the machine's authorities. Reading them takes tens of milliseconds: once, and only if it is needed."""
    return create_default_context()


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


# --- who mints there --------------------------------------------------------------------------------------------------

# One question to a server: who mints there? Asked of the own public address, to find another instance behind it.
#
# The address comes from the settings of this installation, never from a stranger. It may lie in a private network or on
# this machine; what only exists beside a machine (link-local addresses, among them the metadata services of clouds) is
# refused as for every other request. Nothing secret is sent, and redirects are not followed.

PATIENCE: Final = 2.0
"""Seconds for the name, the connection and the answer together."""

_PATH: Final = "/api/identity"
_MOST_BODY: Final = 64 * 1024
_OK: Final = 200


class NoIdentity(IbiError):
    """{url} does not say who mints there: {reason}."""

    code = "no-identity"


async def ask_identity(url: str, within: float = PATIENCE) -> Mapping[str, object]:
    """What the server at `url` says of its minter; `NoIdentity` if it says nothing, or something else, in that time."""
    server = ServerUrl.parse(url)
    try:
        async with asyncio.timeout(within):
            response = await _ask(server)
    except TimeoutError:
        raise NoIdentity(url=url, reason=f"no answer within {within:g} seconds") from None
    except (OSError, ValueError) as error:  # the latter for names that no certificate can have
        raise NoIdentity(url=url, reason=getattr(error, "strerror", None) or type(error).__name__) from None
    if isinstance(response, Failure):
        raise NoIdentity(url=url, reason=response.value)
    if response.status != _OK:
        raise NoIdentity(url=url, reason=f"it answers with status {response.status}")
    return _identity_in(response.body, url)


def _identity_in(body: bytes, url: str) -> Mapping[str, object]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("prefixes"), dict):
        raise NoIdentity(url=url, reason="it answers with something else")
    return found


async def _ask(server: ServerUrl) -> HttpResponse | Failure:
    authority, port = server.origin.authority, server.origin.effective_port
    checked = await AddressGuard().check_address(authority, port, OPERATOR_NETWORKS)
    if isinstance(checked, Failure):
        return checked
    connection = await connect(checked, _MOST_BODY, default_tls() if server.is_secure else None)
    return await get(connection, authority, f"{server.path}{_PATH}", "application/json")
