"""The resolver's front over Archives that reply as a test says, without a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.api.persistent_url_app import PersistentUrlApp
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.resolver_service import ResolverService
from ibi.web.sites import ResolverSite
from tests.support.asgi_client import Answer, ask
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.scripted_archives import archive, body
from tests.support.scripted_gateway import After, Said, Script, ScriptedGateway, at_once

REP, IBIP = "lab.br/arq/2009/07.21.14.43", "8JMKD3MGP8W/35MMLL8"
PUBLIC_URL = "http://resolver.example.org"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
A, B, C = archive("a"), archive("b"), archive("c")


@dataclass
class ResolverApp:
    app: PersistentUrlApp
    site: ResolverSite
    gateway: ScriptedGateway

    async def get(
        self,
        path: str,
        headers: Iterable[tuple[str, str]] | Mapping[str, str] = (),
        method: str = "GET",
        client: tuple[str, int] | None = ("192.0.2.77", 4711),
    ) -> Answer:
        answer = await ask(self.app, method, path, headers, client=client)
        await self.site.acknowledgments.drain()
        return answer

    async def page(self, path: str, language: str = "en") -> tuple[int, str]:
        answer = await self.get(path, {"accept": BROWSER, "accept-language": language})
        assert answer.headers["content-type"] == "text/html; charset=utf-8", answer
        return answer.status, answer.body.decode()


def item(of: ArchiveRef, state: str = "Original", host: str | None = None, **more: str) -> bytes:
    """An answer with the URL of the item itself."""
    values = {
        "url": f"http://{host or of.address}/col/{REP}/doc/a.txt",
        "contenttype": "Data",
        "state": state,
        "timestamp": "2014-01-02T17:23:57Z",
        "urlkey": "1414141414-12345678901234",
    }
    return body(of, f"rep {REP} ibip {IBIP}", **{**values, **more})


def resolver_app(archives: Mapping[ArchiveRef, Said | Script | After], **options: Any) -> ResolverApp:
    site_options = {name: options.pop(name) for name in ("proxies", "public_url", "registrations") if name in options}
    gateway = ScriptedGateway(
        {each: said if isinstance(said, After) else at_once(said) for each, said in archives.items()},
        away=options.pop("away", ()),
    )
    site = ResolverSite(
        resolving=ResolverService(gateway, gateway, **{"memory": Memory(MemoryBeliefs()), **options}),
        acknowledgments=Acknowledgments(gateway),
        **{"public_url": PUBLIC_URL, **site_options},
    )
    return ResolverApp(PersistentUrlApp(site, structlog.get_logger("test")), site, gateway)
