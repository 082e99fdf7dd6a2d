"""Links by IBI inside deposited HTML: `ibi:<label>`, and `./ibi/<label>` relative to the document (E95).

No browser knows the scheme `ibi:`. The deposited document stays unchanged, on the disk and at its address: the same
bytes, tag and digests for everyone. A browser that asks for a document with such links is redirected to a view of it.
The view is another resource with its own address (`?view=links`), tag and digest. Its links lead to this Archive, which
resolves them wherever the items are.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha512
from typing import Final, NamedTuple

from starlette.responses import Response
from starlette.types import Scope

from ibi.archive.rules.profile import encoded_path
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.service.stored_item import ItemChanging
from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.lru_cache import LruCache
from ibi.standard.persistent_url import PersistentUrl
from ibi.web.page_answers import redirect, wants_page
from ibi.web.preconditions import Validators
from ibi.web.request import media_type_in_full, repr_digest, values
from ibi.web.sites import ArchiveSite

VIEW: Final = "view=links"
"""The query of a view's address."""
LARGEST: Final = 4 << 20
"""Largest document in bytes that is searched for links. Larger ones are sent unchanged."""
MOST_TAGS: Final = 200_000
"""Largest number of tags that are searched, which takes a third of a second."""
_KINDS: Final = frozenset({"text/html", "application/xhtml+xml"})
_MOST_KNOWN: Final = 10_000

# Only as much of HTML's grammar as finds attributes of tags. Possessive, so that no text causes backtracking: a tag
# without an end is the end of the document for a browser, too.
_TAG: Final = re.compile(rb"""<[A-Za-z][^\s/>]*+((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
_BEGIN: Final = re.compile(rb"<(?:[A-Za-z]|!--)")
_LINK: Final = re.compile(rb"""(?:^|[\s"'/])(?:href|src)\s*+=\s*+["']?\s*+(ibi:)(?=[A-Za-z0-9])""", re.IGNORECASE)
_MENTION: Final = re.compile(rb"ibi:[A-Za-z0-9]", re.IGNORECASE)
_SEGMENT: Final = re.compile(r"(?:^|/)ibi/", re.IGNORECASE)


def is_document(media_type: str) -> bool:
    """Return whether a file of this type may have a view."""
    return media_type.partition(";")[0].strip().lower() in _KINDS


def link_places(document: bytes) -> Iterator[int]:
    """Yield the places of `ibi:` in links of the document, in its first tags.

    It takes time linear in the length, and little if there is no such link.
    """
    if _MENTION.search(document) is None:
        return
    position = 0
    for _ in range(MOST_TAGS):
        begin = _next_tag(document, position)
        tag = None if begin is None else _TAG.match(document, begin)
        if tag is None:
            return
        for link in _LINK.finditer(document, tag.start(1), tag.end(1)):
            yield link.start(1)
        position = tag.end()


def _next_tag(document: bytes, position: int) -> int | None:
    """Return the place of the next tag that is not inside a comment."""
    while (found := _BEGIN.search(document, position)) is not None:
        if not found[0].endswith(b"--"):
            return found.start()
        end = document.find(b"-->", found.end())
        if end < 0:
            return None
        position = end + 3
    return None


def with_links(document: bytes, base: str) -> bytes:
    """Return the document with its `ibi:` links below `base`, which ends in a slash."""
    parts: list[bytes] = []
    position, target = 0, base.encode("ascii")
    for place in link_places(document):
        parts += (document[position:place], target)
        position = place + len(b"ibi:")
    return b"".join((*parts, document[position:]))


def relative_link(path: str, query: str) -> PersistentUrl | None:
    """Return the meaning of `./ibi/<label>…` in a document, from the path to which a browser resolved it."""
    for found in _SEGMENT.finditer(path):
        try:
            return PersistentUrl.parse(f"/{encoded_path(path[found.end() :])}{f'?{query}' if query else ''}")
        except InvalidPersistentUrl:
            continue
    return None


class _View(NamedTuple):
    body: bytes
    digest: str
    media_type: str


class LinkedDocuments:
    """The views of one Archive's documents."""

    def __init__(self, site: ArchiveSite) -> None:
        self._site = site
        self._known: LruCache[str, bool] = LruCache(_MOST_KNOWN)

    async def answer(
        self, item: Item, file: File, scope: Scope, headers: Callable[[str], Mapping[str, str]]
    ) -> Response | None:
        """Return the view of a document, or a redirect to it; None if the file is to be sent unchanged.

        The reader may see the file. `headers` returns those of a file by its media type.
        """
        if not is_document(file.media_type) or file.size > LARGEST:
            return None
        query = scope["query_string"]
        if query == VIEW.encode():
            return await self._view(item, file, scope, headers)
        is_read = not query and wants_page(scope["headers"]) and not values(scope["headers"], b"range")
        if not is_read or not await self._has_links(item, file):
            return None
        answer = redirect(f"{self._site.urls.file(item, file.path)}?{VIEW}")
        told = headers(file.media_type)
        answer.headers["cache-control"], answer.headers["vary"] = told["cache-control"], told["vary"]
        return answer

    async def _has_links(self, item: Item, file: File) -> bool:
        known = self._known.find(file.sha512)
        if known is None:
            try:
                known = await asyncio.to_thread(self._look_for_links, item, file)
            except ContentDamaged:
                return False  # reported when the file itself is sent
            self._known.keep(file.sha512, known)
        return known

    def _look_for_links(self, item: Item, file: File) -> bool:
        """Return whether the document has links. This call blocks."""
        document, _ = self._read(item, file)
        return next(link_places(document), None) is not None

    async def _view(
        self, item: Item, file: File, scope: Scope, headers: Callable[[str], Mapping[str, str]]
    ) -> Response:
        view = await asyncio.to_thread(self._make_view, item, file)
        validators = Validators(view.digest, item.updated.seconds)
        told = {
            **headers(view.media_type),
            "etag": validators.etag,
            "repr-digest": repr_digest(view.digest),
            "link": f'<{self._site.urls.file(item, file.path)}>; rel="canonical"',
        }
        validators.check(scope["headers"])
        if validators.is_known(scope["headers"]):
            return Response(None, 304, told)
        return Response(view.body, 200, told)

    def _make_view(self, item: Item, file: File) -> _View:
        document, media_type = self._read(item, file)
        body = with_links(document, f"{self._site.public_url}/ibi/")
        return _View(body, sha512(body).hexdigest(), media_type)

    def _read(self, item: Item, file: File) -> tuple[bytes, str]:
        """Return the verified bytes and the media type. This call blocks.

        Raise `ItemChanging` if the bytes are not those in the record. They may be too many, and the knowledge of their
        links belongs to other bytes.
        """
        with self._site.open_file(item, file.path) as opened:
            if opened.digest != file.sha512:
                raise ItemChanging(label=str(item.rep))
            return opened.read_all(), media_type_in_full(file.media_type, opened)
