"""Looks for second claims to the items that readers ask for, in the background (E93).

The home of an item has the last word, so a link asks no other Archive. A second claim to the Original would be heard
only when the home is silent: when it does most harm. So each item that a link led to is looked up at all Archives once
a day. This happens one item after the other, at a bounded rate; no reader waits for it, and it counts as no use.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol

from ibi.jobs.runner import Job
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import Outcome, Redirect
from ibi.resolver.rules.policy import ClientAddress, Policy
from ibi.resolver.rules.question import Asking
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.rules.trace import Trace
from ibi.resolver.service.resolution_runner import Gateway, Resolved
from ibi.resolver.service.resolver_service import Directory
from ibi.standard.label import Label
from ibi.standard.lru_cache import LruCache
from ibi.standard.networks import NO_READER
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.reply import Answered, Reply

_DAY: Final = 86_400.0
_PER_SECOND: Final = 10
"""Questions to Archives in a second."""
_MOST_WAITING: Final = 1_000
_MOST_KNOWN: Final = 20_000
_AT_ONCE: Final = 8


class Learner(Protocol):
    """Takes in the course of a resolution; `ResolverService` is one."""

    def learn(self, trace: Trace, outcome: Outcome) -> None: ...


class ClaimWatch:
    """Looks up items at all Archives, on the event loop of a resolver. It does not use a memory with slow beliefs."""

    def __init__(
        self,
        directory: Directory,
        gateway: Gateway,
        memory: Memory,
        learner: Learner,
        policy: Policy | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._directory, self._gateway, self._memory, self._learner = directory, gateway, memory, learner
        # There is no reader whose address could be hidden from the Archives.
        self._policy = replace(policy or Policy(), asks_all=True, client_address=ClientAddress.FULL)
        self._clock, self._wall = clock, wall
        self._looked: LruCache[Label, float] = LruCache(_MOST_KNOWN)
        self._waiting: deque[Label] = deque(maxlen=_MOST_WAITING)
        self._job = Job("second claims", self._look_at_next, math.inf)

    def note(self, resolved: Resolved) -> None:
        """Queue the item of a resolved link, if the link led somewhere and the item was not looked up within a day."""
        run = resolved.resolution
        if run is None or not isinstance(resolved.outcome, Redirect) or not self._memory.prompt:
            return
        label, now = run.labels[-1], self._clock()
        last = self._looked.find(label)
        if label.is_dated and (last is None or now >= last + _DAY):
            self._looked.keep(label, now)
            self._waiting.append(label)
            self._job.wake()

    def jobs(self) -> tuple[Job, ...]:
        return (self._job,)

    async def _look_at_next(self) -> float:
        if not self._waiting:
            return math.inf
        await self.look(self._waiting.popleft())
        # Slept through here: another followed link wakes the job, and must not hasten it.
        await asyncio.sleep(len(self._directory.archives()) / _PER_SECOND)
        return 0.0

    async def look(self, label: Label) -> None:
        """Ask all Archives for the item, and learn from their answers."""
        archives = self._directory.archives()
        if len(archives) < 2:
            return
        self._memory.include(archives, self._directory.homes(), self._wall())
        run = Resolution(
            PersistentUrl(label),
            archives,
            (NO_READER,),
            now=0.0,
            today=self._memory.today,
            routing=self._memory,
            policy=self._policy,
        )
        # Replies are passed on when all have come, with the home's word last: it ends the resolution.
        askings, deciders = run.requests(), run.trace.hops[0].deciders
        replies = await self._replies(askings)
        for asking in sorted(askings, key=lambda each: each.archive in deciders):
            _give(run, asking, replies[asking])
        if run.outcome is None:
            run.advance(self._policy.budget)
        if run.outcome is not None:
            self._learner.learn(run.trace, run.outcome)

    async def _replies(self, askings: tuple[Asking, ...]) -> dict[Asking, Reply]:
        places = asyncio.Semaphore(_AT_ONCE)

        async def ask(asking: Asking) -> tuple[Asking, Reply]:
            reply = self._gateway.at_once(asking.archive, asking.request)
            if reply is None:
                async with places:
                    reply = await self._gateway.ask(asking.archive, asking.request, within=self._policy.budget)
            return asking, reply

        return dict(await asyncio.gather(*map(ask, askings)))


def _give(run: Resolution, asking: Asking, reply: Reply) -> None:
    if isinstance(reply, Answered):
        run.answer(
            asking, reply.answer, 0.0, final=reply.final, transferred_to=reply.transferred_to, copies_at=reply.copies_at
        )
    else:
        run.failure(asking, reply, 0.0)
