"""The declaration of settings: the annotations of a field, and how the declarations of a dataclass are read.

A setting is a field annotated with the kind of its value and with a `Setting`:

    port: Annotated[ListeningPort, Setting("The port on which …", default="8765", metavar="N")]

A field with a dataclass as its type is a section. The name of the field determines the rest: the key in `ibi.toml`, the
variable and the flag.

The values are named tuples, not dataclasses: every start of the command creates them, in a seventh of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import Field, fields, is_dataclass
from enum import IntEnum
from typing import Any, Literal, NamedTuple, get_args, get_origin


class ValueKind(NamedTuple):
    """The kind of values that a setting can have.

    `read` converts a text to the value. It raises ValueError for any other text, with a message if that says more than
    `expected`.
    """

    expected: str
    """The end of the sentence "this is not …"."""
    read: Callable[[str], object]
    toml_types: frozenset[str] = frozenset({"string"})
    """The types that the value may have in a TOML file: string, integer, float, boolean."""
    secret: bool = False
    """True if messages must not show the value."""

    def as_toml(self, text: str) -> str:
        """Return `text`, which `read` accepts, in the syntax of a TOML file."""
        is_number = text.replace(".", "", 1).isdigit()
        if "string" not in self.toml_types or (self.toml_types > {"string"} and is_number):
            return text
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Setting(NamedTuple):
    """The annotation of a field that declares a setting."""

    help: str
    """One sentence."""
    default: str | None = None
    """The text of the default; None if there is no default."""
    metavar: str | None = None
    """Placeholder for the value of the flag in the help of the command; None if there is no flag."""
    in_file: bool = True
    """True if `ibi.toml` may contain it."""


class NamedSetting(NamedTuple):
    """A setting with its name and kind. The other fields are as in `Setting`."""

    name: str
    """The attribute of `Settings` and the key in `ibi.toml`: `mint.host` is `host` under `[mint]`."""
    kind: ValueKind
    help: str
    default: str | None
    metavar: str | None
    in_file: bool

    @property
    def variable(self) -> str:
        return f"IBI_{self.name.upper().replace('.', '_')}"

    @property
    def flag(self) -> str | None:
        return None if self.metavar is None else f"--{self.name.replace('_', '-')}"

    @property
    def option_help(self) -> str:
        """The text of the flag in the help of the command."""
        default = "" if self.default is None else f", default {self.default}"
        return f"{self.help} [{self.variable}{default}]"


def declared_settings(declaring: type, prefix: str = "") -> Iterator[NamedSetting]:
    """Yield the settings of a dataclass and of its sections, in the order of the fields.

    Other fields are skipped. The annotations have to be objects, so a module that declares settings does without `from
    __future__ import annotations`.
    """
    sections = declared_sections(declaring)
    for field in fields(declaring):
        if field.name in sections:
            yield from declared_settings(sections[field.name], f"{field.name}.")
        else:
            yield from _declared_setting(field, prefix)


def declared_sections(declaring: type) -> dict[str, type[Any]]:
    """Return the dataclasses of the sections, by name."""
    types = ((field.name, field.type) for field in fields(declaring))
    return {name: one for name, one in types if isinstance(one, type) and is_dataclass(one)}


def _declared_setting(field: Field[Any], prefix: str) -> Iterator[NamedSetting]:
    for one in getattr(field.type, "__metadata__", ()):
        if isinstance(one, Setting):
            yield NamedSetting(f"{prefix}{field.name}", _kind(field.type), *one)


def _kind(annotation: Any) -> ValueKind:
    """Return the kind with which a type is annotated. `X | None` has the kind of `X`; a `Literal` is a choice."""
    for one in getattr(annotation, "__metadata__", ()):
        if isinstance(one, ValueKind):
            return one
    arguments = get_args(annotation)
    if not arguments:
        raise TypeError(f"{annotation} is not annotated with a ValueKind")
    return _choice(arguments) if get_origin(annotation) is Literal else _kind(arguments[0])


def _choice(values: tuple[str, ...]) -> ValueKind:
    def read(text: str) -> str:
        if text not in values:
            raise ValueError
        return text

    return ValueKind(f"one of {', '.join(values)}", read)


class SettingSource(IntEnum):
    """The source of a value. A greater source overrides a lesser one."""

    DEFAULT = 0
    FILE = 1
    ENVIRONMENT = 2
    FLAG = 3
