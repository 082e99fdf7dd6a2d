"""How to cite an item: the styles that a page shows, the forms that programs fetch, and tags for search engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
from ibi.messages.field import State
from ibi.model.item import Item
from ibi.web.archive_site import ArchiveSite

__all__ = ["WRITERS", "Citation", "citations", "head_tags", "structured", "written"]

_PDF: Final = "application/pdf"
_MOST: Final = 300
"""Of authors and of keywords, those that stand in the head of a page; the forms for programs have all of them."""

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


def citations(item: Item, url: str, on: Instant) -> tuple[Citation, ...]:
    """`url` is the persistent one, `on` when it was looked at."""
    work = work_of(item, url)
    return Citation("ABNT", abnt(work, Day.of(on))), Citation("APA", apa(work))


def written(name: str, item: Item, url: str, on: Instant) -> bytes:
    """The item in one of `WRITERS`."""
    return WRITERS[name](work_of(item, url), Day.of(on))


def head_tags(site: ArchiveSite, item: Item, url: str) -> tuple[tuple[str, str], ...]:
    """What search engines for scholarly texts read; where the text is only if anybody may see it."""
    file = None if item.target is None else item.file(item.target)
    is_open = item.state is not State.DELETED and item.visibility.is_open_to((), site.now)
    is_pdf = file is not None and file.media_type.partition(";")[0].strip().lower() == _PDF
    pdf_url = site.urls.file(item, file.path) if file is not None and is_pdf and is_open else None
    return highwire(_in_part(work_of(item, url)), pdf_url=pdf_url)


def structured(item: Item, url: str) -> Markup:
    """The item in the words of schema.org, as it may stand in a `<script>`."""
    text = script_text(json_ld(_in_part(work_of(item, url)), item.metadata.licence))
    return Markup(text)  # noqa: S704 - nothing in it can end the element


def _in_part(work: Work) -> Work:
    """Somebody may have named ten thousand authors, and whoever only looks is not to wait for them."""
    return replace(
        work,
        authors=work.authors[:_MOST],
        orcids=work.orcids[:_MOST],
        contributors=work.contributors[:_MOST],
        keywords=work.keywords[:_MOST],
    )
