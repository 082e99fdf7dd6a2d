"""One port: the Archive's service before everything else; its collection and persistent URLs where no route is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.web.archive_service import ArchiveService
from ibi.web.archive_site import ArchiveSite
from ibi.web.collection import Collection
from ibi.web.persistent_urls import PersistentUrls
from ibi.web.raw_target import decoded, raw_path
from ibi.web.refusals import NotFound

__all__ = ["RESERVED", "ArchiveFront", "ServiceFirst"]

RESERVED: Final = frozenset({"api", "col", "static", "healthz", "readyz", "metrics"})
"""First segments that are no label's; `/ibi/<label>` leads to an item whatever its label begins with."""


class ServiceFirst:
    """Resolvers ask more than all others together, and for a few microseconds' work: they are not led through the
    framework."""

    def __init__(self, app: ASGIApp, service: ArchiveService) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._service.is_asked(raw_path(scope), scope["query_string"]):
            scope["endpoint"] = self._service
            await self._service(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class ArchiveFront:
    """What the router asks when it knows no better."""

    def __init__(self, site: ArchiveSite) -> None:
        self._collection = Collection(site)
        self._persistent = PersistentUrls(site)

    @property
    def patterns(self) -> Mapping[Any, str]:
        """How requests are counted."""
        return {self._collection: "/col/{path}", self._persistent: "/{ibi}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["endpoint"] = endpoint = self._endpoint(raw_path(scope))
        await endpoint(scope, receive, send)

    def _endpoint(self, path: bytes) -> Collection | PersistentUrls:
        # Decoded before it is judged: `/%61pi/` is not another place than `/api/`.
        first, _, rest = decoded(path).removeprefix("/").partition("/")
        if first == "col" and rest:
            return self._collection
        if first in RESERVED or not first:
            raise NotFound()
        return self._persistent
