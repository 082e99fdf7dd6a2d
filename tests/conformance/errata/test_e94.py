"""E94: an Archive resolves for its own readers while its resolver is away."""

from __future__ import annotations

import structlog

from ibi.membership.model.membership import FetchedRegister, OfferedKey, ResolverStanding
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.signed_register import ListedArchive, register_entries, sign_register
from ibi.reading.delivery.persistent_urls import PersistentUrls
from ibi.resolver.api.persistent_url_app import PersistentUrlApp
from ibi.resolver.api.standby import Standby
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.resolver_service import ResolverService
from ibi.resolver.service.standby import KeptRegister, ResolverPresence
from ibi.standard.signing import PublicKey, SigningKey
from ibi.web.sites import ResolverSite, StandbySite
from tests.support.archive_app import BASE, REP, RESOLVER, SERVICE, archive_app, kept
from tests.support.asgi_client import Answer, ask
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.registers import MemoryRegisterStore
from tests.support.scripted_archives import archive, body
from tests.support.scripted_gateway import ScriptedGateway, at_once

ELSEWHERE = "example.org/other/2009/01.01.00.00"
OTHER = archive("other")
OWN = ArchiveRef(SERVICE, "arq.lab.br")
KEY = SigningKey(b"r" * 32)


class Resolver:
    is_up = True
    standing = ResolverStanding.THERE

    async def fetch(self, etag: str | None) -> FetchedRegister:
        entries = register_entries([ListedArchive.of_own(OWN), ListedArchive.of_own(OTHER)])
        return FetchedRegister(is_there=True, statement=sign_register(entries, RESOLVER, 1, KEY))

    async def is_there(self, within: float) -> bool:
        return self.is_up

    async def offered_key(self, known: PublicKey | None, within: float) -> OfferedKey:
        return OfferedKey(self.standing, known)


class Served:
    """An Archive with one item, beside another that has one."""

    def __init__(self) -> None:
        found = body(OTHER, f"rep {ELSEWHERE}", url=f"http://{OTHER.address}/x", state="Original", contenttype="Data")
        self.gateway = ScriptedGateway({OWN: at_once(b""), OTHER: at_once(found)})
        self.resolver = Resolver()
        self.register = KeptRegister(self.resolver, MemoryRegisterStore(), RESOLVER, OWN)
        service = ResolverService(self.register, self.gateway, memory=Memory(MemoryBeliefs()), own=OWN)
        site = ResolverSite(resolving=service, acknowledgments=Acknowledgments(self.gateway), public_url=BASE)
        self.clock = 0.0
        self.register.presence = ResolverPresence(self.resolver, lambda: self.clock)
        standby = StandbySite(resolver=site, register=self.register)
        front = Standby(standby, PersistentUrlApp(site, structlog.get_logger()))
        self.app = PersistentUrls(archive_app(kept(REP), resolver=RESOLVER).site, front)

    async def get(self, link: str) -> Answer:
        self.clock += 1
        return await ask(self.app, "GET", f"/{link}")


async def test_links_are_left_to_the_resolver_while_it_answers() -> None:
    served = Served()
    await served.register.fetch()
    assert (await served.get(ELSEWHERE)).headers["location"] == f"{RESOLVER}/{ELSEWHERE}"


async def test_links_are_resolved_here_while_it_does_not() -> None:
    served = Served()
    await served.register.fetch()
    served.resolver.is_up = False
    assert (await served.get(ELSEWHERE)).headers["location"] == f"http://{OTHER.address}/x"


async def test_what_is_here_comes_first() -> None:
    served = Served()
    await served.register.fetch()
    served.resolver.is_up = False
    assert (await served.get(REP)).headers["location"].startswith(f"{BASE}/col/{REP}/")
    assert served.gateway.asked == []


async def test_an_archive_that_has_no_register_leaves_links_to_its_resolver_in_any_case() -> None:
    served = Served()
    served.resolver.is_up = False
    assert (await served.get(ELSEWHERE)).headers["location"] == f"{RESOLVER}/{ELSEWHERE}"


async def test_what_leads_nowhere_is_told_as_a_resolver_tells_it() -> None:
    served = Served()
    await served.register.fetch()
    served.resolver.is_up = False
    answer = await served.get("nowhere.org/x/2009/01.01.00.00")
    assert (answer.status, answer.json()["type"]) == (502, "urn:ibi:problem:no-archive-answered")
