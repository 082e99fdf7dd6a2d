"""The hosts for which this server has pages and files, and which of them a request is for.

A browser separates what pages may read and send by the names of their hosts. A stranger's name that is pointed here
(DNS rebinding) would give the stranger our pages and whatever the reader's network may see. So only names known to be
ours are served. A name is ours at every port unless `hosts` gives one.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address

from starlette.types import Scope

from ibi.origin import Origin, bracketed, readable_origin, served_origin
from ibi.web.http.headers import only_value


def requested_origin(scope: Scope) -> Origin | None:
    """What the header Host names; None if it is missing, empty, there twice, or cannot be read.

    It has no scheme: behind a proxy that is not known here.
    """
    try:
        host = only_value(scope["headers"], b"host")
    except ValueError:
        return None
    return None if not host else readable_origin(host.strip(" \t"))


class ServedHosts:
    """The hosts of one server. Nothing is looked up in the DNS."""

    def __init__(self, urls: Iterable[str] = (), names: Iterable[str] = (), listening: Iterable[str] = ()) -> None:
        """Hosts of `urls` are served at every port; `names` are those of the setting `hosts`, each `host` or
        `host:port`; `listening` are the hosts and addresses on which the server listens."""
        given = [each for each in map(readable_origin, names) if each is not None]
        found = [served_origin(url) for url in urls] + [readable_origin(bracketed(host)) for host in listening]
        self._hosts = {"localhost", *(each.name for each in found if each is not None)}
        self._hosts |= {each.name for each in given if each.port is None}
        self._with_port = frozenset(given)
        addresses = {each.address for each in found if each is not None}
        self._is_on_all = any(address is not None and address.is_unspecified for address in addresses)

    def serves(self, scope: Scope) -> bool:
        """Whether pages and files are served for the host of this request, or it names none."""
        if not any(name == b"host" and value.strip(b" \t") for name, value in scope["headers"]):
            return True
        asked = requested_origin(scope)
        return asked is not None and (asked.name in self._hosts or asked in self._with_port or self._is_ours(asked))

    def _is_ours(self, asked: Origin) -> bool:
        address = asked.address
        if address is None:
            return False
        return address.is_loopback or (self._is_on_all and _is_of_this_machine(address))


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
