"""Signposting for the page of an item: links in its header to its type, citation, authors and files.

The relation types are those of signposting.org. All of them are in the registry of RFC 8288.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from markupsafe import Markup

from ibi.citation.rules.page_metadata import highwire, json_ld, script_text
from ibi.citation.rules.work import Work
from ibi.claims.rules import INBOX
from ibi.items.model.item import Item
from ibi.items.model.item_types import type_names_of
from ibi.items.model.metadata import Licence
from ibi.items.rules.file_access import access_by_address
from ibi.standard.vocabulary import State
from ibi.web.headers import PDF
from ibi.web.sites import ArchiveSite

LONGEST: Final = 2500
"""Largest number of characters of the header.

Proxies accept 4 KiB of headers in total, and answer 502 to more. Long file names must not make the page unreachable.
"""

MOST_ITEMS: Final = 20
"""Largest number of files in a header. The record has all of them."""

FORMATS: Final[Mapping[str, str]] = {
    "json": "application/json",
    "oai_dc": "application/xml",
    "csl": "application/vnd.citationstyles.csl+json",
    "bibtex": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
}
"""The metadata formats for programs, and their media types."""

# RFC 8288 §3: the text between < and > is a URI reference, and a header is ASCII.
_NOT_IN_URI: Final = re.compile(r"[^!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]")


def alternates(site: ArchiveSite, item: Item) -> Iterator[tuple[str, str]]:
    """Return media type and address of each metadata format for programs."""
    return ((media, site.urls.metadata(item, None, name)) for name, media in FORMATS.items())


def inbox_link(site: ArchiveSite) -> dict[str, str]:
    """Return the header that announces the inbox for notifications about an item (W3C Linked Data Notifications
    §3.1)."""
    return {} if site.inbox_url is None else {"link": _link(site.inbox_url, INBOX)}


def signposting(site: ArchiveSite, item: Item) -> str:
    """Return the value of the header `Link`, cut to `LONGEST`."""
    shown, length = [], 0
    for link in _links(site, item):
        length += len(link) + 2
        if length > LONGEST:
            break
        shown.append(link)
    return ", ".join(shown)


def _links(site: ArchiveSite, item: Item) -> Iterator[str]:
    yield _link(site.persistent_url(item.labels), "cite-as")
    if site.inbox_url is not None:
        yield _link(site.inbox_url, INBOX)
    for media, url in alternates(site, item):
        yield _link(url, "describedby", media)
    yield _link("https://schema.org/AboutPage", "type")
    yield _link(f"https://schema.org/{type_names_of(item.metadata).schema_org}", "type")
    for agent in item.metadata.creator[:MOST_ITEMS]:
        if agent.orcid is not None:
            yield _link(agent.orcid.url, "author")
    if item.metadata.licence is not None:
        yield _link(item.metadata.licence.url, "license")
    if item.state is not State.DELETED and item.visibility.listing:
        for file in item.files[:MOST_ITEMS]:
            yield _link(site.urls.file(item, file.path), "item", file.media_type.partition(";")[0])


def _link(url: str, relation: str, media: str | None = None) -> str:
    safe = _NOT_IN_URI.sub(lambda sign: "".join(f"%{byte:02X}" for byte in sign[0].encode()), url)
    return f'<{safe}>; rel="{relation}"' + (f'; type="{media}"' if media else "")


def head_tags(site: ArchiveSite, item: Item, work: Work) -> tuple[tuple[str, str], ...]:
    """Return tags for scholarly search engines. The address of the text is present only if it is open to all
    readers."""
    file = None if item.target is None else item.file(item.target)
    is_open = item.state is not State.DELETED and access_by_address(item, (), site.now)
    is_pdf = file is not None and file.media_type.partition(";")[0].strip().lower() == PDF
    pdf_url = site.urls.file(item, file.path) if file is not None and is_pdf and is_open else None
    return highwire(work, pdf_url=pdf_url)


def structured_data(work: Work, licence: Licence | None) -> Markup:
    """Return the item as schema.org data, safe inside a `<script>`."""
    text = script_text(json_ld(work, licence))
    return Markup(text)  # noqa: S704 - nothing in it can end the element
