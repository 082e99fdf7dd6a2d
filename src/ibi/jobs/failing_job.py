"""A failing background job, as other processes see it."""

from __future__ import annotations

from typing import NamedTuple


class FailingJob(NamedTuple):
    """A background job in a series of failures. Times are seconds since 1970."""

    name: str
    since: int
    """The time of the first failure of the present series."""
    last: int
    """The time of the last failure."""
    failures: int
    """The number of consecutive failures."""
    reason: str
