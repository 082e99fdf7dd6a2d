"""Ports of webhooks."""

from __future__ import annotations

from typing import Final, Protocol

from ibi.following.model.webhook import Webhook


class WebhookStore(Protocol):
    """The webhooks of one data directory. Calls block, from any thread and process. Changes survive a crash."""

    def add(self, webhook: Webhook) -> None: ...

    def remove(self, identity: str) -> Webhook | None:
        """Delete a webhook and return it."""

    def enable(self, identity: str, epoch: str, position: int) -> Webhook | None:
        """Resume deliveries after that position. Return None if there is no such webhook."""

    def all(self) -> tuple[Webhook, ...]:
        """Return all webhooks in the order in which they were added."""

    def advance(self, identity: str, epoch: str, position: int, delivered: int | None) -> None:
        """Record that all entries up to that position were delivered or not wanted.

        `delivered` is the time, if anything was delivered.
        """

    def put_off(self, identity: str, due: int, reason: str, now: int) -> None:
        """Record a failed delivery; the next attempt is at `due`."""

    def disable(self, identity: str, reason: str, now: int) -> None: ...

    def hold(self) -> bool:
        """Try to become the one process that delivers. The lock ends with `release` or with the process."""

    def release(self) -> None: ...


GONE: Final = "the receiver says that it is gone (HTTP status 410)"
"""The reason of a failed delivery if the receiver wants nothing more."""
