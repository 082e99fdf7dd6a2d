"""Letters sent beside whatever else goes on: a mail server that is away holds nobody up and undoes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from ibi.errors import IbiError, InvalidMessage
from ibi.messages.values import mail_address
from ibi.model.letter import Letter
from ibi.ports.mailer import Mailer

_LONGEST_FIELD: Final = 1000


@dataclass(frozen=True, slots=True)
class Posted:
    """A letter, and what became of it."""

    letter: Letter
    sent: bool
    reason: str | None = None
    """Why it was not sent, if somebody tried."""


async def post(letter: Letter, mailer: Mailer | None) -> Posted:
    """Send it, if there is a `mailer`; never raises for what the mail server does."""
    if mailer is None:
        return Posted(letter, sent=False)
    try:
        await asyncio.to_thread(mailer.send, letter)
    except IbiError as error:
        return Posted(letter, sent=False, reason=str(error))
    return Posted(letter, sent=True)


def sender_of(mail: bytes) -> str | None:
    """The address that a message says it is from; None if it says none, or one that nobody could answer to.

    Anybody can write anybody's there: it is where an answer goes, and no proof of anything.
    """
    from email.parser import BytesHeaderParser

    written = str(BytesHeaderParser().parsebytes(mail).get("From") or "")[:_LONGEST_FIELD]
    # Not the library's reader of addresses: it nests as deep as the comments of a mail ask it to.
    _, bracket, rest = written.rpartition("<")
    try:
        return mail_address(rest.partition(">")[0].strip() if bracket else written.strip())
    except InvalidMessage:
        return None
