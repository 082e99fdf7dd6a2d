"""Answers to refused connections, as the bytes of a whole response after which the connection ends.

Requests of such a client do not go through the application: there may be thousands, so that refusing one has to cost
next to nothing. Browsers get a page all the same, since many people may share the address that has too many
connections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ibi.errors import IbiError
from ibi.web.http.errors import problem
from ibi.web.http.headers import RawHeaders
from ibi.web.http.request_middleware import harden_headers

Refusals: TypeAlias = Callable[[IbiError, bytes], bytes]
"""Makes the answer from a reason and the first bytes that the client sent, perhaps none."""

_MOST_FIELDS: Final = 128


def plain_refusal(error: IbiError, _: bytes = b"") -> bytes:
    """The answer for programs."""
    return response_bytes(problem(error))


def response_bytes(response: Response) -> bytes:
    """The bytes of an answer after which the connection ends."""
    headers = [*harden_headers(response.raw_headers), (b"connection", b"close")]
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    return b"%b%b\r\n%b" % (STATUS_LINE[response.status_code], lines, bytes(response.body))


def fields_of(head: bytes) -> RawHeaders:
    """The headers in the first bytes of a request, as far as they can be read."""
    lines = head.partition(b"\r\n\r\n")[0].split(b"\r\n")[1 : _MOST_FIELDS + 1]
    pairs = (line.partition(b":") for line in lines)
    return [(name.lower(), value.strip(b" \t")) for name, separator, value in pairs if separator]
