"""The place of a server: scheme, host and port, parsed and compared by one rule (RFC 3986 §3.2, RFC 6454 §4).

The spelling is kept, because some of it is sent to others as it was given. Equality goes by meaning: case, the final
dot of a name, the notation of an address and a default port make no difference. Non-ASCII names are given in their
`xn--` form: there are several versions of IDNA, and two programs may differ.

Four places have their own rules, on purpose. `ibi.standard.messages.values.host_and_port` is stricter, because it reads
the registrations of strangers. `ibi.server.protocol` looks at bytes, before anything is known of them.
`ibi.web.request.authority` compares two values from one browser letter by letter. Ports in labels have the notation of
the standard.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ibi.standard.errors import InvalidInput

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_DEFAULTS: Final = frozenset({None, *DEFAULT_PORTS.values()})

_LONGEST: Final = 300
"""Most characters of a host with its port; a name has at most 253."""
_MOST_PORT: Final = 65_535
# RFC 3986 §3.2: authority = host [ ":" port ], here without a user; the port may be empty.
_AUTHORITY: Final = re.compile(r"(?:\[([^\[\]]*+)\]|([^:\[\]]*+))(?::([0-9]{0,5}))?")
# RFC 6874: a zone has a meaning on one machine only. It is kept in the spelling, but not compared.
_WITH_ZONE: Final = re.compile(r"[0-9a-f.]*+:[0-9a-f:.]*+%[a-z0-9._~-]++")
_REGISTERED_NAME: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=%-]++")


class InvalidOrigin(InvalidInput):
    """{quoted} is not the address of a server: {reason}."""

    code = "invalid-origin"


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """A scheme, a host without brackets, and a port.

    The scheme is `http` or `https`. It is empty for the value of a `Host` header. Without a port, such a value may mean
    the port of HTTP or that of HTTPS, so both count as none.
    """

    scheme: str
    host: str
    port: int | None = None
    """As it was given; None if it was not."""
    name: str = field(init=False, repr=False)
    """The host in its normal form for comparison.

    It is in lower case, without a final dot. An address is in its usual notation, and IPv4 inside IPv6 is IPv4.
    """
    _key: tuple[str, str, int | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.scheme and self.scheme not in DEFAULT_PORTS:
            raise InvalidOrigin(self.scheme, 0, "it begins with http:// or https://")
        if self.port is not None and not 0 <= self.port <= _MOST_PORT:
            raise InvalidOrigin(f"{self.host}:{self.port}", len(self.host) + 1, "a port is at most 65535")
        name = _normal_name(self.host)
        object.__setattr__(self, "name", name)
        port = None if not self.scheme and self.port in _DEFAULTS else self.effective_port
        object.__setattr__(self, "_key", (self.scheme, name, port))

    @classmethod
    def parse(cls, authority: str, scheme: str = "") -> Origin:
        """Parse `host[:port]`; an IPv6 address is in brackets. Raise `InvalidOrigin` for anything else."""
        if len(authority) > _LONGEST:
            raise InvalidOrigin(authority, _LONGEST, "it is longer than any host with a port")
        return _parse(authority, scheme)

    @classmethod
    def of_url(cls, url: str) -> Origin:
        """Return the origin of an absolute URL of HTTP or HTTPS; raise `InvalidOrigin` if it is none."""
        scheme = url.partition("://")[0].lower()
        if scheme not in DEFAULT_PORTS:
            raise InvalidOrigin(url, 0, "it begins with http:// or https://")
        return cls.parse(authority_of(url), scheme)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}" if self.scheme else self.authority

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Origin) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def authority(self) -> str:
        """`host[:port]` as it was given."""
        return bracketed(self.host) if self.port is None else f"{bracketed(self.host)}:{self.port}"

    @property
    def effective_port(self) -> int:
        """The port for connections: the given one, else that of the scheme, else that of HTTP."""
        return DEFAULT_PORTS[self.scheme or "http"] if self.port is None else self.port

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The IP address of the host, if it is one; IPv4 inside IPv6 is IPv4."""
        return _address(self.name)


@lru_cache(maxsize=1024)
def _parse(authority: str, scheme: str) -> Origin:
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise InvalidOrigin(authority, 0, "it is a host, perhaps with a colon and a port")
    ipv6, name, port = match.groups()
    if ipv6 is not None and ":" not in ipv6:
        raise InvalidOrigin(authority, 1, "only an IPv6 address stands in brackets")
    return Origin(scheme, name if ipv6 is None else ipv6, int(port) if port else None)


def _normal_name(host: str) -> str:
    name = host.removesuffix(".").lower()
    address = _address(name.partition("%")[0] if _WITH_ZONE.fullmatch(name) else name)
    if address is not None:
        return str(address)
    if not name or _REGISTERED_NAME.fullmatch(name) is None:
        raise InvalidOrigin(host, 0, "a host is a name or an IP address")
    return name


@lru_cache(maxsize=1024)
def _address(host: str) -> IPv4Address | IPv6Address | None:
    # Imported here: most commands do not need it, and it is slow to import.
    from ipaddress import IPv6Address, ip_address

    try:
        address = ip_address(host)
    except ValueError:
        return None
    if "%" in host:  # anything may follow it there
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def bracketed(host: str) -> str:
    """Return a host in the notation before a port."""
    return f"[{host}]" if ":" in host else host


def authority_of(url: str) -> str:
    """Return the part between `://` and the path, query or fragment of a URL; empty if there is none."""
    after = url.partition("://")[2]
    return after.partition("/")[0].partition("?")[0].partition("#")[0]


def host_of(authority: str) -> str:
    """Return `host[:port]` without the port; an IPv6 address keeps its brackets, and so its colons."""
    host, colon, port = authority.rpartition(":")
    return host if colon and port.isdigit() else authority


def readable_origin(authority: str) -> Origin | None:
    """Return the origin that an authority names, whatever its scheme; None if it cannot be parsed."""
    try:
        return Origin.parse(authority)
    except InvalidOrigin:
        return None


def served_origin(url: str) -> Origin | None:
    """Return the same for a URL."""
    return readable_origin(authority_of(url))


def is_same_place(url: str, other: str) -> bool:
    """Return whether two server URLs lead to one place: the same origin and path, except for a final slash."""
    try:
        return Origin.of_url(url) == Origin.of_url(other) and _path(url) == _path(other)
    except InvalidOrigin:
        return url.rstrip("/") == other.rstrip("/")


def _path(url: str) -> str:
    return url.partition("://")[2].partition("/")[2].rstrip("/")
