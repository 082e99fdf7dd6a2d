"""Calls of stores from an event loop."""

from __future__ import annotations

from contextvars import ContextVar
from threading import current_thread

from ibi.services.promptness import ask
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
