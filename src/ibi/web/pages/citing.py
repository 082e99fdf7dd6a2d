"""How to cite an item: the styles that a page shows, the forms that programs fetch, and tags for search engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from markupsafe import Markup

from ibi.archive.citation.abnt import abnt
from ibi.archive.citation.apa import apa
from ibi.archive.citation.bibtex import bibtex
from ibi.archive.citation.csl_json import csl_json
from ibi.archive.citation.head import highwire, json_ld, script_text
from ibi.archive.citation.ris import ris
from ibi.archive.citation.work import Day, Run, Work, work_of
from ibi.instant import Instant
from ibi.model.item import Item
from ibi.model.metadata import Licence
from ibi.vocabulary import State
from ibi.web.archive_site import ArchiveSite
from ibi.web.http.content_security import PDF

_MOST: Final = 300
"""Of authors, of contributors and of keywords, those that a page knows of: somebody may have named ten thousand, and
whoever only looks is not to wait for them."""
_MOST_WRITTEN: Final = 2_000
"""Those that are in the forms for programs; the record has all of them."""

WRITERS: Final[Mapping[str, Callable[[Work, Day], bytes]]] = {
    "bibtex": lambda work, _: bibtex(work).encode(),
    "ris": lambda work, day: ris(work, day).encode(),
    "csl": lambda work, day: msgspec.json.encode([csl_json(work, day)]),
}
"""By the name of a format, what programs for references read."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The name of a style, and the citation in it."""

    style: str
    runs: tuple[Run, ...]


def shown_work(item: Item, url: str) -> Work:
    """What a page says of the item, taken out once for all of it. `url` is the persistent one."""
    return work_of(item, url, most=_MOST)


def citations(work: Work, on: Instant) -> tuple[Citation, ...]:
    """`on` is when it was looked at."""
    return Citation("ABNT", abnt(work, Day.of(on))), Citation("APA", apa(work))


def written(name: str, item: Item, url: str, on: Instant) -> bytes:
    """The item in one of `WRITERS`."""
    return WRITERS[name](work_of(item, url, most=_MOST_WRITTEN), Day.of(on))


def head_tags(site: ArchiveSite, item: Item, work: Work) -> tuple[tuple[str, str], ...]:
    """What search engines for scholarly texts read; where the text is only if anybody may see it."""
    file = None if item.target is None else item.file(item.target)
    is_open = item.state is not State.DELETED and item.visibility.is_open_to((), site.now)
    is_pdf = file is not None and file.media_type.partition(";")[0].strip().lower() == PDF
    pdf_url = site.urls.file(item, file.path) if file is not None and is_pdf and is_open else None
    return highwire(work, pdf_url=pdf_url)


def structured(work: Work, licence: Licence | None) -> Markup:
    """The item in the words of schema.org, as it may stand in a `<script>`."""
    text = script_text(json_ld(work, licence))
    return Markup(text)  # noqa: S704 - nothing in it can end the element
