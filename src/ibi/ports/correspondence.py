"""What services ask for in order to correspond with people: letters, and the requests of readers.

Letters, and how they are sent.

Where requests of readers are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ibi.messages.values import mail_address, read
from ibi.model.reader_request import ReaderInquiry


@dataclass(frozen=True, slots=True)
class Letter:
    """Plain text to one recipient. No part of it can add a header or a recipient to the message it becomes."""

    to: str
    subject: str
    text: str
    reply_to: str | None = None
    """Who gets an answer to it, if not the sender."""

    def __post_init__(self) -> None:
        read("To", self.to, mail_address)
        if self.reply_to is not None:
            read("Reply-To", self.reply_to, mail_address)
        if not self.subject.isprintable():
            raise ValueError("the subject of a letter is one line")


class Mailer(Protocol):
    def send(self, letter: Letter) -> None:
        """Hand a letter to a mail server that takes it from here; an `IbiError` that says why if there is none.

        Waits for the network.
        """


# --- reader requests --------------------------------------------------------------------------------------------------


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
