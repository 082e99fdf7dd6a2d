"""Calls of stores from an event loop."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from threading import Event, current_thread

import pytest

from ibi.jobs.promptness import OwnThreads, ask
from ibi.standard.errors import IbiError
from tests.support.memory.tokens import MemoryTokens
from tests.support.slow_storage import SlowStorage

NAMED: ContextVar[str] = ContextVar("named", default="")


async def test_a_prompt_store_is_asked_where_the_caller_is() -> None:
    assert await ask(MemoryTokens(), current_thread) is current_thread()


async def test_a_slow_store_is_asked_in_a_thread_with_the_context_of_the_caller() -> None:
    slow = SlowStorage(0.0)
    tokens = slow.slow(MemoryTokens())
    assert not tokens.prompt
    NAMED.set("by the caller")
    thread, found, named = await ask(tokens, lambda: (current_thread(), tokens.find("none"), NAMED.get()))
    assert thread is not current_thread()
    assert (found, named) == (None, "by the caller")
    assert slow.on_loop == []
    tokens.find("none")
    assert slow.on_loop == ["MemoryTokens.find"]


async def test_what_a_slow_store_raises_is_raised_to_the_caller() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    try:
        await ask(SlowStorage(0.0).slow(MemoryTokens()), fail)
    except ZeroDivisionError:
        return
    raise AssertionError("nothing was raised")


async def test_calls_beyond_a_bound_are_refused_until_one_has_ended_whether_or_not_it_is_awaited() -> None:
    threads, begun, let_go = OwnThreads("own", 1, 2, IbiError), Event(), Event()

    def hang() -> bool:
        begun.set()
        return let_go.wait()

    waiting = [asyncio.create_task(threads(hang)) for _ in range(2)]
    await asyncio.to_thread(begun.wait)
    waiting[0].cancel()
    with pytest.raises(IbiError):
        await threads(current_thread)
    let_go.set()
    assert await waiting[1]
    assert (await threads(current_thread)).name.startswith("own")
