"""The target of a request as it came, to be percent-decoded once, where it is read.

ASGI's `path` is decoded already, and wrongly where a name is not UTF-8 (E33), so that the original is lost.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes

from starlette.types import Scope

from ibi.errors import InvalidMessage
from ibi.messages.query import decode_query


def raw_path(scope: Scope) -> bytes:
    """The path, percent signs and all, without the query."""
    raw: bytes | None = scope.get("raw_path")
    return quote(scope["path"]).encode("ascii") if raw is None else raw


def raw_query(scope: Scope) -> str:
    query: bytes = scope.get("query_string", b"")
    return as_text(query)


def raw_target(scope: Scope) -> str:
    """Path and query, as `PersistentUrl.parse` wants them."""
    query = raw_query(scope)
    return as_text(raw_path(scope)) + (f"?{query}" if query else "")


def percent_decode(raw: bytes) -> str:
    """The text of percent-encoded bytes, decoded once."""
    return as_text(unquote_to_bytes(raw) if b"%" in raw else raw)


def as_text(raw: bytes) -> str:
    """Decode as UTF-8, or else as ISO 8859-1 (E33)."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


_SUBJECT = "servicesubject"
_PLAIN = re.compile(rb"(?:\A|&)servicesubject(?:[=&]|\Z)")


def has_subject(query: bytes) -> bool:
    # The spelling of every resolver, found many times as fast as by the regular expression.
    if b"&servicesubject=" in query or _PLAIN.search(query):
        return True
    if b"%" not in query:
        return False
    try:
        return any(name == _SUBJECT for name, _ in decode_query(as_text(query)))
    except InvalidMessage:
        return True  # too long to be parsed: the service refuses it
