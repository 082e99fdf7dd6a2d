"""The parts of a request: its target, headers, digests, accepted media types, reader's address and host.

ASGI's `path` is decoded already, and wrongly if a name is not UTF-8 (E33), so that the original is lost. These
functions read the raw path.
"""

from __future__ import annotations

import codecs
import hashlib
import re
import socket
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias
from urllib.parse import quote, unquote_to_bytes, urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ibi.deposits.rules.drafts import DigestMismatch
from ibi.items.service.integrity.verified_file import VerifiedFile
from ibi.standard.errors import ErrorKind, IbiError, InvalidMessage
from ibi.standard.messages.values import IpAddress, decode_query
from ibi.standard.networks import NO_READER, IpNetwork
from ibi.standard.origin import Origin, bracketed, readable_origin, served_origin
from ibi.web.request_errors import InvalidDigest, InvalidIdempotencyKey, NotAcceptable


def raw_path(scope: Scope) -> bytes:
    """Return the path without the query, still percent-encoded."""
    raw: bytes | None = scope.get("raw_path")
    return quote(scope["path"]).encode("ascii") if raw is None else raw


def raw_query(scope: Scope) -> str:
    query: bytes = scope.get("query_string", b"")
    return as_text(query)


def link_target(scope: Scope) -> str:
    """Return path and query with all their octets, as `PersistentUrl.parse` needs them (E33)."""
    path, query = raw_path(scope), scope.get("query_string", b"")
    return with_octets(b"%b?%b" % (path, query) if query else path)


def raw_target(scope: Scope) -> str:
    """Return path and query for display."""
    query = raw_query(scope)
    return as_text(raw_path(scope)) + (f"?{query}" if query else "")


def percent_decode(raw: bytes) -> str:
    """Return the text of percent-encoded bytes, decoded once."""
    return as_text(unquote_to_bytes(raw) if b"%" in raw else raw)


def as_text(raw: bytes) -> str:
    """Decode as UTF-8, or else as ISO 8859-1 (E33)."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def with_octets(raw: bytes) -> str:
    """Decode as UTF-8. An octet that is not UTF-8 becomes a surrogate escape (PEP 383, E33)."""
    return raw.decode("utf-8", "surrogateescape")


_SUBJECT = "servicesubject"
_PLAIN = re.compile(rb"(?:\A|&)servicesubject(?:[=&]|\Z)")


def has_subject(query: bytes) -> bool:
    # The spelling of every resolver. This search is many times faster than the regular expression.
    if b"&servicesubject=" in query or _PLAIN.search(query):
        return True
    if b"%" not in query:
        return False
    try:
        return any(name == _SUBJECT for name, _ in decode_query(as_text(query)))
    except InvalidMessage:
        return True  # too long to be parsed: the service refuses it


RawHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]
"""Names in lower case, as ASGI gives them."""

HARDENING: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    # For answers to programs: shown in a browser, they can load, run and frame nothing. Pages set their own.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""Headers of every answer that does not set them itself."""


def values(headers: RawHeaders, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def only_value(headers: RawHeaders, name: bytes) -> str | None:
    """Return the value of a header that must be unique. Raise `ValueError` if it is there twice, which is ambiguous."""
    found = None
    for key, value in headers:
        if key == name:
            if found is not None:
                raise ValueError(name.decode("latin-1"))
            found = value
    return None if found is None else found.decode("latin-1").strip(" \t")


def only_cookie(headers: RawHeaders, name: str) -> str | None:
    """Return the value of a cookie, even if other cookies of this host are malformed.

    Return None if it is there twice with different values: another site may have planted one.
    """
    wanted, found = name.encode("ascii"), set()
    for key, value in headers:
        if key == b"cookie" and wanted in value:
            pairs = (pair.strip(b" \t").partition(b"=") for pair in value.split(b";"))
            found |= {text for given, _, text in pairs if given == wanted}
    return found.pop().decode("latin-1") if len(found) == 1 else None


_ANEW = re.compile(rb"(?:\A|[\s,])(?:no-cache|max-age[ \t]*=[ \t]*\"?0+\"?(?:\Z|[\s,]))")


def is_wanted_anew(headers: RawHeaders) -> bool:
    """Return whether the reader refuses cached answers (RFC 9111 §5.2.1.1, §5.2.1.4), as a browser does on a reload.

    `Pragma`, of older clients, counts if there is no Cache-Control (§5.4).
    """
    is_told = is_pragma = False
    for name, value in headers:
        if name == b"cache-control":
            is_told = True
            if _ANEW.search(value.lower()) is not None:
                return True
        elif name == b"pragma":
            is_pragma = b"no-cache" in value.lower()
    return is_pragma and not is_told


_OWN = frozenset({"none", "same-origin"})


class CrossSiteRequest(IbiError):
    """A page of another site sent this request. It was not done."""

    code = "cross-site-request"
    kind = ErrorKind.FORBIDDEN


def is_cross_site(headers: RawHeaders) -> bool:
    """Return whether the browser reports that a page of another site caused the request."""
    return any(value.strip().lower() == "cross-site" for value in values(headers, b"sec-fetch-site"))


def refuse_other_sites(headers: RawHeaders) -> None:
    """Raise `CrossSiteRequest` if the browser reports that another site caused the request.

    An ambiguous or unreadable report is refused too. The standard has Archives included and excluded by GET (R §7.2). A
    link or an image on any page can make a browser send one, from inside a network that the page itself cannot reach.
    Programs send none of these headers.
    """
    if any(value.strip().lower() not in _OWN for value in values(headers, b"sec-fetch-site")):
        raise CrossSiteRequest()
    hosts = {value.strip().lower() for value in values(headers, b"host")}
    for name in (b"origin", b"referer"):
        if any(authority(value) not in hosts for value in values(headers, name)):
            raise CrossSiteRequest()


def authority(url: str) -> str | None:
    """Return `host[:port]` of a URL as the header Host spells it; None if the URL is not HTTP(S).

    `Origin` is not used here. One browser writes both headers, in one spelling. A different spelling is refused: the
    browser may not share a rule that equates the two.
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme.lower() in {"http", "https"} else None


_FIELDS: Final = ("Repr-Digest", "Content-Digest", "Digest")
_LENGTHS: Final = {"sha-512": 64, "sha-256": 32}
# RFC 9530: a dictionary of byte sequences, sha-512=:…:; RFC 3230: sha-512=…
_ENTRY: Final = re.compile(r"\s*([A-Za-z0-9-]{1,40})=(:?)([A-Za-z0-9+/=]{1,200})\2\s*")


def expected_digests(headers: RawHeaders) -> dict[str, tuple[str, bytes]]:
    """Return the digests by algorithm, each with its field. Unknown algorithms are ignored.

    A client that sends a digest wants it checked. So raise `InvalidDigest` if none is known, or if one cannot be read.
    """
    found: dict[str, tuple[str, bytes]] = {}
    for field in _FIELDS:
        given = values(headers, field.lower().encode("ascii"))
        entries = [_entry(field, text) for value in given for text in value.split(",")]
        known = {name: (field, digest) for name, digest in entries if name in _LENGTHS}
        if entries and not known:
            raise InvalidDigest(field=field)
        found |= known
    return found


def _entry(field: str, text: str) -> tuple[str, bytes]:
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise InvalidDigest(field=field)
    name = match[1].lower()
    try:
        digest = b64decode(match[3], validate=True)
    except ValueError:
        raise InvalidDigest(field=field) from None
    if len(digest) != _LENGTHS.get(name, len(digest)):
        raise InvalidDigest(field=field)
    return name, digest


def check_digests(expected: Mapping[str, tuple[str, bytes]], actual: Mapping[str, bytes], path: str) -> None:
    for algorithm, (field, digest) in expected.items():
        if actual[algorithm] != digest:
            raise DigestMismatch(
                field=field, path=repr(path), algorithm=algorithm, found=b64encode(actual[algorithm]).decode("ascii")
            )


def check_content(expected: Mapping[str, tuple[str, bytes]], content: bytes, path: str) -> None:
    """Check the digests of bytes in memory. Only the expected digests are computed."""
    check_digests(expected, {name: hashlib.new(name.replace("-", ""), content).digest() for name in expected}, path)


def repr_digest(sha512: str) -> str:
    """Return the value of the header `Repr-Digest`, from hexadecimal digits."""
    return f"sha-512=:{b64encode(bytes.fromhex(sha512)).decode('ascii')}:"


MAX_KEY = 255
"""Largest number of characters of an idempotency key."""


def idempotency_key(headers: RawHeaders) -> str | None:
    try:
        key = only_value(headers, b"idempotency-key")
    except ValueError:
        key = ""
    if key is None or (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        return key
    raise InvalidIdempotencyKey(least=1, most=MAX_KEY)


MOST_LOOKED_AT: Final = 1 << 16
"""Bytes read from the beginning of a text."""

# XML declares its own encoding, and is UTF-8 without a declaration.
_TEXT: Final = re.compile(r"text/(?!xml(?![^;\s]))[^;]+", re.IGNORECASE)


def media_type_in_full(media_type: str, file: VerifiedFile) -> str:
    """Return the media type of a file, with `charset=utf-8` for a text that is UTF-8.

    A character set is added only if it is certain: bytes beyond ASCII that are valid UTF-8 throughout are hardly ever
    anything else. In other cases the document itself, or the reader's browser, may know more. A text with an unchecked
    beginning gets none. This call blocks: it may read from the disk.
    """
    if not _TEXT.match(media_type) or "charset" in media_type.lower():
        return media_type
    begun = file.read_beginning(MOST_LOOKED_AT)
    if begun is None:
        return media_type
    is_whole = file.size <= MOST_LOOKED_AT
    return f"{media_type}; charset=utf-8" if _is_utf_8(begun, is_whole=is_whole) else media_type


def _is_utf_8(begun: bytes, *, is_whole: bool) -> bool:
    """Return whether bytes are UTF-8 and not plain ASCII. Unless they are whole, the last character may be cut in
    two."""
    if begun.isascii():
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begun, final=is_whole)
    except UnicodeDecodeError:
        return False
    return True


def choose(accept: Sequence[str], offered: Sequence[str]) -> str:
    """Return the best of `offered` by the values of Accept, or the first without such values.

    Among equals, the more exactly named type wins, then the one offered first. Raise `NotAcceptable` if none fits.
    """
    if not accept:
        return offered[0]
    ranges = [_range(each) for value in accept for each in value.split(",") if each.strip()]
    if not ranges:
        return offered[0]
    quality = {media: _quality(media, ranges) for media in offered}
    best = max(offered, key=lambda media: (quality[media], -offered.index(media)))
    if quality[best][0] <= 0:
        raise NotAcceptable(offered=" or ".join(offered))
    return best


def _range(text: str) -> tuple[str, float]:
    """Return a media range and its weight. An unreadable weight counts as 0."""
    media, *parameters = (part.strip().lower() for part in text.split(";"))
    weights = [value for name, _, value in (each.partition("=") for each in parameters) if name.strip() == "q"]
    return media, _weight(weights[0].strip()) if weights else 1.0


def _weight(text: str) -> float:
    # qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )
    if len(text) > 5 or not (text.isascii() and text.replace(".", "", 1).isdigit()):
        return 0.0
    return min(1.0, float(text))


def _quality(media: str, ranges: Iterable[tuple[str, float]]) -> tuple[float, int]:
    """Return the weight of the most exact range that covers `media`, and its exactness."""
    exactness = {media: 2, f"{media.partition('/')[0]}/*": 1, "*/*": 0}
    covering = [(exactness[each], weight) for each, weight in ranges if each in exactness]
    if not covering:
        return 0.0, 0
    exact = max(each for each, _ in covering)
    return max(weight for each, weight in covering if each == exact), exact


@lru_cache(maxsize=1024)
def truncate_address(address: str) -> str:
    """Return the network of an address: its first 24 bits (IPv4) or 48 bits (IPv6)."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    bits = 24 if parsed.version == 4 else 48
    return str(ip_network((parsed, bits), strict=False))


_MOST_HOPS: Final = 63
"""Together with the connected address, as many as a request to an Archive may name."""

_LONGEST: Final = 64
"""Largest number of characters of an address, with a scope."""


def reader_address(scope: Scope, proxies: Sequence[IpNetwork]) -> IpAddress | None:
    """Return the last address on the way here that is not a trusted proxy; None if it is unknown.

    Each proxy adds the sender's address on the right of X-Forwarded-For. Addresses left of the first stranger are that
    stranger's claim, and no proof.
    """
    return _way(scope, proxies)[-1]


def address_text(scope: Scope, proxies: Sequence[IpNetwork]) -> str:
    """Return the reader's address in the form of the audit log."""
    return str(reader_address(scope, proxies) or "unknown")


def client_addresses(scope: Scope, proxies: Sequence[IpNetwork]) -> tuple[IpAddress, ...]:
    """Return the reader's address, then those of the trusted proxies in the order of the request (R Table 8.10).

    An unspecified address stands for an unknown reader. The Archive of this server then sees nobody, and other Archives
    get the addresses of the proxies only.
    """
    way = _way(scope, proxies)
    if len(way) == 1:
        return (way[0] or NO_READER,)
    reader, *passed = reversed(way)
    return (reader or NO_READER, *(address for address in passed if address is not None))


def _way(scope: Scope, proxies: Sequence[IpNetwork]) -> list[IpAddress | None]:
    """Return the addresses from here back to the reader. An unreadable one is None."""
    client = scope.get("client")
    way = [read_address(client[0]) if client else None]
    if not proxies:
        return way
    hops = [hop.strip() for value in values(scope["headers"], b"x-forwarded-for") for hop in value.split(",")]
    for hop in reversed(hops[-_MOST_HOPS:]):
        address = way[-1]
        if address is None or not any(address in network for network in proxies):
            break
        way.append(read_address(hop) if len(hop) <= _LONGEST else None)  # too long to be cached
    return way


@lru_cache(maxsize=1024)
def read_address(text: str) -> IpAddress | None:
    """Return an address without scope and port. IPv4 inside IPv6 becomes IPv4."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if address.version == 6 else address


def requested_origin(scope: Scope) -> Origin | None:
    """Return the origin in the header Host; None if it is missing, empty, there twice, or unreadable.

    It has no scheme, which is unknown here behind a proxy.
    """
    try:
        host = only_value(scope["headers"], b"host")
    except ValueError:
        return None
    return None if not host else readable_origin(host.strip(" \t"))


class ServedHosts:
    """The hosts of one server. It makes no DNS look-ups.

    Browsers decide by host name which pages may read and send which data. A stranger's name that points here (DNS
    rebinding) would give the stranger our pages and the view of the reader's network. So only known names are served. A
    name is served at every port unless `hosts` gives one.
    """

    def __init__(self, urls: Iterable[str] = (), names: Iterable[str] = (), listening: Iterable[str] = ()) -> None:
        """Hosts of `urls` are served at every port. `names` are those of the setting `hosts`, each `host` or
        `host:port`. `listening` are the hosts and addresses on which the server listens."""
        given = _known_origins(map(readable_origin, names))
        found = _known_origins((*map(served_origin, urls), *map(readable_origin, map(bracketed, listening))))
        self._hosts = {"localhost", *(each.name for each in found)}
        self._hosts |= {each.name for each in given if each.port is None}
        self._with_port = frozenset(given)
        self._is_on_all = any(each.address is not None and each.address.is_unspecified for each in found)

    def serves(self, scope: Scope) -> bool:
        """Return whether pages and files are served for the host of this request. A request without a host is
        served."""
        if not any(name == b"host" and value.strip(b" \t") for name, value in scope["headers"]):
            return True
        asked = requested_origin(scope)
        return asked is not None and (asked.name in self._hosts or asked in self._with_port or self._is_ours(asked))

    def _is_ours(self, asked: Origin) -> bool:
        address = asked.address
        if address is None:
            return False
        return address.is_loopback or (self._is_on_all and _is_of_this_machine(address))


def _known_origins(origins: Iterable[Origin | None]) -> list[Origin]:
    return [each for each in origins if each is not None]


def _is_of_this_machine(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an interface of this machine has this address now.

    The system is asked each time, because addresses come and go: a socket can be bound only to an address of the
    machine.
    """
    if address.is_multicast:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


Handler = Callable[[Request], Awaitable[Response]]


def by_method(**handlers: Handler) -> Handler:
    async def handle(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return handle
