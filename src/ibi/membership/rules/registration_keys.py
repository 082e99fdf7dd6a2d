"""Registration keys that are easy to guess (E61)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from ibi.membership.rules.membership import WeakKey
from ibi.standard.label import Label
from ibi.standard.messages.identification import RegistrationKey

_FEWEST: Final = 4
"""Least number of different digits. One in a thousand random ten-digit numbers has fewer."""

_SHORTEST_RUN: Final = 6
"""Digits in a row that count up, count down or stay. One in some thousands of random ten-digit numbers has so many."""

_LONGEST_PERIOD: Final = 5

_SHORTEST_EXCERPT: Final = 8
"""Digits in a row of a known constant. One in a hundred thousand random ten-digit numbers has so many."""

_CONSTANTS: Final = {
    "π": "314159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798",
    "e": "271828182845904523536028747135266249775724709369995957496696762772407663035354759457138217852516642742",
    "√2": "141421356237309504880168872420969807856967187537694807317667973799073247846210703885038753432764157273",
    "the golden ratio": "16180339887498948482045868343656381177203091798057628621354486227052604628189024497072072041",
}

# The standard prints the first of these as its example, and manuals that follow it do the same.
_WELL_KNOWN: Final = frozenset(
    {
        "1234567890",
        "0123456789",
        "0987654321",
        "9876543210",
        "1234554321",
        "1122334455",
        "1212121212",
        *(digit * 10 for digit in "0123456789"),
        *(digits[:10] for digits in _CONSTANTS.values()),
    }
)


def key_weakness(key: RegistrationKey, labels: Iterable[Label] = ()) -> str | None:
    """Return why a key is easy to guess; None if it is not.

    A weak key is a pattern, or can be read in a table or in the Archive's own `labels` (E61; R Table 7.1 accepts any
    ten digits). A key of two numbers is good if one of them is hard to guess.
    """
    written = ["".join(filter(str.isdigit, label.spelling)) for label in labels]
    reasons = [_weakness(number, written) for number in key.reveal().split("-")]
    return None if None in reasons else reasons[0]


def require_unknown(key: RegistrationKey) -> None:
    """Raise `WeakKey` if every number of the key is on the list of numbers that attackers try first."""
    numbers = key.reveal().split("-")
    if all(number in _WELL_KNOWN for number in numbers):
        raise WeakKey(reason=_weakness(numbers[0], []) or "it is well known")


def _weakness(digits: str, written: list[str]) -> str | None:
    if len(set(digits)) == 1:
        return "all its digits are the same"
    if len(set(digits)) < _FEWEST:
        return "it has too few different digits"
    if _has_run(digits) or (_has_run(digits[::2]) and _has_run(digits[1::2])):
        return "its digits follow one another"
    if _repeats(digits) or digits == digits[::-1]:
        return "it repeats itself"
    for name, constant in _CONSTANTS.items():
        if _has_excerpt(digits, constant):
            return f"it has the digits of {name}"
    if any(digits in each for each in written):
        return "it stands in the IBI of the Archive"
    return None


def _has_run(digits: str) -> bool:
    """Return whether most of it counts up, counts down or stays, in one piece; after 9 comes 0."""
    steps = [(int(after) - int(before)) % 10 for before, after in pairwise(digits)]
    longest = length = 1
    for number, step in enumerate(steps):
        goes_on = number > 0 and step == steps[number - 1]
        length = 1 if step not in {0, 1, 9} else length + 1 if goes_on else 2
        longest = max(longest, length)
    return longest >= min(len(digits), max(_SHORTEST_RUN, len(digits) // 2 + 1))


def _repeats(digits: str) -> bool:
    """Return whether it repeats the same few digits. The last repetition may be incomplete."""
    return any(
        all(digits[place] == digits[place % period] for place in range(len(digits)))
        for period in range(1, min(_LONGEST_PERIOD, len(digits) // 2) + 1)
    )


def _has_excerpt(digits: str, constant: str) -> bool:
    """Return whether most of its digits occur in a row in the digits of a constant."""
    length = max(_SHORTEST_EXCERPT, len(digits) // 2 + 1)
    return any(digits[start : start + length] in constant for start in range(len(digits) - length + 1))
