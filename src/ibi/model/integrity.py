"""What is known of the wholeness of an item: when it was verified last, and what was wrong with it then."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.model.content import Damage, Problem

__all__ = ["IntegritySummary", "Verification", "is_damage"]


def is_damage(problem: Problem) -> bool:
    """Whether something that was deposited is lost or wrong. What lies there in addition, and a catalogue that can be
    made anew, make no item damaged."""
    return problem.kind != Damage.EXTRA and problem.code != "catalogue"


@dataclass(frozen=True, slots=True)
class Verification:
    """The last verification of one item. Times are seconds since 1970."""

    name: str
    verified: int | None
    """None if the damage was found by a reader, and the item was never verified."""
    damaged_since: int | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def digests(self) -> frozenset[str]:
        """Those of the files that are damaged, as far as that is known."""
        return frozenset(problem.digest for problem in self.problems if problem.digest is not None)


@dataclass(frozen=True, slots=True)
class IntegritySummary:
    """The verifications of all items, in short."""

    items: int = 0
    """Known to the schedule."""
    verified: int = 0
    """Of those, verified at least once."""
    damaged: int = 0
    oldest: int | None = None
    """When that item was verified, of those that ever were, which has waited longest."""
    newest: int | None = None
    """When an item was verified last."""
