"""E32: what a resolver keeps of Archives whose changes it does not follow, and what makes it forget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ibi.jobs.limits import TooManyLinks
from ibi.resolver.rules.caching import NO_FEEDS, UNFED_AGE
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import Deleted, Redirect
from ibi.resolver.service.misses import MissLimit
from ibi.resolver.service.resolution_runner import Resolved
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.messages import UrlRequest, ip_addresses
from ibi.standard.persistent_url import PersistentUrl
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.scripted_archives import archive, body
from tests.support.scripted_gateway import After, FreshFeeds, ScriptedGateway
from tests.support.virtual_time import in_virtual_time, now

REP, NEXT = "lab.br/arq/2009/07.21.14.43", "lab.br/arq/2012/01.01.00.00"
A, B = archive("a"), archive("b")
KEY = "1414141414-12345678901234"
Says = Callable[[UrlRequest], bytes]


def found(label: str = REP, url: str = "http://a.example.org/x", **more: str) -> bytes:
    pairs = {f"{name}{suffix}": value for suffix in ("", ".metadata", ".lastedition") for name, value in {
        "url": f"{url}{suffix}", "contenttype": "Data", "state": "Original"}.items()}  # fmt: skip
    return body(A, f"rep {label}", urlkey=KEY, **{**pairs, **more})


def deleted() -> bytes:
    return body(A, f"rep {REP}", state="Deleted", timestamp="2026-01-01T00:00:00Z")


class World:
    """Archive A, whose word can be changed; `feeds` tells whether its changes are followed."""

    def __init__(self, *, is_fed: bool = False, rate: float = 0.0) -> None:
        self.says: Says = lambda request: found(str(request.label))
        self.gateway = ScriptedGateway({A: After(0.01, lambda request: self.says(request), 300), B: After(0.01, b"")})
        self.service = ResolverService(
            self.gateway,
            self.gateway,
            clock=now,
            memory=Memory(MemoryBeliefs()),
            misses=MissLimit(rate, clock=now),
            feeds=FreshFeeds() if is_fed else NO_FEEDS,
        )

    async def get(self, link: str = REP, *, anew: bool = False) -> Resolved:
        clients = ip_addresses("192.0.2.1")
        begun = self.service.begin(PersistentUrl.parse(f"/{link}"), clients, base="http://urlib.net:80/", anew=anew)
        return begun if isinstance(begun, Resolved) else await begun()


def run(story: Callable[[World], Coroutine[Any, Any, None]], world: World) -> None:
    in_virtual_time(story(world))


@pytest.mark.parametrize("is_fed", [False, True])
def test_without_a_feed_nothing_is_kept_longer_than_ten_seconds(is_fed: bool) -> None:
    async def story(world: World) -> None:
        first = await world.get()
        assert first.max_age == (300 if is_fed else UNFED_AGE)
        await asyncio.sleep(UNFED_AGE + 1)
        assert (await world.get()).was_kept is is_fed

    run(story, World(is_fed=is_fed))


def test_a_word_of_deleted_forgets_all_that_is_kept_of_the_label_and_is_not_acknowledged() -> None:
    async def story(world: World) -> None:
        for link in (REP, f"{REP}:"):
            await world.get(link)
        world.says = lambda _: deleted()
        assert isinstance((await world.get(f"{REP}?ibiurl.requireditemstatus=Original")).outcome, Deleted)
        for link in (REP, f"{REP}:"):
            resolved = await world.get(link)
            assert isinstance(resolved.outcome, Deleted)

    run(story, World(is_fed=True))


def test_a_word_of_a_next_edition_forgets_the_last_edition_of_before() -> None:
    async def story(world: World) -> None:
        assert isinstance((await world.get(f"{REP}!")).outcome, Redirect)
        assert (await world.get(f"{REP}!")).was_kept
        world.says = lambda request: (
            found(str(request.label), url="http://a.example.org/new")
            if str(request.label) == NEXT
            else body(A, f"rep {REP}", **{"ibi.nextedition": f"{{rep {NEXT}}}"})
        )
        assert isinstance((await world.get(f"{REP}!:")).outcome, Redirect)
        again = await world.get(f"{REP}!")
        assert not again.was_kept
        assert isinstance(again.outcome, Redirect)
        assert again.outcome.url.startswith("http://a.example.org/new")

    run(story, World(is_fed=True))


def test_a_word_of_other_access_forgets_the_other_links_of_the_label() -> None:
    async def story(world: World) -> None:
        for link in (REP, f"{REP}:"):
            await world.get(link)
        world.says = lambda request: found(str(request.label), url="http://a.example.org/restricted")
        await world.get(REP, anew=True)
        assert not (await world.get(f"{REP}:")).was_kept

    run(story, World(is_fed=True))


def test_hearing_the_same_again_forgets_nothing() -> None:
    async def story(world: World) -> None:
        for link in (REP, f"{REP}:"):
            await world.get(link)
        await world.get(REP, anew=True)
        assert (await world.get(f"{REP}:")).was_kept

    run(story, World(is_fed=True))


def test_a_network_whose_misses_wait_gets_links_anew_in_turn() -> None:
    """The second's worth of misses that need no turn is used up; the burst is not."""

    async def story(world: World) -> None:
        await world.get()
        for number in range(30):
            await world.get(f"lab.br/arq/2010/01.01.00.{number:02}")
        world.says = lambda _: deleted()
        resolved = await world.get(anew=True)
        assert isinstance(resolved.outcome, Deleted)
        assert resolved.age is None

    run(story, World(rate=20.0, is_fed=True))


def test_asking_anew_uses_up_as_much_as_another_link_that_is_not_kept() -> None:
    async def seconds(world: World, *, anew: bool) -> float:
        began = now()
        for number in range(100):
            await world.get(REP if anew else f"lab.br/arq/2010/01.01.00.{number // 60:02}.{number % 60:02}", anew=anew)
        return now() - began

    took = [in_virtual_time(seconds(World(rate=20.0, is_fed=True), anew=anew)) for anew in (False, True)]
    assert took[1] == pytest.approx(took[0], rel=0.1)


def test_a_network_that_asks_anew_too_often_gets_what_is_kept_with_its_age() -> None:
    async def story(world: World) -> None:
        await world.get()
        await asyncio.sleep(3)
        found = await asyncio.gather(*(world.get(anew=True) for _ in range(900)))
        assert found[0].age is None
        kept = [each for each in found if each.was_kept]
        assert kept
        assert len(found) - len(kept) <= 600
        assert all(isinstance(each.outcome, Redirect) and each.age is not None for each in kept)
        assert (await world.get()).age is None

    run(story, World(rate=20.0, is_fed=True))


def test_what_is_not_kept_is_refused_to_a_network_that_asks_anew_too_often() -> None:
    async def story(world: World) -> None:
        wanted = [world.get(f"lab.br/arq/2010/01.01.{n // 60:02}.{n % 60:02}", anew=True) for n in range(900)]
        found = await asyncio.gather(*wanted, return_exceptions=True)
        assert any(isinstance(each, TooManyLinks) for each in found)

    run(story, World(rate=20.0, is_fed=True))
