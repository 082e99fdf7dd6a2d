"""The Archive in the same process: asked with the same messages as any other, which nobody has to write and read."""

from __future__ import annotations

from typing import Protocol

from ibi.errors import IbiError
from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.messages.membership import InclusionConfirmationRequest
from ibi.messages.requests import Acknowledgment, UrlRequest
from ibi.messages.url_list import Deletion, UrlList
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.membership import CallBack
from ibi.resolver.trace import Answered, Failure, Reply
from ibi.transport.archive_replies import is_confirmation
from ibi.transport.http_response import HttpResponse

__all__ = ["LocalArchive", "Own"]


class Own(Protocol):
    """What answers for that Archive. A message read from what another had written would be no other."""

    def told(self, request: UrlRequest) -> tuple[UrlList | Deletion | None, int, bool, Label | None, tuple[Label, ...]]:
        """The members of `Answered`, in order. `IbiError` if it is refused."""

    def acknowledged(self, acknowledgment: Acknowledgment) -> bool:
        """Whether it was received."""

    def answered(self, query: bytes) -> tuple[int, bytes, bytes, object]:
        """Status, body, `Cache-Control` and further fields of the answer to any request."""


class LocalArchive:
    """Of the `service` that `own` is. Whatever it does, nothing is raised: others may have the item all the same."""

    def __init__(self, service: LabelForms, own: Own) -> None:
        self.service, self._own = service, own

    def at_once(self, request: UrlRequest) -> Reply:
        try:
            return Answered(*self._own.told(request))
        except IbiError:
            return Failure.REFUSED
        except OSError:  # its disk, say
            return Failure.UNREACHABLE

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        """There is nothing to wait for."""
        return self.at_once(request)

    def acknowledge_at_once(self, acknowledgment: Acknowledgment) -> bool:
        try:
            return self._own.acknowledged(acknowledgment)
        except (IbiError, OSError):
            return False

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
        return self.acknowledge_at_once(acknowledgment)

    async def confirm(self, archive: ArchiveRef) -> CallBack:
        try:
            status, body, caching, _ = self._own.answered(InclusionConfirmationRequest().to_query().encode("ascii"))
        except (IbiError, OSError):
            return CallBack(confirmed=False)
        return CallBack(is_confirmation(HttpResponse(status, body, b"text/plain", caching)))

    async def close(self) -> None:
        """It belongs to somebody else."""
