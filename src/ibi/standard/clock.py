"""The temporal distributor, which assigns the date of the next label (G §6, Algorithm 4,
CREATEDATETOMOUNTSUFFIXOFIBIOFANITEM).

Pure functions: from the present date, the last issued date and the granularity follow the date to issue and the wait
for it. Nothing here sleeps or stores anything. All arithmetic is on integers; a float would round two dates into one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, total_ordering
from typing import NamedTuple

from ibi.standard.errors import InvalidGranularity, shown
from ibi.standard.instant import MAX_FRACTION_DIGITS, Instant


@total_ordering
class Granularity:
    """A member of G = {60, 1, 1/10, 1/100, …} seconds: the grid of issued dates. Coarser compares as greater."""

    __slots__ = ("_level",)

    def __init__(self, level: int) -> None:
        """Take `level`: 0 is a minute, 1 a second, and each further one a tenth of the one before."""
        if not 0 <= level <= MAX_FRACTION_DIGITS + 1:
            raise InvalidGranularity(shown(level), 0, "there is no such level")
        self._level = level

    @classmethod
    def parse(cls, text: str) -> Granularity:
        """Parse `60`, `1`, `0.1`, `0.01` …"""
        if text == "60":
            return cls(0)
        if text == "1":
            return cls(1)
        if len(text) > MAX_FRACTION_DIGITS + 2 or not re.fullmatch(r"0\.0*1", text):
            raise InvalidGranularity(text, 0, "it is 60, 1, 0.1, 0.01 and so on, in seconds")
        return cls(len(text) - 1)

    @property
    def level(self) -> int:
        return self._level

    @property
    def digits(self) -> int:
        """The number of decimals of a second in its dates."""
        return max(0, self._level - 1)

    @property
    def seconds(self) -> Fraction:
        return Fraction(60) if self._level == 0 else Fraction(1, 10**self.digits)

    def units(self, digits: int) -> int:
        """Return its size in units of 10^-`digits` seconds."""
        return 60 * int(10**digits) if self._level == 0 else int(10 ** (digits - self.digits))

    def coarser(self) -> Granularity | None:
        return Granularity(self._level - 1) if self._level else None

    def finer(self) -> Granularity | None:
        return Granularity(self._level + 1) if self._level <= MAX_FRACTION_DIGITS else None

    def __str__(self) -> str:
        return "60" if self._level == 0 else "1" if self._level == 1 else f"0.{'0' * (self.digits - 1)}1"

    def __repr__(self) -> str:
        return f"Granularity.parse({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Granularity, (self._level,)

    def __hash__(self) -> int:
        return hash(self._level)

    def __eq__(self, other: object) -> bool:
        return self._level == other._level if isinstance(other, Granularity) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._level > other._level if isinstance(other, Granularity) else NotImplemented


MINUTE = Granularity(0)
SECOND = Granularity(1)


class Tick(NamedTuple):
    """A date for a label, and the seconds that its caller must wait until that date has come."""

    date: Instant
    wait: Fraction


def next_tick(now: Instant, last: Instant | None, granularity: Granularity) -> Tick:
    """Return the shortest date on the grid that is later than the `last` one (G Algorithm 4)."""
    return next_ticks(now, last, granularity, 1)[0]


def next_ticks(now: Instant, last: Instant | None, granularity: Granularity, count: int) -> TickRun:
    """Return the results of `count` calls of `next_tick` at one `now`, each with the date before it as its `last`."""
    if count < 1:
        raise ValueError("a run has at least one tick")
    digits = max(granularity.digits, len(now.fraction), len(last.fraction) if last else 0)
    now_units, step = now.units(digits), granularity.units(digits)
    rounded = now_units // step * step
    before = rounded - step if last is None else last.units(digits) // step * step  # lines 2 to 4
    # Lines 8 to 16: while the grid still has a date up to now, the next one is the creation date on the coarsest grid
    # that puts it after the last. Each grid gives at most one, the coarser first; from then on they come one by one.
    head: list[int] = []
    for size in _sizes(digits)[: granularity.level + 1]:
        candidate = now_units // size * size
        if candidate > before:
            before = candidate
            head.append(candidate)
            if len(head) == count:
                break
    return TickRun(head, before, step, now_units, digits, count)


@lru_cache(maxsize=MAX_FRACTION_DIGITS + 1)
def _sizes(digits: int) -> tuple[int, ...]:
    """Return every granularity with at most that many decimals, the coarsest first, in units of 10^-`digits` s."""
    return tuple(Granularity(level).units(digits) for level in range(digits + 2))


class TickRun:
    """Consecutive ticks, computed on demand: a million of them take no more memory than one."""

    __slots__ = ("_before", "_count", "_digits", "_head", "_now", "_step")

    def __init__(self, head: list[int], before: int, step: int, now: int, digits: int, count: int) -> None:
        """Take the due dates `head`, in units of 10^-`digits` s; after `before` they follow at every `step`."""
        self._head, self._before, self._step = head, before, step
        self._now, self._digits, self._count = now, digits, count

    def __len__(self) -> int:
        return self._count

    def _units(self, index: int) -> int:
        due = len(self._head)
        return self._head[index] if index < due else self._before + (index - due + 1) * self._step

    def __getitem__(self, index: int) -> Tick:
        if not -self._count <= index < self._count:
            raise IndexError(index)
        units = self._units(index % self._count)
        # Lines 5 to 7: the caller waits for a date not yet reached. A due one is never in the future.
        wait = Fraction(max(0, units - self._now), 10**self._digits)
        return Tick(Instant.from_units(units, self._digits), wait)

    def __iter__(self) -> Iterator[Tick]:
        return (self[index] for index in range(self._count))

    def date(self, index: int) -> Instant:
        """Return the date of one tick, without its wait."""
        due = len(self._head)
        units = self._head[index] if index < due else self._before + (index - due + 1) * self._step
        return Instant.from_units(units, self._digits)

    @property
    def first(self) -> Instant:
        return self.date(0)

    @property
    def last(self) -> Instant:
        return self.date(self._count - 1)

    @property
    def wait(self) -> Fraction:
        """The wait of the last caller of the run, and so of the whole run if it is handed out together."""
        return self[self._count - 1].wait

    def dates(self, start: int = 0, count: int | None = None) -> Iterator[Instant]:
        """Yield the dates of `count` ticks from `start` on, without their waits: faster than iterating over ticks."""
        stop = self._count if count is None else start + count
        due, digits, step = len(self._head), self._digits, self._step
        for units in self._head[start:stop]:
            yield Instant.from_units(units, digits)
        first = self._before + (max(0, start - due) + 1) * step
        yield from Instant.run(first, step, stop - max(start, due), digits)

    def waits_within(self, bound: Fraction) -> bool:
        """Return whether every caller of the run waits at most `bound` seconds."""
        ahead = self._units(self._count - 1) - self._now
        return ahead <= 0 or ahead * bound.denominator <= bound.numerator * int(10**self._digits)
