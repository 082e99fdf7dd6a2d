"""Who is likely to have an item, as far as anybody remembers (E31, E32)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ibi.label import Label
from ibi.resolver.archive_ref import ArchiveRef

__all__ = ["NOWHERE", "Routing"]


class Routing(Protocol):
    """What is known before anybody is asked. It may be wrong: whoever answers decides."""

    def likely(self, label: Label, now: float) -> Sequence[ArchiveRef]:
        """The Archives to ask first, best first; none if nothing is known."""

    def holder(self, label: Label) -> ArchiveRef | None:
        """The Archive known to hold the Original, whose word counts before anyone else's (E20)."""

    def home(self, label: Label) -> ArchiveRef | None:
        """The Archive of the label's own origin, which holds the Original unless it says otherwise."""


class _Nowhere:
    def likely(self, label: Label, now: float) -> Sequence[ArchiveRef]:
        return ()

    def holder(self, label: Label) -> ArchiveRef | None:
        return None

    def home(self, label: Label) -> ArchiveRef | None:
        return None


NOWHERE: Routing = _Nowhere()
"""Nothing is known: everybody is asked at once."""
