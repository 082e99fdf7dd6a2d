"""Citations of an item: the styles that a page shows, the formats for programs, and tags for search engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from markupsafe import Markup

from ibi.archive.citation.abnt import abnt
from ibi.archive.citation.apa import apa
from ibi.archive.citation.exchange_formats import bibtex, csl_json, ris
from ibi.archive.citation.head import highwire, json_ld, script_text
from ibi.archive.citation.work import Day, Run, Work, work_of
from ibi.instant import Instant
from ibi.model.item import Item
from ibi.model.metadata import Licence
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State
from ibi.web.http.content_security import PDF

_MOST: Final = 300
"""Authors, contributors and keywords that a page uses, each: an item may have ten thousand, and its page must not be
slow."""
_MOST_WRITTEN: Final = 2_000
"""The same in the formats for programs; the record has all of them."""

WRITERS: Final[Mapping[str, Callable[[Work, Day], bytes]]] = {
    "bibtex": lambda work, _: bibtex(work).encode(),
    "ris": lambda work, day: ris(work, day).encode(),
    "csl": lambda work, day: msgspec.json.encode([csl_json(work, day)]),
}
"""Writers of the formats of reference managers, by name."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The name of a style, and the citation in it."""

    style: str
    runs: tuple[Run, ...]


def shown_work(item: Item, url: str) -> Work:
    """The item as its citations on a page need it. `url` is the persistent one."""
    return work_of(item, url, most=_MOST)


def citations(work: Work, on: Instant) -> tuple[Citation, ...]:
    """The citations in all styles. `on` is the date of access."""
    return Citation("ABNT", abnt(work, Day.of(on))), Citation("APA", apa(work))


def write_citation(name: str, item: Item, url: str, on: Instant) -> bytes:
    """The item in one of `WRITERS`."""
    return WRITERS[name](work_of(item, url, most=_MOST_WRITTEN), Day.of(on))


def head_tags(site: ArchiveSite, item: Item, work: Work) -> tuple[tuple[str, str], ...]:
    """Tags for scholarly search engines; the address of the text only if it is open to all readers."""
    file = None if item.target is None else item.file(item.target)
    is_open = item.state is not State.DELETED and item.visibility.is_open_to((), site.now)
    is_pdf = file is not None and file.media_type.partition(";")[0].strip().lower() == PDF
    pdf_url = site.urls.file(item, file.path) if file is not None and is_pdf and is_open else None
    return highwire(work, pdf_url=pdf_url)


def structured_data(work: Work, licence: Licence | None) -> Markup:
    """The item as schema.org data, safe inside a `<script>`."""
    text = script_text(json_ld(work, licence))
    return Markup(text)  # noqa: S704 - nothing in it can end the element
