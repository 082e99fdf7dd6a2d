"""The hosts for which this server has pages and files, and which of them a request is for.

A browser separates what pages may read and send by the names of their hosts. A stranger's name that is pointed here
(DNS rebinding) would give the stranger our pages and whatever the reader's network may see. So only names known to be
ours are served. A name is ours at every port unless `hosts` gives one.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, NamedTuple

from starlette.types import Scope

from ibi.web.http.headers import only_value

_LONGEST: Final = 300
"""Characters of a host with its port; a name has at most 253."""
_DEFAULT_PORTS: Final = frozenset({80, 443})


class Authority(NamedTuple):
    """A host and its port in one spelling: small letters, no final dot, no brackets, None for the port of HTTP(S)."""

    host: str
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> Authority | None:
        """Parse `host[:port]` as the header Host writes it; None if the text has another form."""
        return _parse(text) if len(text) <= _LONGEST else None

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The host as an IP address, if it is one; IPv4 inside IPv6 is IPv4."""
        return _address(self.host)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Authority | None:
    text = text.strip(" \t").lower()
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            return None
        port = rest[1:]
    else:
        host, _, port = text.partition(":")
    host = host.removesuffix(".")
    if not host or not ((port.isascii() and port.isdigit()) or not port) or len(port) > 5:
        return None
    address = _address(host)
    number = int(port) if port else None
    return Authority(host if address is None else str(address), None if number in _DEFAULT_PORTS else number)


@lru_cache(maxsize=1024)
def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def authority_of_url(url: str) -> Authority | None:
    return Authority.parse(url.partition("://")[2].partition("/")[0])


def requested_authority(scope: Scope) -> Authority | None:
    """The authority in the header Host; None if it is missing, empty, repeated or unreadable."""
    try:
        host = only_value(scope["headers"], b"host")
    except ValueError:
        return None
    return None if not host else Authority.parse(host)


class ServedHosts:
    """The hosts of one server. Nothing is looked up in the DNS."""

    def __init__(self, urls: Iterable[str] = (), names: Iterable[str] = (), listening: Iterable[str] = ()) -> None:
        """Hosts of `urls` are served at every port; `names` are those of the setting `hosts`, each `host` or
        `host:port`; `listening` are the hosts and addresses on which the server listens."""
        given = {name: Authority.parse(name) for name in names}
        found = [authority_of_url(url) for url in urls] + [Authority.parse(_bracketed(host)) for host in listening]
        self._hosts = {"localhost", *(each.host for each in found if each is not None)}
        self._hosts |= {each.host for name, each in given.items() if each is not None and not _has_port(name)}
        self._with_port = {each for each in given.values() if each is not None}
        addresses = {each.address for each in found if each is not None}
        self._is_on_all = any(address is not None and address.is_unspecified for address in addresses)

    def serves(self, scope: Scope) -> bool:
        """Whether pages and files are served for the host of this request, or it names none."""
        if not any(name == b"host" and value.strip(b" \t") for name, value in scope["headers"]):
            return True
        asked = requested_authority(scope)
        return asked is not None and (asked.host in self._hosts or asked in self._with_port or self._is_ours(asked))

    def _is_ours(self, asked: Authority) -> bool:
        address = asked.address
        if address is None:
            return False
        return address.is_loopback or (self._is_on_all and _is_of_this_machine(address))


def _bracketed(host: str) -> str:
    return f"[{host.partition('%')[0]}]" if ":" in host else host


def _has_port(name: str) -> bool:
    return ":" in name.rpartition("]")[2]


def _is_of_this_machine(address: IPv4Address | IPv6Address) -> bool:
    """Whether an interface has this address now. Asked of the system each time, since addresses come and go: a socket
    can be bound only to the machine's own."""
    if address.is_multicast:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
