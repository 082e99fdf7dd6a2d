"""Whether a query is a request to a service (R §6.1): it has a subject. Without one its URL is a persistent URL."""

from __future__ import annotations

import re

from ibi.errors import InvalidMessage
from ibi.messages.query import decode_query
from ibi.web.raw_target import as_text

__all__ = ["has_subject"]

_SUBJECT = "servicesubject"
_PLAIN = re.compile(rb"(?:\A|&)servicesubject(?:[=&]|\Z)")


def has_subject(query: bytes) -> bool:
    # As every resolver writes it: found many times as fast as by the expression.
    if b"&servicesubject=" in query or _PLAIN.search(query):
        return True
    if b"%" not in query:
        return False
    try:
        return any(name == _SUBJECT for name, _ in decode_query(as_text(query)))
    except InvalidMessage:
        return True  # too long to be read: the service says so
