"""Outcomes kept for a while, so that a link that many follow costs its Archive one answer (E32)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

from ibi.language_range import Preference
from ibi.persistent_url import PersistentUrl
from ibi.relation import Step
from ibi.resolver.kept import Kept
from ibi.resolver.outcome import Deleted, NotFound, OriginalNotFound, Outcome, Redirect, RelatedItemMissing
from ibi.resolver.selection import Heard, Located

__all__ = ["LONGEST", "NEGATIVE_AGE", "Cache", "Remembered", "Wish"]

LONGEST: Final = 3600
"""Seconds beyond which nothing is kept, whatever its Archive allows: its key has to be good still (E32)."""
NEGATIVE_AGE: Final = 5
"""Seconds for which it is believed that there is nothing: long enough for a flood of one wrong link, and no more."""
_MOST: Final = 20_000
_MOST_NEGATIVE: Final = 2_000


class Wish(NamedTuple):
    """All that an outcome depends on. The reader's own pairs are not in it: they go onto the URL afterwards."""

    spelling: str
    """Of the label: another's store may be case sensitive."""
    steps: tuple[Step, ...]
    """Of the relation: mostly none, and a tuple is hashed sooner than a value around it."""
    file_path: str | None
    file_list: bool
    required_original: bool
    languages: str | tuple[Preference, ...] | None

    @classmethod
    def of(cls, url: PersistentUrl, preferences: Sequence[Preference] = ()) -> Wish:
        """`preferences` count only where a translation is asked for that names no language."""
        languages = (url.language or tuple(preferences)) if url.relation.open_translations else None
        return cls(
            url.label.spelling, url.relation.steps, url.file_path, url.file_list, url.required_original, languages
        )


class Remembered(NamedTuple):
    """What was found, to be made a redirect for another reader; or the outcome if it was nothing."""

    found: Located | Outcome
    until: float

    def seconds_left(self, now: float) -> int:
        return max(0, int(self.until - now))


class Cache:
    """Kept under one `state` of the world: whoever joins, leaves or changes may have another answer."""

    def __init__(self, most: int = _MOST, most_negative: int = _MOST_NEGATIVE) -> None:
        self._found: Kept[Wish, Remembered] = Kept(most)
        # Apart: a flood of links that lead nowhere drives nothing out that is of use.
        self._nothing: Kept[Wish, Remembered] = Kept(most_negative)
        self._state: Hashable = None

    def enter(self, state: Hashable) -> None:
        """Forget everything if this is not the state of before."""
        if state != self._state:
            self._found.clear()
            self._nothing.clear()
            self._state = state

    def is_in(self, state: Hashable) -> bool:
        """Whether this is still the state: what was found under another may not be true any more."""
        return state == self._state

    def find(self, wish: Wish, now: float) -> Remembered | None:
        for kept in (self._found, self._nothing):
            remembered = kept.find(wish)
            if remembered is not None:
                if now < remembered.until:
                    return remembered
                kept.forget(wish)
        return None

    def keep(self, wish: Wish, outcome: Outcome, max_age: int, now: float) -> int:
        """Keep the outcome if that is allowed; `max_age` is what its answers say. How many seconds it is kept for."""
        if isinstance(outcome, Redirect):
            age = min(max_age, LONGEST)
            if age > 0:
                located = Located(Heard(outcome.archive, outcome.answer), outcome.entry)
                self._found.keep(wish, Remembered(located, now + age))
                self._nothing.forget(wish)
            return max(0, age)
        if not _is_final(outcome):
            return 0
        self._nothing.keep(wish, Remembered(outcome, now + NEGATIVE_AGE))
        self._found.forget(wish)
        return NEGATIVE_AGE

    def __len__(self) -> int:
        return len(self._found) + len(self._nothing)


def _is_final(outcome: Outcome) -> bool:
    """Whether everybody was heard: silence is not kept (E24)."""
    if isinstance(outcome, NotFound | RelatedItemMissing | OriginalNotFound):
        return outcome.silence.is_complete
    return isinstance(outcome, Deleted)
