"""Registration keys that somebody would try first (R Table 7.1 lets any ten digits pass)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from ibi.label import Label
from ibi.messages.key import RegistrationKey
from ibi.resolver.errors import WeakKey

__all__ = ["require_strong"]

_FEWEST: Final = 4
"""Different digits. Of ten drawn by chance, one in a thousand has fewer."""

_SHORTEST_RUN: Final = 6
"""Digits in a row that count up, count down or stay. Of ten drawn by chance, one in some thousands has so many."""

_LONGEST_PERIOD: Final = 5


def require_strong(key: RegistrationKey, labels: Iterable[Label] = ()) -> None:
    """Refuse with `WeakKey` a key that is a pattern, or can be read in the Archive's own `labels`.

    Of a key of two numbers, one that is neither is enough.
    """
    written = ["".join(filter(str.isdigit, label.spelling)) for label in labels]
    reasons = [_weakness(number, written) for number in key.reveal().split("-")]
    if None not in reasons:
        raise WeakKey(reason=reasons[0])


def _weakness(digits: str, written: list[str]) -> str | None:
    if len(set(digits)) == 1:
        return "all its digits are the same"
    if len(set(digits)) < _FEWEST:
        return "it has too few different digits"
    if _has_run(digits) or (_has_run(digits[::2]) and _has_run(digits[1::2])):
        return "its digits follow one another"
    if _repeats(digits):
        return "it repeats itself"
    if any(digits in each for each in written):
        return "it stands in the IBI of the Archive"
    return None


def _has_run(digits: str) -> bool:
    """Whether most of it counts up, counts down or stays, in one piece; after 9 comes 0."""
    steps = [(int(after) - int(before)) % 10 for before, after in pairwise(digits)]
    longest = length = 1
    for number, step in enumerate(steps):
        goes_on = number > 0 and step == steps[number - 1]
        length = 1 if step not in {0, 1, 9} else length + 1 if goes_on else 2
        longest = max(longest, length)
    return longest >= min(len(digits), max(_SHORTEST_RUN, len(digits) // 2 + 1))


def _repeats(digits: str) -> bool:
    """Whether it is the same few digits again and again, the last time perhaps cut short."""
    return any(
        all(digits[place] == digits[place % period] for place in range(len(digits)))
        for period in range(1, min(_LONGEST_PERIOD, len(digits) // 2) + 1)
    )
