"""`/col/<rep>/metadata`: an item's page, and the same for programs: JSON, Dublin Core, and citation formats."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from ibi.model.item import Item
from ibi.services.archive_site import ArchiveSite
from ibi.vocabulary import State
from ibi.web.archive.item_record import item_record
from ibi.web.archive.oai_dc import oai_dc
from ibi.web.http.headers import RawHeaders, values
from ibi.web.http.long_json import json_answer
from ibi.web.http.media_types import choose
from ibi.web.http.request_errors import ItemDeleted, NotAcceptable, UnknownFormat
from ibi.web.pages import HTML, refusal, wants_page
from ibi.web.pages.citing import write_citation
from ibi.web.pages.item_page import ItemPage, tombstone_page
from ibi.web.pages.signposting import FORMATS as FOR_PROGRAMS

FORMATS: Final = ("html", *FOR_PROGRAMS)
# Media types that may be asked for; a format that has two is sent as the first.
_MEDIA: Final = {HTML: "html", **{media: name for name, media in FOR_PROGRAMS.items()}, "text/xml": "oai_dc"}
_NO_CACHE: Final = {"cache-control": "no-cache"}


class MetadataPage:
    def __init__(self, site: ArchiveSite) -> None:
        self._site, self._page = site, ItemPage(site)

    async def answer(self, item: Item, named: str | None, scope: Scope) -> Response:
        """Answer in the format that is `named`, or else in the one that the reader prefers. A deleted item has status
        410."""
        chosen = _format(named, scope["headers"])
        if chosen == "html":
            return await self._page.answer(item, scope)
        status = HTTPStatus.GONE if item.state is State.DELETED else HTTPStatus.OK
        headers = _NO_CACHE if named else {**_NO_CACHE, "vary": "Accept"}
        if chosen == "json":
            return json_answer(item_record(self._site, item), status, headers, FOR_PROGRAMS[chosen])
        return Response(self._write(item, chosen), status, headers, FOR_PROGRAMS[chosen])

    def _write(self, item: Item, name: str) -> bytes:
        site = self._site
        cited = site.persistent_url(item.labels)
        if name == "oai_dc":
            return oai_dc(item, cited)  # the document itself says that it is UTF-8 (RFC 7303 §3)
        return write_citation(name, item, cited, site.now)


async def gone_answer(site: ArchiveSite, item: Item, scope: Scope) -> Response:
    """The answer to a request for any part of a deleted item but its description: a problem, or a page."""
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
