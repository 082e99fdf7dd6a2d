"""`/api/items/<draft>/files/<path>`: upload and remove the files of a draft.

A body of any size passes through in pieces, which threads hash and write; it is never whole in memory. It becomes a
file of the draft once it has arrived completely, is on the disk, and matches the sender's digest. Until then there is
no file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive

from ibi.deposits.api.drafts import file_validators, sent_file
from ibi.deposits.service.uploads import FileCheck, Upload
from ibi.items.model.file import File
from ibi.standard.errors import ErrorKind, IbiError
from ibi.web.authentication import Callers
from ibi.web.body import LEAST_SPEED, PATIENCE, body_pieces, told_media_type
from ibi.web.record_requests import RecordTarget, record_target
from ibi.web.request import RawHeaders, check_digests, expected_digests, only_value, repr_digest, values
from ibi.web.request_errors import (
    InvalidParameter,
    MalformedBody,
    NoSuchFile,
    PreconditionFailed,
    UnsupportedMediaType,
)
from ibi.web.request_middleware import REQUEST

_NO_STORE: Final = {"cache-control": "no-store"}
_WORTH_A_LINE: Final = frozenset({ErrorKind.TOO_SLOW, ErrorKind.STORAGE_FULL})
_LOG = structlog.get_logger("ibi.archive")


class UploadPages:
    def __init__(
        self,
        callers: Callers,
        *,
        patience: float = PATIENCE,
        least_speed: int = LEAST_SPEED,
        refused: Callable[[str], object] = str,
    ) -> None:
        """`patience` is the number of seconds that an upload may fall behind `least_speed`, in bytes a second.

        `refused` counts refused uploads by the code of the error.
        """
        self._callers, self._site, self._refused = callers, callers.site, refused
        self._patience, self._least_speed = patience, least_speed

    async def put(self, request: Request) -> Response:
        try:
            return await self._put(request)
        except IbiError as error:
            self._refused(error.code)
            if error.kind in _WORTH_A_LINE:
                _LOG.warning("an upload was refused", request=request.scope.get(REQUEST), code=error.code)
            raise

    async def _put(self, request: Request) -> Response:
        """Store a file. All possible checks come before the first byte: `Expect: 100-continue` then spares the client
        the body."""
        who, services = await self._callers.depositor(request), self._callers.item_services
        headers = request.scope["headers"]
        draft, path = _file(record_target(request.scope, "", names_file=True))
        _check_whole(headers)
        media_type, digests, announced = told_media_type(headers), expected_digests(headers), _announced_length(headers)
        check = _conditions(headers)
        begin = partial(
            services.drafts.uploads.begin, who, draft, path, announced, check, with_sha256="sha-256" in digests
        )
        upload = await self._callers.run_short(begin)
        try:
            await self._take(request.receive, upload)
            check_digests(digests, upload.digests(), path)
            file, is_new = await self._callers.run_short(lambda: upload.finish(media_type, check))
        except BaseException:
            upload.abandon()
            raise
        return self._answer(draft, file, HTTPStatus.CREATED if is_new else HTTPStatus.OK)

    async def delete(self, request: Request) -> Response:
        who, services = await self._callers.depositor(request), self._callers.item_services
        draft, path = _file(record_target(request.scope, "", names_file=True))
        check = _conditions(request.scope["headers"])
        if not await self._callers.run_short(lambda: services.drafts.uploads.remove(who, draft, path, check)):
            raise NoSuchFile(label=draft, path=repr(path[:200]))
        return Response(status_code=HTTPStatus.NO_CONTENT, headers=_NO_STORE)

    async def _take(self, receive: Receive, upload: Upload) -> None:
        async for piece in body_pieces(receive, self._patience, self._least_speed):
            await self._callers.run_bulk(partial(upload.write, piece))

    def _answer(self, draft: str, file: File, status: HTTPStatus) -> Response:
        document = sent_file(self._site, draft, file)
        headers = {
            **_NO_STORE,
            "etag": file_validators(file).etag,
            "repr-digest": repr_digest(file.sha512),
            "location": document["links"]["self"],
        }
        return Response(msgspec.json.encode(document), status, headers, "application/json")


def _file(target: RecordTarget) -> tuple[str, str]:
    assert target.file is not None  # parsed with `names_file`
    return target.required_draft, target.file


def _check_whole(headers: RawHeaders) -> None:
    """Refuse partial and encoded bodies.

    A part would be stored as the whole (RFC 9110 §14.5), and an encoding as the file.
    """
    if values(headers, b"content-range"):
        raise InvalidParameter(field="Content-Range", reason="a file is sent whole")
    if any(coding.strip().lower() not in {"", "identity"} for coding in values(headers, b"content-encoding")):
        raise UnsupportedMediaType(field="Content-Encoding", wanted="sent as it is, without a coding")
    # The server has joined chunks before this point; no other transfer coding is decoded.
    codings = ",".join(values(headers, b"transfer-encoding")).split(",")
    if any(coding.strip().lower() not in {"", "chunked", "identity"} for coding in codings):
        raise UnsupportedMediaType(field="Transfer-Encoding", wanted="sent as it is, or in chunks")


def _announced_length(headers: RawHeaders) -> int:
    try:
        length = (only_value(headers, b"content-length") or "0").lstrip("0") or "0"
    except ValueError:
        raise MalformedBody(reason="two lengths are announced for it") from None
    # Longer numbers exceed the size of any disk and are not worth converting.
    return int(length[:18]) if length.isascii() and length.isdigit() else 0


def _conditions(headers: RawHeaders) -> FileCheck:
    """Return a check of If-Match against the existing file, and of `If-None-Match: *` against its absence."""

    def check(file: File | None) -> None:
        if file is None:
            if values(headers, b"if-match"):
                raise PreconditionFailed(field="If-Match")
            return
        validators = file_validators(file)
        validators.check(headers)
        if values(headers, b"if-none-match") and validators.is_known(headers):
            raise PreconditionFailed(field="If-None-Match")

    return check
