"""The jobs that deliver notifications and check received claims."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import replace
from typing import Final, TypeVar

import structlog

from ibi.claims.model import OutgoingNotification, ReceivedClaim, SentClaim
from ibi.claims.ports import Rows
from ibi.claims.service.checking import ClaimChecker, ClaimReconciler
from ibi.claims.service.claim_context import ClaimContext
from ibi.claims.service.delivery import NotificationDelivery
from ibi.jobs.runner import Job

LOOK: Final = 1.0
"""Seconds between two looks at the work that is due."""
_MOST_AT_ONCE: Final = 8
_SETTLED_FOR: Final = 86_400
"""Seconds for which settled notifications are kept: a repeated one is recognised for as long."""
_SWEEP: Final = 3600
_LATER: Final = 900
"""Seconds until a retry after a failure of our own, such as a full disk."""

Row = TypeVar("Row", ReceivedClaim, SentClaim, OutgoingNotification)


class Courier:
    """Makes, checks and delivers claims on the event loop of a server, which it neither delays nor stops by an error.

    One process of a data directory does so. All its work is on the disk, with the time of the next attempt. A failed
    attempt is retried, ever more rarely, for a month.
    """

    def __init__(
        self,
        context: ClaimContext,
        watch: ClaimReconciler,
        checker: ClaimChecker,
        delivery: NotificationDelivery,
        version: Callable[[], Hashable],
    ) -> None:
        """`version` has another value after each change of the catalogue, and never waits."""
        self._context, self._store, self._watch, self._version = context, context.store, watch, version
        self._checker, self._delivery = checker, delivery
        self._log = structlog.get_logger("ibi.claims")
        self._job = Job("claims", self.step, LOOK, hold=self._store.hold)
        self._seen: Hashable = None
        self._swept = 0

    def jobs(self) -> tuple[Job, ...]:
        return (self._job,)

    def wake(self) -> None:
        """Look at once: something was received or answered. From any thread."""
        self._job.wake()

    async def step(self) -> None:
        """Do the work that is due."""
        version = self._version()
        if version != self._seen:
            while await asyncio.to_thread(self._watch.look):
                pass
            self._seen = version
        now = self._context.now()
        await self._each(self._store.received, self._checker.check, now)
        await self._each(self._store.sent, self._checker.read_answer, now)
        await self._each(self._store.outgoing, self._delivery.deliver, now)
        if now - self._swept > _SWEEP:
            self._swept = now
            await asyncio.to_thread(self._store.forget, now - _SETTLED_FOR)
            await asyncio.to_thread(self._context.expire)

    async def _each(self, rows: Rows[Row], work: Callable[[Row], Awaitable[None]], now: int) -> None:
        """Do the due work of one kind. An unforeseen failure does not keep other work from being done."""
        due = await asyncio.to_thread(rows.due, now, _MOST_AT_ONCE)
        outcomes = await asyncio.gather(*map(work, due), return_exceptions=True)
        for row, outcome in zip(due, outcomes, strict=True):
            if isinstance(outcome, Exception):
                self._log.error("a claim between Archives has to wait", id=row.id, exc_info=outcome)
                await asyncio.to_thread(rows.change, row.number, lambda each: replace(each, due=now + _LATER))
