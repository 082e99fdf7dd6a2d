"""What a resolver believes of items beyond one resolution, and what it does not believe.

Short: values that only the port of beliefs carries.
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
