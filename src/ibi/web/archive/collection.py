"""`/col/<rep>/…`: an item's bytes, the list of its files, and its description.

The path is decoded once and must hold a label and the exact name of a file of that item; no spelling of `..` has a
meaning.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ibi.archive.errors import UnknownItem
from ibi.archive.profile import Reader, encoded_path
from ibi.errors import IbiError, InvalidPersistentUrl
from ibi.label import Label, match_any
from ibi.messages.query import decode_query
from ibi.messages.values import IpAddress
from ibi.model.item import Item
from ibi.persistent_url import PersistentUrl
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State
from ibi.web.archive.content_host import ContentHost
from ibi.web.archive.file_delivery import FileDelivery
from ibi.web.archive.linked_documents import LinkedDocuments, is_document, relative_link
from ibi.web.archive.metadata import MetadataPage, gone_answer
from ibi.web.archive.standby import Standby
from ibi.web.http.content_security import is_to_run, safety_headers
from ibi.web.http.request import percent_decode, raw_path, raw_query, reader_address
from ibi.web.http.request_errors import ListingNotPermitted, MethodNotAllowed, NoSuchFile, PathNotFound
from ibi.web.pages import redirect, refusal
from ibi.web.pages.item_page import FilePage
from ibi.web.pages.preview import PREVIEW
from ibi.web.pages.versions_page import VERSIONS, VersionsPage, version_in

PREFIX: Final = "/col/"
_DOC, _METADATA = "/doc/", "/metadata"
_IN_QUERY: Final = "/%?:@!$&'()*+,;=~-._"


class Collection:
    """An ASGI application. Access is judged by the address that fetches the bytes, whatever a resolver was told."""

    def __init__(self, site: ArchiveSite, resolver: str | None = None, standby: Standby | None = None) -> None:
        """`resolver` is where persistent URLs are resolved; without it that of the site, if it has one, or this server
        in the place of it while it is away."""
        self._standby = standby
        self._resolver, self._host = resolver or site.resolver, ContentHost(site)
        self._site, self._metadata, self._files = site, MetadataPage(site), FilePage(site)
        self._versions, self._delivery = VersionsPage(site), FileDelivery(site)
        self._documents = LinkedDocuments(site)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(scope, receive, send)
        except IbiError as error:
            answer = refusal(error, scope)
        if answer is not None:
            await without_body(answer, scope)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Return the answer; None if it is a file, which is sent already."""
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed(method=scope["method"][:20], allowed="GET, HEAD")
        path = percent_decode(raw_path(scope)).removeprefix(PREFIX)
        found = match_any(path)
        if found is None:
            raise PathNotFound()
        label, rest = found[0], path[found[1] :]
        item = await self._site.find(label)
        if item is None:
            return await self._redirect_to_resolver(label, rest, raw_query(scope))
        if not label.is_dated:
            return self._redirect_to_name(item, rest, scope)
        is_file = rest.startswith(_DOC) and len(rest) > len(_DOC)
        elsewhere = self._host.for_bytes(scope) if is_file else self._host.for_pages(scope)
        if elsewhere is not None:
            return redirect(elsewhere)
        if is_file:
            return await self._file(item, rest[len(_DOC) :], scope, receive, send)
        return await self._page(item, rest, scope)

    # --- pages ---

    async def _page(self, item: Item, rest: str, scope: Scope) -> Response:
        query = decode_query(raw_query(scope))
        if rest == _METADATA:
            named = next((value for name, value in query if name == "format"), None)
            return await self._metadata.answer(item, named, scope)
        if rest == VERSIONS:
            if item.state is State.DELETED:
                return await gone_answer(self._site, item, scope)
            before = next((value for name, value in query if name == "before"), "")
            return await self._versions.answer(item, before, scope)
        if rest not in {"", "/", "/doc", _DOC}:
            raise PathNotFound()
        if item.state is State.DELETED:
            return await gone_answer(self._site, item, scope)
        if rest != _DOC:
            place = _DOC if rest == "/doc" else _METADATA
            return redirect(f"{self._site.public_url}/col/{item.rep.spelling}{place}")
        if any(name == "list" for name, _ in query):
            return self._list(item, next((value for name, value in query if name == "page"), "1"), scope)
        return self._target(item, scope)

    def _target(self, item: Item, scope: Scope) -> Response:
        """Redirect to the one address of the file: links inside it are relative to that address, and caches store it
        once."""
        urls, may_see = self._site.urls, self._may_see(item, reader_address(scope, self._site.proxies))
        if item.target is not None and (may_see or item.visibility.listing):
            return redirect(urls.file(item, item.target))
        if item.target_url is not None and may_see:
            return redirect(item.target_url)
        return redirect(urls.metadata(item, None, None))

    def _may_see(self, item: Item, address: IpAddress | None) -> bool:
        return Reader(() if address is None else (address,), self._site.now).may_see(item.visibility)

    def _list(self, item: Item, number: str, scope: Scope) -> Response:
        if not item.visibility.listing:
            raise ListingNotPermitted(label=str(item.rep))
        page = int(number) if number.isascii() and number.isdigit() and len(number) < 7 else 1
        return self._files.answer(item, page, scope)

    # --- bytes ---

    async def _file(self, item: Item, path: str, scope: Scope, receive: Receive, send: Send) -> Response | None:
        if item.state is State.DELETED:
            return await gone_answer(self._site, item, scope)
        address = reader_address(scope, self._site.proxies)
        may_see = self._may_see(item, address)
        number = version_in(scope)
        shown: Item | None = item
        if number is not None and may_see:
            version = await asyncio.to_thread(self._site.versions.find, item, number)
            item = replace(item, visibility=version.visibility(item))
            shown, may_see = version.item, self._may_see(item, address)
        file = None if shown is None else shown.file(path)
        link = relative_link(path, raw_query(scope)) if file is None or not may_see else None
        if link is not None:
            return redirect(link.text(f"{self._site.public_url}/ibi", keep_spelling=True))
        # A reader who may neither list the files nor see them does not learn which names exist.
        if file is None and (may_see or item.visibility.listing):
            raise NoSuchFile(label=item.rep.spelling, path=repr(path[:200]))
        if is_to_run(scope["headers"]):
            raise PathNotFound()
        if shown is None or file is None or not may_see:
            return redirect(self._site.urls.metadata(item, None, None))
        headers = partial(self._headers, item, file.path)
        view = await self._documents.answer(item, file, scope, headers) if number is None else None
        if view is not None:
            self._delivery.count(item, file, scope, view.status_code)
            return view
        is_looked_at = scope["query_string"] == PREVIEW.encode()
        await self._delivery.send(
            item,
            file,
            scope,
            receive,
            send,
            headers,
            version=None if number is None else (number, shown),
            is_use=not is_looked_at,
        )
        return None

    def _headers(self, item: Item, path: str, media_type: str) -> dict[str, str]:
        """Headers that let caches store the file but revalidate it each time: visibility and content may have
        changed."""
        caching = "no-cache" if item.visibility.is_public else "private, no-cache"
        safe = safety_headers(media_type, path, pages=self._site.origin)
        varying = {"vary": "Accept"} if is_document(media_type) else {}
        return {**safe, **varying, "cache-control": caching}

    # --- what is elsewhere ---

    def _redirect_to_name(self, item: Item, rest: str, scope: Scope) -> Response:
        """Redirect from a label of before 2008 (E72): relative links of a page, and caches, know one address of it."""
        query = quote(scope["query_string"], safe=_IN_QUERY)
        place = f"/col/{item.rep.spelling}{encoded_path(rest)}"
        return redirect(f"{self._site.public_url}{place}{'?' if query else ''}{query}")

    async def _redirect_to_resolver(self, label: Label, rest: str, query: str) -> Response:
        """Redirect to the resolver (E34): links between repositories are relative, and lead here wherever the other one
        is kept."""
        resolver = self._resolver
        if self._standby is not None and await self._standby.is_needed():
            resolver = self._site.public_url
        wanted = None if resolver is None else _persistent(label, rest, query)
        if resolver is None or wanted is None:
            raise UnknownItem(label=label.spelling)
        return redirect(wanted.text(resolver, keep_spelling=True))


def _persistent(label: Label, rest: str, query: str) -> PersistentUrl | None:
    """The persistent URL of what such an address names; None if it can name nothing."""
    pairs = decode_query(query)
    if rest == _METADATA:
        named = next((value for name, value in pairs if name == "format"), None)
        target = f":({named})" if named and named not in {"html", "json"} else ":"
    elif rest == _DOC and any(name == "list" for name, _ in pairs):
        target = "?ibiurl.verblist=GetFileList"
    elif rest in {"/doc", _DOC}:
        target = ""
    elif rest in {"", "/"}:
        target = ":"
    elif rest.startswith(_DOC):
        target = encoded_path(rest[len(_DOC) - 1 :]) + (f"?{query}" if query else "")
    else:
        return None
    try:
        return PersistentUrl.parse(f"/{label.spelling}{target}")
    except (InvalidPersistentUrl, UnicodeEncodeError):
        return None


def without_body(answer: Response, scope: Scope) -> Response:
    """The answer to a HEAD: the headers of the whole, without its body."""
    if scope["method"] == "HEAD":
        answer.body = b""
    return answer
