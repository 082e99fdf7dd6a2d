"""Second claims are looked for beside the readers, whom the home's word is enough for."""

from __future__ import annotations

import asyncio

import pytest

from ibi.membership.model.registration import ClaimKind
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.claim_watch import ClaimWatch
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.reply import Failure
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.resolver_app import resolver_app
from tests.support.running_jobs import running
from tests.support.scripted_archives import archive, body
from tests.support.scripted_gateway import ScriptedGateway, at_once

ITEM = "example.org/home/2009/01.01.00.00"
HOME, LIAR, COPY = archive("home"), archive("liar"), archive("copy")


def says(who: ArchiveRef, state: str = "Original") -> bytes:
    return body(who, f"rep {ITEM}", url=f"http://{who.address}/x", state=state, contenttype="Data")


class Watched:
    def __init__(self, said: dict[ArchiveRef, bytes | Failure]) -> None:
        self.beliefs = MemoryBeliefs()
        app = resolver_app({who: at_once(what) for who, what in said.items()}, memory=Memory(self.beliefs))
        self.app, self.gateway = app, app.gateway
        service: ResolverService = app.site.resolving
        self.now = 0.0
        self.watch = ClaimWatch(
            self.gateway,
            self.gateway,
            Memory(self.beliefs),
            service,
            clock=lambda: self.now,
            wall=lambda: 1_700_000_000,
        )
        service.on_found = self.watch.note

    async def follow(self) -> int:
        """A reader follows the link; return how many Archives were asked in all."""
        before = len(self.gateway.asked)
        assert (await self.app.get(f"/{ITEM}")).status == 302
        return len(self.gateway.asked) - before

    async def look(self) -> None:
        """Look at all that waits."""
        while self.watch._waiting:
            await self.watch.look(self.watch._waiting.popleft())

    def claims(self) -> list[tuple[str, ClaimKind]]:
        return [(str(each.claim.claimant), each.claim.kind) for each in self.beliefs.disputes(10)]


async def test_a_claim_is_heard_that_no_link_would_have_asked_for() -> None:
    watched = Watched({HOME: says(HOME), LIAR: says(LIAR), COPY: says(COPY, "Copy")})
    assert await watched.follow() == 1
    assert watched.claims() == []
    await watched.look()
    assert watched.claims() == [(str(LIAR.service.labels[0]), ClaimKind.ORIGINAL)]


async def test_an_item_is_looked_at_once_a_day() -> None:
    watched = Watched({HOME: says(HOME), LIAR: b""})
    await watched.follow()
    await watched.look()
    asked = len(watched.gateway.asked)
    for _ in range(3):
        watched.now += 3_600
        await watched.follow()
        await watched.look()
    assert len(watched.gateway.asked) <= asked + 3  # the readers' own
    watched.now += 86_400
    await watched.follow()
    assert len(watched.watch._waiting) == 1


@pytest.mark.parametrize("liar", [b"", Failure.TIMED_OUT, says(LIAR, "Copy")])
async def test_where_none_contradicts_there_is_no_dispute(liar: bytes | Failure) -> None:
    watched = Watched({HOME: says(HOME), LIAR: liar})
    await watched.follow()
    await watched.look()
    assert watched.claims() == []


async def test_a_home_that_is_silent_by_then_proves_nothing() -> None:
    watched = Watched({HOME: says(HOME), LIAR: says(LIAR)})
    await watched.follow()
    gateway = ScriptedGateway({HOME: at_once(Failure.RESTING), LIAR: at_once(says(LIAR))})
    watch = ClaimWatch(gateway, gateway, Memory(watched.beliefs), watched.app.site.resolving)
    await watch.look(watched.watch._waiting[0])
    assert watched.claims() == []


async def test_the_watch_runs_until_it_is_stopped() -> None:
    watched = Watched({HOME: says(HOME), LIAR: says(LIAR)})
    async with running(*watched.watch.jobs()), asyncio.timeout(30):
        await watched.follow()
        while not watched.claims():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
