"""Query strings, the parameters of every request (R §6.1): `name=value&…` and the ordered pairs they stand for.

Most values are ordinary text: encoded once when sent, decoded once when received. `url` and `url.persistent` hold URLs,
which have their own percent signs. E25 leaves those alone, so that no reader can distinguish an encoded delimiter of
the URL from one that was encoded for transmission. `decode_url` treats every encoded delimiter as the latter. A reader
gets `metadata.cgi?choice=oai_dc` and `Relat%f3rio%20Final.pdf` back unchanged, but `%26` in a URL becomes `&`.
Therefore acknowledgments are matched by their key, and no reader is sent to a URL from a request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from ibi.standard.errors import InvalidInput, InvalidMessage
from ibi.standard.pairs import Value, percent_encoded
from ibi.standard.vocabulary import ArchiveProtocol, ContentType, State

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address


QUERY_LIMIT: Final = 1 << 16
"""Most characters of a query string that are read: the limit of common HTTP servers."""

URL_NAMES: Final = frozenset({"url", "url.persistent"})
"""The pairs with URLs as values (R Table 8.11)."""
PATH_NAME: Final = "parsedibiurl.filepath"
"""The pair with the path of a link as its value, in the octets of the link (R Table 8.9; E33)."""
_ENCODED_BEFORE: Final = URL_NAMES | {PATH_NAME}

# R Table 6.1: blank, % & + = ? and also # are encoded. So is everything that RFC 3986 excludes from a query: quotes,
# brackets, braces, backslash, caret, grave accent, bar, controls and everything beyond ASCII.
_UNSAFE = re.compile(r"[^A-Za-z0-9\-._~!$'()*,;:@/]+")

# E25: the same, but a percent sign with its two hexadecimal digits stays.
_UNSAFE_IN_URL = re.compile(r"(?:[^A-Za-z0-9\-._~!$'()*,;:@/%]|%(?![0-9A-Fa-f]{2}))+")

# Nearly all values: nothing needs encoding except blanks. The match is one pass without backtracking.
_WORDS = re.compile(r"[A-Za-z0-9\-._~!$'()*,;:@/ ]*+")
_SAFE_URL = re.compile(r"(?:[A-Za-z0-9\-._~!$'()*,;:@/]++|%[0-9A-Fa-f]{2})*+")

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_ESCAPE_IN_BYTES = re.compile(rb"%([0-9A-Fa-f]{2})")

# E25: & + = ? and # in a URL are encoded for transmission. So are the brackets around an IPv6 host, where they are
# unambiguous.
_DELIMITER = re.compile(r"%(26|2[Bb]|3[Dd]|3[Ff]|23)")
_BRACKETED_HOST = re.compile(r"(https?://)%5B([0-9a-f:.]+)%5D", re.ASCII | re.IGNORECASE)


class MissingPair(InvalidMessage):
    """{quoted} is not a complete message of the IBI protocol: {reason}."""

    code = "missing-pair"


class MissingSubject(MissingPair):
    """{quoted} is not a service request of the IBI protocol: {reason}."""

    code = "missing-subject"


class UnknownSubject(InvalidMessage):
    """{quoted} is not a service of the IBI protocol: {reason}."""

    code = "unknown-subject"


class RepeatedPair(InvalidMessage):
    """{quoted} makes the message ambiguous: {reason}."""

    code = "repeated-pair"


def encode_value(text: str) -> str:
    """Encode `text` as the value of a pair; `decode_value` reverses this."""
    return text.replace(" ", "%20") if _WORDS.fullmatch(text) else _encode(_UNSAFE, text)


def decode_value(value: str) -> str:
    """Return the text of a value.

    A raw `+` is a blank. Escapes are UTF-8, or else ISO 8859-1 (E33). A lone `%` is itself.
    """
    value = value.replace("+", " ")
    if "%" not in value:
        return value
    words = value.replace("%20", " ")
    if "%" not in words:  # blanks are the most frequent encoded characters
        return words
    try:
        return _ESCAPE_IN_BYTES.sub(lambda escape: bytes((int(escape[1], 16),)), value.encode()).decode()
    except UnicodeError:
        return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), value)


def decode_octets(value: str) -> str:
    """Return the text of a path.

    An octet that is not UTF-8 stays the same octet (E33), in Python's notation (PEP 383).
    """
    value = value.replace("+", " ")
    if "%" not in value:
        return value
    try:
        octets = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value  # half a surrogate pair, which no path may hold
    return _ESCAPE_IN_BYTES.sub(lambda escape: bytes((int(escape[1], 16),)), octets).decode("utf-8", "surrogateescape")


def encode_url(url: str) -> str:
    """Encode a URL as the value of a pair: its own `%XX` stay, its delimiters are encoded (E25)."""
    return url if _SAFE_URL.fullmatch(url) else _encode(_UNSAFE_IN_URL, url)


def decode_url(value: str) -> str:
    """Return the URL of a value: delimiters decoded, every other `%XX` unchanged, since it belongs to the URL (E25)."""
    url = value.replace("+", "%20")
    if "%" not in url:
        return url
    url = _DELIMITER.sub(lambda escape: chr(int(escape[1], 16)), url)
    host = _BRACKETED_HOST.match(url)
    return url if host is None else f"{host[1]}[{host[2]}]{url[host.end() :]}"


def _encode(unsafe: re.Pattern[str], text: str) -> str:
    try:
        return unsafe.sub(_escape, text)
    except UnicodeEncodeError as error:
        raise InvalidMessage(text, 0, "half a surrogate pair is no character") from error


def _escape(unsafe: re.Match[str]) -> str:
    return percent_encoded(unsafe[0])


def encode_query(pairs: Iterable[tuple[str, str]]) -> str:
    """Return the query string of `pairs`, in order. URLs, and the path of a link, have their own `%XX` already."""
    return "&".join(
        [
            f"{_name(name)}={encode_url(value) if name in _ENCODED_BEFORE else encode_value(value)}"
            for name, value in pairs
        ]
    )


# The standard has few names, and none of them changes in transmission.
_name = lru_cache(maxsize=64)(encode_value)


def decode_query(query: str, *, limit: int = QUERY_LIMIT) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a query string, decoded, in order. A name without `=` has an empty value."""
    if len(query) > limit:
        raise InvalidMessage(
            "…", limit, "it has {length} characters and at most {limit} are read", length=len(query), limit=limit
        )
    return tuple([_decode_pair(pair) for pair in query.split("&") if pair])


def _decode_pair(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    if "%" in name or "+" in name:
        name = decode_value(name)
    if name in URL_NAMES:
        return name, decode_url(value)
    if name == PATH_NAME:
        return name, decode_octets(value)
    return name, decode_value(value) if "%" in value or "+" in value else value


def select(pairs: Iterable[tuple[str, str]], known: Container[str]) -> dict[str, str]:
    """Return the known pairs by name. Others are ignored (R §6.1); raise `RepeatedPair` if a known one occurs twice."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in known:
            if name in found:
                raise RepeatedPair(name, 0, "the pair {name} is there twice", name=name)
            found[name] = value
    return found


def value_of(query: str, name: str) -> str | None:
    """Return the value of one pair of a query string, None if it is not there: DECODQS of R §9.2."""
    return select(decode_query(query), (name,)).get(name)


IpAddress: TypeAlias = "IPv4Address | IPv6Address"

S = TypeVar("S")
T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_MAX_WORD: Final = 256
_MAX_HOST: Final = 253
_MAX_ADDRESSES: Final = 64


def read(name: str, given: S | None, reader: Callable[[S], T]) -> T:
    """Return the result of `reader` for the value of the pair `name`. An `InvalidMessage` names the pair."""
    if given is None:
        raise MissingPair(name, 0, "the pair {name} is missing", name=name)
    try:
        return reader(given)
    except InvalidInput as error:
        offset = len(name) + 1 + error.offset
        raise InvalidMessage(f"{name}={error.text}", offset, error.reason, **error.details) from error


def read_words(pairs: Mapping[str, Value], name: str, reader: Callable[[tuple[str, ...]], T]) -> T:
    """Return the same for a pair of an answer with words in braces as its value."""
    value = pairs.get(name)
    return read(name, (value,) if isinstance(value, str) else value, reader)


def read_word(pairs: Mapping[str, Value], name: str, reader: Callable[[str], T]) -> T:
    """Return the same for a pair of an answer with one word, in braces or not (E12 allows both for a single word)."""
    value = pairs.get(name)
    return read(name, read(name, value, _single) if isinstance(value, tuple) else value, reader)


def _single(words: tuple[str, ...]) -> str:
    if len(words) != 1:
        raise InvalidMessage(" ".join(words), 0, "one word is expected, not {count}", count=len(words))
    return words[0]


def member(kind: type[E]) -> Callable[[str], E]:
    """Return a reader for one of a few words, in any case, as for literals of the standard (RFC 5234 §2.3)."""
    as_written = {str(each): each for each in kind}

    def read_member(text: str) -> E:
        found = as_written.get(text)
        return kind(one_of(text, *kind)) if found is None else found

    return read_member


def one_of(text: str, *words: str) -> str:
    """Return the one of `words` that equals `text` except for case."""
    for word in words:
        if word == text or (text.isascii() and word.lower() == text.lower()):
            return word
    raise InvalidMessage(text, 0, "it should be {words}", words=" or ".join(words))


state = member(State)
content_type = member(ContentType)
archive_protocol = member(ArchiveProtocol)


# RFC 3986 §3.2.2 host and §3.2.3 port, as R §6.1 requires; only names that DNS can hold, and underscores.
_NAME = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_AND_PORT = re.compile(rf"(?:({_NAME}(?:\.{_NAME})*+)|\[([0-9A-Fa-f:.]++)\])(?::([1-9][0-9]{{0,4}}))?")


@lru_cache(maxsize=1024)
def host_and_port(text: str) -> str:
    """Return a valid Web address, `host[:port]`, as it is spelled."""
    match = _HOST_AND_PORT.fullmatch(text[: _MAX_HOST + 7])
    if match is None or len(text) > _MAX_HOST + 6:
        raise InvalidMessage(text, 0, "a Web address is a host name or an IP address, perhaps with a colon and a port")
    name, ipv6, port = match.groups()
    if port is not None and int(port) > 65_535:
        raise InvalidMessage(text, match.start(3), "a port is at most 65535")
    if ipv6 is not None and ip_address(ipv6).version != 6:
        raise InvalidMessage(text, 1, "only an IPv6 address stands in brackets")
    # A name that ends in a number is an address to every browser, in notations that differ (127.1, 0x7f.1): only the
    # full one is read.
    if name is not None and name.rpartition(".")[2][0].isdigit():
        ip_address(name)
    return text


def ip_address(text: str) -> IpAddress:
    """Parse an RFC 3986 IPv4address or IPv6address without a scope, which has a meaning on one machine only."""
    import ipaddress

    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise InvalidMessage(text, 0, "it is not an IP address") from None
    checked_addresses((address,))
    return address


# R Table 8.10: lista-de-IP = IP *(SP IP)
def ip_addresses(text: str) -> tuple[IpAddress, ...]:
    """Parse a user's address and those of the proxies between, in that order."""
    words = [word for word in text.split(" ") if word]
    # One more than the limit is enough for a refusal.
    return checked_addresses(tuple(map(ip_address, words[: _MAX_ADDRESSES + 1])))


def checked_addresses(addresses: tuple[IpAddress, ...]) -> tuple[IpAddress, ...]:
    """Return the same addresses, if there is one, not too many, and none has a scope."""
    if not 1 <= len(addresses) <= _MAX_ADDRESSES:
        raise InvalidMessage("", 0, "one to {most} IP addresses are needed", most=_MAX_ADDRESSES)
    for address in addresses:
        if address.version == 6 and address.scope_id is not None:
            raise InvalidMessage(str(address), 0, "an address with a scope means another place on every machine")
    return addresses


def platform_version(text: str) -> str:
    """Return the text if it is an ASCII word, as R Table 7.2 requires."""
    if not re.fullmatch(rf"[!-~]{{1,{_MAX_WORD}}}", text):
        raise InvalidMessage(text, 0, "a version is one word of at most {most} ASCII characters", most=_MAX_WORD)
    return text


# R Table 7.2 names RFC 3986's authority. Its userinfo allows commas, semicolons and colons, which would form a list of
# recipients. This is a mailbox (RFC 5321 §4.1.2) with an unquoted name.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]++"
_MAIL_ADDRESS = re.compile(rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*+@{_NAME}(?:\.{_NAME})*+")


def mail_address(text: str) -> str:
    """Return the address of an administrator. One with `=?` in it would be decoded by mail programs into another."""
    if len(text) > _MAX_HOST + 1 or "=?" in text or not _MAIL_ADDRESS.fullmatch(text):
        raise InvalidMessage(text, 0, "it is not an e-mail address")
    return text


_AUTHORITY = re.compile(r"https?://([^/?#]*)", re.ASCII | re.IGNORECASE)
_NOT_IN_URI = re.compile(r"(?:[^A-Za-z0-9\-._~:/?#@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2}))+")
_LONGEST_ENCODED: Final = 1 << 16
"""Most characters of a URL that needs encoding."""
# Nearly every URL needs no encoding. The quantifiers do not backtrack: one pass, however long.
_PLAIN_URL = re.compile(r"[Hh][Tt]{2}[Pp][Ss]?://([^/?#]*+)(?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]++|%[0-9A-Fa-f]{2})*+")


def url(text: str) -> str:
    """Return an absolute URL of HTTP or HTTPS, percent-encoded where RFC 3986 requires it, so it can be followed."""
    plain = _PLAIN_URL.fullmatch(text)
    if plain is not None:
        host_and_port(plain[1])
        return text
    match = _AUTHORITY.match(text)
    if match is None:
        raise InvalidMessage(text, 0, "a URL begins with http:// or https://")
    if len(text) > _LONGEST_ENCODED:
        raise InvalidMessage(text[:80], 0, "it is longer than {most} characters", most=_LONGEST_ENCODED)
    host_and_port(match[1])
    try:
        return match[0] + _NOT_IN_URI.sub(lambda strange: percent_encoded(strange[0]), text[match.end() :])
    except UnicodeEncodeError as error:
        raise InvalidMessage(text, 0, "half a surrogate pair is no character") from error


# E35 says this of persistent URLs; a resolver does not ask an Archive for anything that it must refuse from a person.
# Octets that are not UTF-8 may be in a path (E33), other lone surrogates may not.
_NOT_IN_PATH = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udc7f\udd00-\udfff]")


def file_path(text: str) -> str | None:
    """Return a path inside an item, decoded, with its leading `/` added if missing (E25); None if it is empty (E35)."""
    path = text if text.startswith("/") else f"/{text}"
    if path == "/":
        return None
    if _NOT_IN_PATH.search(path) or not {"", ".", ".."}.isdisjoint(path[1:].split("/")):
        raise InvalidMessage(text, 0, "a path holds no backslash, no control and no empty part, nor one called . or ..")
    return path
