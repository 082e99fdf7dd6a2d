"""Letters, and how they are sent. Short: one value and one method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ibi.messages.values import mail_address, read


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
