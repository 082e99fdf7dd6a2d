"""Jobs that make Copies: which labels, from where, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class JobState(StrEnum):
    """How far a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    """At its end; some labels may have been refused."""
    CANCELLED = "cancelled"


class ItemOutcome(StrEnum):
    """What became of one label of a job."""

    PENDING = "pending"
    COPIED = "copied"
    REFRESHED = "refreshed"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    """Its Original was deleted, which the Copy here says from now on."""
    REFUSED = "refused"


class JobItem(NamedTuple):
    """One label of a job."""

    number: int
    label: str
    outcome: ItemOutcome = ItemOutcome.PENDING
    reason: str = ""
    """Why it was refused."""
    code: str = ""
    """Of the error with which it was refused."""
    size: int = 0
    """Bytes of its files."""


@dataclass(frozen=True, slots=True)
class CopyJob:
    """A job in short. Times are seconds since 1970."""

    id: str
    state: JobState
    begun: int
    who: str
    labels: int
    """How many it is about."""
    source: str | None = None
    """The Archive that was named; None: each is found through the resolver."""
    ended: int | None = None
    copied: int = 0
    refreshed: int = 0
    unchanged: int = 0
    deleted: int = 0
    refused: int = 0
    size: int = 0
    """Bytes of the files that came."""
    account: str | None = None

    @property
    def settled(self) -> int:
        """Labels of which is known what became of them."""
        return self.copied + self.refreshed + self.unchanged + self.deleted + self.refused

    @property
    def is_ended(self) -> bool:
        return self.state in (JobState.DONE, JobState.CANCELLED)
