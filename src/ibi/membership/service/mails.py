"""Mails of a register: to the administrators of Archives, and the sender of a mail to the register."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from ibi.membership.resources import LetterResource
from ibi.standard.errors import IbiError, InvalidMessage
from ibi.standard.mail import Letter, Mailer
from ibi.standard.messages.values import mail_address

_LONGEST_FIELD: Final = 1000


@dataclass(frozen=True, slots=True)
class Posted:
    """A mail, with the result of sending it."""

    letter: Letter
    sent: bool
    reason: str | None = None
    """The reason why it was not sent, if sending was tried."""


async def post(letter: Letter, mailer: Mailer | None) -> Posted:
    """Send a mail, if there is a `mailer`. Never raises for errors of the mail server."""
    if mailer is None:
        return Posted(letter, sent=False)
    try:
        await asyncio.to_thread(mailer.send, letter)
    except IbiError as error:
        return Posted(letter, sent=False, reason=str(error))
    return Posted(letter, sent=True)


def sender_of(mail: bytes) -> str | None:
    """Return the From address of a message; None if it has none, or none that can be answered.

    It is easily forged: use it as the address of an answer, never as a proof.
    """
    from email.parser import BytesHeaderParser

    written = str(BytesHeaderParser().parsebytes(mail).get("From") or "")[:_LONGEST_FIELD]
    # Not the library's address parser: it recurses as deep as the comments in a mail are nested.
    _, bracket, rest = written.rpartition("<")
    try:
        return mail_address(rest.partition(">")[0].strip() if bracket else written.strip())
    except InvalidMessage:
        return None


def letter_resource(posted: Posted) -> LetterResource:
    """Return the mail to an administrator, and whether it was sent."""
    letter = posted.letter
    return LetterResource(
        to=letter.to, subject=letter.subject, text=letter.text, sent=posted.sent, reason=posted.reason
    )
