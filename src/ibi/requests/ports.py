"""The port of readers' requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ibi.requests.model import ReaderInquiry


class RequestStore(Protocol):
    """The requests of one Archive. Calls block, from any thread and process: never on an event loop.

    A `StorageError` says that nothing was done.
    """

    def add(
        self, request: ReaderInquiry, since: tuple[int, int], check: Callable[[int, int, int], None]
    ) -> ReaderInquiry:
        """Add a request durably, if `check` does not refuse it.

        `check` gets the number of requests from its network since the first moment, and for its item and in all since
        the second. No request from any process comes in between.
        """

    def find(self, number: int) -> ReaderInquiry | None: ...

    def find_digest(self, digest: bytes) -> ReaderInquiry | None:
        """Return the request with this digest of the secret in its link."""

    def list(self, owner: str | None, before: int | None, most: int) -> tuple[ReaderInquiry, ...]:
        """Return requests about items of an account, or all without one, before that number, the newest first."""

    def change(self, number: int, into: Callable[[ReaderInquiry], ReaderInquiry]) -> ReaderInquiry | None:
        """Change a request durably; no other change comes in between. Return None if there is none."""

    def forget(self, before: int) -> int:
        """Delete requests from before that moment, also from the file. Return their number."""
