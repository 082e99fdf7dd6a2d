"""The description of an item as a page, as JSON, and as Dublin Core.

Restricted files are protected where they are fetched. A restricted Web service is elsewhere and protects nothing, so
that only permitted readers see its URL.
"""

from __future__ import annotations

import asyncio
import csv
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from http import HTTPStatus
from io import StringIO
from typing import Any, Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Scope

from ibi.archive.citation.work import written_alternate
from ibi.archive.profile import encoded_path
from ibi.archive.search import access_on, day_word, entry_of
from ibi.model.file import File
from ibi.model.item import Item
from ibi.model.item_json import file_document, item_document, local_document
from ibi.model.metadata import DC_ELEMENTS
from ibi.model.search import LARGEST_PAGE, Facet, SearchQuery
from ibi.services.items.searching import Searching
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State
from ibi.web.http.body import LongList, json_answer
from ibi.web.http.request import RawHeaders, choose, values
from ibi.web.http.request_errors import ItemDeleted, NotAcceptable, UnknownFormat
from ibi.web.pages import HTML, refusal, wants_page
from ibi.web.pages.item_page import ItemPage, tombstone_page
from ibi.web.pages.search_query import query_of
from ibi.web.pages.signposting import FORMATS as FOR_PROGRAMS
from ibi.web.pages.signposting import inbox_link, write_citation
from ibi.web.pages.words import work_date

# OAI-PMH 2.0, oai_dc.xsd: the fifteen elements, in any order and number, each perhaps with xml:lang
_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_BEGINNING: Final = (
    '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://www.openarchives.org/OAI/2.0/oai_dc/'
    ' http://www.openarchives.org/OAI/2.0/oai_dc.xsd">\n'
)


def oai_dc(item: Item, persistent_url: str) -> bytes:
    """Write the document."""
    return f"{_DECLARATION}{dublin_core(item, persistent_url)}".encode()


def dublin_core(item: Item, persistent_url: str) -> str:
    """Return the only element of the document. Facts outside the description go into the elements meant for them."""
    lines = (
        f"  <dc:{name}{_language(language)}>{escape(value, quote=False)}</dc:{name}>\n"
        for name, value, language in _values(item, persistent_url)
    )
    return f"{_BEGINNING}{''.join(lines)}</oai_dc:dc>\n"


def _language(language: str | None) -> str:
    return "" if language is None else f' xml:lang="{escape(language)}"'


def _values(item: Item, persistent_url: str) -> Iterator[tuple[str, str, str | None]]:
    said = set()
    for name in DC_ELEMENTS:
        for value in item.metadata.values(name):
            said.add((name, str(value)))
            yield name, str(value), None if value.language is None else str(value.language)
    for name, text in _implied_values(item, persistent_url):
        if (name, text) not in said:
            yield name, text, None


def _implied_values(item: Item, persistent_url: str) -> Iterator[tuple[str, str]]:
    yield "identifier", persistent_url
    yield from (("identifier", f"ibi:{label.spelling}") for label in item.labels.labels)
    yield from (("identifier", written_alternate(each)) for each in item.alternates)
    if item.language is not None:
        yield "language", str(item.language)
    if item.metadata.resource_type is not None:
        yield "type", str(item.metadata.resource_type)
    if item.metadata.licence is not None:
        yield "rights", item.metadata.licence.url
    yield from (("relation", each.url or str(each)) for each in item.metadata.related_identifiers)
    yield from (("coverage", str(each)) for each in item.metadata.places)


_ADMINISTRATIVE = frozenset({"schema", "source", "owner", "declined"})
"""Members that are not part of an item's description, such as the Archives with which Copies are exchanged."""


def item_record(site: ArchiveSite, item: Item, *, in_full: bool = False) -> dict[str, Any]:
    """Return the item as a document with links.

    Unless `in_full`, it lacks its owner, files that may not be listed, digests of restricted files, and the URL of a
    restricted service.
    """
    shared = {name: value for name, value in item_document(item.without_files()).items() if name != "schema"}
    local = {name: value for name, value in local_document(item).items() if name not in _ADMINISTRATIVE}
    if in_full and item.owner is not None:
        local["owner"] = item.owner
    if item.visibility.listing or in_full:
        shared["files"] = item_files(site, item, in_full=in_full)
        shared |= {} if item.target is None else {"target": item.target}
    if public_service_url(site, item) is None and not in_full:
        shared.pop("target_url", None)
    return {**shared, **local, **_doubts(site, item), "links": record_links(site, item)}


def _doubts(site: ArchiveSite, item: Item) -> dict[str, bool]:
    """Return the members for what is in doubt: the bytes of the item, or whether its Original is still here."""
    doubts = {"damaged": site.is_damaged(item), "unconfirmed": site.is_unconfirmed(item)}
    return {name: True for name, is_in_doubt in doubts.items() if is_in_doubt}


def record_url(site: ArchiveSite, item: Item) -> str:
    return f"{site.public_url}/api/items/{encoded_path(item.rep.spelling)}"


def record_links(site: ArchiveSite, item: Item) -> dict[str, str]:
    urls, base = site.urls, record_url(site, item)
    page = urls.metadata(item, None, None)
    links = {
        "self": base,
        "persistent": site.persistent_url(item.labels),
        "metadata": page,
        "oai_dc": urls.metadata(item, None, "oai_dc"),
        "usage": f"{base}/usage",
        "relations": f"{base}/relations",
    }
    if site.inbox_url is not None:
        links["inbox"] = site.inbox_url
    if item.state is State.DELETED:
        return links
    links["versions"] = f"{base}/versions"
    if item.state is State.ORIGINAL:
        links["draft"] = f"{base}/draft"
    if item.visibility.listing and item.files:
        links |= {"files": f"{base}/files", "manifest": f"{base}/manifest", "file_list": urls.file_list(item)}
    if item.target is not None or item.target_url is not None:
        links["content"] = public_service_url(site, item) or target_place(site, item)
    return links


def item_files(site: ArchiveSite, item: Item, *, in_full: bool) -> LongList:
    """Return the files of an item, made as they are read: few of ten thousand are in memory at a time.

    The digest of a short file would let a reader guess its content, so that restricted files have none.
    """
    hidden = frozenset[str]() if in_full or item.visibility.is_open_to((), site.now) else frozenset({"sha512", "crc32"})

    def file_record(file: File) -> dict[str, Any]:
        told = {name: value for name, value in file_document(file).items() if name not in hidden}
        return {**told, "url": site.urls.file(item, file.path)}

    return LongList(lambda: map(file_record, item.files))


def public_service_url(site: ArchiveSite, item: Item) -> str | None:
    """Return the URL of an item that is a service open to all readers; None for any other item."""
    is_restricted = bool(item.visibility.networks) or item.visibility.is_embargoed(site.now)
    return None if is_restricted else item.target_url


def target_place(site: ArchiveSite, item: Item) -> str:
    """Return the address that redirects a reader to the content that the reader may see."""
    return f"{site.content_url}/col/{item.rep.spelling}/doc/"


FORMATS: Final = ("html", *FOR_PROGRAMS)
# Accepted media types. A format with two types is sent as the first.
_MEDIA: Final = {HTML: "html", **{media: name for name, media in FOR_PROGRAMS.items()}, "text/xml": "oai_dc"}
_NO_CACHE: Final = {"cache-control": "no-cache"}


class MetadataPage:
    def __init__(self, site: ArchiveSite) -> None:
        self._site, self._page = site, ItemPage(site)

    async def answer(self, item: Item, named: str | None, scope: Scope) -> Response:
        """Return the item in the format `named`, or else in the one that the reader prefers. A deleted item has status
        410."""
        chosen = _format(named, scope["headers"])
        if chosen == "html":
            return await self._page.answer(item, scope)
        status = HTTPStatus.GONE if item.state is State.DELETED else HTTPStatus.OK
        headers = {**_NO_CACHE, **inbox_link(self._site), **({} if named else {"vary": "Accept"})}
        if chosen == "json":
            return json_answer(item_record(self._site, item), status, headers, FOR_PROGRAMS[chosen])
        return Response(self._write(item, chosen), status, headers, FOR_PROGRAMS[chosen])

    def _write(self, item: Item, name: str) -> bytes:
        site = self._site
        cited = site.persistent_url(item.labels)
        if name == "oai_dc":
            return oai_dc(item, cited)  # the document itself declares UTF-8 (RFC 7303 §3)
        return write_citation(name, item, cited, site.now)


async def gone_answer(site: ArchiveSite, item: Item, scope: Scope) -> Response:
    """Return the answer to a request for any part of a deleted item except its description: a problem, or a page."""
    if wants_page(scope["headers"]):
        return await tombstone_page(site, item, scope)
    tombstone = item.tombstone
    assert tombstone is not None  # no item is deleted without one
    return refusal(ItemDeleted(label=item.rep.spelling, when=str(tombstone.when)[:10], why=tombstone.why), scope)


def _format(named: str | None, headers: RawHeaders) -> str:
    if named is not None:
        if named.lower() not in FORMATS:
            raise UnknownFormat(given=repr(named[:40]), offered=", ".join(FORMATS))
        return named.lower()
    try:
        return _MEDIA[choose(values(headers, b"accept"), tuple(_MEDIA))]
    except NotAcceptable:
        return "html"  # better a page than nothing (RFC 9110 §12.4.1)


# --- search export ----------------------------------------------------------------------------------------------------


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
