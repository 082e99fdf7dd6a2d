"""The base class of all exceptions that this package raises on purpose.

An error has a stable `code`, a kind, parameters, and a docstring. The docstring is the English message, a `str.format`
template over the parameters. It is also the key of its translation for pages.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import ClassVar

from ibi.standard.safe_text import quote

_SHOWN = 80
"""Most characters of an input that a message quotes: hostile input is long."""


def _as_is(template: str) -> str:
    return template


class ErrorKind(Enum):
    """The kind of an error, in the words of the field.

    This is the only table from errors to answers. A row has the HTTP status, whether clients get the message (otherwise
    only the log has it), and the exit code of a command.
    """

    MALFORMED = 400
    """The request cannot be parsed, or a value in it is invalid."""
    UNREADABLE_FILE = 400, False
    """A file of this machine cannot be read in. The message has its path."""
    UNAUTHENTICATED = 401
    FORBIDDEN = 403
    NOT_FOUND = 404
    METHOD_NOT_ALLOWED = 405
    NOT_ACCEPTABLE = 406
    TOO_SLOW = 408
    """The request did not arrive in time."""
    CONFLICT = 409
    """The state of an item, a draft or an account forbids it."""
    GONE = 410
    PRECONDITION_FAILED = 412
    TOO_LARGE = 413
    UNSUPPORTED = 415
    RANGE_NOT_SATISFIABLE = 416
    MISDIRECTED = 421
    """The request names a host that this server does not serve."""
    UNPROCESSABLE = 422
    """The request contradicts an earlier one, as in draft-ietf-httpapi-idempotency-key-header.

    That draft has 409 for two simultaneous requests, which here share one answer.
    """
    LOCKED = 423
    """Another request is working on it."""
    TOO_MANY = 429
    HEAD_TOO_LARGE = 431
    CHECKSUM_MISMATCH = 460
    """The status of the checksum extension of tus."""
    INTERNAL = 500, False
    """A fault of this server or its files; or an error that no request causes, such as one of the settings."""
    FAILED = 500
    """A fault of this server, in words that reveal nothing about its machine."""
    UPSTREAM_FAILED = 502
    """Another server did not answer, or not as it should."""
    UNAVAILABLE = 503
    """It cannot be done now. A retry or the administrator may help."""
    OUT_OF_ORDER = 503, False
    """It cannot be done until the administrator of this server has repaired its files."""
    STORAGE_FULL = 507

    def __init__(self, status: int, is_told: bool = True, exit_code: int = 1) -> None:
        self.status, self.is_told, self.exit_code = status, is_told, exit_code


class IbiError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    kind: ClassVar[ErrorKind] = ErrorKind.INTERNAL
    request_field: ClassVar[str | None] = None
    """The part of the request at fault, if the class alone determines it."""
    clauses: ClassVar[tuple[str, ...]] = ()
    """Parameters that are words of this package, as in `because {reason}`.

    They are translated too. Each is a template over the others.
    """

    def __init__(self, **parameters: object) -> None:
        super().__init__()
        self.parameters = parameters

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.parameters)

    def message(self, translate: Callable[[str], str] = _as_is) -> str:
        """Return the sentence for a person; `translate` maps an English template to that of another language."""
        said = {name: self.clause(name, translate) for name in self.clauses}
        return translate(self.template).format(**{**self.parameters, **said})

    def clause(self, name: str, translate: Callable[[str], str] = _as_is) -> str:
        """Return the text of one of the `clauses`."""
        return translate(str(self.parameters[name])).format(**self.parameters)

    @property
    def template(self) -> str:
        """The docstring on one line."""
        return " ".join((self.__doc__ or self.code).split())

    def __str__(self) -> str:
        return self.message()


def _rebuild(kind: type[IbiError], parameters: dict[str, object]) -> IbiError:
    return kind(**parameters)


class InvalidInput(IbiError):
    """{quoted}: {reason}."""

    code = "invalid-input"
    kind = ErrorKind.MALFORMED

    def __init__(self, text: str, offset: int, reason: str, **details: object) -> None:
        """Take `reason`, a template over `details`: a clause without a full stop that a librarian understands."""
        super().__init__(text=text, offset=offset, reason=reason, **details)
        self.text = text
        self.offset = offset
        self.reason = reason
        self.details = details

    def message(self, translate: Callable[[str], str] = _as_is) -> str:
        reason = translate(self.reason).format(**self.details)
        return translate(self.template).format(quoted=_quote_text(self.text), reason=reason)


def shown(number: int) -> str:
    """Return a number as a text to quote: Python refuses to write very long ones."""
    return str(number) if number.bit_length() <= 256 else "a huge number"


def _quote_text(text: str) -> str:
    return quote(text, _SHOWN)


class InvalidInstant(InvalidInput):
    """{quoted} is not a date: {reason}."""

    code = "invalid-instant"


class InvalidGranularity(InvalidInput):
    """{quoted} is not a granularity: {reason}."""

    code = "invalid-granularity"


class InvalidLabel(InvalidInput):
    """{quoted} is not an IBI: {reason}."""

    code = "invalid-label"


class InvalidPairs(InvalidInput):
    """{quoted} is not a list of pairs: {reason}."""

    code = "invalid-pairs"


class InvalidRelation(InvalidInput):
    """{quoted} is not a relation: {reason}."""

    code = "invalid-relation"


class InvalidMessage(InvalidInput):
    """{quoted} is not a message of the IBI protocol: {reason}."""

    code = "invalid-message"


class InvalidPersistentUrl(InvalidInput):
    """{quoted} is not a persistent URL: {reason}."""

    code = "invalid-persistent-url"
