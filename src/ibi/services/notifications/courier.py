"""Carries claims between Archives while a server runs: makes, checks and delivers them.

One process of a data directory does so. All that it has to do is on the disk, with the time when it is to be done next;
what fails is tried again, ever more rarely, for a month.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar

import structlog

from ibi.errors import IbiError
from ibi.model.notification import OutgoingNotification, ReceivedClaim, SentClaim
from ibi.ports.notifications import Rows
from ibi.services.notifications.checking import ClaimChecker
from ibi.services.notifications.claim_reconciler import ClaimReconciler
from ibi.services.notifications.context import ClaimContext
from ibi.services.notifications.delivery import NotificationDelivery

LOOK: Final = 1.0
"""Seconds between two looks at what is due."""
_MOST_AT_ONCE: Final = 8
_SETTLED_FOR: Final = 86_400
"""Seconds for which notifications are kept that were settled: so long the same one sent again is recognised."""
_SWEEP: Final = 3600
_LATER: Final = 900
"""Seconds until what failed is tried again, for a reason of our own such as a full disk."""

Row = TypeVar("Row", ReceivedClaim, SentClaim, OutgoingNotification)


class Courier:
    """Runs on the event loop of a server, which it neither delays nor stops by an error."""

    def __init__(
        self,
        context: ClaimContext,
        watch: ClaimReconciler,
        checker: ClaimChecker,
        delivery: NotificationDelivery,
        version: Callable[[], Hashable],
    ) -> None:
        """`version` is another value after each change of the catalogue, and never waits."""
        self._context, self._store, self._watch, self._version = context, context.store, watch, version
        self._checker, self._delivery = checker, delivery
        self._log = structlog.get_logger("ibi.claims")
        self._task: asyncio.Task[None] | None = None
        self._woken: asyncio.Event | None = None
        self._seen: Hashable = None
        self._swept = 0

    def start(self) -> None:
        self._woken = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._keep_on(), name="claims")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def wake(self) -> None:
        """Look at once: something was received or answered. On the event loop."""
        if self._woken is not None:
            self._woken.set()

    async def _keep_on(self) -> None:
        assert self._woken is not None
        while True:
            try:
                if await asyncio.to_thread(self._store.hold):
                    await self.step()
            except IbiError as error:
                self._log.error("claims between Archives wait", reason=str(error))
            except Exception:  # noqa: BLE001 - the server goes on, and so do the claims after a while
                self._log.error("claims between Archives wait", exc_info=True)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), LOOK)
            self._woken.clear()

    async def step(self) -> None:
        """Do all that is due."""
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

    async def _each(self, rows: Rows[Row], work: Callable[[Row], Awaitable[None]], now: int) -> None:
        """Do what is due of one kind. What fails in a way that was not foreseen keeps nothing else from being done."""
        due = await asyncio.to_thread(rows.due, now, _MOST_AT_ONCE)
        outcomes = await asyncio.gather(*map(work, due), return_exceptions=True)
        for row, outcome in zip(due, outcomes, strict=True):
            if isinstance(outcome, Exception):
                self._log.error("a claim between Archives has to wait", id=row.id, exc_info=outcome)
                await asyncio.to_thread(rows.change, row.number, lambda each: replace(each, due=now + _LATER))
