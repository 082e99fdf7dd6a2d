"""Rules for requests of readers: their content, their number and their lifetime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ibi.items.rules.errors import InvalidField
from ibi.standard.errors import ErrorKind, IbiError, InvalidMessage
from ibi.standard.messages.values import mail_address
from ibi.standard.safe_text import is_visible, reveal, tidy_lines

LONGEST_NAME: Final = 200
LONGEST_REASON: Final = 3000
MOST_DAYS: Final = 30
"""Days for which a link to files can be given."""
_DAY: Final = 86_400
_HOUR: Final = 3600


class InvalidRequest(InvalidField):
    """{field}: {reason}."""

    code = "invalid-request"
    others: tuple[InvalidRequest, ...] = ()
    """The errors of other fields."""


class TooManyRequests(IbiError):
    """Too many requests came from your network, or for this item, in a short time: try again in {hours} h."""

    code = "too-many-requests"
    kind = ErrorKind.TOO_MANY

    @property
    def retry_after(self) -> int:
        """Seconds until the next try."""
        return 3600 * int(str(self.parameters["hours"]))


class UnknownRequest(IbiError):
    """There is no request {number}, or it is not yours to answer, or it was deleted with time."""

    code = "unknown-request"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class RequestAnswered(IbiError):
    """Request {number} was answered already: {state}."""

    code = "request-answered"
    kind = ErrorKind.CONFLICT


class LinkOver(IbiError):
    """This link leads to no files, or does so no more: it was given for a time, and may have been revoked. Ask again on
    the page of the item."""

    # One sentence for every cause: guessing reveals nothing about which links there are.
    code = "link-over"
    kind = ErrorKind.NOT_FOUND


class NothingWithheld(IbiError):
    """You can read the files of {label} already, or there are none: there is nothing to ask for."""

    code = "nothing-withheld"
    kind = ErrorKind.CONFLICT


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The settings, and limits against floods. The limits hold for all processes together."""

    days: int = 180
    """Days after which a request is deleted with its whole content."""
    of_network: int = 5
    """Requests per hour from one network."""
    of_item: int = 20
    """Requests per day for one item, answered or not."""
    in_all: int = 500
    """Requests per day in all."""

    def check(self, of_network: int, of_item: int, in_all: int) -> None:
        """Raise `TooManyRequests` if a limit is reached. The arguments are the counts of the last hour, day and day."""
        if of_network >= self.of_network:
            raise TooManyRequests(hours=1)
        if of_item >= self.of_item or in_all >= self.in_all:
            raise TooManyRequests(hours=24)

    def spans(self, now: int) -> tuple[int, int]:
        """Return the starts of the periods for the counts: of one network, and of one item or in all."""
        return now - _HOUR, now - _DAY

    def forgets_before(self, now: int) -> int:
        return now - self.days * _DAY


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of a reader, as it is stored."""

    name: str
    mail: str
    text: str
    language: str = ""
    """The language of the form: one of those of the pages."""


def read_asked(name: str, mail: str, text: str, *, language: str = "") -> Asked:
    """Return the request. `InvalidRequest` names a wrong field, and further ones in `others`. A name and an address are
    one line each, so that no input becomes a header of an e-mail."""
    wrong: list[InvalidRequest] = []

    def read(check: Callable[[str], str], value: str) -> str:
        try:
            return check(value)
        except InvalidRequest as error:
            wrong.append(error)
            return ""

    called, address = read(_read_name, name), read(_read_mail, mail)
    asked = Asked(called, address, read(lambda said: read_lines(said, "text"), text), language)
    if wrong:
        first, *others = wrong
        first.others = tuple(others)
        raise first
    return asked


def _read_name(text: str) -> str:
    name = text.strip()
    if not name:
        raise InvalidRequest("name", "enter your name")
    if len(name) > LONGEST_NAME:
        raise InvalidRequest("name", "it is one line of at most {most} characters", most=LONGEST_NAME)
    unseen = next((each for each in name if not each.isprintable()), None)
    if unseen is not None:
        raise InvalidRequest(
            "name", "it has a character that cannot be seen, {character}: type it anew", character=reveal(unseen)
        )
    return name


def _read_mail(text: str) -> str:
    mail = text.strip()
    try:
        mail_address(mail)
    except InvalidMessage:
        raise InvalidRequest("mail", "enter an e-mail address") from None
    return mail


def read_lines(text: str, field: str, *, is_required: bool = True, missing: str = "enter a message") -> str:
    """Return lines of visible characters. `missing` is the message if they are required and absent."""
    said = tidy_lines(text)
    if not said and is_required:
        raise InvalidRequest(field, missing)
    if len(said) > LONGEST_REASON:
        raise InvalidRequest(
            field, "it has {number} characters, and at most {most} are kept", number=len(said), most=LONGEST_REASON
        )
    if not is_visible(said):
        raise InvalidRequest(field, "it has a character that cannot be shown")
    return said


def read_days(text: str) -> int:
    """Return the number of days for which a link is given."""
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= MOST_DAYS):
        raise InvalidRequest("days", "it is a number from 1 to {most}", most=MOST_DAYS)
    return int(text)
