"""Dates of a description: a year, a month, a day, a moment, or an interval of dates (EDTF level 0, ISO 8601-1).

What is deposited is checked; what is recorded already is read as it is, and may stay through updates.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from ibi.errors import InvalidInstant
from ibi.instant import Instant, days_in_month
from ibi.model.errors import InvalidMetadata
from ibi.model.metadata import DescriptiveMetadata

_DATE: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2})")
_FORMS: Final = "a date looks like 2027, 2027-01 or 2027-01-31, and an interval like 2026/2027-01"
_LONGEST: Final = 64


def checked_date(text: str) -> str:
    """`text`, if the calendar has it; `InvalidMetadata` says what is wrong with it."""
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
    """Refuse a description with a date that is none; `known` are those of the item already, whatever they are."""
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
