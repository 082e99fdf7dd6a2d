"""Send mail through a mail server (RFC 5321)."""

from __future__ import annotations

import smtplib
import socket
import ssl
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from enum import StrEnum
from typing import Final

from ibi.standard.errors import IbiError
from ibi.standard.mail import Letter
from ibi.standard.messages.values import mail_address, read
from ibi.standard.safe_text import printable

_TIMEOUT: Final = 15.0
"""Seconds for each step: to connect, and to get an answer."""

_TOO_LATE: Final = "it did not answer in time"


class MailNotSent(IbiError):
    """The mail to {recipient} was not sent through {server}: {reason}."""

    code = "mail-not-sent"


class MailSecurity(StrEnum):
    """The encryption of the connection to the mail server."""

    STARTTLS = "starttls"
    """Requested on a plain connection. If the server does not offer it, nothing is sent."""
    TLS = "tls"
    NONE = "none"
    """Plain text, for a server on this machine or in one's own network: user and password are readable on the way."""


@dataclass(frozen=True, slots=True)
class SmtpMailer:
    """Implements the port `Mailer` on one mail server. Each letter has its own connection."""

    server: str
    port: int
    sender: str
    security: MailSecurity = MailSecurity.STARTTLS
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout: float = _TIMEOUT
    trust: ssl.SSLContext | None = field(default=None, repr=False, compare=False)
    """The trusted certificate authorities; None means those of the system."""

    def __post_init__(self) -> None:
        read("From", self.sender, mail_address)

    def send(self, letter: Letter) -> None:
        try:
            with closing(self._connect()) as connection:
                if self.user is not None:
                    connection.login(self.user, self.password or "")
                connection.send_message(self._message(letter), self.sender, [letter.to])
                connection.quit()
        except smtplib.SMTPServerDisconnected as error:
            # The library wraps every connection error in this one, and keeps only its text.
            late = "timed out" in str(error)
            raise self._refusal(letter, _TOO_LATE if late else "the connection was broken off") from None
        except smtplib.SMTPException as error:
            raise self._refusal(letter, _reason(error)) from None
        except (OSError, UnicodeError) as error:
            raise self._refusal(letter, _of_the_network(error)) from None

    def _connect(self) -> smtplib.SMTP:
        name = _own_name()
        if self.security is MailSecurity.TLS:
            context = self.trust or ssl.create_default_context()
            return smtplib.SMTP_SSL(self.server, self.port, name, timeout=self.timeout, context=context)
        connection = smtplib.SMTP(self.server, self.port, name, timeout=self.timeout)
        if self.security is MailSecurity.STARTTLS:
            try:
                connection.starttls(context=self.trust or ssl.create_default_context())
            except BaseException:
                connection.close()
                raise
        return connection

    def _message(self, letter: Letter) -> EmailMessage:
        """Return the message. The values were checked before, and the library refuses line breaks in headers."""
        message = EmailMessage(policy=SMTP)
        message["From"] = self.sender
        message["To"] = letter.to
        if letter.reply_to is not None:
            message["Reply-To"] = letter.reply_to
        message["Subject"] = letter.subject
        message["Date"] = format_datetime(datetime.fromtimestamp(time.time(), UTC))
        message["Message-ID"] = make_msgid(domain=self.sender.rpartition("@")[2])
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no holiday notice comes back
        message.set_content(letter.text, cte="quoted-printable")
        return message

    def _refusal(self, letter: Letter, reason: str) -> MailNotSent:
        return MailNotSent(recipient=letter.to, server=f"{self.server}:{self.port}", reason=reason)


def _own_name() -> str:
    """Return the name for this machine's greeting. A DNS lookup of a better name may take longer than the letter."""
    name = socket.gethostname()
    return name if name.isascii() and name.replace("-", "").replace(".", "").isalnum() else "localhost"


def _reason(error: smtplib.SMTPException) -> str:
    """Return the server's words on one line. They never include the client's side, which may hold a password."""
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return "it does not accept the user and password"
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return "; ".join(_quote(code, text) for code, text in error.recipients.values())
    if isinstance(error, smtplib.SMTPResponseException):
        return _quote(error.smtp_code, error.smtp_error)
    return " ".join(str(error).split())[:200].rstrip(".")


def _quote(code: int, text: bytes | str) -> str:
    shown = text.decode("ascii", "replace") if isinstance(text, bytes) else text
    return f"it says {code} {' '.join(printable(shown).split())[:200]}".rstrip()


def _of_the_network(error: OSError | UnicodeError) -> str:
    if isinstance(error, TimeoutError):
        return _TOO_LATE
    if isinstance(error, ssl.SSLError):
        return f"no private connection could be made ({error.reason or 'TLS'})"
    return getattr(error, "strerror", None) or type(error).__name__
