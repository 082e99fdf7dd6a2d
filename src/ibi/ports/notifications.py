"""Where claims between Archives are kept, with what waits to be sent."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from ibi.model.notification import OutgoingNotification, ReceivedClaim, SentClaim

Row = TypeVar("Row", ReceivedClaim, SentClaim, OutgoingNotification)


class Rows(Protocol[Row]):
    """Rows of one kind, numbered from 1 in the order in which they were added. Calls wait for the disk, from any
    thread; what a call has changed is durable when it returns, or with the transaction that it is in."""

    def add(self, row: Row) -> Row:
        """Keep a new row; given is the row with its number."""

    def find(self, number: int) -> Row | None: ...

    def find_id(self, identifier: str) -> Row | None:
        """The row whose notification has that URI."""

    def about(self, name: str) -> tuple[Row, ...]:
        """Of claims, those on or by the item here of that repository name, in their order."""

    def list(self, states: Collection[str], after: int = 0, most: int = 1000) -> tuple[Row, ...]:
        """Rows in one of these states, in their order, from the first one after a number."""

    def due(self, now: int, most: int) -> tuple[Row, ...]:
        """Rows whose time has come, those first that wait longest."""

    def change(self, number: int, into: Callable[[Row], Row]) -> Row | None:
        """The row as `into` makes it of what it is now; None if there is none."""

    def remove(self, number: int) -> None: ...


class Notifications(Protocol):
    """What one Archive and others have told each other of claims.

    Processes work side by side on it. What was committed survives a crash.
    """

    @property
    def received(self) -> Rows[ReceivedClaim]: ...

    @property
    def sent(self) -> Rows[SentClaim]: ...

    @property
    def outgoing(self) -> Rows[OutgoingNotification]: ...

    def together(self) -> AbstractContextManager[None]:
        """Make all changes within the `with` at once, or none of them; no other process changes anything meanwhile."""

    def waiting(self, network: str) -> tuple[int, int]:
        """How many received claims wait for an answer: in all, and of those that came from that network."""

    def forget(self, before: int) -> int:
        """Drop what was settled before that second, claims and notifications; how many."""

    def position(self) -> tuple[str, int]:
        """Up to which entry the feed of changes of this Archive was looked through: its epoch, empty at first, and the
        number."""

    def note_position(self, epoch: str, number: int) -> None: ...

    def hold(self) -> bool:
        """Be the one process that sends, if no other is. To be it already is fine. Ends with `close` or with the
        process."""

    def close(self) -> None:
        """Let go of what it is kept in. To close again does nothing."""
