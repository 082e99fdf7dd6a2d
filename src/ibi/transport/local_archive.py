"""The Archive in the same process: asked with the same bytes as any other, without a socket."""

from __future__ import annotations

from collections.abc import Callable

from ibi.errors import IbiError
from ibi.messages.label_forms import LabelForms
from ibi.messages.membership import InclusionConfirmationRequest
from ibi.messages.requests import Acknowledgment, UrlRequest
from ibi.messages.service import ServiceRequest
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.reply import Reply
from ibi.resolver.trace import Failure
from ibi.transport.archive_replies import is_confirmation, is_notice, reply_of
from ibi.transport.http_response import HttpResponse

__all__ = ["LocalArchive"]


class LocalArchive:
    """`answer` takes the query of a request and gives the status, the body and the `Cache-Control` of the answer."""

    def __init__(self, service: LabelForms, answer: Callable[[bytes], tuple[int, bytes, bytes]]) -> None:
        self.service, self._answer = service, answer

    def at_once(self, request: UrlRequest) -> Reply:
        return reply_of(self._answered(request))

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        """There is nothing to wait for."""
        return self.at_once(request)

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
        return is_notice(self._answered(acknowledgment))

    async def confirm(self, archive: ArchiveRef) -> bool:
        return is_confirmation(self._answered(InclusionConfirmationRequest()))

    async def close(self) -> None:
        """It belongs to somebody else."""

    def _answered(self, request: ServiceRequest) -> HttpResponse | Failure:
        try:
            status, body, caching = self._answer(request.to_query().encode("ascii"))
        except (IbiError, OSError):  # its disk, say: others may have the item all the same
            return Failure.UNREACHABLE
        return HttpResponse(status, body, b"text/plain", caching)
