"""Query strings, the parameters of every request (R §6.1): `name=value&…` and the ordered pairs they stand for.

Most values are ordinary text: encoded once on the way out, decoded once on the way in. `url` and `url.persistent` hold
URLs, which have percent signs of their own; E25 leaves those alone, so that no reader can tell an encoded delimiter of
the URL from one that was put in for the journey. `decode_url` takes every encoded delimiter for the latter: a reader
gets `metadata.cgi?choice=oai_dc` and `Relat%f3rio%20Final.pdf` back as they were, and a URL that itself held, say,
`%26` with `&` in its place. Therefore acknowledgments are matched by their key, and no reader is sent to a URL that
came out of a request.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import lru_cache
from typing import Final

from ibi.errors import InvalidMessage
from ibi.pairs import percent_encoded

QUERY_LIMIT: Final = 1 << 16
"""Characters of a query string that are read: as many as common HTTP servers let pass."""

URL_NAMES: Final = frozenset({"url", "url.persistent"})
"""The pairs whose values are URLs (R Table 8.11)."""

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
    """The query string of `pairs`, in their order."""
    return "&".join(
        [f"{_name(name)}={encode_url(value) if name in URL_NAMES else encode_value(value)}" for name, value in pairs]
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
