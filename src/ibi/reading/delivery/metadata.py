"""The description of an item as a page, as JSON, and as Dublin Core.

Restricted files are protected where they are fetched. A restricted Web service is elsewhere and protects nothing, so
that only permitted readers see its URL.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Scope

from ibi.archive.rules.profile import encoded_path
from ibi.citation.pages import write_citation
from ibi.citation.rules.work import written_alternate
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.model.item_json import file_document, item_document, local_document
from ibi.items.model.metadata import DC_ELEMENTS
from ibi.items.rules.file_access import access_by_address
from ibi.reading.pages.item_page import ItemPage, tombstone_page
from ibi.reading.pages.signposting import FORMATS as FOR_PROGRAMS
from ibi.reading.pages.signposting import inbox_link
from ibi.standard.vocabulary import State
from ibi.web.body import LongList, json_answer
from ibi.web.page_answers import HTML, refusal, wants_page
from ibi.web.request import RawHeaders, choose, values
from ibi.web.request_errors import ItemDeleted, NotAcceptable, UnknownFormat
from ibi.web.sites import ArchiveSite, ItemOffers

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
    hidden = frozenset[str]() if in_full or access_by_address(item, (), site.now) else frozenset({"sha512", "crc32"})

    def file_record(file: File) -> dict[str, Any]:
        told = {name: value for name, value in file_document(file).items() if name not in hidden}
        return {**told, "url": site.urls.file(item, file.path)}

    return LongList(lambda: map(file_record, item.files))


def public_service_url(site: ArchiveSite, item: Item) -> str | None:
    """Return the URL of an item that is a service open to all readers; None for any other item."""
    return item.target_url if access_by_address(item, (), site.now) else None


def target_place(site: ArchiveSite, item: Item) -> str:
    """Return the address that redirects a reader to the content that the reader may see."""
    return f"{site.content_url}/col/{item.rep.spelling}/doc/"


FORMATS: Final = ("html", *FOR_PROGRAMS)
# Accepted media types. A format with two types is sent as the first.
_MEDIA: Final = {HTML: "html", **{media: name for name, media in FOR_PROGRAMS.items()}, "text/xml": "oai_dc"}
_NO_CACHE: Final = {"cache-control": "no-cache"}


class MetadataPage:
    def __init__(self, site: ArchiveSite, offers: ItemOffers) -> None:
        self._site, self._page = site, ItemPage(site, offers)

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
