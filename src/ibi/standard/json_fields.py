"""Reading JSON documents member by member, with one documented error that names the wrong member."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, NoReturn, TypeVar

from ibi.standard.document_errors import InvalidDocument, NewerDocument, UnreadMember
from ibi.standard.errors import InvalidInput

D = TypeVar("D")
E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")

MOST_INTEGER: Final = (1 << 63) - 1
"""The largest integer that SQLite and other programs store exactly."""


def decode_document(body: bytes) -> object:
    try:
        return _DECODER.decode(body.decode())
    except InvalidDocument:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(_beginning(body), 0, "it is not JSON in UTF-8") from error


def _beginning(body: bytes) -> str:
    return body[:80].decode("latin-1")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise InvalidDocument(" ".join(name for name, _ in pairs), 0, "a field is there twice")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidDocument(name, 0, "it is not a number")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)


class Fields:
    """The fields of one object of a document, each taken once; the remaining ones are unknown here."""

    def __init__(self, document: object, path: str) -> None:
        self._fields = dict(require_type(dict, document, path))
        self._path = path

    def check_schema(self, known: int) -> None:
        """Take the field `schema`; raise `NewerDocument` for a document of a newer version."""
        schema = self.required("schema", integer)
        if schema > known:
            raise NewerDocument(
                self._path, 0, "it has schema {schema}, and {known} is known", schema=schema, known=known
            )
        if schema < 1:
            raise InvalidDocument(self._path, 0, "there is no schema {schema}", schema=schema)

    def open_schema(self, known: int) -> int:
        """Take the field `schema`, which may be of a later version.

        Raise `NewerDocument` if the document requires an unknown one.
        """
        schema, required = self.required("schema", integer), 1
        if "requires_schema" in self._fields:
            required = integer(self._fields["requires_schema"], f"{self._path}.requires_schema")
        if required > known:
            raise NewerDocument(
                self._path, 0, "it requires schema {schema}, and {known} is known", schema=required, known=known
            )
        if schema < 1:
            raise InvalidDocument(self._path, 0, "there is no schema {schema}", schema=schema)
        return schema

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def required(self, name: str, reader: Callable[[object, str], T]) -> T:
        if name not in self._fields:
            raise InvalidDocument(self._path, 0, "the field {name} is missing", name=name)
        return self._read_field(name, reader)

    def optional(self, name: str, reader: Callable[[object, str], T], default: D) -> T | D:
        return self._read_field(name, reader) if name in self._fields else default

    def nullable(self, name: str, reader: Callable[[object, str], T]) -> T | None:
        return self._read_field(name, reader) if name in self._fields else None

    def _read_field(self, name: str, reader: Callable[[object, str], T]) -> T:
        path = f"{self._path}.{name}"
        try:
            return reader(self._fields.pop(name), path)
        except InvalidDocument:
            raise
        except InvalidInput as error:
            raise InvalidDocument(path, 0, "{cause}", cause=str(error)) from error

    def finish(self) -> None:
        if self._fields:
            raise UnreadMember(self._path, 0, "{name} is not a field of it", name=repr(min(self._fields)))


def require_type(kind: type[T], value: object, path: str) -> T:
    # A bool is an int in Python but not in JSON.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidDocument(path, 0, "another kind of value belongs there")
    return value


def integer(value: object, path: str) -> int:
    """Return a number that databases and other programs can hold."""
    found = require_type(int, value, path)
    if abs(found) > MOST_INTEGER:
        raise InvalidDocument(path, 0, "the number is too large")
    return found


def string(value: object, path: str) -> str:
    return require_type(str, value, path)


def boolean(value: object, path: str) -> bool:
    return require_type(bool, value, path)


def of_string(reader: Callable[[str], T]) -> Callable[[object, str], T]:
    return lambda value, path: reader(string(value, path))


def many(reader: Callable[[object, str], T]) -> Callable[[object, str], tuple[T, ...]]:
    def read(value: object, path: str) -> tuple[T, ...]:
        return tuple(reader(one, f"{path}[{index}]") for index, one in enumerate(require_type(list, value, path)))

    return read


def of_object(reader: Callable[[Fields], T]) -> Callable[[object, str], T]:
    def read(value: object, path: str) -> T:
        fields = Fields(value, path)
        outcome = reader(fields)
        fields.finish()
        return outcome

    return read


def member(kind: type[E]) -> Callable[[str], E]:
    """Return a reader for one of a few words, in exact spelling."""
    values: Mapping[str, E] = {word.value: word for word in kind}

    def read(text: str) -> E:
        if text not in values:
            raise InvalidDocument(text, 0, "it should be one of {words}", words=", ".join(values))
        return values[text]

    return read
