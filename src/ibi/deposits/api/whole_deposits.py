"""Deposits of whole items as multipart/form-data, with the description and the files: one item in a request, or many.

The parts come in this order: `item`, a description as JSON, then a part `file` for each of its files, with the file's
path as the `filename`. In a batch, the next `item` follows. An item is deposited as soon as it has arrived. A small one
is held in memory until then. A larger one goes through a draft, so that no body is ever held whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import msgspec
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ibi.deposits.api.drafts import draft_document, own_key, publication_of
from ibi.deposits.service.ledger import Depositor
from ibi.deposits.service.publishing import MOST_BYTES, Published, SentFile, WholeItem, check_sent, send_to_draft
from ibi.deposits.service.reviews import Submitted
from ibi.deposits.service.uploads import Upload
from ibi.items.model.file import UNKNOWN_SHA_512, File, check_file_name, collision_key
from ibi.items.model.item import Description
from ibi.minting.service.queue import MintQueue, QueuedLabels
from ibi.people.model.account import Scope
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import IbiError
from ibi.standard.json_fields import decode_document
from ibi.web.authentication import Callers, name_of
from ibi.web.body import LEAST_SPEED, NO_STORE, PATIENCE, body_pieces, short_json, told_media_type
from ibi.web.errors import log_untold, problem
from ibi.web.forms import MultipartParser, PartEnd, PartHead, boundary_of
from ibi.web.record_requests import MOST_JSON, parse_description_here
from ibi.web.request import check_content, check_digests, expected_digests, idempotency_key
from ibi.web.request_errors import BodyTooLarge, MalformedBody, MemberMissing
from ibi.web.sites import ItemServices

MOST_ITEMS: Final = 1000
"""Largest number of items of one batch."""
MOST_BATCH: Final = 256 * 1024 * 1024
"""Largest size of one batch in bytes. A single item has the bound of any deposit."""
_TOGETHER: Final = 64
"""Largest number of items of a batch that are stored together."""
_MOST_MEMORY: Final = 32 * 1024 * 1024
"""Bytes of files that all requests together hold in memory. Beyond that, items go through drafts."""
_A_FILE: Final = 500
"""Bytes that a file takes in memory in addition to its content."""
_LOG = structlog.get_logger("ibi.archive")


@dataclass(slots=True)
class _Memory:
    """The memory that all requests hold."""

    used: int = 0


@dataclass(slots=True)
class _Coming:
    """An item on its way: in memory, or in a draft once it is too large for that."""

    number: int
    description: Description | None = None
    files: dict[str, SentFile] = field(default_factory=dict)
    """Files by collision key: names that some system confuses have the same key."""
    size: int = 0
    draft: str | None = None
    error: IbiError | None = None
    """The reason of a refusal. The rest of a refused item is read and dropped."""


Outcome = Published | Submitted | IbiError


class WholeDepositPages:
    def __init__(
        self, callers: Callers, queue: MintQueue, *, patience: float = PATIENCE, least_speed: int = LEAST_SPEED
    ) -> None:
        """`patience` is the number of seconds that a body may fall behind `least_speed`, in bytes a second."""
        self._callers, self._queue, self._site = callers, queue, callers.site
        self._patience, self._least_speed, self._memory = patience, least_speed, _Memory()

    async def deposit(self, request: Request) -> Response:
        """Deposit one item, and answer when everything is on the disk. A repetition with the same Idempotency-Key is
        the same item."""
        reading = await self._begin(request, most_items=1)
        outcomes, failure = await reading.deposit_all(self._pieces(request, None))
        if failure is not None or not outcomes:
            raise failure or MemberMissing(field="item")
        (outcome,) = outcomes
        if isinstance(outcome, IbiError):
            raise outcome
        if isinstance(outcome, Submitted):
            draft = draft_document(self._site, outcome.view)
            return short_json(draft, HTTPStatus.ACCEPTED)
        published = publication_of(self._site, outcome)
        return short_json(published, HTTPStatus.CREATED, {**NO_STORE, "location": published.links["self"]})

    async def deposit_many(self, request: Request) -> Response:
        """Deposit each item of a batch, whole or not at all, and return the outcome of each.

        If the body cannot be read to its end, the items before that point are deposited, and `problem` gives the
        reason.
        """
        reading = await self._begin(request, most_items=MOST_ITEMS)
        outcomes, failure = await reading.deposit_all(self._pieces(request, MOST_BATCH))
        if not outcomes:
            raise failure or MemberMissing(field="item")
        document: dict[str, Any] = {"results": [self._result(outcome) for outcome in outcomes]}
        if failure is not None:
            log_untold(failure, _LOG)
            document["problem"] = _problem(failure)
        return short_json(document)

    async def _begin(self, request: Request, most_items: int) -> _Reading:
        headers = request.scope["headers"]
        token, services = await self._callers.token(request, Scope.DEPOSIT), self._callers.item_services
        parser, key = MultipartParser(boundary_of(headers)), idempotency_key(headers)
        labels = QueuedLabels(self._queue, asyncio.get_running_loop(), name_of(token))
        who = self._callers.depositor_of(token, request)
        return _Reading(self._callers, services, who, labels, parser, key, most_items, self._memory)

    async def _pieces(self, request: Request, most: int | None) -> AsyncIterator[bytes]:
        size = 0
        of = "item" if most is None else "batch"
        async for piece in body_pieces(request.receive, self._patience, self._least_speed, of):
            size += len(piece)
            if most is not None and size > most:
                raise BodyTooLarge(most=most)
            yield piece

    def _result(self, outcome: Outcome) -> dict[str, Any]:
        if isinstance(outcome, IbiError):
            log_untold(outcome, _LOG)
            return {"status": outcome.kind.status, "problem": _problem(outcome)}
        if isinstance(outcome, Submitted):
            return {"status": int(HTTPStatus.ACCEPTED), "draft": draft_document(self._site, outcome.view)}
        return {"status": int(HTTPStatus.CREATED), "item": publication_of(self._site, outcome)}


def _problem(error: IbiError) -> msgspec.Raw:
    return msgspec.Raw(problem(error).body)


class _Reading:
    """The items of one body, deposited as they arrive."""

    def __init__(
        self,
        callers: Callers,
        services: ItemServices,
        who: Depositor,
        labels: QueuedLabels,
        parser: MultipartParser,
        key: str | None,
        most_items: int,
        memory: _Memory,
    ) -> None:
        self._callers, self._drafts, self._labels = callers, services.drafts, labels
        self._who, self._parser, self._key, self._most_items, self._memory = who, parser, key, most_items, memory
        self._is_batch = most_items > 1
        self._coming: _Coming | None = None
        self._begun = self._held = 0
        self._part: PartHead | None = None
        self._content = bytearray()
        self._upload: Upload | None = None
        self._whole: list[_Coming] = []
        self._outcomes: dict[int, Outcome] = {}
        self._under_way: asyncio.Task[None] | None = None

    async def deposit_all(self, pieces: AsyncIterator[bytes]) -> tuple[list[Outcome], IbiError | None]:
        """Return the outcome of each item in order, and the error that stopped the reading, or None."""
        failure: IbiError | None = None
        try:
            try:
                await self._read(pieces)
            except IbiError as error:
                failure = error
            except ClientDisconnect:
                if self._is_batch:  # a repetition with the key need not begin again
                    await self._flush()
                    await self._settle()
                raise
            if failure is None or self._is_batch:
                await self._flush()
                await self._settle()
        finally:
            await self._give_up()
        return [self._outcomes[number] for number in sorted(self._outcomes)], failure

    async def _read(self, pieces: AsyncIterator[bytes]) -> None:
        async for piece in pieces:
            for event in self._parser.feed(piece):
                if isinstance(event, PartHead):
                    await self._begin_part(event)
                elif isinstance(event, PartEnd):
                    await self._end_part()
                else:
                    await self._take(event)
        self._parser.finish()
        await self._end_item()

    async def _begin_part(self, head: PartHead) -> None:
        self._part = head
        if head.name == "item":
            if self._is_batch:
                await self._end_item()
            if self._begun >= self._most_items:
                raise MalformedBody(reason=f"it has more than {self._most_items} item{'s' * (self._most_items > 1)}")
            self._coming = _Coming(self._begun)
            self._begun += 1
        elif head.name != "file":
            raise MalformedBody(reason=f"a part is called {head.name[:40]!r}, and not item or file")
        elif self._coming is None:
            raise MalformedBody(reason="a file comes before its item")
        else:
            await self._trying(self._begin_file)

    async def _begin_file(self, item: _Coming) -> None:
        assert self._part is not None
        path = self._part.filename
        if path is None:
            raise MalformedBody(reason="a file has no filename")
        check_file_name(path)
        same = item.files.get(collision_key(path))
        check_sent(path, None if same is None else File(same.path, 0, UNKNOWN_SHA_512), len(item.files))
        expected_digests(self._part.headers), told_media_type(self._part.headers)  # refused before its bytes come
        if item.draft is None and self._is_too_much(item):  # here too: an empty file has no content
            await self._begin_draft(item)
        if item.draft is not None:
            await self._begin_upload(item)

    def _is_too_much(self, item: _Coming) -> bool:
        """Return whether the item is too large to stay in memory."""
        return item.size + len(self._content) >= MOST_BYTES or self._memory.used > _MOST_MEMORY

    async def _take(self, content: bytes) -> None:
        item = self._coming
        assert self._part is not None
        if item is None or item.error is not None:
            return
        if self._part.name == "item":
            self._content += content
            if len(self._content) > MOST_JSON:
                await self._refuse(item, BodyTooLarge(most=MOST_JSON))
        elif self._upload is not None:
            await self._trying(lambda _: self._write(content))
        else:
            self._content += content
            if self._is_too_much(item):
                await self._trying(self._move_to_draft)

    async def _end_part(self) -> None:
        assert self._part is not None
        if self._part.name == "item":
            await self._trying(self._describe)
        else:
            await self._trying(self._end_file)
        self._content = bytearray()

    async def _describe(self, item: _Coming) -> None:
        try:
            found = decode_document(bytes(self._content))
        except InvalidDocument as error:
            raise MalformedBody(reason=error.reason.format(**error.details)) from None
        if not isinstance(found, dict):
            raise MalformedBody(reason="an item is not a JSON object")
        item.description = await parse_description_here(self._callers.site, found)
        self._hold(item, len(self._content) + _A_FILE)

    async def _end_file(self, item: _Coming) -> None:
        assert self._part is not None
        assert self._part.filename is not None
        path, digests = self._part.filename, expected_digests(self._part.headers)
        media_type = told_media_type(self._part.headers)
        if self._upload is not None:
            upload, self._upload = self._upload, None
            try:
                check_digests(digests, upload.digests(), path)
                await self._callers.run_short(lambda: upload.finish(media_type))
            except BaseException:
                upload.abandon()
                raise
            item.files[collision_key(path)] = SentFile(path, b"")
            return
        sent = SentFile(path, bytes(self._content), media_type)
        # Most senders rely on the connection: a digest costs another pass over a small file.
        check_content(digests, sent.content, path)
        item.files[collision_key(path)] = sent
        self._hold(item, len(sent.content) + _A_FILE)

    def _hold(self, item: _Coming, size: int) -> None:
        item.size += size
        self._held += size
        self._memory.used += size

    def _let_go(self, item: _Coming) -> None:
        self._held -= item.size
        self._memory.used -= item.size
        item.size = 0

    async def _trying(self, work: Callable[[_Coming], Awaitable[None]]) -> None:
        """Work on the present item. Its error concerns no other item."""
        item = self._coming
        if item is None or item.error is not None:
            return
        try:
            await work(item)
        except IbiError as error:
            await self._refuse(item, error)

    async def _refuse(self, item: _Coming, error: IbiError) -> None:
        item.error = error
        self._content = bytearray()
        item.files.clear()
        self._let_go(item)
        await self._discard(item)
        if not self._is_batch:  # nothing else in the body is worth reading
            raise error

    async def _move_to_draft(self, item: _Coming) -> None:
        """Begin a draft of the item with the files so far, and continue there."""
        await self._begin_draft(item)
        await self._begin_upload(item)
        content, self._content = bytes(self._content), bytearray()
        await self._write(content)

    async def _begin_draft(self, item: _Coming) -> None:
        assert item.description is not None
        description, drafts = item.description, self._drafts
        begun = await self._callers.run_short(lambda: drafts.begin(self._who, description))
        item.draft = begun.record.id
        for sent in item.files.values():
            await self._callers.run_short(partial(send_to_draft, drafts.uploads, self._who, item.draft, sent))
        item.files = {name: SentFile(sent.path, b"") for name, sent in item.files.items()}
        self._let_go(item)

    async def _begin_upload(self, item: _Coming) -> None:
        assert self._part is not None
        assert item.draft is not None
        path, digests = self._part.filename or "", expected_digests(self._part.headers)
        begin = partial(self._drafts.uploads.begin, self._who, item.draft, path, 0, with_sha256="sha-256" in digests)
        self._upload = await self._callers.run_short(begin)

    async def _write(self, content: bytes) -> None:
        assert self._upload is not None
        await self._callers.run_bulk(partial(self._upload.write, content))

    async def _discard(self, item: _Coming) -> None:
        if self._upload is not None:
            self._upload.abandon()
            self._upload = None
        draft, item.draft = item.draft, None
        if draft is not None:
            with suppress(IbiError):  # a draft that remains expires
                await self._callers.run_short(lambda: self._drafts.discard(self._who, draft))

    async def _end_item(self) -> None:
        if self._coming is not None and self._coming.draft is None and self._drafts.must_submit(self._who):
            await self._trying(self._begin_draft)  # a submission to a librarian is a draft
        item, self._coming = self._coming, None
        if item is None:
            return
        if item.error is not None:
            self._outcomes[item.number] = item.error
        elif item.draft is not None:
            await self._publish(item)
        else:
            self._whole.append(item)
            if len(self._whole) >= _TOGETHER or self._held > MOST_BYTES:
                await self._flush()

    async def _publish(self, item: _Coming) -> None:
        assert item.draft is not None
        publish = partial(self._drafts.publish_or_submit, self._who, item.draft, self._labels, key=self._key_of(item))
        try:
            self._outcomes[item.number] = await self._callers.run_long(publish)
        except IbiError as error:
            await self._discard(item)
            self._outcomes[item.number] = error
            if not self._is_batch:
                raise

    async def _flush(self) -> None:
        """Deposit the complete items while the next ones arrive. One group is in progress at a time."""
        await self._settle()
        if self._whole:
            group, self._whole = self._whole, []
            self._under_way = asyncio.create_task(self._deposit(group))

    async def _settle(self) -> None:
        if self._under_way is not None:
            under_way, self._under_way = self._under_way, None
            await under_way

    async def _deposit(self, group: list[_Coming]) -> None:
        items = [
            WholeItem(item.description, tuple(item.files.values()), self._key_of(item))
            for item in group
            if item.description is not None
        ]
        try:
            made = await self._callers.run_short(lambda: self._drafts.whole.deposit(self._who, items, self._labels))
        finally:
            for item in group:
                self._let_go(item)
        self._outcomes |= {item.number: outcome for item, outcome in zip(group, made, strict=True)}

    def _key_of(self, item: _Coming) -> str | None:
        """Return the idempotency key of an item.

        A single item has the same key as a draft that is published with it: both ways lead to the same item.
        """
        if self._key is None:
            return None
        return own_key(self._key) if not self._is_batch else own_key(f"{item.number} of {self._key}")

    async def _give_up(self) -> None:
        """Drop all items that were not deposited. A deposit in progress releases its own memory."""
        item, self._coming = self._coming, None
        for each in self._whole:
            self._let_go(each)
        if item is not None:
            self._let_go(item)
            await self._discard(item)
        await self._settle()
