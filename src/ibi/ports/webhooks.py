"""What is kept of webhooks.

Short, because it is a port of its own: who only wants to know of changes here has nothing to do with what is followed.
"""

from __future__ import annotations

from typing import Final, Protocol

from ibi.model.webhook import Webhook


class WebhookStore(Protocol):
    """The webhooks of one data directory. Calls block, from any thread and process. What a call has written is there
    after a crash."""

    def add(self, webhook: Webhook) -> None: ...

    def remove(self, identity: str) -> Webhook | None:
        """Forget a webhook; what was forgotten."""

    def enable(self, identity: str, epoch: str, position: int) -> Webhook | None:
        """Have it told again of what comes after that position; None if there is no such webhook."""

    def all(self) -> tuple[Webhook, ...]:
        """In the order in which they were added."""

    def advance(self, identity: str, epoch: str, position: int, delivered: int | None) -> None:
        """All up to that position is delivered, or was not wanted; `delivered` is when, if anything was."""

    def put_off(self, identity: str, due: int, reason: str, now: int) -> None:
        """A delivery was in vain: the next one is tried then."""

    def disable(self, identity: str, reason: str, now: int) -> None: ...

    def hold(self) -> bool:
        """Be the one process that delivers, if no other is. Ends with `release` or with the process."""

    def release(self) -> None: ...


GONE: Final = "the receiver says that it is gone (HTTP status 410)"
"""Why a delivery was in vain to which the receiver says that it wants nothing more."""
