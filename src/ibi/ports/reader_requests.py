"""Where requests of readers are kept. Short: one protocol of a few calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ibi.model.reader_request import ReaderInquiry


class RequestStore(Protocol):
    """The requests of one Archive. Calls block, from any thread and process: never on an event loop.

    A `StorageError` says that nothing was done.
    """

    def add(
        self, request: ReaderInquiry, since: tuple[int, int], check: Callable[[int, int, int], None]
    ) -> ReaderInquiry:
        """Keep a request, durably, if `check` does not refuse it. That gets how many came from its network since the
        first moment, and for its item and in all since the second; none comes in between, from any process."""

    def find(self, number: int) -> ReaderInquiry | None: ...

    def find_digest(self, digest: bytes) -> ReaderInquiry | None:
        """The request whose link has this digest of its secret."""

    def list(self, owner: str | None, before: int | None, most: int) -> tuple[ReaderInquiry, ...]:
        """Those about items of an account, or all without one, the newest first, before that number."""

    def change(self, number: int, into: Callable[[ReaderInquiry], ReaderInquiry]) -> ReaderInquiry | None:
        """Change a request, durably; no other change comes in between. None if there is none."""

    def forget(self, before: int) -> int:
        """Remove requests that were made before that moment, from the file too; how many there were."""
