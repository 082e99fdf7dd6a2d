"""The choice of a language by the Accept-Language header of a reader."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ibi.standard.languages import LanguageTag

_MOST = 64


class Preference(NamedTuple):
    """A language range, in lower case, and its weight; 0 excludes the language."""

    range: str
    weight: float


def preferences(accept_language: str) -> tuple[Preference, ...]:
    """Return the ranges of an Accept-Language header (RFC 9110 §12.5.4), best first. Malformed parts are ignored."""
    found = [each for each in map(_preference, accept_language.split(",", _MOST)[:_MOST]) if each is not None]
    return tuple(sorted(found, key=lambda each: -each.weight))


def _preference(text: str) -> Preference | None:
    name, *parameters = (part.strip().lower() for part in text.split(";"))
    weight = next((part[2:].strip() for part in parameters if part.startswith("q=")), "1")
    if not name.replace("-", "").replace("*", "").isalnum() and name != "*":
        return None
    if len(name) > 35 or len(weight) > 5 or not (weight.isascii() and weight.replace(".", "", 1).isdigit()):
        return None
    return Preference(name, min(1.0, float(weight)))


def chosen_language(
    offered: Collection[LanguageTag | None], wishes: Sequence[Preference], own: LanguageTag | None
) -> LanguageTag | None:
    """Return the best of `offered`.

    1. The result of a look-up.
    2. A single variant of a wanted language.
    3. The text without a language, for which None stands.
    4. `own`, the language of the item itself.

    Return None too if there is nothing to choose.
    """
    refused = {wish.range for wish in wishes if wish.weight <= 0}
    tags = {str(tag).lower(): tag for tag in offered if tag is not None}
    allowed = {name: tag for name, tag in tags.items() if refused.isdisjoint((name, name.split("-")[0]))}
    wanted = [wish.range for wish in wishes if wish.weight > 0]
    found = _look_up(wanted, allowed) or _find_variant(wanted, allowed)
    return found or (None if None in offered else own)


def _look_up(wanted: Iterable[str], allowed: Mapping[str, LanguageTag]) -> LanguageTag | None:
    """Return the first language that is a wanted range, or a prefix of one (RFC 4647 §3.4)."""
    names = (name for wish in wanted for name in _truncate_range(wish))
    return next((allowed[name] for name in names if name in allowed), None)


def _find_variant(wanted: Iterable[str], allowed: Mapping[str, LanguageTag]) -> LanguageTag | None:
    """Return the variant of the first wanted language that has only one."""
    for wish in wanted:
        variants = [tag for name, tag in allowed.items() if name.split("-")[0] == wish.split("-")[0]]
        if len(variants) == 1:
            return variants[0]
    return None


def _truncate_range(wish: str) -> Iterator[str]:
    """Yield a range and its prefixes (RFC 4647 §3.4): `pt-br` then `pt`."""
    parts = wish.split("-")
    return ("-".join(parts[:length]) for length in range(len(parts), 0, -1))
