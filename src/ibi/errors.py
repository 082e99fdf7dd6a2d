"""The one root of everything this package raises on purpose.

An error is a stable `code`, the parameters it carries, and a docstring: the docstring is the English message, a
`str.format` template over the parameters, and at the same time the key by which a page finds its translation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ibi.safe_text import quote

_SHOWN = 80
"""A message quotes at most so many characters of what it was given: hostile input is long."""


def _as_is(template: str) -> str:
    return template


class IbiError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    clauses: ClassVar[tuple[str, ...]] = ()
    """Parameters that are words of this package, as `because {reason}` has them: translated too, each a template over
    the others."""

    def __init__(self, **parameters: object) -> None:
        super().__init__()
        self.parameters = parameters

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.parameters)

    def message(self, translate: Callable[[str], str] = _as_is) -> str:
        """The sentence for a person; `translate` maps an English template to another language's."""
        said = {name: self.clause(name, translate) for name in self.clauses}
        return translate(self.template).format(**{**self.parameters, **said})

    def clause(self, name: str, translate: Callable[[str], str] = _as_is) -> str:
        """What one of the `clauses` says."""
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

    def __init__(self, text: str, offset: int, reason: str, **details: object) -> None:
        """`reason` is a template over `details`: a clause without a full stop that a librarian understands."""
        super().__init__(text=text, offset=offset, reason=reason, **details)
        self.text = text
        self.offset = offset
        self.reason = reason
        self.details = details

    def message(self, translate: Callable[[str], str] = _as_is) -> str:
        reason = translate(self.reason).format(**self.details)
        return translate(self.template).format(quoted=_quote_text(self.text), reason=reason)


def shown(number: int) -> str:
    """A number as a text to quote: Python refuses to write very long ones."""
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
