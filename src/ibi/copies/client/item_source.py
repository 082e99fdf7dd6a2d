"""Another Archive as a source of Copies, over HTTP: the records of its items, and their files.

Its answers are not trusted: they have size limits and are parsed strictly. Its name is looked up once, and only the
addresses checked then are dialled. Redirects are not followed: a token goes to one Archive, and an Archive does not
choose the next address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from ipaddress import ip_address, ip_network
from ssl import SSLContext
from threading import Lock
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

import msgspec

from ibi.copies.model import ItemObjectRecord, read_object
from ibi.copies.ports import FoundObject, NoCopyService, SourceCut, SourceGone, SourceSilent, UnsafeSource
from ibi.items.model.file import File
from ibi.net.address_guard import AddressGuard, addresses_of
from ibi.net.api_client import is_unknown_service, item_path, one_line, refusal_of
from ibi.net.blocking_http import BlockingAnswer, BlockingConnection, BrokenAnswer, Piece, Waits
from ibi.net.errors import InvalidServer, ServerRefused, ServerUnreachable, UnexpectedAnswer, with_certificate_hint
from ibi.net.server_url import ServerUrl, bearer
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.standard.networks import IpNetwork
from ibi.standard.reply import Failure

MOST_RECORD: Final = 48 << 20
"""Maximum bytes of one item's record: a hundred thousand files take about thirty million."""
MOST_RECORDS: Final = 64 << 20
_MOST_REFUSAL: Final = 64 * 1024
_WAITS: Final = Waits(connect=10.0, head=60.0, silence=30.0, slowest=4096.0)
_FIRST_WAITS: Final = replace(_WAITS, head=10.0, silence=10.0)
"""Timeouts until the first answer: the server may be no Archive, and a person waits."""
"""The head may take long, because the server reads the requested data first. Without a minimum speed for the body, a
job could hang forever."""
_GONE: Final = frozenset({404, 410})
_OK, _PARTIAL, _BUSY = 200, 206, frozenset({408, 429, 502, 503, 504})
_MOST_IDLE: Final = 8
_LOOPBACK: Final = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


_MOST_CHAIN: Final = 1 << 20
_FOR_CHAIN: Final = 20.0
"""Maximum bytes of a chain of transfers, and seconds for all of it."""


class _Line(msgspec.Struct):
    label: str
    record: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="object")
    problem: dict[str, Any] | None = None


_LINE: Final = msgspec.json.Decoder(_Line)


class HttpItemSource:
    """Implements the port `ItemSource`."""

    def __init__(
        self,
        server: ServerUrl,
        addresses: Sequence[str],
        authorization: Mapping[str, str],
        tls: SSLContext | None = None,
    ) -> None:
        self.url = str(server)
        self.is_on_loopback = all(_is_loopback(each) for each in addresses)
        self._server, self._addresses, self._tls = server, tuple(addresses), tls
        self._headers = {"User-Agent": "ibi", **authorization, "Accept-Encoding": "identity"}
        self._idle: list[BlockingConnection] = []
        self._lock = Lock()
        self._gives_several = True
        self._has_answered = False
        """True once a complete answer has come. Until then the server may be no Archive at all."""

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def read_object(self, label: Label) -> ItemObjectRecord:
        with self._open_request("GET", f"{item_path(label)}/object") as answer:
            if answer.status != _OK:
                raise self._refusal(answer, label, of_record=True)
            if answer.header("content-type").lower().startswith("text/"):  # a page, or a list of pairs
                raise NoCopyService(source=self.url, label=str(label), detail="what it answers is no record.")
            content = b"".join(bytes(piece) for piece in answer.pieces(MOST_RECORD))
        return self._read(content, label)

    def read_objects(self, labels: Sequence[Label]) -> Iterator[FoundObject]:
        if not self._gives_several or len(labels) < 2:
            return
        asked = {label.spelling: label for label in labels}
        content = msgspec.json.encode({"labels": list(asked)})
        with self._open_request("POST", "/api/items/objects", content) as answer:
            if answer.status in (404, 405):  # other software, or an earlier version
                self._gives_several = False
                return
            if answer.status != _OK:
                raise self._refusal(answer, labels[0])
            for line in _lines(answer.pieces(MOST_RECORDS), MOST_RECORD):
                found = self._read_found(line, asked)
                if found is not None:
                    yield found

    def _read_found(self, line: bytes, asked: dict[str, Label]) -> FoundObject | None:
        """Return the content of a line about a requested label; None for other or repeated labels."""
        try:
            told = _LINE.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise UnexpectedAnswer(server=self.url, reason="a line of it is no record") from None
        label = asked.pop(told.label, None)
        if label is None:
            return None
        if told.problem is not None:
            status = told.problem.get("status")
            refused = refusal_of(status if isinstance(status, int) else 0, msgspec.json.encode(told.problem), self.url)
            gone = status in _GONE and isinstance(refused, ServerRefused)
            return FoundObject(label, self._explain_gone(label, refused) if gone else refused)
        try:
            return FoundObject(label, self._read(told.record, label))
        except IbiError as error:
            return FoundObject(label, error)

    def _read(self, content: bytes | msgspec.Raw, label: Label) -> ItemObjectRecord:
        try:
            return read_object(content)
        except InvalidDocument as error:
            reason = one_line(f"what it says of {label} cannot be read: {error}").rstrip(".")
            raise UnexpectedAnswer(server=self.url, reason=reason) from None

    def read_chain(self, label: Label) -> bytes:
        """Return the statement about the item's transfers, which is small and has to come soon."""
        until = monotonic() + _FOR_CHAIN
        with self._open_request("GET", f"{item_path(label)}/provenance") as answer:
            if answer.status != _OK:
                raise self._refusal(answer, label)
            return b"".join(bytes(piece) for piece in answer.pieces(_MOST_CHAIN, until - monotonic()))

    def read_file(self, label: Label, file: File, offset: int) -> Iterator[Piece]:
        headers = {"Accept": "*/*"}
        if offset:
            headers |= {"Range": f"bytes={offset}-", "If-Range": f'"{file.sha512[:64]}"'}
        place = f"{item_path(label)}/files/{quote(file.path, safe='/')}"
        with self._open_request("GET", place, headers=headers) as answer:
            if answer.status not in (_OK, _PARTIAL):
                raise self._refusal(answer, label)
            skip = offset
            if answer.status == _PARTIAL:
                if not answer.header("content-range").startswith(f"bytes {offset}-"):
                    raise UnexpectedAnswer(server=self.url, reason=f"another part of {one_line(file.path)} came")
                skip = 0
            for piece in answer.pieces(file.size - offset + skip):
                if skip:
                    piece, skip = piece[skip:], max(0, skip - len(piece))
                if piece:
                    yield piece

    @contextmanager
    def _open_request(
        self, method: str, path: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[BlockingAnswer]:
        """Send a request and yield its answer. The connection is kept if the answer was read to its end."""
        sent = {**self._headers, **(headers or {"Accept": "application/json"})}
        sent |= {} if content is None else {"Content-Type": "application/json"}
        try:
            connection, answer = self._send(method, f"{self._server.path}{path}", sent, content)
            try:
                yield answer
                self._has_answered = True
            finally:
                self._put_back(connection)
        except BrokenAnswer as error:
            raise UnexpectedAnswer(server=self.url, reason=error.parameters["reason"]) from None
        except OSError as error:
            raise self._cut(_reason(error)) from None

    def _cut(self, reason: str) -> SourceCut:
        """Return the error for a broken connection. If the server has never answered, there is nothing to resume."""
        return (SourceCut if self._has_answered else SourceSilent)(source=self.url, reason=reason)

    def _send(
        self, method: str, target: str, headers: Mapping[str, str], content: bytes | None
    ) -> tuple[BlockingConnection, BlockingAnswer]:
        """Send a request over an idle connection, or over a new one if the server has closed it meanwhile."""
        kept = self._take_idle()
        try:
            return _ask_over(kept or self._connect(), method, target, headers, content)
        except (ConnectionError, BrokenAnswer):
            if kept is None:
                raise
        return _ask_over(self._connect(), method, target, headers, content)

    def _connect(self) -> BlockingConnection:
        waits = _WAITS if self._has_answered else _FIRST_WAITS
        return BlockingConnection(self._server, self._addresses, waits, self._tls)

    def _take_idle(self) -> BlockingConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _put_back(self, connection: BlockingConnection) -> None:
        """Keep the connection, or close it if its answer was not read to its end."""
        connection.waits = _WAITS
        with self._lock:
            if connection.is_usable and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _refusal(self, answer: BlockingAnswer, label: Label, *, of_record: bool = False) -> IbiError:
        """Return the error for a refusal. `of_record` is set for requests of an item's record: a server that does not
        know them offers no Copies."""
        content = b"".join(bytes(piece) for piece in answer.pieces(_MOST_REFUSAL))
        refused = refusal_of(answer.status, content, self.url)
        if answer.status in _BUSY:
            return self._cut(f"it answers with status {answer.status}")
        if of_record and is_unknown_service(refused):
            return NoCopyService(source=self.url, label=str(label), detail=str(refused.parameters["detail"]))
        is_told = isinstance(refused, ServerRefused) and refused.problem is not None
        return self._explain_gone(label, refused) if answer.status in _GONE and is_told else refused

    def _explain_gone(self, label: Label, refused: ServerRefused | UnexpectedAnswer) -> SourceGone:
        return SourceGone(source=self.url, label=str(label), detail=str(refused.parameters.get("detail", "")))


class HttpItemSources:
    """Implements the port `ItemSources`."""

    def __init__(
        self,
        own: frozenset[tuple[str, int]] | None = None,
        networks: Sequence[IpNetwork] = (),
        *,
        is_sandbox: bool = False,
        tls: SSLContext | None = None,
    ) -> None:
        """Without `own` every address is allowed, because an administrator names it on the machine itself.

        Otherwise `own` is the set of this server's addresses. Then public addresses are allowed, those in `networks`,
        and for a sandbox loopback addresses.
        """
        self._own, self._tls = own, tls
        self._networks = (*networks, *(_LOOPBACK if is_sandbox else ()))

    @contextmanager
    def open(self, url: str, token: str | None) -> Iterator[HttpItemSource]:
        server = ServerUrl.parse(url)
        if server.path:
            raise InvalidServer(server=url, reason="an Archive is named by its host and port alone")
        authorization = bearer(server, token)
        source = HttpItemSource(server, self._addresses(server), authorization, self._tls)
        try:
            yield source
        finally:
            source.close()

    def _addresses(self, server: ServerUrl) -> Sequence[str]:
        origin = server.origin
        if self._own is None:
            found = addresses_of(origin.host)
            if not found:
                raise ServerUnreachable(server=str(server), reason=f"the name {origin.host} was not found")
            return found
        checked = AddressGuard(self._own).check_blocking(origin.authority, origin.effective_port, self._networks)
        if isinstance(checked, Failure):
            raise UnsafeSource(source=str(server), reason=checked.value)
        return checked.addresses


def _ask_over(
    connection: BlockingConnection, method: str, target: str, headers: Mapping[str, str], content: bytes | None
) -> tuple[BlockingConnection, BlockingAnswer]:
    try:
        return connection, connection.ask(method, target, headers, content)
    except BaseException:
        connection.close()
        raise


def _lines(pieces: Iterator[Piece], longest: int) -> Iterator[bytes]:
    rest = bytearray()
    for piece in pieces:
        start = len(rest)
        rest += piece
        while (end := rest.find(b"\n", start)) >= 0:
            yield bytes(rest[:end])
            del rest[: end + 1]
            start = 0
        if len(rest) > longest:
            raise BrokenAnswer(reason="a line of it is too long")
    if rest:
        yield bytes(rest)


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _reason(error: OSError) -> str:
    return with_certificate_hint(one_line(str(error.strerror or error) or type(error).__name__), error)
