"""All that a server needs of what its Archive follows and of its webhooks, put together once.

Short: a bundle that is started and stopped with the application.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ibi.services.subscriptions.follow_admin import FollowAdmin
from ibi.services.subscriptions.follow_worker import FollowWorker
from ibi.services.subscriptions.webhook_admin import WebhookAdmin
from ibi.services.subscriptions.webhook_worker import WebhookWorker

Listing = Callable[[], list[dict[str, Any]]]
"""Lists documents as the API gives them. Blocks."""


@dataclass(frozen=True, slots=True)
class Subscriptions:
    follows: FollowAdmin
    webhooks: WebhookAdmin
    follow_worker: FollowWorker | None
    webhook_worker: WebhookWorker

    @property
    def lists(self) -> tuple[Listing, Listing]:
        """What lists follows, and what lists webhooks."""
        return self.follows.list_follows, self.webhooks.list_webhooks

    def start(self) -> None:
        """Start the workers; called on the event loop."""
        if self.follow_worker is not None:
            self.follow_worker.start()
        self.webhook_worker.start()

    async def stop(self) -> None:
        await self.webhook_worker.stop()
        if self.follow_worker is not None:
            await self.follow_worker.stop()
