"""Descriptive metadata: the fifteen elements of Dublin Core (ISO 15836-1), each repeatable, and values that Dublin Core
has no place for: affiliations, funders, identifiers of related works, places on the map.

Nothing here affects resolution. The relations of an item, its editions and translations, are in `item`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Final, NamedTuple

from ibi.items.model.description_values import (
    MOST_AFFILIATIONS,
    Affiliation,
    Funding,
    GeoPlace,
    RelatedIdentifier,
    check_count,
    checked_text,
)
from ibi.standard.document_errors import InvalidMetadata
from ibi.standard.errors import InvalidInstant
from ibi.standard.instant import Instant, days_in_month
from ibi.standard.languages import LanguageTag

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


@dataclass(frozen=True, slots=True)
class Text:
    """A value of an element, and its language if known."""

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
    """The identifier of a researcher, `0000-0002-1825-0097`; its check digit catches typing errors."""

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
    """Return the check digit of ISO/IEC 7064 MOD 11-2."""
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2 % 11
    return "0123456789X"[(12 - total) % 11]


@dataclass(frozen=True, slots=True)
class Agent:
    """An author or contributor: a person or an institution."""

    name: str
    orcid: Orcid | None = None
    language: LanguageTag | None = None
    affiliations: tuple[Affiliation, ...] = ()

    def __post_init__(self) -> None:
        checked_text(self.name, "name")
        check_count(self.affiliations, MOST_AFFILIATIONS, "affiliations")

    def __str__(self) -> str:
        return self.name


# SPDX specification 2.3, Annex D: license-id = 1*(ALPHA / DIGIT / "-" / "."), perhaps with "+"
_SPDX = re.compile(r"[A-Za-z0-9.-]{1,64}\+?")
_LICENCE_URL = re.compile(r"https?://[!-~]{1,2000}")


@dataclass(frozen=True, slots=True)
class Licence:
    """The terms of use: an SPDX identifier such as `CC-BY-4.0`, or the URL of the terms."""

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


MOST_VALUES: Final = 20_000
"""Most values of all elements together. The longest list of authors so far had some fifteen thousand."""
MOST_RELATED: Final = 1000
MOST_FUNDINGS: Final = 100
MOST_PLACES: Final = 100


class ResourceType(StrEnum):
    """The type of an item: the DCMI Type Vocabulary."""

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
    """The values of each element in their original order, and values that Dublin Core has no place for."""

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
    related_identifiers: tuple[RelatedIdentifier, ...] = ()
    funding: tuple[Funding, ...] = ()
    places: tuple[GeoPlace, ...] = ()

    def __post_init__(self) -> None:
        check_count(self.related_identifiers, MOST_RELATED, "related_identifiers")
        check_count(self.funding, MOST_FUNDINGS, "funding")
        check_count(self.places, MOST_PLACES, "places")

    def values(self, element: str) -> tuple[Text, ...] | tuple[Agent, ...]:
        """Return the values of one of `DC_ELEMENTS`."""
        values: tuple[Text, ...] | tuple[Agent, ...] = getattr(self, element)
        return values

    def count_values(self) -> int:
        """Return the total number of values of all repeatable members."""
        return sum(len(getattr(self, name)) for name in (*DC_ELEMENTS, "related_identifiers", "funding", "places"))

    def with_kind(self) -> DescriptiveMetadata:
        """Return the same with the DCMI type in its own field.

        A DCMI term among the types becomes the `resource_type`, unless that has another value; it is not stored twice.
        So an item has the same description whichever way it came.
        """
        kinds = [_KINDS.get("".join(text.value.split()).lower()) for text in self.type]
        kind = self.resource_type or next(filter(None, kinds), None)
        rest = tuple(text for text, named in zip(self.type, kinds, strict=True) if named is None or named is not kind)
        return self if rest == self.type else replace(self, type=rest, resource_type=kind)

    def titles(self, language: LanguageTag | None = None) -> tuple[str, ...]:
        """Return the titles, those in `language` first."""
        ordered = sorted(self.title, key=lambda text: language is None or text.language != language)
        return tuple(text.value for text in ordered)


assert tuple(field.name for field in fields(DescriptiveMetadata))[:15] == DC_ELEMENTS


# Deposited dates are checked. Recorded dates are read as they are, and may stay through updates.

_DATE: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2})")
_FORMS: Final = "a date looks like 2027, 2027-01 or 2027-01-31, and an interval like 2026/2027-01"
_LONGEST: Final = 64


def checked_date(text: str) -> str:
    """Return `text`, if it is a valid date; raise `InvalidMetadata` with the reason if not."""
    if len(text) > _LONGEST:
        raise _refusal(text, 0, _FORMS)
    if "T" in text and _MOMENT.fullmatch(text):
        return _checked_moment(text)
    first, slash, last = text.partition("/")
    begin = _parts(text, first, 0)
    if slash:
        end = _parts(text, last, len(first) + 1)
        if begin[: len(end)] > end[: len(begin)]:
            raise _refusal(text, len(first) + 1, "the interval ends before it begins")
    return text


def check_dates(metadata: DescriptiveMetadata, known: Collection[str] = ()) -> None:
    """Raise `InvalidMetadata` for an invalid date. `known` are dates that the item has already, valid or not."""
    for date in metadata.date:
        if date.value not in known:
            checked_date(date.value)


def _parts(whole: str, text: str, offset: int) -> tuple[int, ...]:
    match = _DATE.fullmatch(text)
    if match is None:
        raise _refusal(whole, offset, _FORMS)
    year, *rest = (int(part) for part in match.groups() if part is not None)
    if rest and not 1 <= rest[0] <= 12:
        raise _refusal(whole, offset + 5, "there is no month {number}", number=rest[0])
    if len(rest) > 1 and not 1 <= rest[1] <= days_in_month(year, rest[0]):
        raise _refusal(whole, offset + 8, "that month has no day {number}", number=rest[1])
    return year, *rest


def _checked_moment(text: str) -> str:
    try:
        Instant.parse(text)
    except InvalidInstant as error:
        raise _refusal(text, error.offset, error.reason, **error.details) from error
    return text


def _refusal(text: str, offset: int, reason: str, **details: object) -> InvalidMetadata:
    return InvalidMetadata(text, offset, reason, **{**details, "field": "date"})


# ISO 8601 as W3CDTF profiles it: a year, perhaps a month, perhaps a day.
_ISO_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?![0-9]))?(?![0-9]))?(?![0-9])")
_YEAR = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")


class IssueDate(NamedTuple):
    """The date of issue of a work: a year, and the month and the day if they are known."""

    year: int
    month: int | None = None
    day: int | None = None

    def __str__(self) -> str:
        parts = (f"{self.year:04}", *(f"{part:02}" for part in self[1:] if part is not None))
        return "-".join(parts)


def issue_date(metadata: DescriptiveMetadata) -> IssueDate | None:
    """Return the first of its dates that contains a year; None if none does."""
    return next((date for date in map(_read_date, (text.value for text in metadata.date)) if date is not None), None)


def _read_date(text: str) -> IssueDate | None:
    match = _ISO_DATE.match(text.strip())
    if match is not None:
        return _valid_date(*(int(part) if part else None for part in match.groups()))
    year = _YEAR.search(text)
    return None if year is None else _valid_date(int(year[0]))


def _valid_date(year: int | None, month: int | None = None, day: int | None = None) -> IssueDate | None:
    """Return the valid part of a date: an invalid month is left out, and the day with it."""
    if not year:
        return None
    if month is None or not 1 <= month <= 12:
        return IssueDate(year)
    if day is None or not 1 <= day <= days_in_month(year, month):
        return IssueDate(year, month)
    return IssueDate(year, month, day)
