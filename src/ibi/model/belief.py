"""What a resolver believes of items beyond one resolution, and what it does not believe.

Short: values that only the port of beliefs carries. Archives are named by the labels of their services; times are
POSIX seconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from ibi.label import Label


class ClaimKind(StrEnum):
    """What an Archive claimed of an item against the word of the item's home."""

    ORIGINAL = "Original"
    DELETED = "Deleted"
    NEXT_EDITION = "next edition"


class FalseClaim(NamedTuple):
    """A claim that the home of a label contradicts, or the successor that the home named.

    `claimant` and `home` are service labels. Times are POSIX seconds.
    """

    label: Label
    claimant: Label
    home: Label
    kind: ClaimKind
    first_seen: int
    last_seen: int
    times: int = 1


class LabelBeliefs(NamedTuple):
    """All that is believed of one label, with the times since when: for people, not for a resolution."""

    successors: tuple[Label, ...] = ()
    """The chain through which the home gave the Original on."""
    named_at: int | None = None
    """When the chain was last named otherwise than before."""
    holder: Label | None = None
    """Who held the Original of an item without a home, however long ago."""
    held_at: int | None = None
    claims: tuple[FalseClaim, ...] = ()
    """What others claim, and those who decide contradict; seen last first."""


class NamedCopies(NamedTuple):
    """Whom a home named as holders of Copies of its items, and when."""

    services: frozenset[Label] = frozenset()
    at: int | None = None
