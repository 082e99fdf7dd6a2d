"""A resolver whose beliefs are slow resolves as any other: the suite of `test_resolver_service`, with every step of a
resolution made elsewhere than on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import Redirect
from ibi.resolver.service.resolver_service import ResolverService
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.scripted_gateway import After, FreshFeeds, ScriptedGateway
from tests.support.slow_storage import SlowStorage
from tests.support.virtual_time import now
from tests.unit.resolver import test_resolver_service as suite

T = TypeVar("T")


class NotPrompt(MemoryBeliefs):
    prompt = False


async def _step(call: Callable[[], T]) -> T:
    """Stands for the thread: virtual time would not wait for a real one."""
    await asyncio.sleep(0)
    return call()


def _resolving(gateway: ScriptedGateway, **options: Any) -> ResolverService:
    memory = options.pop("memory", None) or Memory(NotPrompt())
    made = ResolverService(gateway, gateway, clock=now, memory=memory, **{"feeds": FreshFeeds(), **options})
    made._step = _step  # type: ignore[assignment]
    return made


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "resolving", _resolving)
    monkeypatch.setattr(suite, "MemoryBeliefs", NotPrompt)


class TestAskingSlowly(suite.TestAsking):
    test_an_archive_in_the_same_process_is_asked_without_a_task = None  # type: ignore[assignment] # not where it waits


class TestRememberingSlowly(suite.TestRemembering):
    pass


class TestForeignUrlsSlowly(suite.TestForeignUrls):
    pass


class TestTheHomeSlowly(suite.TestTheHome):
    pass


class TestFreshOnesSlowly(suite.TestFreshOnes):
    test_one_that_asks_no_archive_elsewhere_takes_no_turn_from_others = None  # type: ignore[assignment] # it takes one


class TestLinksThatWaitSlowly(suite.TestLinksThatWait):
    test_a_turn_is_free_again_if_what_was_begun_is_not_gone_on_with = None  # type: ignore[assignment] # none is begun


class TestMissesSlowly(suite.TestMisses):
    pass


async def test_no_event_loop_asks_beliefs_that_are_slow() -> None:
    storage = SlowStorage(0.0)
    gateway = ScriptedGateway({suite.A: After(0.0, b""), suite.B: After(0.0, suite.item(suite.B), 60)})
    service = ResolverService(gateway, gateway, memory=Memory(storage.slow(MemoryBeliefs())))
    found = await suite.resolve(service)
    assert isinstance(found.outcome, Redirect)
    assert not found.was_kept
    assert (await suite.resolve(service)).was_kept
    assert storage.on_loop == []
