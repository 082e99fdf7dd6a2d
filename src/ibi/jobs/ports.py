"""The store of failing jobs, as a protocol."""

from __future__ import annotations

from typing import Protocol

from ibi.jobs.failing_job import FailingJob


class FailureBoard(Protocol):
    """The failing background jobs of one data directory, for other processes. Calls block, from any thread and process.

    Raise `StorageError` if it cannot be read or written.
    """

    def put(self, failing: FailingJob) -> None:
        """Record a failure. It replaces an earlier one of the same job."""

    def remove(self, name: str) -> None:
        """Record that a job does not fail any more."""

    def all(self) -> tuple[FailingJob, ...]: ...
