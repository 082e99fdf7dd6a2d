"""One port: services and persistent URLs before everything else; the collection and odd links where no route is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.web.archive_site import ArchiveSite
from ibi.web.collection import Collection
from ibi.web.http.fast_path import Answer
from ibi.web.http.raw_target import decoded, raw_path
from ibi.web.http.request_errors import NotFound
from ibi.web.persistent_urls import PersistentUrls
from ibi.web.resolver_front import PersistentUrlApp

RESERVED: Final = frozenset(
    "about account api claims col explain healthz language metrics readyz search search.atom sign-in sign-out"
    " static".split()
)
"""First segments that are no label's; `/ibi/<label>` leads to an item whatever its label begins with."""


class Service(Protocol):
    """What answers requests with a subject under a label of its own (R §6.1)."""

    def is_asked(self, path: bytes, query: bytes) -> bool: ...

    def at_once(self, scope: Scope) -> Answer | None: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class Shortcut:
    """Who answers a request that need not be routed: a service, or what resolves persistent URLs.

    A path that begins with one of `taken`, or is not plain, is left to the framework.
    """

    def __init__(
        self, services: Sequence[Service], persistent: PersistentUrlApp | None = None, taken: Iterable[str] = ()
    ) -> None:
        self._services, self._persistent = tuple(services), persistent
        self._taken = frozenset(each.encode() for each in taken)

    def endpoint(self, scope: Scope) -> Service | PersistentUrlApp | None:
        path, query = scope.get("raw_path") or raw_path(scope), scope["query_string"]
        if query:  # a request without a subject is none
            for service in self._services:
                if service.is_asked(path, query):
                    return service
        if self._persistent is None or b"%" in path:
            return None
        # Two segments at least, as every label has.
        end = path.find(b"/", 1)
        return None if end < 0 or path[1:end] in self._taken else self._persistent

    def is_for_service(self, scope: Scope) -> bool:
        path, query = raw_path(scope), scope["query_string"]
        return bool(query) and any(service.is_asked(path, query) for service in self._services)

    def may_be_persistent(self, scope: Scope) -> bool:
        """Whether nothing else can be meant: the path has two segments, and no page is below the first of them."""
        first, slash, rest = decoded(raw_path(scope)).removeprefix("/").partition("/")
        return bool(first and slash and rest) and first.encode() not in self._taken


class ServiceFirst:
    """Pure ASGI: what there is a shortcut to is not led through the framework."""

    def __init__(self, app: ASGIApp, shortcut: Shortcut) -> None:
        self._app, self._endpoint = app, shortcut.endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoint(scope) if scope["type"] == "http" else None
        if endpoint is None:
            await self._app(scope, receive, send)
        else:
            scope["endpoint"] = endpoint
            await endpoint(scope, receive, send)


class Front:
    """What the router asks when it knows no better: persistent URLs are resolved, or found if they are here."""

    def __init__(
        self, archive: ArchiveSite | None, resolver: PersistentUrlApp | None, resolver_url: str | None
    ) -> None:
        self._collection = None if archive is None else Collection(archive, resolver_url)
        self._persistent: PersistentUrlApp | PersistentUrls | None = resolver
        if resolver is None and archive is not None:
            self._persistent = PersistentUrls(archive)

    @property
    def patterns(self) -> Mapping[Any, str]:
        """How requests are counted."""
        found = {self._collection: "/col/{path}", self._persistent: "/{ibi}"}
        return {endpoint: pattern for endpoint, pattern in found.items() if endpoint is not None}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["endpoint"] = endpoint = self._endpoint(raw_path(scope))
        await endpoint(scope, receive, send)

    def _endpoint(self, path: bytes) -> Collection | PersistentUrls | PersistentUrlApp:
        # Decoded before it is judged: `/%61pi/` is not another place than `/api/`.
        first, _, rest = decoded(path).removeprefix("/").partition("/")
        if first == "col" and rest and self._collection is not None:
            return self._collection
        if first in RESERVED or not first or self._persistent is None:
            raise NotFound()
        return self._persistent


def first_segments(paths: Iterable[str]) -> frozenset[str]:
    """With what no persistent URL begins: `api` of `/api/labels`, and what is reserved anyway."""
    return RESERVED | {path.split("/")[1] for path in paths}
