"""Minter, Archive and resolver behind one port, on stores in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import structlog

from ibi.items.model.item import Item
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.client.gateways import LocalArchive
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.resolution_runner import ArchiveDirectory
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.messages import UrlRequest
from ibi.standard.messages.requests import Acknowledgment
from ibi.web.errors import log_untold
from ibi.web.sites import ResolverSite
from tests.support.archive_app import BASE, IBIP, REP, SERVICE, ArchiveApp, archive_app, kept
from tests.support.asgi_client import Answer, ask
from tests.support.membership_app import MembershipApp
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.minting_app import made

KeptItem = tuple[Item, dict[str, bytes]]


class LocalOnly:
    """A gateway to the one Archive of this process."""

    def __init__(self, local: LocalArchive) -> None:
        self._local = local

    def at_once(self, archive: ArchiveRef, request: UrlRequest) -> Any:
        return self._local.at_once(request)

    async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Any:
        return await self._local.ask(archive, request, within=within)

    def acknowledge_at_once(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool | None:
        return self._local.acknowledge_at_once(acknowledgment)

    async def acknowledge(self, archive: ArchiveRef, acknowledgment: Acknowledgment) -> bool:
        return await self._local.acknowledge(archive, acknowledgment)


class OnePort:
    def __init__(
        self,
        content_url: str | None = None,
        items: Sequence[KeptItem] = (),
        archive: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """`items` and the bytes of their files; one item if there are none. `archive` are options of the Archive."""
        self.archive: ArchiveApp = archive_app(
            *(items or [kept(REP, IBIP)]), content_url=content_url, **(archive or {})
        )
        site, log = self.archive.site, structlog.get_logger("test")
        gateway = LocalOnly(LocalArchive(SERVICE, site.answers, partial(log_untold, log=log)))
        own = ArchiveRef(SERVICE, "arq.lab.br")
        self.admin = MembershipApp().admin
        self.resolver = ResolverSite(
            resolving=ResolverService(
                ArchiveDirectory(None, own),
                gateway,
                memory=Memory(MemoryBeliefs()),
                own=own,
                changes=site.answers.watch,
            ),
            acknowledgments=Acknowledgments(gateway, at_once=gateway.acknowledge_at_once),
            public_url=BASE,
            registrations=self.admin,
            is_robot=lambda agent: "bot" in agent,
        )
        self.app = made(
            clocks=self.archive.clocks, archive=site, parts=self.archive.parts, resolver=self.resolver, **options
        ).app

    async def get(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Answer:
        answer = await ask(self.app, method, path, headers or {})
        await self.resolver.acknowledgments.drain()
        return answer
