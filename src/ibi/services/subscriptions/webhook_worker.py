"""Tells webhooks of each change of this Archive, in order and at least once, while a server runs.

The queue is the feed itself: each webhook has a position in it, which moves when a delivery was taken. So nothing grows
while a receiver is away, and a process that is killed repeats at most the delivery that was under way, under the same
id. A receiver that does not answer is tried again after a while that doubles; after some days it is disabled.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.instant import Instant
from ibi.model.change import ChangePage, ItemChange
from ibi.model.subscription import (
    DISABLED_AFTER,
    Delivery,
    Webhook,
    change_delivery,
    restart_delivery,
    retry_seconds,
    shown_url,
)
from ibi.ports.catalog import ChangeFeed
from ibi.ports.copies import GONE, WebhookStore
from ibi.ports.errors import StorageError
from ibi.services.promptness import end_tasks

_LOOK: Final = 0.5
"""Seconds between two looks at the feed and at the webhooks."""
_PAGE: Final = 200
_MOST_AT_ONCE: Final = 16
"""Webhooks that are told at the same time."""


class WebhookSender(Protocol):
    async def send(self, webhook: Webhook, delivery: Delivery, second: int) -> str | None:
        """Deliver it, signed at that second; None if it was taken, or why not. Never raises. `GONE` if the receiver
        wants nothing more."""


class ArchivePlace(NamedTuple):
    """What deliveries say of this Archive: its service, and its URL."""

    service: str
    public_url: str


class WebhookWorker:
    """Runs on the event loop of a server. Of several processes on one data directory one delivers."""

    def __init__(
        self,
        store: WebhookStore,
        sender: WebhookSender,
        feed: ChangeFeed,
        place: ArchivePlace,
        *,
        log: FilteringBoundLogger | None = None,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._store, self._sender, self._feed, self._place = store, sender, feed, place
        self._log = log or structlog.get_logger("ibi.webhook")
        self._now, self._sleep = now, sleep
        self._task: asyncio.Task[None] | None = None
        self._busy: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="webhooks")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        await end_tasks(task, *self._busy.values())
        await asyncio.to_thread(self._store.release)

    async def _run(self) -> None:
        while True:
            try:
                if await asyncio.to_thread(self._store.hold):
                    await self._look()
            except StorageError as error:
                self._log.error("webhooks cannot be looked at", reason=str(error))
            await self._sleep(_LOOK)

    async def _look(self) -> None:
        """Have a task for each webhook that has something to be told, a few at a time."""
        webhooks = await asyncio.to_thread(self._store.all)
        known = {each.id for each in webhooks}
        for identity, task in list(self._busy.items()):
            if identity not in known:
                task.cancel()
            if task.done() or identity not in known:
                del self._busy[identity]
        for webhook in webhooks:
            is_due = webhook.disabled is None and webhook.due <= self._now() and webhook.id not in self._busy
            if is_due and len(self._busy) < _MOST_AT_ONCE and await self._has_news(webhook):
                task = asyncio.get_running_loop().create_task(self._tell(webhook), name=f"webhook {webhook.id}")
                self._busy[webhook.id] = task

    async def _has_news(self, webhook: Webhook) -> bool:
        page = await asyncio.to_thread(self._feed.since, webhook.position, 1)
        return bool(page.changes) or page.epoch != webhook.epoch or page.end < webhook.position

    async def _tell(self, webhook: Webhook) -> None:
        """Tell one webhook all that there is, until a delivery is in vain."""
        try:
            if await self.tell(webhook):
                self._log.info("a webhook is told again", webhook=webhook.id)
        except StorageError as error:
            self._log.error("a webhook is not told", webhook=webhook.id, reason=str(error))
        except Exception:  # noqa: BLE001 - the server goes on, and so do other webhooks
            self._log.error("a webhook is not told", webhook=webhook.id, exc_info=True)
            await self._sleep(retry_seconds(webhook.attempts))

    async def tell(self, webhook: Webhook) -> bool:
        """Deliver what the feed has after its position. Whether it was failing before and is not any more."""
        was_failing = webhook.failing is not None
        while True:
            page = await asyncio.to_thread(self._feed.since, webhook.position, _PAGE)
            if page.epoch != webhook.epoch or page.end < webhook.position:
                deliveries = [(page.end, self._restart(page))]
            elif page.changes:
                wanted = (each for each in page.changes if webhook.wants(each))
                deliveries = [(each.number, self._change(page.epoch, each)) for each in wanted]
            else:
                return was_failing
            for position, delivery in deliveries:
                told = await self._deliver(webhook, delivery, page.epoch, position)
                if told is None:
                    return False
                webhook = told
            if page.changes and webhook.epoch == page.epoch and webhook.position < page.changes[-1].number:
                webhook = replace(webhook, position=page.changes[-1].number)
                await asyncio.to_thread(self._store.advance, webhook.id, webhook.epoch, webhook.position, None)

    async def _deliver(self, webhook: Webhook, delivery: Delivery, epoch: str, position: int) -> Webhook | None:
        """Send it, and note what became of it: the webhook as it is then, None if the delivery was in vain."""
        failure = await self._sender.send(webhook, delivery, int(self._now()))
        now = int(self._now())
        if failure is None:
            await asyncio.to_thread(self._store.advance, webhook.id, epoch, position, now)
            return replace(webhook, epoch=epoch, position=position, attempts=0, failing=None)
        since = now if webhook.failing is None else webhook.failing
        if failure == GONE or now - since >= DISABLED_AFTER:
            await asyncio.to_thread(self._store.disable, webhook.id, failure, now)
            self._log.error("a webhook is disabled", webhook=webhook.id, url=shown_url(webhook.url), reason=failure)
            return None
        due = now + retry_seconds(webhook.attempts)
        await asyncio.to_thread(self._store.put_off, webhook.id, due, failure, now)
        if webhook.failing is None:  # once, not at every attempt
            told = {"webhook": webhook.id, "url": shown_url(webhook.url), "reason": failure}
            self._log.warning("a webhook cannot be told", **told)
        return None

    def _change(self, epoch: str, change: ItemChange) -> Delivery:
        url = f"{self._place.public_url}/api/items/{change.label}"
        return change_delivery(self._place.service, url, epoch, change, str(Instant(change.listed)))

    def _restart(self, page: ChangePage) -> Delivery:
        url, at = f"{self._place.public_url}/api/changes", str(Instant(int(self._now())))
        return restart_delivery(self._place.service, url, page.epoch, page.end, at)
