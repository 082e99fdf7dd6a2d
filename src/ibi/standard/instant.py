"""A point in time, exact to any decimal fraction of a second.

Labels, clocks and time stamps use instants. Floats do not suffice: 0.1 s has no binary form, and a label's date must be
exact. An `Instant` is whole POSIX seconds and the decimal digits after the point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from ibi.standard.errors import InvalidInstant, shown

MAX_FRACTION_DIGITS = 30
"""E36: the standard sets no limit on the digits of a fraction; ten to the minus thirty is beyond every clock."""

_DAY = 86_400
_POWERS: tuple[int, ...] = tuple(10**exponent for exponent in range(MAX_FRACTION_DIGITS + 1))
_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def days_in_month(year: int, month: int) -> int:
    leap = month == 2 and ((year % 4 == 0 and year % 100 != 0) or year % 400 == 0)
    return _MONTH_LENGTHS[month - 1] + leap


def day_number(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date of the Gregorian calendar.

    Years begin in March, so that leap days come last.
    """
    year -= month <= 2
    era_year = year % 400
    year_day = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    era_day = era_year * 365 + era_year // 4 - era_year // 100 + year_day
    return year // 400 * 146_097 + era_day - 719_468


@lru_cache(maxsize=1024)
def civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a day number: the inverse of `day_number`."""
    days += 719_468
    era, era_day = divmod(days, 146_097)
    era_year = (era_day - era_day // 1460 + era_day // 36_524 - era_day // 146_096) // 365
    year_day = era_day - (365 * era_year + era_year // 4 - era_year // 100)
    shifted = (5 * year_day + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + era_year + (month <= 2), month, year_day - (153 * shifted + 2) // 5 + 1


# E8: the years a repository name can write are 1000 to 9999; all instants here lie between them.
FIRST_SECOND = day_number(1000, 1, 1) * _DAY
LAST_SECOND = day_number(10_000, 1, 1) * _DAY - 1

_OUT_OF_RANGE = "the year is not between 1000 and 9999"

# ISO 8601 as R Table 9.3 uses it for time stamps (2014-01-02T17:23:57Z); an offset, as in R §6.1
# (1997-07-16T19:20+01:00), is accepted too.
_ISO_8601 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,30}))?)?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)


class Instant:
    """Whole POSIX `seconds`, and the decimal digits of the `fraction` without trailing zeros. Immutable and ordered."""

    __slots__ = ("_fraction", "_seconds")

    def __init__(self, seconds: int, fraction: str = "") -> None:
        if not FIRST_SECOND <= seconds <= LAST_SECOND:
            raise InvalidInstant(shown(seconds), 0, _OUT_OF_RANGE)
        if fraction:
            fraction = _checked_fraction(fraction)
        self._seconds = seconds
        self._fraction = fraction

    @property
    def seconds(self) -> int:
        return self._seconds

    @property
    def fraction(self) -> str:
        return self._fraction

    @classmethod
    def parse(cls, text: str) -> Instant:
        """Parse an ISO 8601 time in UTC or with an offset."""
        match = _ISO_8601.fullmatch(text)
        if match is None:
            raise InvalidInstant(text, 0, "a date looks like 2009-02-16T17:46:00Z")
        year, month, day, hour, minute, second = (int(group or 0) for group in match.groups()[:6])
        _check_civil(text, year, month, day, hour, minute, second)
        seconds = day_number(year, month, day) * _DAY + hour * 3600 + minute * 60 + second
        seconds -= _offset(text, *match.group(8, 9, 10))
        if not FIRST_SECOND <= seconds <= LAST_SECOND:
            raise InvalidInstant(text, 0, _OUT_OF_RANGE)
        return cls(seconds, match[7] or "")

    @classmethod
    def from_fraction(cls, seconds: Fraction | int) -> Instant:
        """Return the instant that many seconds after the POSIX epoch.

        Raise `InvalidInstant` if it is no decimal fraction.
        """
        seconds = Fraction(seconds)
        whole = seconds.numerator // seconds.denominator
        scaled = (seconds - whole) * _POWERS[MAX_FRACTION_DIGITS]
        if scaled.denominator != 1:
            text = f"{shown(seconds.numerator)}/{shown(seconds.denominator)}"
            raise InvalidInstant(text, 0, "it cannot be written with {digits} decimals", digits=MAX_FRACTION_DIGITS)
        return cls(whole, str(scaled.numerator).zfill(MAX_FRACTION_DIGITS).rstrip("0"))

    @classmethod
    def from_nanoseconds(cls, nanoseconds: int) -> Instant:
        return cls.from_units(nanoseconds, 9)

    @classmethod
    def from_units(cls, units: int, digits: int) -> Instant:
        """Return the instant `units` · 10^-`digits` seconds after the POSIX epoch."""
        seconds, rest = divmod(units, _POWERS[digits])
        if not FIRST_SECOND <= seconds <= LAST_SECOND:
            return cls(seconds)  # raises InvalidInstant
        instant = cls.__new__(cls)
        instant._seconds = seconds
        # Written here, so no check is needed.
        instant._fraction = str(rest).zfill(digits).rstrip("0") if rest else ""
        return instant

    @classmethod
    def run(cls, units: int, step: int, count: int, digits: int) -> Iterator[Instant]:
        """Yield the results of `from_units` for `count` numbers of units, each `step` more than the one before."""
        for end in (units, units + (count - 1) * step) if count > 0 else ():
            cls.from_units(end, digits)  # raises InvalidInstant if out of range
        new, second = object.__new__, _POWERS[digits]
        seconds, rest = divmod(units, second)
        for _ in range(count):
            instant = new(cls)
            instant._seconds = seconds
            instant._fraction = str(rest).zfill(digits).rstrip("0") if rest else ""
            yield instant
            rest += step
            if rest >= second:
                seconds, rest = seconds + rest // second, rest % second

    def units(self, digits: int) -> int:
        """Return seconds · 10^`digits`; `digits` is at least the length of the fraction."""
        if not self._fraction:
            return self._seconds * _POWERS[digits]
        return self._seconds * _POWERS[digits] + int(self._fraction.ljust(digits, "0"))

    def as_fraction(self) -> Fraction:
        digits = len(self._fraction)
        return Fraction(self.units(digits), _POWERS[digits])

    def __str__(self) -> str:
        return (
            f"{_format_seconds(self._seconds)}.{self._fraction}Z"
            if self._fraction
            else f"{_format_seconds(self._seconds)}Z"
        )

    def __repr__(self) -> str:
        return f"Instant({self._seconds}, {self._fraction!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Instant, (self._seconds, self._fraction)

    def __hash__(self) -> int:
        return hash((self._seconds, self._fraction))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instant):
            return NotImplemented
        return self._seconds == other._seconds and self._fraction == other._fraction

    def _key(self) -> tuple[int, str]:
        # Digits after the point compare as text: "05" < "1" < "15", and nothing is before everything.
        return self._seconds, self._fraction

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, Instant) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self._key() <= other._key() if isinstance(other, Instant) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self._key() > other._key() if isinstance(other, Instant) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self._key() >= other._key() if isinstance(other, Instant) else NotImplemented


@lru_cache(maxsize=1024)
def _format_seconds(seconds: int) -> str:
    """Return the date up to the second, cached because consecutive dates are often in the same second."""
    days, rest = divmod(seconds, _DAY)
    year, month, day = civil(days)
    return f"{year}-{month:02}-{day:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def _checked_fraction(fraction: str) -> str:
    if not (fraction.isascii() and fraction.isdigit()):
        raise InvalidInstant(fraction, 0, "a fraction of a second consists of the digits 0 to 9")
    fraction = fraction.rstrip("0")
    if len(fraction) > MAX_FRACTION_DIGITS:
        raise InvalidInstant(
            fraction, 0, "a fraction of a second has at most {digits} digits", digits=MAX_FRACTION_DIGITS
        )
    return fraction


def _offset(text: str, sign: str | None, hours: str, minutes: str) -> int:
    """Return the seconds that a time is ahead of UTC; 0 for `Z`."""
    if sign is None:
        return 0
    if hours > "23" or minutes > "59":
        raise InvalidInstant(text, len(text) - 6, "no clock is that far from UTC")
    return int(f"{sign}1") * (int(hours) * 3600 + int(minutes) * 60)


def _check_civil(text: str, year: int, month: int, day: int, hour: int, minute: int, second: int) -> None:
    if not 1 <= month <= 12:
        raise InvalidInstant(text, 5, "there is no month {month}", month=month)
    if not 1 <= day <= days_in_month(year, month):
        raise InvalidInstant(text, 8, "{day} {month} does not exist", day=day, month=f"{MONTH_NAMES[month - 1]} {year}")
    if hour > 23 or minute > 59 or second > 59:
        raise InvalidInstant(text, 11, "a day ends at 23:59:59")
