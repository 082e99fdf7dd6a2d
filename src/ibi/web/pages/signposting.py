"""Signposting: links for programs in the header of an item's page, to its type, citation, authors and files.

The relation types are those of signposting.org; all of them are in the registry of RFC 8288.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ibi.federation.notification import INBOX
from ibi.model.item import Item
from ibi.model.metadata import ResourceType
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State

LONGEST: Final = 2500
"""Characters of the header. Proxies accept 4 KiB of all headers together, and answer 502 to more: long names of files
must not make the page unreachable."""

MOST_ITEMS: Final = 20
"""Files that are named in a header; the record has all of them."""

FORMATS: Final[Mapping[str, str]] = {
    "json": "application/json",
    "oai_dc": "application/xml",
    "csl": "application/vnd.citationstyles.csl+json",
    "bibtex": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
}
"""The metadata formats for programs, and their media types."""

_TYPES: Final = {
    ResourceType.COLLECTION: "Collection",
    ResourceType.DATASET: "Dataset",
    ResourceType.EVENT: "Event",
    ResourceType.IMAGE: "ImageObject",
    ResourceType.INTERACTIVE_RESOURCE: "WebApplication",
    ResourceType.MOVING_IMAGE: "VideoObject",
    ResourceType.SERVICE: "Service",
    ResourceType.SOFTWARE: "SoftwareSourceCode",
    ResourceType.SOUND: "AudioObject",
    ResourceType.STILL_IMAGE: "ImageObject",
    ResourceType.TEXT: "ScholarlyArticle",
}
# RFC 8288 §3: what stands between < and > is a URI reference, and a header is ASCII.
_NOT_IN_URI: Final = re.compile(r"[^!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]")


def alternates(site: ArchiveSite, item: Item) -> Iterator[tuple[str, str]]:
    """Media type and address of each metadata format for programs."""
    return ((media, site.urls.metadata(item, None, name)) for name, media in FORMATS.items())


def inbox_link(site: ArchiveSite) -> dict[str, str]:
    """The header by which an item announces where notifications about it go (W3C Linked Data Notifications §3.1)."""
    return {} if site.inbox_url is None else {"link": _link(site.inbox_url, INBOX)}


def signposting(site: ArchiveSite, item: Item) -> str:
    """The value of the header `Link`, cut to the space there is."""
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
    kind = item.metadata.resource_type
    yield _link(f"https://schema.org/{_TYPES.get(kind, 'CreativeWork') if kind else 'CreativeWork'}", "type")
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
