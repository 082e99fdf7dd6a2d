"""A background job that fails, as other processes learn of it."""

from __future__ import annotations

from typing import NamedTuple


class FailingJob(NamedTuple):
    """Times are seconds since 1970."""

    name: str
    since: int
    """When its present row of failures began."""
    last: int
    """When it failed last."""
    failures: int
    """In a row."""
    reason: str
