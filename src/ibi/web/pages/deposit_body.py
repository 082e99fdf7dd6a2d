"""A form with files, taken as it comes: the files go to the draft while they arrive, the fields are small and kept.

No file is held in memory, and one that is refused does not keep the others out, nor what was typed: the rest of it is
read and dropped. The form has to prove that it is ours before its first file: `csrf` is its first field.

The session may have ended since the page was made, or another one begun. Nothing is taken of such a form, and its
fields are read all the same, so that a page can show what was typed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from starlette.requests import Request

from ibi.accounts.sign_in import check_csrf
from ibi.errors import IbiError
from ibi.services.drafts.uploads import DraftUploads, Upload
from ibi.web.http.body import (
    LEAST_SPEED,
    PATIENCE,
    Event,
    MultipartParser,
    PartEnd,
    PartHead,
    body_pieces,
    boundary_of,
    told_media_type,
)
from ibi.web.http.errors import answer_to
from ibi.web.http.request_errors import BodyTooLarge, MalformedBody
from ibi.web.pages.reader import Sessions, Visitor

MOST_TYPED: Final = 2 * 1024 * 1024
"""Bytes of all fields together."""
MOST_FIELDS: Final = 100
MOST_REFUSED: Final = 20
"""Files of which it is told why they were refused."""

Made = TypeVar("Made")


@dataclass(slots=True)
class SentForm:
    """What has come of a form."""

    fields: dict[str, str] = field(default_factory=dict)
    draft: str | None = None
    """The draft that its files went to; None while there were none and it is not begun."""
    taken: int = 0
    """Files that are in the draft now."""
    refused: list[tuple[str, IbiError]] = field(default_factory=list)
    """Names of files, and why they are not."""
    more_refused: int = 0
    """Files that were refused beyond those."""
    is_proven: bool | None = None
    """Whether the session that sent it is the one that it was made for. Not known before its first file, or its
    end."""
    has_dropped: bool = False
    """Whether it had files that were not taken because it is not proven."""


class FormReader:
    """Reads one form of a visitor, or of a browser that is not signed in any more. `begin` makes the draft, when the
    first file comes for one that is not begun."""

    def __init__(
        self,
        request: Request,
        sessions: Sessions,
        visitor: Visitor | None,
        uploads: DraftUploads,
        draft: str | None,
        begin: Callable[[], Awaitable[str]],
        threads: Executor,
        *,
        most_dropped: int,
    ) -> None:
        """`threads` hash and write what comes. Of a form that proves not to be of this session, `most_dropped` bytes
        of files are read, to get to the fields after them: as many as a session may send, or what was typed would be
        lost."""
        self._threads, self._most_dropped = threads, most_dropped
        self._request, self._sessions, self._visitor = request, sessions, visitor
        self._uploads, self._begin = uploads, begin
        self._form, self._size, self._dropped = SentForm(draft=draft), 0, 0
        self._name: str | None = None
        self._typed = bytearray()
        self._head: PartHead | None = None
        self._upload: Upload | None = None

    async def read(self) -> SentForm:
        """The whole form. `ForeignForm` if a page of another site sent it."""
        parser = MultipartParser(boundary_of(self._request.scope["headers"]))
        try:
            async for piece in body_pieces(self._request.receive, PATIENCE, LEAST_SPEED):
                for event in parser.feed(piece):
                    await self._take(event)
            parser.finish()
        finally:
            if self._upload is not None:
                self._upload.abandon()
        self._prove()
        return self._form

    def _prove(self) -> Visitor | None:
        """Find out once whether the form was made for the session that sends it; the visitor if so."""
        if self._form.is_proven is None:
            self._sessions.check_form(self._request.scope, self._form.fields, None)
            token = self._form.fields.get("csrf", "")
            self._form.is_proven = self._visitor is not None and check_csrf(self._visitor.signed.text, token)
        return self._visitor if self._form.is_proven else None

    async def _take(self, event: Event) -> None:
        if isinstance(event, PartHead):
            await self._take_head(event)
        elif isinstance(event, PartEnd):
            await self._take_end()
        elif self._name is not None:
            self._size += len(event)
            if self._size > MOST_TYPED:
                raise BodyTooLarge(most=MOST_TYPED)
            self._typed += event
        elif self._upload is not None:
            await self._or_refuse(partial(self._upload.write, event))
        elif not self._form.is_proven:
            self._dropped += len(event)
            if self._dropped > self._most_dropped:
                raise BodyTooLarge(most=self._most_dropped)

    async def _take_head(self, head: PartHead) -> None:
        if head.filename is None:
            if len(self._form.fields) >= MOST_FIELDS:
                raise MalformedBody(reason=f"it has more than {MOST_FIELDS} fields")
            self._name = head.name
            return
        visitor = self._prove()
        if not head.filename:  # a browser's way to say that no file was chosen
            return
        if visitor is None:
            self._form.has_dropped = True
            return
        self._head = head
        try:
            if self._form.draft is None:
                self._form.draft = await self._begin()
            told_media_type(head.headers)  # refused before its bytes come
        except IbiError as error:
            self._refuse(error)
            return
        begin = partial(self._uploads.begin, visitor.depositor, self._form.draft, head.filename, 0)
        self._upload = await self._or_refuse(begin)

    async def _take_end(self) -> None:
        if self._name is not None:
            try:
                self._form.fields[self._name] = self._typed.decode()
            except UnicodeDecodeError:
                raise MalformedBody(reason="a field is not UTF-8") from None
            self._name = None
            self._typed.clear()
        elif self._upload is not None and self._head is not None:
            finish = partial(self._upload.finish, told_media_type(self._head.headers))
            if await self._or_refuse(finish) is not None:
                self._form.taken += 1
            self._upload = self._head = None

    async def _or_refuse(self, work: Callable[[], Made]) -> Made | None:
        """What the work gives, in a thread; None if it refuses the file, which is noted then."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except IbiError as error:
            self._refuse(error)
            return None

    def _refuse(self, error: IbiError) -> None:
        if not answer_to(error).told:
            raise error
        upload, self._upload = self._upload, None
        if upload is not None:
            upload.abandon()
        name = "" if self._head is None else self._head.filename or ""
        if len(self._form.refused) < MOST_REFUSED:
            self._form.refused.append((name, error))
        else:
            self._form.more_refused += 1
