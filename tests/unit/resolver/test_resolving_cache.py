"""A cache that is handed in is the one that is used, also while it is empty; and there may be none at all."""

from __future__ import annotations

import asyncio

from ibi.resolver.rules.caching import Cache
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.lru_cache import LruCache
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.scripted_gateway import ScriptedGateway, at_once
from tests.unit.resolver.test_resolver_service import A, item, resolve


def asked(cache: Cache, times: int) -> int:
    gateway = ScriptedGateway({A: at_once(item(A), max_age=60)})

    async def run() -> None:
        service = ResolverService(gateway, gateway, memory=Memory(MemoryBeliefs()), cache=cache)
        for _ in range(times):
            await resolve(service)

    asyncio.run(run())
    return len(gateway.asked)


def test_a_cache_that_is_handed_in_is_used_although_it_is_empty() -> None:
    cache = Cache()
    assert (asked(cache, 3), len(cache)) == (1, 1)


def test_with_room_for_nothing_every_reader_asks() -> None:
    cache = Cache(0, 0)
    assert (asked(cache, 3), len(cache)) == (3, 0)


def test_what_there_is_no_room_for_is_not_kept() -> None:
    kept: LruCache[str, int] = LruCache(0)
    kept.keep("a", 1)
    assert (kept.find("a"), len(kept)) == (None, 0)
