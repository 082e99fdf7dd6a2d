"""Descriptive metadata: the fifteen elements of Dublin Core (ISO 15836-1), each as often as is needed.

Nothing here has a meaning for resolution. What an item is to others, its editions and translations, is in `item`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Final

from ibi.languages import LanguageTag
from ibi.model.errors import InvalidMetadata

DC_ELEMENTS: Final = (
    "contributor",
    "coverage",
    "creator",
    "date",
    "description",
    "format",
    "identifier",
    "language",
    "publisher",
    "relation",
    "rights",
    "source",
    "subject",
    "title",
    "type",
)

MAX_TEXT: Final = 100_000
"""Characters of one value; an abstract has some thousands."""

# XML 1.0 has no way to write these, and every harvester reads XML; tabs and line ends are the only controls it has.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def checked_text(text: str, element: str) -> str:
    """`text`, if it says something and can be written anywhere."""
    if not text.strip():
        raise InvalidMetadata(text, 0, "{field} is empty", field=element)
    if len(text) > MAX_TEXT:
        raise InvalidMetadata(text, MAX_TEXT, "{field} has more than {most} characters", field=element, most=MAX_TEXT)
    strange = _UNWRITABLE.search(text)
    if strange is not None:
        raise InvalidMetadata(text, strange.start(), "{field} holds a character that cannot be shown", field=element)
    return text


@dataclass(frozen=True, slots=True)
class Text:
    """A value of an element, and the language it is written in if that is known."""

    value: str
    language: LanguageTag | None = None

    def __post_init__(self) -> None:
        checked_text(self.value, "text")

    def __str__(self) -> str:
        return self.value


# ORCID, "Structure of the ORCID Identifier": four groups of four digits, the last digit 0-9 or X
_ORCID = re.compile(r"(?:https?://(?:www\.)?orcid\.org/)?(\d{4})-?(\d{4})-?(\d{4})-?(\d{3}[\dXx])/?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Orcid:
    """The identifier of a researcher, `0000-0002-1825-0097`; what was mistyped fails its check digit."""

    text: str

    def __post_init__(self) -> None:
        match = _ORCID.fullmatch(self.text.strip()) if len(self.text) < 80 else None
        if match is None:
            raise InvalidMetadata(
                self.text, 0, "an ORCID iD has sixteen digits, as in 0000-0002-1825-0097", field="orcid"
            )
        digits = "".join(match.groups()).upper()
        if digits[-1] != _check_digit(digits[:-1]):
            raise InvalidMetadata(
                self.text, 0, "the last digit of this ORCID iD does not fit the others", field="orcid"
            )
        object.__setattr__(self, "text", "-".join(match.groups()).upper())

    @property
    def url(self) -> str:
        return f"https://orcid.org/{self.text}"

    def __str__(self) -> str:
        return self.text


def _check_digit(digits: str) -> str:
    """ISO/IEC 7064 MOD 11-2."""
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2 % 11
    return "0123456789X"[(12 - total) % 11]


@dataclass(frozen=True, slots=True)
class Agent:
    """Who made something or helped to: a person or an institution."""

    name: str
    orcid: Orcid | None = None
    language: LanguageTag | None = None

    def __post_init__(self) -> None:
        checked_text(self.name, "name")

    def __str__(self) -> str:
        return self.name


# SPDX specification 2.3, Annex D: license-id = 1*(ALPHA / DIGIT / "-" / "."), perhaps with "+"
_SPDX = re.compile(r"[A-Za-z0-9.-]{1,64}\+?")
_LICENCE_URL = re.compile(r"https?://[!-~]{1,2000}")


@dataclass(frozen=True, slots=True)
class Licence:
    """On what terms something may be used: an identifier of SPDX such as `CC-BY-4.0`, or the URL of the terms."""

    text: str

    def __post_init__(self) -> None:
        if not (_SPDX.fullmatch(self.text) or _LICENCE_URL.fullmatch(self.text)):
            raise InvalidMetadata(
                self.text, 0, "a licence is an SPDX identifier such as CC-BY-4.0, or a URL", field="licence"
            )

    @property
    def url(self) -> str:
        return self.text if "://" in self.text else f"https://spdx.org/licenses/{self.text}"

    def __str__(self) -> str:
        return self.text


class ResourceType(StrEnum):
    """What kind of thing an item is: the DCMI Type Vocabulary."""

    COLLECTION = "Collection"
    DATASET = "Dataset"
    EVENT = "Event"
    IMAGE = "Image"
    INTERACTIVE_RESOURCE = "InteractiveResource"
    MOVING_IMAGE = "MovingImage"
    PHYSICAL_OBJECT = "PhysicalObject"
    SERVICE = "Service"
    SOFTWARE = "Software"
    SOUND = "Sound"
    STILL_IMAGE = "StillImage"
    TEXT = "Text"


_KINDS: Final = {str(kind).lower(): kind for kind in ResourceType}


@dataclass(frozen=True, slots=True)
class DescriptiveMetadata:
    """The values of each element in the order in which they were given, and what Dublin Core has no place for."""

    contributor: tuple[Agent, ...] = ()
    coverage: tuple[Text, ...] = ()
    creator: tuple[Agent, ...] = ()
    date: tuple[Text, ...] = ()
    description: tuple[Text, ...] = ()
    format: tuple[Text, ...] = ()
    identifier: tuple[Text, ...] = ()
    language: tuple[Text, ...] = ()
    publisher: tuple[Text, ...] = ()
    relation: tuple[Text, ...] = ()
    rights: tuple[Text, ...] = ()
    source: tuple[Text, ...] = ()
    subject: tuple[Text, ...] = ()
    title: tuple[Text, ...] = ()
    type: tuple[Text, ...] = ()
    licence: Licence | None = None
    resource_type: ResourceType | None = None

    def values(self, element: str) -> tuple[Text, ...] | tuple[Agent, ...]:
        """The values of one of `DC_ELEMENTS`."""
        values: tuple[Text, ...] | tuple[Agent, ...] = getattr(self, element)
        return values

    def with_kind(self) -> DescriptiveMetadata:
        """The same, with the kind of thing where it belongs: a term of DCMI among the types is the `resource_type`,
        unless that says another, and is not said twice. So an item is described alike whichever way it came."""
        kinds = [_KINDS.get("".join(text.value.split()).lower()) for text in self.type]
        kind = self.resource_type or next(filter(None, kinds), None)
        rest = tuple(text for text, named in zip(self.type, kinds, strict=True) if named is None or named is not kind)
        return self if rest == self.type else replace(self, type=rest, resource_type=kind)

    def titles(self, language: LanguageTag | None = None) -> tuple[str, ...]:
        """The titles, those in `language` first."""
        ordered = sorted(self.title, key=lambda text: language is None or text.language != language)
        return tuple(text.value for text in ordered)


assert tuple(field.name for field in fields(DescriptiveMetadata))[:15] == DC_ELEMENTS
