"""Requests of readers to the people in charge of an item: for a copy of files without access, or with a question.

Times are whole seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class RequestKind(StrEnum):
    COPY = "copy"
    """A copy of files that are restricted or under embargo."""
    MESSAGE = "message"


class RequestState(StrEnum):
    WAITING = "waiting"
    GRANTED = "granted"
    """A link was given, which may have expired or been revoked since."""
    DECLINED = "declined"
    CLOSED = "closed"
    """A message that was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderInquiry:
    """A request of a reader, and its result. It holds personal data, and is deleted after a time."""

    kind: RequestKind
    item: str
    """The repository name."""
    title: str
    """The title of the item, for lists."""
    owner: str | None
    """The account that owned the item then; None is the Archive."""
    name: str = field(repr=False)
    mail: str = field(repr=False)
    text: str = field(repr=False)
    network: str = field(repr=False)
    """The network of the reader, as far as rate limits need it."""
    made: int
    state: RequestState = RequestState.WAITING
    answered: int | None = None
    answered_by: str = ""
    answer: str = field(default="", repr=False)
    digest: bytes | None = field(default=None, repr=False)
    """The SHA-256 of the secret in the link that was given."""
    expires: int | None = None
    revoked: int | None = None
    uses: int = 0
    """Files that were fetched by the link."""
    last_use: int | None = None
    language: str = ""
    """The language of the reader's page, used for the answer; empty if it is not known."""
    number: int = 0
    """Assigned by the store."""

    def is_open(self, now: int) -> bool:
        """Return whether the given link leads to the files."""
        return (
            self.state is RequestState.GRANTED
            and self.revoked is None
            and self.expires is not None
            and now < self.expires
        )
