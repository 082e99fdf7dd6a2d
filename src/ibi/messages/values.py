"""Query strings, and the single values of messages.

Query strings, the parameters of every request (R §6.1): `name=value&…` and the ordered pairs they stand for.

Most values are ordinary text: encoded once on the way out, decoded once on the way in. `url` and `url.persistent` hold
URLs, which have percent signs of their own; E25 leaves those alone, so that no reader can tell an encoded delimiter of
the URL from one that was put in for the journey. `decode_url` takes every encoded delimiter for the latter: a reader
gets `metadata.cgi?choice=oai_dc` and `Relat%f3rio%20Final.pdf` back as they were, and a URL that itself held, say,
`%26` with `&` in its place. Therefore acknowledgments are matched by their key, and no reader is sent to a URL that
came out of a request.

Single values of messages: what each pair may hold, regardless of the sender.

A reader takes the decoded text and gives the value, or raises some `InvalidInput`; `read` names the pair in the error.
Everything here comes from strangers and is later dialled, shown or sent on, so that nothing is accepted that two
programs could take for different things: `user@host`, `127.1`, a backslash in an authority.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from ibi.errors import InvalidInput, InvalidMessage
from ibi.pairs import Value, percent_encoded
from ibi.vocabulary import ArchiveProtocol, ContentType, State

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address


QUERY_LIMIT: Final = 1 << 16
"""Characters of a query string that are read: as many as common HTTP servers let pass."""

URL_NAMES: Final = frozenset({"url", "url.persistent"})
"""The pairs whose values are URLs (R Table 8.11)."""
PATH_NAME: Final = "parsedibiurl.filepath"
"""The pair whose value is the path of a link, in the octets in which the link has it (R Table 8.9; E33)."""
_ENCODED_BEFORE: Final = URL_NAMES | {PATH_NAME}

# R Table 6.1: blank, % & + = ? and also # are encoded. So is whatever RFC 3986 keeps out of a query: quotes,
# brackets, braces, backslash, caret, grave accent, bar, controls and everything beyond ASCII.
_UNSAFE = re.compile(r"[^A-Za-z0-9\-._~!$'()*,;:@/]+")

# E25: the same, but a percent sign with its two hexadecimal digits stays.
_UNSAFE_IN_URL = re.compile(r"(?:[^A-Za-z0-9\-._~!$'()*,;:@/%]|%(?![0-9A-Fa-f]{2}))+")

# Nearly all values: nothing in them is to be encoded, but blanks. One look, which gives nothing back.
_WORDS = re.compile(r"[A-Za-z0-9\-._~!$'()*,;:@/ ]*+")
_SAFE_URL = re.compile(r"(?:[A-Za-z0-9\-._~!$'()*,;:@/]++|%[0-9A-Fa-f]{2})*+")

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_ESCAPE_IN_BYTES = re.compile(rb"%([0-9A-Fa-f]{2})")

# E25: & + = ? and # in a URL are encoded for the journey; so are the brackets around an IPv6 host, where they can be
# nothing else.
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
    """`text` as the value of a pair; `decode_value` gives it back."""
    return text.replace(" ", "%20") if _WORDS.fullmatch(text) else _encode(_UNSAFE, text)


def decode_value(value: str) -> str:
    """The text of a value. A raw `+` is a blank; escapes are UTF-8 or else ISO 8859-1 (E33); a lone `%` is itself."""
    value = value.replace("+", " ")
    if "%" not in value:
        return value
    words = value.replace("%20", " ")
    if "%" not in words:  # blanks are what is encoded most
        return words
    try:
        return _ESCAPE_IN_BYTES.sub(lambda escape: bytes((int(escape[1], 16),)), value.encode()).decode()
    except UnicodeError:
        return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), value)


def decode_octets(value: str) -> str:
    """The same of a path: an octet that is not UTF-8 stays the octet it is (E33), as Python holds one (PEP 383)."""
    value = value.replace("+", " ")
    if "%" not in value:
        return value
    try:
        octets = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value  # half a surrogate pair, which no path may hold
    return _ESCAPE_IN_BYTES.sub(lambda escape: bytes((int(escape[1], 16),)), octets).decode("utf-8", "surrogateescape")


def encode_url(url: str) -> str:
    """A URL as the value of a pair: its own `%XX` stay, its delimiters are encoded (E25)."""
    return url if _SAFE_URL.fullmatch(url) else _encode(_UNSAFE_IN_URL, url)


def decode_url(value: str) -> str:
    """The URL of a value: delimiters decoded, every other `%XX` left as it is, since it belongs to the URL (E25)."""
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
    """The query string of `pairs`, in their order. URLs, and the path of a link, have their own `%XX` already."""
    return "&".join(
        [
            f"{_name(name)}={encode_url(value) if name in _ENCODED_BEFORE else encode_value(value)}"
            for name, value in pairs
        ]
    )


# The standard has few names, and none of them changes on the way.
_name = lru_cache(maxsize=64)(encode_value)


def decode_query(query: str, *, limit: int = QUERY_LIMIT) -> tuple[tuple[str, str], ...]:
    """The pairs of a query string, decoded, in their order. A name without `=` has an empty value."""
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
    """The known ones of some pairs by name. Others are ignored (R §6.1); a known one may stand there only once."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in known:
            if name in found:
                raise RepeatedPair(name, 0, "the pair {name} is there twice", name=name)
            found[name] = value
    return found


def value_of(query: str, name: str) -> str | None:
    """The value of one pair of a query string, None if it is not there: DECODQS of R §9.2."""
    return select(decode_query(query), (name,)).get(name)


# --- values -----------------------------------------------------------------------------------------------------------


IpAddress: TypeAlias = "IPv4Address | IPv6Address"

S = TypeVar("S")
T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_MAX_WORD: Final = 256
_MAX_HOST: Final = 253
_MAX_ADDRESSES: Final = 64


def read(name: str, given: S | None, reader: Callable[[S], T]) -> T:
    """What `reader` makes of the value of the pair `name`; any failure is an `InvalidMessage` that names the pair."""
    if given is None:
        raise MissingPair(name, 0, "the pair {name} is missing", name=name)
    try:
        return reader(given)
    except InvalidInput as error:
        offset = len(name) + 1 + error.offset
        raise InvalidMessage(f"{name}={error.text}", offset, error.reason, **error.details) from error


def read_words(pairs: Mapping[str, Value], name: str, reader: Callable[[tuple[str, ...]], T]) -> T:
    """The same of a pair of an answer whose value is words in braces."""
    value = pairs.get(name)
    return read(name, (value,) if isinstance(value, str) else value, reader)


def read_word(pairs: Mapping[str, Value], name: str, reader: Callable[[str], T]) -> T:
    """The same of a pair of an answer whose value is one word, in braces or not (E12 lets a single one stand there)."""
    value = pairs.get(name)
    return read(name, read(name, value, _single) if isinstance(value, tuple) else value, reader)


def _single(words: tuple[str, ...]) -> str:
    if len(words) != 1:
        raise InvalidMessage(" ".join(words), 0, "one word is expected, not {count}", count=len(words))
    return words[0]


def member(kind: type[E]) -> Callable[[str], E]:
    """A reader of one of a few words, in any case: literals in the standard's notation have none (RFC 5234 §2.3)."""
    as_written = {str(each): each for each in kind}

    def read_member(text: str) -> E:
        found = as_written.get(text)
        return kind(one_of(text, *kind)) if found is None else found

    return read_member


def one_of(text: str, *words: str) -> str:
    """The one of `words` that `text` is but for case."""
    for word in words:
        if word == text or (text.isascii() and word.lower() == text.lower()):
            return word
    raise InvalidMessage(text, 0, "it should be {words}", words=" or ".join(words))


state = member(State)
content_type = member(ContentType)
archive_protocol = member(ArchiveProtocol)


# RFC 3986 §3.2.2 host and §3.2.3 port, as R §6.1 asks; of the names only those that DNS can know, and underscores.
_NAME = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_AND_PORT = re.compile(rf"(?:({_NAME}(?:\.{_NAME})*+)|\[([0-9A-Fa-f:.]++)\])(?::([1-9][0-9]{{0,4}}))?")


@lru_cache(maxsize=1024)
def host_and_port(text: str) -> str:
    """A Web address, `host[:port]`: kept as it is spelled."""
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
    """RFC 3986 IPv4address or IPv6address, without a scope: that means something on one machine only."""
    import ipaddress

    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise InvalidMessage(text, 0, "it is not an IP address") from None
    checked_addresses((address,))
    return address


# R Table 8.10: lista-de-IP = IP *(SP IP)
def ip_addresses(text: str) -> tuple[IpAddress, ...]:
    """A user's address and those of the proxies between, in that order."""
    words = [word for word in text.split(" ") if word]
    # One more than is allowed is enough to be refused.
    return checked_addresses(tuple(map(ip_address, words[: _MAX_ADDRESSES + 1])))


def checked_addresses(addresses: tuple[IpAddress, ...]) -> tuple[IpAddress, ...]:
    """The same addresses, if there is one, not too many, and none has a scope."""
    if not 1 <= len(addresses) <= _MAX_ADDRESSES:
        raise InvalidMessage("", 0, "one to {most} IP addresses are needed", most=_MAX_ADDRESSES)
    for address in addresses:
        if address.version == 6 and address.scope_id is not None:
            raise InvalidMessage(str(address), 0, "an address with a scope means another place on every machine")
    return addresses


def platform_version(text: str) -> str:
    """R Table 7.2: any ASCII word."""
    if not re.fullmatch(rf"[!-~]{{1,{_MAX_WORD}}}", text):
        raise InvalidMessage(text, 0, "a version is one word of at most {most} ASCII characters", most=_MAX_WORD)
    return text


# R Table 7.2 names RFC 3986's authority, whose userinfo lets commas, semicolons and colons pass: a list of recipients
# would be read out of them. This is a mailbox (RFC 5321 §4.1.2) with an unquoted name.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]++"
_MAIL_ADDRESS = re.compile(rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*+@{_NAME}(?:\.{_NAME})*+")


def mail_address(text: str) -> str:
    """The address of an administrator. One with `=?` in it would be decoded by mail programs into another."""
    if len(text) > _MAX_HOST + 1 or "=?" in text or not _MAIL_ADDRESS.fullmatch(text):
        raise InvalidMessage(text, 0, "it is not an e-mail address")
    return text


_AUTHORITY = re.compile(r"https?://([^/?#]*)", re.ASCII | re.IGNORECASE)
_NOT_IN_URI = re.compile(r"(?:[^A-Za-z0-9\-._~:/?#@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2}))+")
_LONGEST_ENCODED: Final = 1 << 16
"""Characters of a URL in which something has to be encoded."""
# What nearly every URL is: nothing in it has to be encoded. The quantifiers give nothing back: one look, however long.
_PLAIN_URL = re.compile(r"[Hh][Tt]{2}[Pp][Ss]?://([^/?#]*+)(?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]++|%[0-9A-Fa-f]{2})*+")


def url(text: str) -> str:
    """An absolute URL of HTTP or HTTPS; what RFC 3986 keeps out of one is percent-encoded, so it can be followed."""
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


# E35 says this of persistent URLs; what a resolver may not take from a person it does not ask of an Archive either.
# Octets that are not UTF-8 may stand in a path (E33), other lone surrogates may not.
_NOT_IN_PATH = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udc7f\udd00-\udfff]")


def file_path(text: str) -> str | None:
    """A path inside an item, decoded, its leading `/` there whether or not it was (E25); None if it is empty (E35)."""
    path = text if text.startswith("/") else f"/{text}"
    if path == "/":
        return None
    if _NOT_IN_PATH.search(path) or not {"", ".", ".."}.isdisjoint(path[1:].split("/")):
        raise InvalidMessage(text, 0, "a path holds no backslash, no control and no empty part, nor one called . or ..")
    return path
