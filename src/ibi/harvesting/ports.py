"""The store of dumps, as a protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class DumpFiles(Protocol):
    """The dumps of the Archive's records, of which the newest are kept. Calls wait for the disk."""

    def write(self, name: str, lines: Iterable[bytes]) -> int:
        """Write the lines, compressed, under the name of their position in the feed. Return their size in bytes.

        The write is atomic: if `lines` raises, nothing is left of them.
        """

    def written(self) -> float | None:
        """Return the time of the newest dump, in seconds since 1970; None if there is none."""

    def newest(self) -> str | None:
        """Return the path of the newest dump, a file that never changes again; None if there is none."""
