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
        machine moments later: callers do not wait for the disk. A `StorageError` if nothing was added."""

    def entries(self) -> Iterator[AuditEntry]:
        """Every entry, the oldest first; where the chain is broken, `ibi.model.audit.AuditBroken`."""

    def close(self) -> None:
        """Wait until all is on the disk. To close again does nothing."""
