"""`/api/items/<draft>/uploads`: files that are sent in several requests, by the protocol tus 1.0 (https://tus.io).

It has the extensions creation, creation-with-upload, termination, expiration and checksum. Received bytes survive a cut
connection or a crash, and the upload resumes after them. A complete upload becomes a file of the draft. In place of a
token, a signed-in person's session is accepted, with its CSRF token in a header. So the pages use the same protocol as
other clients.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from secrets import token_hex
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ibi.deposits.api.drafts import draft_url
from ibi.deposits.service.ledger import Depositor
from ibi.deposits.service.uploads import DraftUploads, PartialState, ResumedUpload, Upload
from ibi.items.model.file import checked_media_type
from ibi.people.model.account import Role
from ibi.people.rules.errors import NotAuthenticated
from ibi.standard.errors import ErrorKind, IbiError
from ibi.web.authentication import Callers
from ibi.web.body import LEAST_SPEED, PATIENCE, body_pieces
from ibi.web.errors import problem
from ibi.web.reader import CSRF_HEADER, Visitor, find_visitor
from ibi.web.record_requests import record_target
from ibi.web.request import RawHeaders, only_value, values
from ibi.web.request_errors import InvalidParameter, MethodNotAllowed, UnsupportedMediaType

VERSION: Final = "1.0.0"
EXTENSIONS: Final = "creation,creation-with-upload,termination,expiration,checksum"
ALGORITHMS: Final = ("sha1", "sha256", "sha512")
OFFSET_STREAM: Final = "application/offset+octet-stream"
_PATH_NAMES: Final = ("relativePath", "filename", "name")
"""Metadata with the path of the file; the first that is given counts. Clients differ."""
_DAY: Final = 86_400
_MOST_METADATA: Final = 8 * 1024


class WrongTusVersion(IbiError):
    """Tus-Resumable: this server speaks the version {version} of the protocol."""

    code = "tus-version"
    kind = ErrorKind.PRECONDITION_FAILED
    request_field = "Tus-Resumable"


class ChecksumMismatch(IbiError):
    """Upload-Checksum: what arrived of {path} is not what was sent, and is dropped. Send it again from byte {offset}
    on."""

    code = "checksum-mismatch"
    kind = ErrorKind.CHECKSUM_MISMATCH
    request_field = "Upload-Checksum"


Handler = Callable[[Request, Depositor], Awaitable[Response]]


class TusPages:
    """Endpoints of resumable uploads. Errors, too, have the header by which clients recognise the protocol."""

    def __init__(self, callers: Callers, *, patience: float = PATIENCE, least_speed: int = LEAST_SPEED) -> None:
        """`patience` is the number of seconds that an upload may fall behind `least_speed`, in bytes a second."""
        self._callers, self._site = callers, callers.site
        self._patience, self._least_speed = patience, least_speed

    @property
    def _uploads(self) -> DraftUploads:
        return self._callers.item_services.drafts.uploads

    async def options(self, _: Request) -> Response:
        """Return the abilities of the server. No token is needed."""
        largest = self._callers.item_services.drafts.rules.largest
        headers = {
            "tus-version": VERSION,
            "tus-extension": EXTENSIONS,
            "tus-max-size": str(largest),
            "tus-checksum-algorithm": ",".join(ALGORITHMS),
        }
        return _answer(HTTPStatus.NO_CONTENT, headers)

    async def create(self, request: Request) -> Response:
        return await self._handle(request, self._create)

    async def list(self, request: Request) -> Response:
        return await self._handle(request, self._list, is_tus=False)

    async def get(self, request: Request) -> Response:
        return await self._handle(request, self._get, is_tus=request.method == "HEAD")

    async def patch(self, request: Request) -> Response:
        return await self._handle(request, self._patch)

    async def delete(self, request: Request) -> Response:
        return await self._handle(request, self._delete)

    async def override(self, request: Request) -> Response:
        """Handle a request with its method in a header, for networks that let only POST through."""
        method = ", ".join(values(request.scope["headers"], b"x-http-method-override")).upper()
        handlers = {"PATCH": self.patch, "DELETE": self.delete, "HEAD": self.get}
        if method not in handlers:
            raise MethodNotAllowed(method="POST", allowed="DELETE, GET, HEAD, OPTIONS, PATCH")
        return await handlers[method](request)

    async def _handle(self, request: Request, handle: Handler, *, is_tus: bool = True) -> Response:
        try:
            if is_tus and ", ".join(values(request.scope["headers"], b"tus-resumable")) != VERSION:
                raise WrongTusVersion(version=VERSION)
            return await handle(request, await self._depositor(request))
        except IbiError as error:
            if not error.kind.is_told:
                raise
            answer = problem(error)
            answer.headers["tus-resumable"] = VERSION
            if isinstance(error, WrongTusVersion):
                answer.headers["tus-version"] = VERSION
            return answer

    async def _depositor(self, request: Request) -> Depositor:
        """Return the sender: by a token, or by a session and its CSRF token."""
        headers = request.scope["headers"]
        if values(headers, b"authorization"):
            return await self._callers.depositor(request)
        given = values(headers, CSRF_HEADER)
        visitor = find_visitor(request, self._site, Role.DEPOSITOR) if given else None
        if not isinstance(visitor, Visitor):
            raise NotAuthenticated()
        visitor.sessions.check_form(request.scope, {"csrf": given[0]}, visitor.signed)
        return visitor.depositor

    async def _create(self, request: Request, who: Depositor) -> Response:
        headers, draft = request.scope["headers"], record_target(request.scope, "/uploads").required_draft
        length, (path, media_type) = _number(headers, "Upload-Length"), _metadata(headers)
        has_body = ", ".join(values(headers, b"content-type")).lower() == OFFSET_STREAM
        if length == 0 or (has_body and _read_announced(headers) == length):
            return await self._create_whole(request, who, draft, path, length, media_type)
        begin = partial(self._uploads.begin_partial, who, draft, path, length, media_type)
        begun = await self._callers.run_short(begin)
        place = f"{draft_url(self._site, draft)}/uploads/{begun.id}"
        offset = await self._take(request, who, draft, begun.id, 0) if has_body else 0
        return _answer(HTTPStatus.CREATED, {"location": place, "upload-offset": str(offset), **self._expiry()})

    async def _create_whole(
        self, request: Request, who: Depositor, draft: str, path: str, length: int, media_type: str | None
    ) -> Response:
        """Create a file from the request that announces it. Nothing has to be remembered of the upload."""
        checksum = _checksum(request.scope["headers"])
        upload = await self._callers.run_short(partial(self._uploads.begin, who, draft, path, length))
        try:
            taken = await self._write(request, upload, checksum) if length else 0
            if taken != length:
                raise InvalidParameter(field="Upload-Length", reason=f"{taken} bytes came")
            _check_sum(checksum, path, 0)
            await self._callers.run_short(lambda: upload.finish(media_type))
        except BaseException:
            upload.abandon()
            raise
        place = f"{draft_url(self._site, draft)}/uploads/{token_hex(16)}"
        return _answer(HTTPStatus.CREATED, {"location": place, "upload-offset": str(length)})

    async def _list(self, request: Request, who: Depositor) -> Response:
        draft = record_target(request.scope, "/uploads").required_draft
        found = await self._callers.run_short(lambda: self._uploads.list_partials(who, draft))
        base = f"{draft_url(self._site, draft)}/uploads"
        return _answer(HTTPStatus.OK, {}, {"uploads": [_document(base, each) for each in found]})

    async def _get(self, request: Request, who: Depositor) -> Response:
        draft, upload = _target(request)
        state = await self._callers.run_long(lambda: self._uploads.find_partial(who, draft, upload))
        headers = {
            "upload-offset": str(state.offset),
            "upload-length": str(state.partial.length),
            "upload-metadata": _written_metadata(state),
            **self._expiry(),
        }
        return _answer(HTTPStatus.OK, headers, _document(f"{draft_url(self._site, draft)}/uploads", state))

    async def _patch(self, request: Request, who: Depositor) -> Response:
        headers, (draft, upload) = request.scope["headers"], _target(request)
        if ", ".join(values(headers, b"content-type")).lower() != OFFSET_STREAM:
            raise UnsupportedMediaType(field="Content-Type", wanted=OFFSET_STREAM)
        offset = await self._take(request, who, draft, upload, _number(headers, "Upload-Offset"))
        return _answer(HTTPStatus.NO_CONTENT, {"upload-offset": str(offset), **self._expiry()})

    async def _delete(self, request: Request, who: Depositor) -> Response:
        draft, upload = _target(request)
        await self._callers.run_short(lambda: self._uploads.drop_partial(who, draft, upload))
        return _answer(HTTPStatus.NO_CONTENT, {})

    async def _take(self, request: Request, who: Depositor, draft: str, upload: str, offset: int) -> int:
        """Write the received bytes from that offset on, and return the new offset.

        Bytes that arrived before a cut connection are kept. With a checksum they are dropped, because a part cannot be
        compared with it.
        """
        checksum = _checksum(request.scope["headers"])
        resumed = await self._callers.run_short(lambda: self._uploads.resume(who, draft, upload, offset))
        if resumed is None:
            return offset
        try:
            await self._write(request, resumed, checksum)
            _check_sum(checksum, resumed.path, offset)
            if resumed.is_whole:
                await self._callers.run_long(resumed.finish_partial)
            return resumed.offset
        except (ClientDisconnect, IbiError):
            if checksum is not None and resumed.offset > offset:
                await self._callers.run_short(lambda: _cut(resumed, offset))
            raise
        finally:
            resumed.pause()

    async def _write(self, request: Request, upload: Upload, checksum: tuple[Any, bytes] | None) -> int:
        size = 0
        async for piece in body_pieces(request.receive, self._patience, self._least_speed):
            if checksum is not None:
                checksum[0].update(piece)
            await self._callers.run_bulk(partial(upload.write, piece))
            size += len(piece)
        return size

    def _expiry(self) -> dict[str, str]:
        """Return the expiry header. An upload expires with its draft, and every request extends that."""
        days = self._callers.item_services.drafts.rules.days
        return {"upload-expires": formatdate(self._site.now.seconds + days * _DAY, usegmt=True)}


def _cut(resumed: ResumedUpload, offset: int) -> None:
    resumed.cut(offset)


def _answer(status: int, headers: dict[str, str], document: dict[str, Any] | None = None) -> Response:
    sent = {"tus-resumable": VERSION, "cache-control": "no-store", **headers}
    if document is None:
        return Response(None, status, sent)
    return Response(msgspec.json.encode(document), status, sent, "application/json")


def _target(request: Request) -> tuple[str, str]:
    upload = str(request.path_params["upload"])
    return record_target(request.scope, f"/uploads/{upload}").required_draft, upload


def _document(base: str, state: PartialState) -> dict[str, Any]:
    partial_upload = state.partial
    return {
        "id": partial_upload.id,
        "path": partial_upload.path,
        "length": partial_upload.length,
        "offset": state.offset,
        "links": {"self": f"{base}/{partial_upload.id}"},
    }


def _number(headers: RawHeaders, name: str) -> int:
    try:
        text = only_value(headers, name.lower().encode("ascii")) or ""
    except ValueError:
        text = ""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InvalidParameter(field=name, reason="it is a number of bytes")
    return int(text)


def _read_announced(headers: RawHeaders) -> int | None:
    text = ", ".join(values(headers, b"content-length"))
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _metadata(headers: RawHeaders) -> tuple[str, str | None]:
    """Read the path and the media type in `Upload-Metadata`: words, each with a value in Base64."""
    given = ", ".join(values(headers, b"upload-metadata"))
    if len(given) > _MOST_METADATA:
        raise InvalidParameter(field="Upload-Metadata", reason=f"it has more than {_MOST_METADATA} characters")
    found: dict[str, str] = {}
    for each in filter(None, (part.strip() for part in given.split(","))):
        name, _, value = each.partition(" ")
        try:
            found[name] = b64decode(value.strip(), validate=True).decode()
        except ValueError:
            raise InvalidParameter(field="Upload-Metadata", reason=f"{name[:40]!a} is no text in Base64") from None
    path = next((found[name] for name in _PATH_NAMES if found.get(name) not in {None, "", "null"}), None)
    if path is None:
        raise InvalidParameter(field="Upload-Metadata", reason="it says the name of the file as filename")
    try:
        return path, checked_media_type(found["filetype"]) if found.get("filetype") else None
    except IbiError:
        return path, None  # a browser's guess; the file's name tells more


def _written_metadata(state: PartialState) -> str:
    told = {"filename": state.partial.path, "filetype": state.partial.media_type}
    return ",".join(f"{name} {b64encode(text.encode()).decode('ascii')}" for name, text in told.items() if text)


def _checksum(headers: RawHeaders) -> tuple[Any, bytes] | None:
    """Return a digest for the received bytes, with its expected value; None if the sender gives none."""
    given = ", ".join(values(headers, b"upload-checksum"))
    if not given:
        return None
    algorithm, _, value = given.partition(" ")
    try:
        wanted = b64decode(value.strip(), validate=True)
    except ValueError:
        wanted = b""
    if algorithm not in ALGORITHMS or not wanted:
        raise InvalidParameter(field="Upload-Checksum", reason=f"it is one of {', '.join(ALGORITHMS)} and a digest")
    return hashlib.new(algorithm, usedforsecurity=False), wanted


def _check_sum(checksum: tuple[Any, bytes] | None, path: str, offset: int) -> None:
    if checksum is not None and checksum[0].digest() != checksum[1]:
        raise ChecksumMismatch(path=repr(path), offset=offset)
