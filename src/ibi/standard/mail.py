"""E-mails, and the interface that sends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ibi.standard.messages.values import mail_address, read


@dataclass(frozen=True, slots=True)
class Letter:
    """Plain text to one recipient. No part of it can add a header or a recipient to the message."""

    to: str
    subject: str
    text: str
    reply_to: str | None = None
    """The address for replies, if not the sender."""

    def __post_init__(self) -> None:
        read("To", self.to, mail_address)
        if self.reply_to is not None:
            read("Reply-To", self.reply_to, mail_address)
        if not self.subject.isprintable():
            raise ValueError("the subject of a letter is one line")


class Mailer(Protocol):
    def send(self, letter: Letter) -> None:
        """Hand an e-mail to a mail server that accepts it; raise an `IbiError` with the reason if there is none.

        Waits for the network.
        """
