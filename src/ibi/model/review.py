"""The review of a draft: how it stands, and what was said of it. Times are whole seconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LONGEST_COMMENT: Final = 5000
"""Characters of one comment."""


class ReviewState(StrEnum):
    """How the review of a draft stands."""

    SUBMITTED = "submitted"
    """It waits for a librarian, and does not change."""
    RETURNED = "returned"
    """Its depositor works on it again."""
    PUBLISHED = "published"


class ReviewAct(StrEnum):
    """What was done, as an entry of the review says it."""

    SUBMITTED = "submitted"
    COMMENTED = "commented"
    RETURNED = "returned"
    """Sent back by a librarian."""
    WITHDRAWN = "withdrawn"
    """Taken back by its depositor."""
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """One line of a review: who did what, when, and what they said. It never changes."""

    act: ReviewAct
    at: int
    account: str | None
    """None is the Archive itself."""
    name: str
    """Of who did it, for people."""
    text: str = ""
    number: int = 0
    """Given by the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The review of one draft, as it stands after the last entry."""

    draft: str
    owner: str
    """The account whose draft it is."""
    depositor: str
    """Who submitted it, for people."""
    title: str
    """That of the draft at the last entry."""
    state: ReviewState
    submitted: int
    """When it was submitted last."""
    changed: int
    """When its state changed last."""
    seal: str = ""
    """Of the content that was submitted last."""
    key: str | None = None
    """The idempotency key with which it was submitted: sent again, it is not submitted twice."""
    label: str | None = None
    """Of the item that it became, or that it changes."""
    turn: int = 0
    """Its place in the queue, given by the store with each submission."""
