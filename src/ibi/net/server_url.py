"""The URL of a server as the base of requests, its IP addresses, and the trusted certificates."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ibi.net.errors import InsecureServer, InvalidServer, UnusableToken
from ibi.standard.origin import DEFAULT_PORTS, InvalidOrigin, Origin, authority_of, host_of

if TYPE_CHECKING:
    from ssl import SSLContext


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """The origin of a server and the base path of its URLs, without a final slash."""

    origin: Origin
    path: str

    @classmethod
    def parse(cls, server: str) -> ServerUrl:
        """Read `http://…` or `https://…`. A user name, query or fragment is refused as a mistake."""
        if not (server.isascii() and server.isprintable()) or " " in server:
            raise InvalidServer(server=repr(server), reason="it holds characters that an address has not")
        scheme, authority = server.partition("://")[0].lower(), authority_of(server)
        if scheme not in DEFAULT_PORTS or not authority:
            raise InvalidServer(server=server, reason="it looks like https://ibi.example.org")
        if "@" in authority:
            # The text is not repeated whole, because it may hold a password.
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
        """Return whether no other machine can listen in: the connection is encrypted, or stays on this machine."""
        return self.is_secure or _is_loopback(self.origin)


def bearer(server: ServerUrl, token: str | None, *, allow_plain: bool = False) -> dict[str, str]:
    """Return the header that carries the token.

    Raise `UnusableToken` if the text is no token. Raise `InsecureServer` if others could read it on its way, unless
    `allow_plain` says that the network is known to be safe.
    """
    if token is None:
        return {}
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UnusableToken()
    if not (server.is_private or allow_plain):
        raise InsecureServer(server=str(server))
    return {"Authorization": f"Bearer {token}"}


def server_of(url: str) -> ServerUrl:
    """Return the server of any URL; raise `InvalidServer` if the URL names none."""
    return ServerUrl.parse(f"{url.partition('://')[0]}://{authority_of(url)}")


def request_target(url: str) -> str:
    """Return the target for the first line of a request for this URL."""
    target = url.partition("#")[0].partition("://")[2].removeprefix(authority_of(url))
    return target if target.startswith("/") else f"/{target}"


def is_on_loopback(server: str) -> bool:
    """Return whether a URL names this machine."""
    return _is_loopback(ServerUrl.parse(server).origin)


def _is_loopback(origin: Origin) -> bool:
    return origin.name == "localhost" or (origin.address is not None and origin.address.is_loopback)


def look_up(host: str) -> list[str]:
    """Return every address of a host, in the order that the system prefers; raise `OSError` if it has none."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(None, str(error)) from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@cache
def default_tls() -> SSLContext:
    """Return a context that trusts the machine's authorities. Reading them takes tens of milliseconds, so this happens
    once, and only on demand."""
    from ssl import create_default_context

    return create_default_context()
