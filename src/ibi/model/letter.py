"""A letter: what one person or program wants to tell another by e-mail.

Short: one value, that stands on no other.
"""

from __future__ import annotations

from dataclasses import dataclass

from ibi.messages.values import mail_address, read


@dataclass(frozen=True, slots=True)
class Letter:
    """Plain text to one recipient. No part of it can add a header or a recipient to the message it becomes."""

    to: str
    subject: str
    text: str

    def __post_init__(self) -> None:
        read("To", self.to, mail_address)
        if not self.subject.isprintable():
            raise ValueError("the subject of a letter is one line")
