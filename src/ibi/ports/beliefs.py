"""Where a resolver keeps what it believes about items: who holds an Original, and who may speak for it."""

from __future__ import annotations

from typing import Final, Protocol

from ibi.label import Label
from ibi.model.belief import ClaimKind, FalseClaim

HOLDER_AGE: Final = 86_400
"""Seconds for which the holder of an item without a home is believed."""
MOST_SUCCESSIONS: Final = 100_000
"""Labels of one home prefix whose successors are kept; of more, those recorded first are forgotten."""
MOST_HOLDINGS: Final = 100_000
"""Labels without a home that one Archive is believed to hold; of more, those recorded first are forgotten."""
MOST_CLAIMS: Final = 1_000
"""False claims of one Archive that are kept; of more, those seen last longest ago are forgotten."""


class Beliefs(Protocol):
    """The beliefs of one data directory. Calls come from any thread; times are POSIX seconds.

    Every change is on the disk when the call returns as far as the end of the process is concerned: it is there after
    SIGKILL, and every other process sees it with its next call, within some milliseconds. The bounds hold per home and
    per Archive: what one of them causes to be recorded pushes out nothing that others have.
    """

    prompt: bool
    """Whether every call takes tens of microseconds at most, so that an event loop may make it."""

    def successors(self, label: Label) -> tuple[Label, ...]:
        """The chain of service labels through which the home gave the Original on; empty if it did not."""

    def record_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        """Keep the chain, or forget it if it is empty. It does not age."""

    def holder(self, label: Label, now: int) -> Label | None:
        """The service label of who held the Original of an item without a home less than `HOLDER_AGE` ago."""

    def record_holder(self, label: Label, holder: Label, at: int) -> None: ...

    def forget_holder(self, label: Label) -> None: ...

    def copies(self, home: Label) -> frozenset[Label]:
        """The service labels of those that the Archive `home` named as holders of Copies of its items."""

    def record_copies(self, home: Label, services: frozenset[Label], at: int) -> None: ...

    def record_claim(self, label: Label, claimant: Label, home: Label, kind: ClaimKind, at: int) -> bool:
        """Count a false claim; whether it is the first of its kind by this Archive about this label."""

    def claims(self, most: int = 100) -> tuple[FalseClaim, ...]:
        """The false claims, those seen last first."""

    def close(self) -> None: ...
