"""Where an Archive keeps what it knows of itself: its labels and secrets, and its membership in a resolver."""

from __future__ import annotations

from typing import Protocol

from ibi.model.archive_record import ArchiveRecord
from ibi.model.membership import Membership


class ArchiveRecords(Protocol):
    """The record of the Archive of one data directory. Calls block, from any thread and process.

    It is written once, whole and durably, and is for its owner alone: it holds a secret.
    """

    def read(self) -> ArchiveRecord | None:
        """None if no Archive was begun. A `StorageError` if what is there cannot be read: it is never begun anew."""

    def write(self, record: ArchiveRecord) -> bool:
        """Keep the record; False if there is one already, which stays: of two callers at once, one succeeds."""


class MembershipState(Protocol):
    """What is kept of an Archive's membership, and who keeps it up. To read needs nothing to be there.

    A `StorageError` if it cannot be read or written; what was written is there after a crash.
    """

    prompt: bool
    """Whether calls take so little time that an event loop may make them: a small file, once a second."""

    @property
    def switched_on(self) -> bool:
        """Every Archive is, until it is switched off."""

    def switch(self, *, on: bool) -> None: ...

    def read(self) -> Membership:
        """What was written last; without that, or if it cannot be understood, a membership that has not begun."""

    def write(self, membership: Membership) -> None: ...

    def hold(self) -> bool:
        """Be the one process that speaks to the resolver, if no other is. To be it already is fine. Ends with `release`
        or with the process."""

    def release(self) -> None:
        """Let another be it. Without effect for who is not."""
