"""Language ranges: what a reader can read, and which of several texts suits best (RFC 4647).

Short: one rule, which Archive, resolver and pages share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ibi.languages import LanguageTag

_MOST = 64


class Preference(NamedTuple):
    """A language range, in lower case, and how much it is wanted; 0 is not at all."""

    range: str
    weight: float


def preferences(accept_language: str) -> tuple[Preference, ...]:
    """What a header Accept-Language says (RFC 9110 §12.5.4), best first. What makes no sense in it is passed over."""
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
    """The best of `offered`: by look-up, then a single variant of a wanted language; then the text without a language,
    for which None stands; then `own`, the language of the item itself. None too if there is nothing to choose.
    """
    refused = [wish.range for wish in wishes if wish.weight <= 0]
    tags = {str(tag).lower(): tag for tag in offered if tag is not None}
    allowed = {name: tag for name, tag in tags.items() if name not in refused and name.split("-")[0] not in refused}
    wanted = [wish.range for wish in wishes if wish.weight > 0]
    for name in (each for wish in wanted for each in _truncated(wish)):
        if name in allowed:
            return allowed[name]
    for wish in wanted:
        variants = [tag for name, tag in allowed.items() if name.split("-")[0] == wish.split("-")[0]]
        if len(variants) == 1:
            return variants[0]
    return None if None in offered else own


def _truncated(wish: str) -> Iterator[str]:
    """RFC 4647 §3.4: `pt-br` then `pt`."""
    parts = wish.split("-")
    return ("-".join(parts[:length]) for length in range(len(parts), 0, -1))
