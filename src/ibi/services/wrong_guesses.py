"""Who has guessed wrongly lately, and how long they have to wait before the next guess is looked at."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

__all__ = ["WrongGuesses"]

_FREE: Final = 3
"""Wrong guesses that cost nothing: people mistype."""
_LONGEST: Final = 300.0
_FORGOTTEN: Final = 3600.0
_MOST_DOUBLINGS: Final = 12


@dataclass(slots=True)
class _Record:
    wrong: int
    last: float


class WrongGuesses:
    """Bounded: whoever guesses under ever new names drives out old entries, and is slowed by the address instead.

    Times are monotonic, in seconds. `keys` are all by which a guess is counted: the name, the network it came from.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._records: dict[Hashable, _Record] = {}

    def wait(self, keys: tuple[Hashable, ...], now: float) -> float:
        """Seconds until a guess under all of these keys is looked at; 0 now."""
        return max((self._wait(self._records.get(key), now) for key in keys), default=0.0)

    def wrong(self, keys: tuple[Hashable, ...], now: float) -> None:
        for key in keys:
            record = self._records.pop(key, None)
            count = 0 if record is None or now - record.last > _FORGOTTEN else record.wrong
            if len(self._records) >= self._most:
                del self._records[next(iter(self._records))]  # the one that was wrong longest ago
            self._records[key] = _Record(count + 1, now)

    def right(self, keys: tuple[Hashable, ...]) -> None:
        for key in keys:
            self._records.pop(key, None)

    def __len__(self) -> int:
        return len(self._records)

    @staticmethod
    def _wait(record: _Record | None, now: float) -> float:
        if record is None or record.wrong < _FREE:
            return 0.0
        pause = min(_LONGEST, 2.0 ** min(record.wrong - _FREE, _MOST_DOUBLINGS))
        return max(0.0, record.last + pause - now)
