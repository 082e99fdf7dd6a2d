"""`POST /api/labels`: mint labels, with a token of the scope deposit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from itertools import islice

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ibi.minting.model import BatchShare
from ibi.minting.resources import LabelResource, LabelsRequest, LabelsResource
from ibi.minting.rules.errors import InvalidCount
from ibi.minting.rules.minter import MAX_COUNT
from ibi.minting.service.queue import MintQueue
from ibi.people.model.account import Scope as TokenScope
from ibi.standard.errors import IbiError
from ibi.web.authentication import Authentication, name_of
from ibi.web.body import check_json, read_body
from ibi.web.request import RawHeaders, choose, idempotency_key, values
from ibi.web.request_errors import MalformedBody, MemberMissing, UnknownMember
from ibi.web.request_middleware import Metrics

JSON, NDJSON = "application/json", "application/x-ndjson"
CHUNK = 1000
"""Labels rendered at a time. Between two chunks, other requests get a turn."""

_SHOWN = 40
_NO_STORE = {"cache-control": "no-store"}


_ENCODER = msgspec.json.Encoder()
_BODY = msgspec.json.Decoder(LabelsRequest)
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Wanted(msgspec.Struct, frozen=True):
    count: int
    who: str
    key: str | None
    media: str


class Labels:
    """The endpoint that mints. It is an ASGI application of its own, to save the framework's work for each request."""

    def __init__(self, queue: MintQueue, authentication: Authentication, metrics: Metrics) -> None:
        self._queue, self._authentication, self._metrics = queue, authentication, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            wanted = await self._check_request(scope["headers"], receive)
            began = time.perf_counter()
            share = await self._queue.mint(wanted.count, wanted.who, wanted.key)
        except IbiError as error:
            self._metrics.count_refused(error)
            raise
        self._metrics.count_served(time.perf_counter() - began)
        # From here on the labels are on disk: even if the connection breaks, the same key gets the same labels.
        if share.count > CHUNK:
            chunks = _lines(share) if wanted.media == NDJSON else _array(share)
            await StreamingResponse(_in_turns(chunks), 201, _NO_STORE, wanted.media)(scope, receive, send)
        else:
            await _send_whole(share, wanted.media, send)

    async def _check_request(self, headers: RawHeaders, receive: Receive) -> _Wanted:
        """Check the whole request before anything is minted: first the token, then the body."""
        token = await self._authentication.require(headers, TokenScope.DEPOSIT)
        media = choose(values(headers, b"accept"), (JSON, NDJSON))
        key = idempotency_key(headers)
        body = await read_body(headers, receive)
        if body:
            check_json(headers)
        return _Wanted(_count(body) if body else 1, name_of(token), key, media)


def _count(body: bytes) -> int:
    """Read the count in a body: a JSON object with that member and no other."""
    try:
        count = _BODY.decode(body).count
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _diagnosis(body) from None
    if not 1 <= count <= MAX_COUNT:
        raise InvalidCount(count=_shorten(str(count)), most=MAX_COUNT)
    return count


def _diagnosis(body: bytes) -> IbiError:
    """Return the error that explains why a body could not be read."""
    try:
        members = _MEMBERS.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return MalformedBody(reason='it is not a JSON object such as {"count": 1}')
    unknown = next((name for name in members if name != "count"), None)
    if unknown is not None:
        return UnknownMember(field=_shorten(unknown), known="count")
    if "count" not in members:
        return MemberMissing(field="count")
    return InvalidCount(count=_shorten(bytes(members["count"]).decode("utf-8", "replace")), most=MAX_COUNT)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


async def _send_whole(share: BatchShare, media: str, send: Send) -> None:
    labels = list(_render_labels(share))
    body = _ENCODER.encode_lines(labels) if media == NDJSON else _ENCODER.encode(LabelsResource(labels))
    headers = [
        (b"content-type", media.encode("ascii")),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _render_labels(share: BatchShare) -> Iterator[LabelResource]:
    sandbox = share.batch.sandbox
    return (LabelResource(label.rep, label.ibip, str(label.instant), sandbox) for label in share.labels())


def _lines(share: BatchShare) -> Iterator[bytes]:
    labels = _render_labels(share)
    while chunk := list(islice(labels, CHUNK)):
        yield _ENCODER.encode_lines(chunk)


def _array(share: BatchShare) -> Iterator[bytes]:
    """Yield the JSON of the answer in parts."""
    labels, opening = _render_labels(share), b'{"labels":['
    while chunk := list(islice(labels, CHUNK)):
        yield opening + _ENCODER.encode(chunk)[1:-1]
        opening = b","
    yield b"]}"


async def _in_turns(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
        await asyncio.sleep(0)
