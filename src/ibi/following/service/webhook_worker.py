"""Tells webhooks of each change of this Archive, in order and at least once, while a server runs.

The queue is the feed itself: each webhook has a position in it, which moves after a successful delivery. So nothing
grows while a receiver is away. A process that is killed repeats at most the delivery under way, under the same id. A
receiver that does not answer is retried after a while that doubles; after some days it is disabled.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.following.model.webhook import (
    DISABLED_AFTER,
    Delivery,
    Webhook,
    change_delivery,
    restart_delivery,
    retry_seconds,
    shown_url,
)
from ibi.following.ports.webhooks import GONE, WebhookStore
from ibi.items.model.change import ChangePage, ItemChange
from ibi.items.ports.catalog import ChangeFeed
from ibi.jobs.runner import Job
from ibi.standard.instant import Instant

_LOOK: Final = 0.5
"""Seconds between two looks at the feed and at the webhooks."""
_PAGE: Final = 200
_MOST_AT_ONCE: Final = 16
"""Webhooks that are told at the same time."""


class WebhookSender(Protocol):
    async def send(self, webhook: Webhook, delivery: Delivery, second: int) -> str | None:
        """Send a delivery, signed at that second. Return None if it was accepted, otherwise the reason. Never raises.
        `GONE` if the receiver wants nothing more."""


class ArchivePlace(NamedTuple):
    """This Archive in deliveries: its service, and its URL."""

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
    ) -> None:
        self._store, self._sender, self._feed, self._place = store, sender, feed, place
        self._log = log or structlog.get_logger("ibi.webhook")
        self._now = now
        self._job = Job("webhooks", self._look, _LOOK, hold=store.hold)
        self._known: set[str] = set()
        self._places = asyncio.Semaphore(_MOST_AT_ONCE)

    def jobs(self) -> tuple[Job, ...]:
        return (self._job,)

    async def stop(self) -> None:
        """Let another process deliver. Called when the jobs have ended."""
        await asyncio.to_thread(self._store.release)

    async def _look(self) -> None:
        """Run a job for each webhook, and wake those with news."""
        runner = self._job.runner
        assert runner is not None
        webhooks = await asyncio.to_thread(self._store.all)
        known = {each.id for each in webhooks}
        for identity in self._known - known:
            runner.remove(_job_name(identity))
        for webhook in webhooks:
            if webhook.id not in self._known:
                runner.add(Job(_job_name(webhook.id), partial(self._tell_if_due, webhook.id), math.inf))
            elif self._is_due(webhook) and await self._has_news(webhook):
                runner.wake(_job_name(webhook.id))
        self._known = known

    def _is_due(self, webhook: Webhook) -> bool:
        return webhook.disabled is None and webhook.due <= self._now()

    async def _has_news(self, webhook: Webhook) -> bool:
        page = await asyncio.to_thread(self._feed.since, webhook.position, 1)
        return bool(page.changes) or _is_begun_again(page, webhook)

    async def _tell_if_due(self, identity: str) -> None:
        """Tell one webhook the changes that wait, until a delivery fails."""
        async with self._places:
            webhook = next((each for each in await asyncio.to_thread(self._store.all) if each.id == identity), None)
            if webhook is not None and self._is_due(webhook) and await self.tell(webhook):
                self._log.info("a webhook is told again", webhook=identity)

    async def tell(self, webhook: Webhook) -> bool:
        """Deliver the changes after its position. Return whether it works again after failures."""
        was_failing = webhook.failing is not None
        while True:
            page = await asyncio.to_thread(self._feed.since, webhook.position, _PAGE)
            is_restart = _is_begun_again(page, webhook)
            if not page.changes and not is_restart:
                return was_failing
            for position, delivery in [(page.end, self._restart(page))] if is_restart else self._news(page, webhook):
                told = await self._deliver(webhook, delivery, page.epoch, position)
                if told is None:
                    return False
                webhook = told
            if page.changes and webhook.epoch == page.epoch and webhook.position < page.changes[-1].number:
                webhook = replace(webhook, position=page.changes[-1].number)
                await asyncio.to_thread(self._store.advance, webhook.id, webhook.epoch, webhook.position, None)

    async def _deliver(self, webhook: Webhook, delivery: Delivery, epoch: str, position: int) -> Webhook | None:
        """Send a delivery, and record the result. Return the webhook in its new state, None if the delivery failed."""
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

    def _news(self, page: ChangePage, webhook: Webhook) -> list[tuple[int, Delivery]]:
        """Return the deliveries for the changes that the webhook wants, each with its position."""
        return [(each.number, self._change(page.epoch, each)) for each in page.changes if webhook.wants(each)]

    def _change(self, epoch: str, change: ItemChange) -> Delivery:
        url = f"{self._place.public_url}/api/items/{change.label}"
        return change_delivery(self._place.service, url, epoch, change, str(Instant(change.listed)))

    def _restart(self, page: ChangePage) -> Delivery:
        url, at = f"{self._place.public_url}/api/changes", str(Instant(int(self._now())))
        return restart_delivery(self._place.service, url, page.epoch, page.end, at)


def _is_begun_again(page: ChangePage, webhook: Webhook) -> bool:
    """Return whether the feed is another one than the one in which the webhook has its position."""
    return page.epoch != webhook.epoch or page.end < webhook.position


def _job_name(identity: str) -> str:
    return f"webhook {identity}"
