"""Where reviews of drafts are kept. Short: one protocol of a few calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ibi.model.review import Review, ReviewEntry, ReviewState

ReviewChange = Callable[[Review | None], tuple[Review, ReviewEntry]]
"""Makes of a review, None if there is none, the next one, and the entry that says why; or raises an error."""


class ReviewStore(Protocol):
    """The reviews of one Archive. Calls block, from any thread and process: never on an event loop.

    Entries are only ever added. A `StorageError` says that nothing was done.
    """

    def change(self, draft: str, into: ReviewChange) -> Review:
        """Change a review and add an entry to it, durably and as one; no other process comes in between. A review that
        is submitted gets the last place in the queue."""

    def find(self, draft: str) -> Review | None: ...

    def find_key(self, owner: str, key: str) -> Review | None:
        """The review that this account submitted last with an idempotency key."""

    def is_waiting(self, draft: str) -> bool:
        """Whether the draft is submitted. Quicker than `find`: asked of every draft that would be removed."""

    def entries(self, draft: str) -> tuple[ReviewEntry, ...]:
        """What was done and said, the oldest first."""

    def list(self, state: ReviewState, after: int, most: int) -> tuple[Review, ...]:
        """Reviews in that state, in the order in which they were submitted last, after that `turn`."""

    def count_waiting(self) -> int: ...

    def forget(self, draft: str) -> None:
        """Remove a review with all that was said: its draft is gone, and became nothing."""
