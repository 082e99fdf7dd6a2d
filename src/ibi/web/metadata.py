"""`/col/<rep>/metadata`: an item's page, the same as JSON, and as Dublin Core."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from ibi.messages.field import State
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item
from ibi.model.metadata import DC_ELEMENTS, Agent, Text
from ibi.model.tombstone import Tombstone
from ibi.model.visibility import Visibility
from ibi.web.archive_site import ArchiveSite
from ibi.web.headers import RawHeaders, values
from ibi.web.negotiation import choose
from ibi.web.oai_dc import oai_dc
from ibi.web.pages import HTML, Markup, definitions, element, link, page, refusal, text
from ibi.web.records import JSON, record
from ibi.web.refusals import ItemDeleted, NotAcceptable, UnknownFormat

__all__ = ["FORMATS", "MetadataPage", "file_list", "gone", "shown_title"]

FORMATS: Final = ("html", "json", "oai_dc")
_MEDIA: Final = {HTML: "html", JSON: "json", "application/xml": "oai_dc", "text/xml": "oai_dc"}
_NO_CACHE: Final = {"cache-control": "no-cache"}
_LINKS: Final = (
    ("edition_of", "Edition of"),
    ("next_edition", "Next edition"),
    ("translation_of", "Translation of"),
    ("metadata_item", "Metadata"),
    ("describes", "Describes"),
)


class MetadataPage:
    def __init__(self, site: ArchiveSite) -> None:
        self._site = site

    def answer(self, item: Item, named: str | None, headers: RawHeaders) -> Response:
        """In the format that is `named`, or else in the one that the reader likes best. Deleted: what is left (410)."""
        status = HTTPStatus.GONE if item.state is State.DELETED else HTTPStatus.OK
        answer = self._written(item, _format(named, headers), status)
        answer.headers.update(_NO_CACHE if named else {**_NO_CACHE, "vary": "Accept"})
        return answer

    def _written(self, item: Item, name: str, status: int) -> Response:
        site = self._site
        if name == "json":
            return Response(msgspec.json.encode(record(site, item)), status, media_type=JSON)
        if name == "oai_dc":
            # The document itself says that it is UTF-8 (RFC 7303 §3).
            return Response(oai_dc(item, site.persistent_url(item.labels)), status, media_type="application/xml")
        if item.tombstone is not None:
            return page(shown_title(item), *_deletion(site, item, item.tombstone), status=status)
        return page(shown_title(item), *self._sections(item), status=status)

    def _sections(self, item: Item) -> Iterator[Markup]:
        yield from (element("p", text(note)) for note in _notes(item, self._site))
        yield definitions(_identity(self._site, item))
        yield definitions(_description(item))
        if item.visibility.listing and item.files:
            yield element("h2", text("Files"))
            yield file_list(self._site, item)
        yield element("p", *_formats(self._site, item))


def _format(named: str | None, headers: RawHeaders) -> str:
    if named is not None:
        if named.lower() not in FORMATS:
            raise UnknownFormat(given=ascii(named[:40]), offered=", ".join(FORMATS))
        return named.lower()
    try:
        return _MEDIA[choose(values(headers, b"accept"), tuple(_MEDIA))]
    except NotAcceptable:
        return "html"  # better a page than nothing (RFC 9110 §12.4.1)


def shown_title(item: Item) -> str:
    return next(iter(item.metadata.titles(item.language)), str(item.rep))


def gone(site: ArchiveSite, item: Item, headers: RawHeaders) -> Response:
    """What anybody gets who asks for anything of a deleted item but its description."""
    tombstone = item.tombstone
    assert tombstone is not None  # no item is deleted without one
    error = ItemDeleted(label=item.rep.spelling, when=str(tombstone.when)[:10], why=tombstone.why)
    return refusal(error, headers, *_replacement(site, tombstone))


def _deletion(site: ArchiveSite, item: Item, tombstone: Tombstone) -> Iterator[Markup]:
    yield element("p", text(f"{item.rep.spelling} was deleted on {str(tombstone.when)[:10]}."))
    yield element("p", text(tombstone.why), dir="auto")
    yield from _replacement(site, tombstone)


def _replacement(site: ArchiveSite, tombstone: Tombstone) -> Iterator[Markup]:
    if tombstone.replaced_by is not None:
        yield element("p", text("In its place: "), _cited(site, tombstone.replaced_by))


def file_list(site: ArchiveSite, item: Item) -> Markup:
    rows = (
        element(
            "li", link(site.urls.file(item, file.path), file.path), text(f" ({file.size} bytes, {file.media_type})")
        )
        for file in item.files
    )
    return element("ul", *rows)


def _notes(item: Item, site: ArchiveSite) -> Iterator[str]:
    visibility: Visibility = item.visibility
    if visibility.is_embargoed(site.now):
        yield f"The content is under embargo until {str(visibility.embargo)[:10]}."
    elif visibility.networks:
        yield "The content can be seen from certain networks only."
    if item.state is State.COPY:
        yield "This is a copy; the Original is kept by another Archive."


def _identity(site: ArchiveSite, item: Item) -> Iterator[tuple[str, list[Markup]]]:
    cited = site.persistent_url(item.labels)
    yield "Persistent URL", [link(cited, cited)]
    yield "IBI", [text(label.spelling) for label in item.labels.labels]
    yield "Content", [link(url, "open") for url in _content(site, item)]
    for name, shown in _LINKS:
        forms: LabelForms | None = getattr(item, name)
        yield shown, [] if forms is None else [_cited(site, forms)]
    yield (
        "Translations",
        [Markup(f"{text(tag)}: {_cited(site, forms)}") for tag, forms in item.translations],
    )
    yield "Updated", [text(item.updated)]


def _content(site: ArchiveSite, item: Item) -> Iterator[str]:
    if item.target_url is not None:
        yield item.target_url
    elif item.target is not None:
        yield site.urls.file(item, item.target)


def _cited(site: ArchiveSite, forms: LabelForms) -> Markup:
    return link(site.persistent_url(forms), forms.labels[0].spelling)


def _description(item: Item) -> Iterator[tuple[str, list[Markup]]]:
    metadata = item.metadata
    for name in DC_ELEMENTS:
        yield name.capitalize(), [_value(value) for value in metadata.values(name)]
    yield "Kind", [] if metadata.resource_type is None else [text(metadata.resource_type)]
    yield "Licence", [] if metadata.licence is None else [link(metadata.licence.url, metadata.licence)]


def _value(value: Text | Agent) -> Markup:
    attributes = {} if value.language is None else {"lang": str(value.language)}
    shown = element("span", text(value), **attributes)
    if isinstance(value, Agent) and value.orcid is not None:
        return Markup(f"{shown} {link(value.orcid.url, value.orcid)}")
    return shown


def _formats(site: ArchiveSite, item: Item) -> Iterator[Markup]:
    yield text("Also as ")
    yield link(site.urls.metadata(item, None, "json"), "JSON")
    yield text(" and ")
    yield link(site.urls.metadata(item, None, "oai_dc"), "Dublin Core")
