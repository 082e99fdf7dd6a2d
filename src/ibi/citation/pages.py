"""Citations of items as pages and files show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from ibi.citation.rules.exchange_formats import bibtex, csl_json, ris
from ibi.citation.rules.work import Day, Work, work_of
from ibi.citation.service import OWN_STYLES, Citation, cite
from ibi.items.model.item import Item
from ibi.standard.instant import Instant

_MOST: Final = 300
"""Largest number of authors, contributors and keywords that a page uses, each. An item may have ten thousand, and its
page must not be slow."""
_MOST_WRITTEN: Final = 2_000
"""The same for the formats for programs. The record has all of them."""

WRITERS: Final[Mapping[str, Callable[[Work, Day], bytes]]] = {
    "bibtex": lambda work, _: bibtex(work).encode(),
    "ris": lambda work, day: ris(work, day).encode(),
    "csl": lambda work, day: msgspec.json.encode([csl_json(work, day)]),
}
"""Writers of the formats of reference managers, by name."""


def shown_work(item: Item, url: str) -> Work:
    """Return the item in the form that citations on a page need. `url` is the persistent one."""
    return work_of(item, url, most=_MOST)


def citations(work: Work, on: Instant) -> tuple[Citation, ...]:
    """Return the citations in the styles of this package, which take no time. `on` is the date of access."""
    return tuple(cite(work, style, "en", on) for style in OWN_STYLES)


def write_citation(name: str, item: Item, url: str, on: Instant) -> bytes:
    """Return the item in one of the formats in `WRITERS`."""
    return WRITERS[name](work_of(item, url, most=_MOST_WRITTEN), Day.of(on))
