"""The page "Versions of this record": who changed an item when, why and what, with the files of each version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from ibi.archive.profile import ArchiveUrls
from ibi.messages.query import decode_query
from ibi.model.item import Item
from ibi.services.items.versions import ItemVersion, VersionChanges
from ibi.services.sites import ArchiveSite
from ibi.web.http.request import raw_query
from ibi.web.http.request_errors import whole_number
from ibi.web.pages.file_pages import file_access, reading_urls
from ibi.web.pages.reader import message
from ibi.web.pages.rendering import render
from ibi.web.pages.words import ELEMENTS, shown_title

VERSIONS: Final = "/versions"
VERSION: Final = "ibiversion"
"""The parameter that names a version in the address of a file; files of items may have parameters of their own."""
_A_PAGE: Final = 50
_MOST_PATHS: Final = 20

FIELDS: Final = {
    "state": message("State"),
    "language": message("Language"),
    "target": message("Main file"),
    "target_url": message("Address of the service"),
    "visibility": message("Access"),
    "alternates": message("Other identifiers"),
    "edition_of": message("Editions"),
    "next_edition": message("Editions"),
    "translation_of": message("Translations"),
    "translations": message("Translations"),
    "metadata_item": message("Metadata item"),
    "describes": message("Metadata item"),
    "transferable": message("Transfer"),
    "source": message("Transfer"),
    "transferred_to": message("Transfer"),
    "metadata.title": message("Title"),
    "metadata.creator": message("Creators"),
    "metadata.description": message("Summary"),
    "metadata.licence": message("Licence"),
    "metadata.resource_type": message("Type"),
    "metadata.related_identifiers": message("Related works"),
    "metadata.funding": message("Funding"),
    "metadata.places": message("Places"),
}
"""What the parts of a record are called on the page; other elements have the names that they have in a description."""


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """A version as the page shows it."""

    version: ItemVersion
    changes: VersionChanges
    words: tuple[str, ...]
    """What changed, in words to be translated."""
    files: tuple[tuple[str, str | None], ...]
    """Some of its files, each with its address if the reader may have it."""
    more: int


class VersionsPage:
    def __init__(self, site: ArchiveSite) -> None:
        self._site = site

    async def answer(self, item: Item, before: str, scope: Scope) -> Response:
        """`before` is the number of a version: those before it are shown."""
        first = whole_number(before, 9)
        found = await asyncio.to_thread(self._site.versions.list, item, before=first, most=_A_PAGE)
        return render(
            scope,
            "versions.html",
            item=item,
            title=shown_title(item),
            urls=self._site.urls,
            place=versions_place(self._site, item),
            versions=[self._show_version(item, each, scope) for each in found],
            earlier=found[-1].number if found and found[-1].number > 1 else None,
        )

    def _show_version(self, now: Item, version: ItemVersion, scope: Scope) -> ShownVersion:
        visibility = version.visibility(now)
        lists, access = visibility.listing, file_access(self._site, replace(now, visibility=visibility), scope)
        changes = version.changes if lists else version.changes.without_files()
        files = () if version.item is None or not lists else version.item.files
        urls = reading_urls(self._site, access)
        shown = tuple(
            (file.path, version_file_url(urls, now, version.number, file.path) if access else None)
            for file in files[:_MOST_PATHS]
        )
        return ShownVersion(version, changes, tuple(dict.fromkeys(_words(changes))), shown, len(files) - len(shown))


def _words(changes: VersionChanges) -> Iterator[str]:
    for name in changes.fields:
        yield FIELDS.get(name) or ELEMENTS[name.removeprefix("metadata.")]


def versions_place(site: ArchiveSite, item: Item) -> str:
    return f"{site.public_url}/col/{item.rep.spelling}{VERSIONS}"


def version_file_url(urls: ArchiveUrls, item: Item, number: int, path: str) -> str:
    """Where readers get a file of a version: where they get the present one, with the number."""
    return f"{urls.file(item, path)}?{VERSION}={number}"


def version_in(scope: Scope) -> int | None:
    """The number of the version that the address of a file names."""
    if VERSION.encode() not in scope["query_string"]:
        return None
    text = next((value for name, value in decode_query(raw_query(scope)) if name == VERSION), "")
    return whole_number(text, 9)
