"""Where a server is: the part of its URL that requests are built on, and a connection to it."""

from __future__ import annotations

from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from ipaddress import ip_address
from urllib.parse import urlsplit

from ibi.transport.errors import InvalidServer


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host, port and the path that everything of the server lies under, without its final slash."""

    scheme: str
    host: str
    port: int | None
    path: str

    @classmethod
    def parse(cls, server: str) -> Origin:
        """Read `http://…` or `https://…`; a user name, query or fragment in it is a mistake and refused."""
        if not (server.isascii() and server.isprintable()) or " " in server:
            raise InvalidServer(server=repr(server), reason="it holds characters that an address has not")
        try:
            parts = urlsplit(server)
            port = parts.port
        except ValueError as error:
            raise InvalidServer(server=server, reason=str(error)) from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidServer(server=server, reason="it looks like https://ibi.example.org")
        if parts.username is not None or parts.password is not None:
            # Not repeated whole: what stands there may be a password.
            raise InvalidServer(server=parts.hostname, reason="a user name has no place in it")
        if parts.query or parts.fragment:
            raise InvalidServer(server=server, reason="it has neither ? nor #")
        return cls(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        """Host and port, as a `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def is_private(self) -> bool:
        """Whether nobody else can listen in: encrypted, or on this very machine."""
        return self.scheme == "https" or _is_loopback(self.host)

    def connection(self, timeout: float) -> HTTPConnection:
        """Not opened yet. No proxy is asked, and certificates are checked."""
        kind = HTTPSConnection if self.scheme == "https" else HTTPConnection
        return kind(self.host, self.port, timeout=timeout)


def is_on_loopback(server: str) -> bool:
    """Whether a URL names the machine itself."""
    return _is_loopback(Origin.parse(server).host)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
