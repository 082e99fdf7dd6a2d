"""Archives asked wherever they are: in this process, or over HTTP."""

from __future__ import annotations

from collections.abc import Sequence

from ibi.messages.requests import Acknowledgment, UrlRequest
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.membership import CallBack
from ibi.resolver.trace import Reply
from ibi.transport.archive_http import ArchiveHttp
from ibi.transport.local_archive import LocalArchive

__all__ = ["Gateways"]


class Gateways:
    """An Archive is local if its service is, whatever its address: that one would be ours, which is never dialled."""

    def __init__(self, local: Sequence[LocalArchive], http: ArchiveHttp) -> None:
        self._local, self._http = {label: each for each in local for label in each.service.labels}, http

    def at_once(self, archive: ArchiveRef, request: UrlRequest) -> Reply | None:
        """The reply of an Archive in this process, for which there is nothing to wait; None for any other."""
        local = self._of(archive)
        return local.at_once(request) if isinstance(local, LocalArchive) else None

    def acknowledge_at_once(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool | None:
        """Whether an Archive in this process has received it; None for any other, which was not told."""
        local = self._of(archive)
        return local.acknowledge_at_once(acknowledgment) if isinstance(local, LocalArchive) else None

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
        return await self._of(archive).ask(archive, request, within=within)

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
        return await self._of(archive).acknowledge(archive, acknowledgment)

    async def confirm(self, archive: ArchiveRef) -> CallBack:
        return await self._of(archive).confirm(archive)

    async def close(self) -> None:
        await self._http.close()

    def _of(self, archive: ArchiveRef) -> LocalArchive | ArchiveHttp:
        for label in archive.service.labels:
            local = self._local.get(label)
            if local is not None:
                return local
        return self._http
