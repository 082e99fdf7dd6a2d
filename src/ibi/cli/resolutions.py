"""Resolve persistent URLs for a command, with the data directory itself or through a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Protocol

from ibi.config import Settings
from ibi.errors import IbiError
from ibi.persistent_url import PersistentUrl

if TYPE_CHECKING:
    from ibi.services.resolving.resolved import Resolved
    from ibi.services.resolving.resolver_service import ResolverService


class NotResolved(IbiError):
    """{said}"""

    code = "not-resolved"


class Resolutions(Protocol):
    def record(self, url: PersistentUrl) -> Mapping[str, object]:
        """Return where the link leads; raise `NotResolved` if it leads nowhere."""

    def trace(self, url: PersistentUrl) -> Mapping[str, object]:
        """Return how the link is resolved, also if it leads nowhere."""


@contextmanager
def opened_resolutions(settings: Settings) -> Iterator[Resolutions]:
    if settings.is_remote:
        from ibi.transport.resolver_clients import ResolverClient

        token = None if settings.token is None else settings.token.reveal()
        yield _Remote(ResolverClient(settings.server or "", token))
        return
    with asyncio.Runner() as runner:
        opened = _opened(settings)
        resolving = runner.run(opened.__aenter__())
        try:
            yield _Local(runner, resolving, f"{settings.own_url}/")
        finally:
            runner.run(opened.__aexit__(None, None, None))


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[ResolverService]:
    from ibi.composition.resolver_site import open_resolver_service

    async with open_resolver_service(settings) as resolving:
        yield resolving


class _Remote:
    def __init__(self, client: Resolutions) -> None:
        self._client = client

    def record(self, url: PersistentUrl) -> Mapping[str, object]:
        from ibi.transport.errors import ServerRefused

        try:
            return self._client.record(url)
        except ServerRefused as refusal:
            if refusal.problem is None:
                raise
            said = refusal.parameters["detail"]
        raise NotResolved(url=url.text("", keep_spelling=True), said=said)

    def trace(self, url: PersistentUrl) -> Mapping[str, object]:
        return self._client.trace(url)


class _Local:
    def __init__(self, runner: asyncio.Runner, resolving: ResolverService, base: str) -> None:
        self._runner, self._resolving, self._base = runner, resolving, base

    def record(self, url: PersistentUrl) -> Mapping[str, object]:
        from ibi.resolver.outcome import Redirect
        from ibi.web.pages.language import translations
        from ibi.web.resolver.alerts import alert_about
        from ibi.web.resolver.records import resolved_record

        resolved = self._resolved(url)
        if isinstance(resolved.outcome, Redirect) and not resolved.to_confirm:
            return resolved_record(url, resolved.outcome, resolved, self._base)
        alert = alert_about(resolved.outcome, url, translations("en"))
        raise NotResolved(url=url.text("", keep_spelling=True), said=alert.said)

    def trace(self, url: PersistentUrl) -> Mapping[str, object]:
        from ibi.web.resolver.records import trace_record

        return trace_record(url, self._resolved(url), self._base)

    def _resolved(self, url: PersistentUrl) -> Resolved:
        from ipaddress import IPv4Address

        # The client is the user of this machine.
        clients = (IPv4Address("127.0.0.1"),)
        return self._runner.run(self._resolving.resolve(url, clients, base=self._base, fresh=True))
