"""When something was published, as far as its description says so."""

from __future__ import annotations

import re
from typing import NamedTuple

from ibi.instant import days_in_month
from ibi.model.metadata import DescriptiveMetadata

__all__ = ["Issued", "issued"]

# ISO 8601 as W3CDTF profiles it: a year, perhaps a month, perhaps a day.
_ISO_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?![0-9]))?(?![0-9]))?(?![0-9])")
_YEAR = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")


class Issued(NamedTuple):
    """A year, and the month and the day in it where they are known."""

    year: int
    month: int | None = None
    day: int | None = None

    def __str__(self) -> str:
        parts = (f"{self.year:04}", *(f"{part:02}" for part in self[1:] if part is not None))
        return "-".join(parts)


def issued(metadata: DescriptiveMetadata) -> Issued | None:
    """The first of its dates that tells a year; None if none does."""
    return next((date for date in map(_read, (text.value for text in metadata.date)) if date is not None), None)


def _read(text: str) -> Issued | None:
    match = _ISO_DATE.match(text.strip())
    if match is not None:
        return _checked(*(int(part) if part else None for part in match.groups()))
    year = _YEAR.search(text)
    return None if year is None else _checked(int(year[0]))


def _checked(year: int | None, month: int | None = None, day: int | None = None) -> Issued | None:
    """What the calendar has of it: a month that there is not is left out, and the day with it."""
    if not year:
        return None
    if month is None or not 1 <= month <= 12:
        return Issued(year)
    if day is None or not 1 <= day <= days_in_month(year, month):
        return Issued(year, month)
    return Issued(year, month, day)
