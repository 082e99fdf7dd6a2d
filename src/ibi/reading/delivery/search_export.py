"""The results of a search as a file: CSV, JSON lines and citations."""

from __future__ import annotations

import asyncio
import csv
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import Any, Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ibi.citation.pages import write_citation
from ibi.items.model.item import Item
from ibi.items.model.search import LARGEST_PAGE, Facet, SearchQuery
from ibi.items.pages.search_query import query_of
from ibi.items.rules.search import access_on, day_word, entry_of
from ibi.items.service.searching import Searching
from ibi.reading.delivery.metadata import item_record
from ibi.web.sites import ArchiveSite
from ibi.web.words import work_date

_LISTED_LINKS: Final = ("self", "persistent", "metadata")
_NOT_LISTED: Final = frozenset({"files", "target"})
_COLUMNS: Final = (
    *("label", "persistent_url", "title", "creators", "contributors", "date", "type", "language", "publisher"),
    *("subjects", "licence", "access", "source", "identifiers", "description"),
)
_BETWEEN: Final = "; "
_LONGEST: Final = 32_000
"""Characters of a cell: spreadsheets accept no more."""
# Texts that spreadsheets take for a formula, after any white space.
_FORMULA: Final = re.compile(r"\s*[=+\-@\t\r＝＋－＠]")
# The same inside a cell. A spreadsheet that takes semicolons or tabs for separators begins another cell there, and then
# ignores quotes too. The separators are consumed with or without a formula after them, and so looked at once.
_INNER: Final = re.compile(r"([;\t\r\n\v\f\x85\u2028\u2029][\s;]*+)([=+\-@＝＋－＠]?)")
_MARK: Final = "\ufeff"
"""Without it, spreadsheets assume another encoding."""


def listed_item(site: ArchiveSite, item: Item) -> dict[str, Any]:
    """Return the item as its record shows it, without its files: a list has none of them."""
    record = item_record(site, item)
    links = {name: record["links"][name] for name in _LISTED_LINKS}
    return {name: value for name, value in record.items() if name not in _NOT_LISTED} | {"links": links}


def cell(text: str) -> str:
    """Return a value that no spreadsheet computes, whatever it takes for the end of a cell."""
    text = text[:_LONGEST]
    marked = _INNER.sub(lambda found: f"{found[1]}'{found[2]}" if found[2] else found[1], text)
    return f"'{marked}" if _FORMULA.match(text) else marked


def _table(site: ArchiveSite, items: Sequence[Item]) -> bytes:
    written = StringIO()
    csv.writer(written).writerows(map(cell, _row(site, item)) for item in items)
    return written.getvalue().encode()


def _row(site: ArchiveSite, item: Item) -> tuple[str, ...]:
    metadata, issued = item.metadata, work_date(item)

    def several(element: str) -> str:
        return _BETWEEN.join(map(str, metadata.values(element)))

    kinds = [] if metadata.resource_type is None else [str(metadata.resource_type)]
    facets = dict(() if (entry := entry_of(item)) is None else entry.facets)
    return (
        (item.labels.ibip or item.rep).spelling,
        site.persistent_url(item.labels),
        _BETWEEN.join(metadata.titles(item.language)),
        several("creator"),
        several("contributor"),
        "" if issued is None else issued.iso,
        _BETWEEN.join((*kinds, *map(str, metadata.type))),
        "" if item.language is None else str(item.language),
        several("publisher"),
        several("subject"),
        "" if metadata.licence is None else str(metadata.licence),
        access_on(day_word(site.now.seconds), facets.get(Facet.ACCESS, "")),
        several("source"),
        several("identifier"),
        several("description"),
    )


def _records(site: ArchiveSite, items: Sequence[Item]) -> bytes:
    return b"".join(msgspec.json.encode(listed_item(site, item)) + b"\n" for item in items)


def _citations(name: str, site: ArchiveSite, items: Sequence[Item]) -> bytes:
    return b"\n".join(write_citation(name, item, site.persistent_url(item.labels), site.now) for item in items)


class _Form(NamedTuple):
    media_type: str
    write: Callable[[ArchiveSite, Sequence[Item]], bytes]
    beginning: bytes = b""


_FORMS: Final[Mapping[str, _Form]] = {
    "csv": _Form("text/csv; charset=utf-8", _table, f"{_MARK}{','.join(_COLUMNS)}\r\n".encode()),
    "bib": _Form("application/x-bibtex; charset=utf-8", partial(_citations, "bibtex")),
    "ris": _Form("application/x-research-info-systems; charset=utf-8", partial(_citations, "ris")),
    "ndjson": _Form("application/x-ndjson", _records),
}
"""Formats by the endings of their addresses."""


class SearchExports:
    """Exports of all items that a search finds, as one file: a table (CSV), records for reference managers (BibTeX,
    RIS), or JSON records, one a line (NDJSON).

    The list is written page by page while it is read, so that only one page is in memory. It contains the same as the
    pages.
    """

    def __init__(self, site: ArchiveSite, searching: Searching) -> None:
        self._site, self._searching = site, searching

    def routes(self) -> list[Route]:
        return [Route(f"/search.{ending}", partial(self.get, ending=ending)) for ending in _FORMS]

    async def get(self, request: Request, *, ending: str) -> Response:
        form = _FORMS[ending]
        headers = {
            "content-disposition": f'attachment; filename="items.{ending}"',
            "cache-control": "no-cache",
            "x-robots-tag": "noindex",
        }
        if request.method == "HEAD":
            return Response(None, 200, headers, form.media_type)
        query = replace(query_of(request.query_params), page=1, after=None, size=LARGEST_PAGE)
        return StreamingResponse(self._write(form, query), 200, headers, form.media_type)

    async def _write(self, form: _Form, query: SearchQuery) -> AsyncIterator[bytes]:
        if form.beginning:
            yield form.beginning
        async for page in self._searching.walk(query):
            if page.items:
                yield await asyncio.to_thread(form.write, self._site, page.items)
