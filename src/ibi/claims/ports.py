"""Ports of notifications: claims received and sent."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from ibi.claims.model import OutgoingNotification, ReceivedClaim, SentClaim

Row = TypeVar("Row", ReceivedClaim, SentClaim, OutgoingNotification)


class Rows(Protocol[Row]):
    """Rows of one kind, numbered from 1 in the order in which they were added.

    Calls wait for the disk, from any thread. Changes are durable when a call returns, or with the transaction around
    it.
    """

    def add(self, row: Row) -> Row:
        """Add a new row, and return it with its number."""

    def find(self, number: int) -> Row | None: ...

    def find_id(self, identifier: str) -> Row | None:
        """Return the row of the notification with that URI."""

    def about(self, name: str) -> tuple[Row, ...]:
        """Return the claims on or by the item here with that repository name, in order."""

    def list(self, states: Collection[str], after: int = 0, most: int = 1000) -> tuple[Row, ...]:
        """Return rows in one of these states, in order, from the first one after a number."""

    def due(self, now: int, most: int) -> tuple[Row, ...]:
        """Return due rows, the longest waiting first."""

    def change(self, number: int, into: Callable[[Row], Row]) -> Row | None:
        """Replace the row by the result of `into`, and return it; None if there is none."""

    def remove(self, number: int) -> None: ...


class Notifications(Protocol):
    """The notifications about claims between one Archive and others.

    Several processes use it concurrently. Commits survive a crash.
    """

    @property
    def received(self) -> Rows[ReceivedClaim]: ...

    @property
    def sent(self) -> Rows[SentClaim]: ...

    @property
    def outgoing(self) -> Rows[OutgoingNotification]: ...

    def together(self) -> AbstractContextManager[None]:
        """Make all changes within the `with` atomic; no other process changes anything meanwhile."""

    def waiting(self, network: str) -> tuple[int, int]:
        """Return how many received claims wait for an answer: in all, and from that network.

        Claims that registered Archives signed (`SIGNED`) count only for their network.
        """

    def pending(self, network: str | None = None) -> tuple[ReceivedClaim, ...]:
        """Return the received claims that wait for an answer, the oldest first.

        They are those of that network; or without one, all that no registered Archive signed.
        """

    def forget(self, before: int) -> int:
        """Delete claims and notifications that were settled before that second. Return their number."""

    def position(self) -> tuple[str, int]:
        """Return the last processed entry in this Archive's feed of changes: the epoch, empty at first, and the
        number."""

    def note_position(self, epoch: str, number: int) -> None: ...

    def hold(self) -> bool:
        """Try to become the one process that sends. Return whether this process is it now.

        Repeated calls are allowed. The lock ends with `close` or with the process.
        """

    def close(self) -> None:
        """Release its storage. Closing again does nothing."""
