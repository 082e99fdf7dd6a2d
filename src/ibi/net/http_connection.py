"""An HTTP/1.1 connection that carries one request at a time and parses answers strictly.

It has only the features that a resolver needs: no redirects, no cookies, no encodings. Anything that is not plainly one
response (RFC 9112) is an error, and ends the connection.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ssl import SSLCertVerificationError, SSLContext
from typing import Final, Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from ibi.net.address_guard import Checked
from ibi.standard.messages.holders import (
    ACCEPTS,
    COPIES,
    FINAL,
    KEY,
    KEY_CHANGES,
    REASON,
    SIGNATURE,
    TRANSFERRED_TO,
    KeyFields,
)
from ibi.standard.reply import Failure

_LONGEST: Final = 86_400
_NOT_KEPT: Final = frozenset({b"no-store", b"no-cache", b"private"})
_NO_KEYS: Final = KeyFields()
_SECONDS: Final = re.compile(rb'"?([0-9]{1,10})"?')


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response with raw header values: repeated headers joined by commas, missing ones empty."""

    status: int
    body: bytes
    content_type: bytes = b""
    cache_control: bytes = b""
    age: bytes = b""
    final: bytes = b""
    transferred_to: bytes = b""
    copies: bytes = b""
    reason: bytes = b""
    accepts: bytes = b""
    keys: KeyFields = _NO_KEYS
    fields: Mapping[bytes, bytes] = field(default_factory=dict, compare=False, repr=False)
    """The noted headers, by their names in lower case."""

    @property
    def is_html(self) -> bool:
        return self.content_type.partition(b";")[0].strip().lower() == b"text/html"

    @property
    def is_plain_text(self) -> bool:
        """True if the body is `text/plain`. An empty body needs no type."""
        kind = self.content_type.partition(b";")[0].strip().lower()
        return kind == b"text/plain" or not (kind or self.body)


@lru_cache(maxsize=256)
def freshness(cache_control: bytes, age: bytes = b"") -> int:
    """Return the seconds for which a shared cache may keep the response (RFC 9111 §4.2.1), a day at most; 0 if the
    headers do not clearly say so."""
    directives: dict[bytes, bytes] = {}
    for directive in cache_control.lower().split(b","):
        name, _, value = directive.strip().partition(b"=")
        if directives.setdefault(name, value) != value:
            return 0  # two that contradict each other
    if not _NOT_KEPT.isdisjoint(directives):
        return 0
    seconds = _SECONDS.fullmatch(directives.get(b"s-maxage", directives.get(b"max-age", b"")))
    spent = _SECONDS.fullmatch(age or b"0")
    if seconds is None or spent is None:
        return 0
    return min(max(int(seconds[1]) - int(spent[1]), 0), _LONGEST)


_MOST_HEAD: Final = 16 * 1024
_MOST_INTERIM: Final = 8
"""Maximum number of interim responses (status 1xx)."""

_BEGINNING: Final = b"HTTP/1."
_NOTED: Final = frozenset(
    {
        b"content-type",
        b"cache-control",
        b"age",
        b"content-encoding",
        b"transfer-encoding",
        b"link",
        b"location",
        b"retry-after",
        FINAL,
        TRANSFERRED_TO,
        COPIES,
        REASON,
        ACCEPTS,
        KEY,
        KEY_CHANGES,
        SIGNATURE,
    }
)
_KEYS_IN_ORDER: Final = (KEY, KEY_CHANGES, SIGNATURE)
_KEYS: Final = frozenset(_KEYS_IN_ORDER)
_IDENTITY: Final = frozenset({b"", b"identity"})


def connection_failure(error: OSError | ValueError) -> Failure:
    """Return why no connection could be opened. A `ValueError` means a name that no certificate can have."""
    match error:
        case SSLCertVerificationError() | ValueError():
            return Failure.BAD_CERTIFICATE
        case ConnectionRefusedError():
            return Failure.CONNECTION_REFUSED
        case TimeoutError():
            return Failure.TIMED_OUT
    return Failure.UNREACHABLE


class Exchange(Protocol):
    """A request that is sent over a connection."""

    request: bytes

    def answered(self, response: HttpResponse | Failure) -> None: ...

    def unheard(self) -> bool:
        """Report that a reused connection was closed when the request came; return whether it will be sent again."""


class HttpConnection(asyncio.Protocol):
    """A connection that carries one exchange after the other.

    `freed` is called when it can be used again; `lost` is called once, when it cannot. The exchange gets its answer
    after that.
    """

    def __init__(
        self, most_body: int, freed: Callable[[HttpConnection], None], lost: Callable[[HttpConnection], None]
    ) -> None:
        self._most_body, self._freed, self._lost = most_body, freed, lost
        self._transport: asyncio.Transport | None = None
        self.peer: str | None = None
        """The IP address that was dialled, for the owner."""
        self._parser: HttpResponseParser = HttpResponseParser(self)
        self._exchange: Exchange | None = None
        self._is_open = True
        self._used = False
        self._begin()

    def _begin(self) -> None:
        self._received = 0
        self._interim = 0
        self._headers: dict[bytes, bytes] = {}
        self._head_read = self._complete = self._excess = self._keep = False
        self._status = 0
        self._failure: Failure | None = None
        self._body: list[bytes] = []
        self._length = 0

    async def open(self, address: str, where: Checked, tls: SSLContext | None) -> None:
        """Connect to the address. The name is for the certificate."""
        self.peer = address
        try:
            await asyncio.get_running_loop().create_connection(
                lambda: self, address, where.port, ssl=tls, server_hostname=where.host if tls else None
            )
        except BaseException:
            self.abort()
            raise

    @property
    def is_open(self) -> bool:
        return self._is_open

    def send(self, exchange: Exchange) -> None:
        """Send the request of `exchange`; its `answered` gets the answer."""
        assert self._transport is not None
        self._exchange = exchange
        self._transport.write(exchange.request)

    def abort(self) -> None:
        """Close the connection at once. The exchange under way, if any, gets no answer."""
        self._exchange = None
        self._end()

    def _end(self) -> None:
        if self._is_open:
            self._is_open = False
            if self._transport is not None:
                self._transport.abort()
            self._lost(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none of asyncio's classes

    def data_received(self, data: bytes) -> None:
        if self._exchange is None:  # an unsolicited answer
            self._end()
            return
        if self._received < len(_BEGINNING) and not self._begins_well(data):
            self._failure = Failure.MALFORMED
        self._received += len(data)
        if self._failure is None:
            self._read(data)
        if self._failure is None and not self._complete and self._received > self._most_received():
            self._failure = Failure.TOO_LARGE
        if self._failure is not None:
            self._finish(self._failure)
        elif self._complete:
            self._finish(self._response())

    def connection_lost(self, error: Exception | None) -> None:
        exchange, used, received = self._exchange, self._used, self._received
        if exchange is None:
            self._end()
        elif error is None and self._head_read and self._ends_with_connection():
            self._finish(self._response())
        elif received:
            self._finish(Failure.MALFORMED)
        else:
            self.abort()
            if not (used and exchange.unheard()):
                exchange.answered(Failure.UNREACHABLE)

    def _begins_well(self, data: bytes) -> bool:
        expected = _BEGINNING[self._received :]
        return data.startswith(expected[: len(data)])

    def _most_received(self) -> int:
        """Return the maximum size of one answer. A chunked body may take eight times its size, because the smallest
        chunks are that wasteful."""
        return _MOST_HEAD + 8 * self._most_body if self._head_read else _MOST_HEAD

    def _read(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            if self._complete:  # the answer is complete, and something follows it
                self._excess = True
            else:
                self._failure = self._failure or Failure.MALFORMED

    def _finish(self, result: HttpResponse | Failure) -> None:
        exchange, keep = self._exchange, self._keep and not self._excess and self._failure is None
        self._exchange = None
        self._used = True
        self._begin()
        if keep:
            self._freed(self)
        else:
            self._end()
        if exchange is not None:
            exchange.answered(result)

    def _response(self) -> HttpResponse | Failure:
        headers = self._headers
        if headers.get(b"content-encoding", b"").lower() not in _IDENTITY:
            return Failure.MALFORMED
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            return Failure.MALFORMED
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        return HttpResponse(
            self._status,
            body,
            headers.get(b"content-type", b""),
            headers.get(b"cache-control", b""),
            headers.get(b"age", b""),
            headers.get(FINAL, b""),
            headers.get(TRANSFERRED_TO, b""),
            headers.get(COPIES, b""),
            headers.get(REASON, b""),
            headers.get(ACCEPTS, b""),
            _NO_KEYS if _KEYS.isdisjoint(headers) else KeyFields(*(headers.get(name, b"") for name in _KEYS_IN_ORDER)),
            headers,
        )

    def _ends_with_connection(self) -> bool:
        """Return whether the body ends with the connection (RFC 9112 §6.3): it has neither a length nor chunks."""
        return not self._complete and b"content-length" not in self._headers and self._is_unchunked()

    def _is_unchunked(self) -> bool:
        return b"transfer-encoding" not in self._headers

    def on_message_begin(self) -> None:
        self._excess = self._complete

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_read:  # a trailer, or another response: not part of this head
            return
        name = name.lower()
        if name in _NOTED:
            before = self._headers.get(name)
            self._headers[name] = value if before is None else b"%b, %b" % (before, value)
        elif name == b"content-length":
            self._headers[name] = value
            if len(value) > 15 or (value.isdigit() and int(value) > self._most_body):
                self._failure = Failure.TOO_LARGE

    def on_headers_complete(self) -> None:
        if self._complete:
            return
        self._status = self._parser.get_status_code()
        if 100 <= self._status < 200:
            self._interim += 1
            if self._interim > _MOST_INTERIM or self._status == 101:
                self._failure = Failure.MALFORMED
        else:
            self._head_read = True

    def on_body(self, body: bytes) -> None:
        if self._complete:
            return
        self._length += len(body)
        if self._length > self._most_body:
            self._failure = Failure.TOO_LARGE
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if self._head_read and not self._complete:
            self._complete = True
            self._keep = self._parser.should_keep_alive()
        elif not self._complete:
            self._headers = {}  # those of an interim response
