"""What readers ask of those who care for an item: a copy of files that they do not get, or an answer. Times are whole
seconds since 1970."""

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
    """A link was given, which may be over or revoked since."""
    DECLINED = "declined"
    CLOSED = "closed"
    """A message that was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderInquiry:
    """A request of a reader, with what became of it. It holds personal data, and is deleted after a time."""

    kind: RequestKind
    item: str
    """The repository name."""
    title: str
    """That of the item, for lists."""
    owner: str | None
    """The account that had the item then; None is the Archive."""
    name: str = field(repr=False)
    mail: str = field(repr=False)
    text: str = field(repr=False)
    network: str = field(repr=False)
    """From where it came, as far as bounds need it."""
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
    """That of the page on which it was asked, in which the answer is written; empty if it is not known."""
    number: int = 0
    """Given by the store."""

    def is_open(self, now: int) -> bool:
        """Whether the link that was given leads to the files."""
        return (
            self.state is RequestState.GRANTED
            and self.revoked is None
            and self.expires is not None
            and now < self.expires
        )
