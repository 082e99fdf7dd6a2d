"""The list of an item's files, and a page with a preview for each file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ibi.archive.rules.profile import ArchiveUrls, encoded_path
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.rules.file_access import FileAccess as FileAccess  # pages that ask for the access need its name as well
from ibi.items.rules.file_access import access_by_address, access_by_right, list_access_of_all
from ibi.items.service.previews import MarkdownPreviews
from ibi.items.service.versions import ItemVersion, VersionChanges
from ibi.reading.pages.preview import PREVIEW, Preview, look_at, may_be_looked_at
from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.messages.values import decode_query
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import LastEdition, Relation
from ibi.web.reader import find_visitor, message, page_language, translations
from ibi.web.rendering import POLICY, render
from ibi.web.request import raw_query, reader_address
from ibi.web.request_errors import whole_number
from ibi.web.sites import ArchiveSite
from ibi.web.words import ELEMENTS, shown_title

LOOK: Final = "/preview/"
"""Separates the address of an item from the path of a file, in the address of the file's page."""
_FILES_ON_A_PAGE: Final = 500
_DEEPEST: Final = 10
"""Largest depth of folders. Deeper ones are joined to one folder with a longer name."""
_MOST_ADDED_UP: Final = 2_000
"""Largest number of files for which a page adds up the sizes."""


@dataclass(slots=True)
class FolderNode:
    """A folder, or a file. A file has `file` and no `nodes`."""

    name: str
    file: File | None = None
    nodes: list[FolderNode] = field(default_factory=list)
    number: int | None = 1
    """Number of files below, unlisted ones included. None if they are too many to count for a page."""
    size: int = 0
    """Total size of these files in bytes."""


def file_tree(files: Sequence[File], every: Sequence[File] | None = None) -> list[FolderNode]:
    """Return the listed files in their folders, in the order of their paths.

    A folder with nothing but one folder in it is joined with that. The totals of a folder count `every` file, listed or
    not.
    """
    counted = files if every is None or len(every) == len(files) else every if len(every) <= _MOST_ADDED_UP else ()
    root, totals = FolderNode(""), _folder_totals(counted)
    folders: dict[tuple[str, ...], FolderNode] = {(): root}
    for file in files:
        above, name = _folders_of(file)
        parent = root
        for depth in range(1, len(above) + 1):
            place = tuple(above[:depth])
            if place not in folders:
                number, size = totals.get(place, (None, 0))
                folders[place] = FolderNode(above[depth - 1], number=number, size=size)
                parent.nodes.append(folders[place])
            parent = folders[place]
        parent.nodes.append(FolderNode(name, file, size=file.size))
    return [_join_folders(node) for node in root.nodes]


def _folders_of(file: File) -> tuple[list[str], str]:
    """Return the folders above the file, and its own name."""
    *above, name = file.path.split("/")
    if len(above) > _DEEPEST:
        above = [*above[: _DEEPEST - 1], "/".join(above[_DEEPEST - 1 :])]
    return above, name


def _folder_totals(files: Iterable[File]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return the number of files in each folder, and their total size in bytes."""
    totals: dict[tuple[str, ...], tuple[int, int]] = {}
    for file in files:
        above, _ = _folders_of(file)
        for depth in range(1, len(above) + 1):
            number, size = totals.get(tuple(above[:depth]), (0, 0))
            totals[tuple(above[:depth])] = number + 1, size + file.size
    return totals


def _join_folders(node: FolderNode) -> FolderNode:
    while len(node.nodes) == 1 and node.nodes[0].file is None and node.nodes[0].number == node.number:
        only = node.nodes[0]
        node = replace(only, name=f"{node.name}/{only.name}")
    return replace(node, nodes=[_join_folders(each) for each in node.nodes])


class FileLinks:
    """Addresses of one item's files, for templates."""

    def __init__(self, site: ArchiveSite, item: Item) -> None:
        self._site, self._item = site, item
        self._base, self._label = site.resolver or site.public_url, item.labels.ibip or item.rep

    def persistent(self, file: File) -> str | None:
        """Return the persistent link of the file; None if a persistent URL cannot contain its name (E35)."""
        return self._link(file, Relation.ITSELF)

    def latest(self, file: File) -> str | None:
        """Return the link to the file of that name in the last edition."""
        return self._link(file, _LATEST)

    def _link(self, file: File, relation: Relation) -> str | None:
        try:
            wanted = PersistentUrl(self._label, relation, file_path=f"/{file.path}")
        except InvalidPersistentUrl:
            return None
        return wanted.text(self._base, keep_spelling=True)

    def preview(self, file: File) -> str | None:
        """Return the page with the preview of the file, if it probably has one."""
        return look_place(self._site, self._item, file) if may_be_looked_at(file) else None


_LATEST: Final = Relation((LastEdition(),))


def look_place(site: ArchiveSite, item: Item, file: File) -> str:
    return f"{site.public_url}/col/{item.rep.spelling}{LOOK}{encoded_path(file.path)}"


def size_of_all(files: Sequence[File]) -> int | None:
    """Return the total size of the files; None if they are too many to add up while a reader waits."""
    return sum(file.size for file in files) if len(files) <= _MOST_ADDED_UP else None


FOR_ONE_PERSON: Final = {"cache-control": "private, no-store"}
"""Headers for content that a person reads by right of an account, in addition to `Vary: Cookie`."""


def file_access(site: ArchiveSite, item: Item, scope: Scope) -> FileAccess:
    """Return the access to the files. The address decides first: only withheld files need a look at the session."""
    address = reader_address(scope, site.proxies)
    addresses = () if address is None else (address,)
    return access_by_address(item, addresses, site.now) or _access_of_visitor(site, item, scope)


def list_access(site: ArchiveSite, item: Item, scope: Scope) -> FileAccess:
    """Return the access to the list of files, with which all of them can be downloaded at once."""
    return list_access_of_all(item) or _access_of_visitor(site, item, scope)


def _access_of_visitor(site: ArchiveSite, item: Item, scope: Scope) -> FileAccess:
    visitor = find_visitor(Request(scope), site)
    if isinstance(visitor, Response):
        return FileAccess.WITHHELD
    return access_by_right(item, site.profile.service, visitor.actor, site.now)


def reading_urls(site: ArchiveSite, access: FileAccess) -> ArchiveUrls:
    """Return the addresses of the files for a reader with that access. A session is valid on the host of the pages
    only."""
    return ArchiveUrls(site.public_url, site.public_url) if access is FileAccess.BY_RIGHT else site.urls


def zip_url(site: ArchiveSite, item: Item, access: FileAccess, lists: FileAccess) -> str:
    """Return the address of the download of all files, for a reader who may read and list them."""
    return reading_urls(site, lists if lists is FileAccess.BY_RIGHT else access).zip(item)


def content_policy(site: ArchiveSite) -> str:
    """Return the content security policy of a page with a preview.

    Images, sounds and PDFs come from the content host, which may be another host.
    """
    source = f"'self' {site.content_url}" if site.has_own_content_host else "'self'"
    pictures = POLICY.replace("img-src 'self'", f"img-src {source}")
    return f"{pictures}; frame-src {source}; media-src {source}"


def preview_url(site: ArchiveSite, item: Item, preview: Preview | None, access: FileAccess) -> str | None:
    """Return the address from which a preview loads its file.

    A look at an image does not count as a download. Playing audio or video does.
    """
    if preview is None:
        return None
    url = reading_urls(site, access).file(item, preview.file.path)
    return url if preview.kind in {"audio", "video"} else f"{url}?{PREVIEW}"


def shown_preview(site: ArchiveSite, preview: Preview | None, access: FileAccess) -> Preview | None:
    """Return the preview if it can be shown.

    If content has a host of its own, a PDF that a person reads by right comes from the host of the pages, for saving
    only. No frame can show it then.
    """
    is_saved = site.has_own_content_host and access is FileAccess.BY_RIGHT
    return None if preview is not None and preview.kind == "pdf" and is_saved else preview


def reading_headers(*accesses: FileAccess) -> dict[str, str]:
    """Return the headers of a page with withheld files, or with files that are not listed."""
    return dict(FOR_ONE_PERSON) if FileAccess.BY_RIGHT in accesses else {}


class FilePage:
    """The list of an item's files, a page at a time."""

    def __init__(self, site: ArchiveSite, previews: MarkdownPreviews | None) -> None:
        """`previews` renders Markdown; without it, Markdown is shown as plain text."""
        self._site, self._previews = site, previews

    def answer(self, item: Item, number: int, scope: Scope) -> Response:
        pages = max(1, -(-len(item.files) // _FILES_ON_A_PAGE))
        number = min(max(number, 1), pages)
        access, lists = file_access(self._site, item, scope), list_access(self._site, item, scope)
        return render(
            scope,
            "files.html",
            headers=reading_headers(access, lists),
            zip_url=zip_url(self._site, item, access, lists),
            tree=file_tree(item.files[(number - 1) * _FILES_ON_A_PAGE : number * _FILES_ON_A_PAGE], item.files),
            number=number,
            pages=pages,
            **_about(self._site, item, access),
        )

    async def look(self, item: Item, file: File, scope: Scope) -> Response:
        """Render the page of one file that the reader may see."""
        access = file_access(self._site, item, scope)
        preview = shown_preview(
            self._site, await asyncio.to_thread(look_at, self._site, item, file, self._previews), access
        )
        return render(
            scope,
            "file.html",
            headers={"content-security-policy": content_policy(self._site), **reading_headers(access)},
            file=file,
            preview=preview,
            preview_url=preview_url(self._site, item, preview, access),
            **_about(self._site, item, access),
        )


def _about(site: ArchiveSite, item: Item, access: FileAccess) -> dict[str, Any]:
    return {
        "item": item,
        "title": shown_title(item),
        "urls": reading_urls(site, access),
        "links": FileLinks(site, item),
        "is_open": bool(access),
    }


VERSIONS: Final = "/versions"
VERSION: Final = "ibiversion"
"""The parameter with the version number in the address of a file. Files of items may have parameters of their own."""
_VERSIONS_ON_A_PAGE: Final = 50
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
"""Names of the parts of a record on the page. Other elements have the names of a description."""


# Default messages of versions, recorded if the author of a version gave none.
_RECORDED: Final = {"Deposited": message("Deposited"), "Updated": message("Updated")}
_RECORDED_OF: Final = {
    "Named by ": message("Named by {rest}"),
    "Deleted: ": message("Deleted: {rest}"),
    "Restored from version ": message("Restored from version {rest}"),
}


def translate_recorded(text: str, gettext: Callable[[str], str]) -> str:
    """Return the message of a version in the reader's language, if it is a default one."""
    if text in _RECORDED:
        return gettext(_RECORDED[text])
    for start, words in _RECORDED_OF.items():
        if text.startswith(start):
            return gettext(words).replace("{rest}", text.removeprefix(start))
    return text


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """A version as the page shows it."""

    version: ItemVersion
    changes: VersionChanges
    words: tuple[str, ...]
    """The parts that changed, in words to be translated."""
    files: tuple[tuple[str, str | None], ...]
    """Some of its files, each with its address if the reader may have it."""
    more: int
    accesses: tuple[FileAccess, FileAccess]
    """The access to the files, and to their list."""


class VersionsPage:
    def __init__(self, site: ArchiveSite) -> None:
        self._site = site

    async def answer(self, item: Item, before: str, scope: Scope) -> Response:
        """Render the page. `before` is a version number: the page shows earlier versions."""
        first = whole_number(before, 9)
        found = await asyncio.to_thread(self._site.versions.list, item, before=first, most=_VERSIONS_ON_A_PAGE)
        shown = [self._show_version(item, each, scope) for each in found]
        gettext = translations(page_language(scope)).gettext
        return render(
            scope,
            "versions.html",
            headers=reading_headers(*(access for each in shown for access in each.accesses)),
            item=item,
            title=shown_title(item),
            urls=self._site.urls,
            place=versions_place(self._site, item),
            versions=shown,
            recorded=lambda text: translate_recorded(text, gettext),
            earlier=found[-1].number if found and found[-1].number > 1 else None,
        )

    def _show_version(self, now: Item, version: ItemVersion, scope: Scope) -> ShownVersion:
        visibility = version.visibility(now)
        seen = now.with_visibility(visibility)
        lists, access = list_access(self._site, seen, scope), file_access(self._site, seen, scope)
        changes = version.changes if lists else version.changes.without_files()
        files = () if version.item is None or not lists else version.item.files
        urls = reading_urls(self._site, access)
        shown = tuple(
            (file.path, version_file_url(urls, now, version.number, file.path) if access else None)
            for file in files[:_MOST_PATHS]
        )
        words, more = tuple(dict.fromkeys(_words(changes))), len(files) - len(shown)
        return ShownVersion(version, changes, words, shown, more, (access, lists))


def _words(changes: VersionChanges) -> Iterator[str]:
    for name in changes.fields:
        yield FIELDS.get(name) or ELEMENTS[name.removeprefix("metadata.")]


def versions_place(site: ArchiveSite, item: Item) -> str:
    return f"{site.public_url}/col/{item.rep.spelling}{VERSIONS}"


def version_file_url(urls: ArchiveUrls, item: Item, number: int, path: str) -> str:
    """Return the address of a file of a version: that of the present file, with the version number."""
    return f"{urls.file(item, path)}?{VERSION}={number}"


def version_in(scope: Scope) -> int | None:
    """Return the version number in the address of a file."""
    if VERSION.encode() not in scope["query_string"]:
        return None
    text = next((value for name, value in decode_query(raw_query(scope)) if name == VERSION), "")
    return whole_number(text, 9)
