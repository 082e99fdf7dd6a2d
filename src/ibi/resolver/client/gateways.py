"""Gateways to Archives in this process and over HTTP, behind one interface."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.client.archive_replies import is_confirmation
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import CallBack
from ibi.net.http_connection import HttpResponse
from ibi.standard.errors import IbiError
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.membership import InclusionConfirmationRequest
from ibi.standard.messages.requests import Acknowledgment, UrlRequest
from ibi.standard.reply import Answered, Failure, Reply
from ibi.standard.signing import PublicKey


class OwnArchive(Protocol):
    """An Archive of this process that answers requests. Refusals are raised as `IbiError`."""

    prompt: bool
    """True if `answer` and `acknowledge` may be called on an event loop. If not, use the asynchronous methods."""

    def answer(self, request: UrlRequest) -> Answered: ...

    def acknowledge(self, acknowledgment: Acknowledgment) -> None: ...

    async def answer_slowly(self, request: UrlRequest) -> Answered: ...

    async def acknowledge_slowly(self, acknowledgment: Acknowledgment) -> None: ...

    def reply(self, query: str) -> tuple[bytes, int, object]:
        """Return the answer to any request: its body, its cache lifetime in seconds, and further fields."""


class LocalArchive:
    """The Archive of that `service`, asked without a network. It raises no error, because other Archives may have the
    item as well; `report` gets the refusals."""

    def __init__(self, service: LabelForms, own: OwnArchive, report: Callable[[IbiError], object]) -> None:
        self.service, self._own, self._report = service, own, report

    def at_once(self, request: UrlRequest) -> Reply | None:
        """Return the reply; None if the storage is slow, and `ask` has to be used."""
        if not self._own.prompt:
            return None
        try:
            return self._own.answer(request)
        except (IbiError, OSError) as error:
            return self._failure(error)

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        if self._own.prompt:
            return self.at_once(request) or Failure.UNREACHABLE
        try:
            return await asyncio.wait_for(self._own.answer_slowly(request), within)
        except TimeoutError:
            return Failure.TIMED_OUT
        except (IbiError, OSError) as error:
            return self._failure(error)

    def acknowledge_at_once(self, acknowledgment: Acknowledgment) -> bool | None:
        """Acknowledge at once; return None without doing so if the storage is slow."""
        if not self._own.prompt:
            return None
        try:
            self._own.acknowledge(acknowledgment)
        except (IbiError, OSError) as error:
            self._failure(error)
            return False
        return True

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
        if self._own.prompt:
            return self.acknowledge_at_once(acknowledgment) is True
        try:
            await self._own.acknowledge_slowly(acknowledgment)
        except (IbiError, OSError) as error:
            self._failure(error)
            return False
        return True

    def _failure(self, error: IbiError | OSError) -> Failure:
        if isinstance(error, IbiError):
            self._report(error)
            return Failure.REFUSED
        return Failure.UNREACHABLE  # for example, its disk fails

    async def confirm(self, archive: ArchiveRef) -> CallBack:
        try:
            body, *_ = self._own.reply(InclusionConfirmationRequest().to_query())
        except (IbiError, OSError):
            return CallBack(confirmed=False, failure=Failure.REFUSED)
        return CallBack(is_confirmation(HttpResponse(200, body, b"text/plain", b"no-store")))

    async def close(self) -> None:
        """Do nothing: the owner of the Archive closes it."""


def _ignore(_: ArchiveRef, __: Reply) -> None:
    """Keep no record of the replies."""


class Gateways:
    """Asks local Archives directly, and all others over HTTP.

    An Archive is local if its service is. Its address does not matter: it would be this machine's own, which is never
    dialled.
    """

    def __init__(self, local: Sequence[LocalArchive], http: ArchiveHttp) -> None:
        self._local, self._http = {label: each for each in local for label in each.service.labels}, http
        self.on_reply: Callable[[ArchiveRef, Reply], None] = _ignore
        """Called with every reply over HTTP, failures included."""

    def at_once(self, archive: ArchiveRef, request: UrlRequest) -> Reply | None:
        """Return the reply of a local Archive that answers without waiting; None for any other."""
        local = self._of(archive)
        return local.at_once(request) if isinstance(local, LocalArchive) else None

    def acknowledge_at_once(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool | None:
        """Return whether a local Archive has received the acknowledgment. None for any other, to which nothing was
        sent."""
        local = self._of(archive)
        return local.acknowledge_at_once(acknowledgment) if isinstance(local, LocalArchive) else None

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        gateway = self._of(archive)
        reply = await gateway.ask(archive, request, within=within)
        if gateway is self._http:
            self.on_reply(archive, reply)
        return reply

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
        return await self._of(archive).acknowledge(archive, acknowledgment)

    async def confirm(self, archive: ArchiveRef) -> CallBack:
        return await self._of(archive).confirm(archive)

    async def prove(self, archive: ArchiveRef) -> PublicKey | None:
        """Return the key that a remote Archive proves to have. None for a local one, which never needs to prove it to
        be included."""
        return await self._http.prove(archive) if self._of(archive) is self._http else None

    async def close(self) -> None:
        await self._http.close()

    def _of(self, archive: ArchiveRef) -> LocalArchive | ArchiveHttp:
        for label in archive.service.labels:
            local = self._local.get(label)
            if local is not None:
                return local
        return self._http
