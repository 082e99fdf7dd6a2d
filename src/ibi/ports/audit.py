"""Where it is written down who changed what.

Short: one log, which is only ever added to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ibi.model.audit import AuditEntry


class AuditLog(Protocol):
    """The audit log of one data directory. Calls come from any thread; several processes may write.

    Never called on an event loop.
    """

    def append(self, entries: Sequence[AuditEntry]) -> None:
        """Add lines, in this order and side by side. They survive the death of this process at once, and that of the
        machine moments later: callers do not wait for the disk. A `StorageError` if nothing was added.

        If the log is not as it was left (lines at its end are missing or others), a line of the act
        `ibi.model.audit.LOG_BROKEN` that says so comes before them."""

    def entries(self) -> Iterator[AuditEntry]:
        """Every entry, the oldest first; where the chain is broken, `ibi.model.audit.AuditBroken`; after the last one,
        `AuditIncomplete` if it cannot be told where the log ended, or a log that was begun is gone.

        Entries of the act `LOG_BROKEN` are among them: a log that has one is not whole."""

    def was_begun(self) -> bool:
        """Whether there is known to have been a log once. One of an earlier version is not, before it is added to."""

    def close(self) -> None:
        """Wait until all is on the disk. To close again does nothing."""
