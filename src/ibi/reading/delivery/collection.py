"""`/col/<rep>/…`: an item's bytes, the list of its files, and its description.

They are on the host of the Archive, or the bytes are on a host of their own. The path is decoded once and must contain
a label and the exact name of a file of that item. No spelling of `..` has a meaning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ibi.archive.rules.profile import encoded_path
from ibi.items.model.item import Item
from ibi.items.rules.errors import UnknownItem
from ibi.reading.delivery.content_host import ContentHost
from ibi.reading.delivery.file_delivery import FileDelivery
from ibi.reading.delivery.linked_documents import LinkedDocuments, is_document, relative_link
from ibi.reading.delivery.metadata import MetadataPage, gone_answer
from ibi.reading.delivery.zip_download import ZIP, ZipDownload
from ibi.reading.pages.file_pages import (
    FOR_ONE_PERSON,
    LOOK,
    VERSIONS,
    FileAccess,
    FilePage,
    VersionsPage,
    file_access,
    list_access,
    reading_urls,
    version_in,
)
from ibi.reading.pages.preview import PREVIEW
from ibi.resolver.api.standby import Standby
from ibi.standard.errors import IbiError, InvalidPersistentUrl
from ibi.standard.label import Label, match_any
from ibi.standard.messages.values import decode_query
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.safe_text import show_octets
from ibi.standard.vocabulary import State
from ibi.web.headers import attachment_headers, is_to_run, safety_headers
from ibi.web.page_answers import redirect, refusal, wants_page
from ibi.web.request import raw_path, raw_query, with_octets
from ibi.web.request_errors import ListingNotPermitted, MethodNotAllowed, NoSuchFile, PathNotFound, whole_number
from ibi.web.sites import ArchiveSite, ItemOffers

PREFIX: Final = "/col/"
_DOC, _METADATA = "/doc/", "/metadata"
_PLACES: Final = {"/doc": _DOC}
"""The places to which other addresses of an item lead; by default it is the item's page."""
_IN_QUERY: Final = "/%?:@!$&'()*+,;=~-._"


class Collection:
    """The endpoint of the collection, an ASGI application.

    The address that fetches the bytes decides about access, whatever a resolver was told. For files withheld from that
    address, the rights of the signed-in person count too.
    """

    def __init__(
        self,
        site: ArchiveSite,
        offers: ItemOffers,
        resolver: str | None = None,
        standby: Standby | None = None,
    ) -> None:
        """`resolver` is the address at which persistent URLs are resolved. The default is the resolver of the site, or
        this server while that is away."""
        self._standby = standby
        self._resolver, self._host = resolver or site.resolver, ContentHost(site)
        self._site, self._metadata, self._files = site, MetadataPage(site, offers), FilePage(site, offers.previews)
        self._versions, self._delivery = VersionsPage(site), FileDelivery(site)
        self._documents, self._zip = LinkedDocuments(site), ZipDownload(site, self._delivery)

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
        path = with_octets(unquote_to_bytes(raw_path(scope))).removeprefix(PREFIX)
        found = match_any(path)
        if found is None:
            raise PathNotFound()
        label, rest = found[0], path[found[1] :]
        item = await self._site.find(label)
        if item is None:
            return await self._redirect_to_resolver(label, rest, scope)
        if not label.is_dated:
            return self._redirect_to_name(item, rest, scope)
        if rest.startswith(_DOC) and len(rest) > len(_DOC):
            return await self._file(item, rest[len(_DOC) :], scope, receive, send)
        if rest == ZIP:
            return await self._all_files(item, scope, receive, send)
        elsewhere = self._host.for_pages(scope)
        return await self._page(item, rest, scope) if elsewhere is None else redirect(elsewhere)

    async def _page(self, item: Item, rest: str, scope: Scope) -> Response:
        query = decode_query(raw_query(scope))
        if rest.removesuffix("/") in {_METADATA, VERSIONS} and rest.endswith("/"):
            return _redirect_without_slash(item, rest, scope)
        if rest == _METADATA:
            return await self._metadata.answer(item, _first_value(query, "format"), scope)
        if rest.startswith(LOOK):
            return await self._look(item, rest[len(LOOK) :], scope)
        if rest == VERSIONS:
            if item.state is State.DELETED:
                return await gone_answer(self._site, item, scope)
            return await self._versions.answer(item, _first_value(query, "before") or "", scope)
        if rest not in {"", "/", "/doc", _DOC}:
            raise PathNotFound()
        if item.state is State.DELETED:
            return await gone_answer(self._site, item, scope)
        if rest != _DOC:
            return redirect(f"{self._site.public_url}/col/{item.rep.spelling}{_PLACES.get(rest, _METADATA)}")
        if _first_value(query, "list") is not None:
            return self._list(item, _first_value(query, "page"), scope)
        return self._target(item, scope)

    async def _look(self, item: Item, path: str, scope: Scope) -> Response:
        """Render the page of one file, for a reader who may have it."""
        if item.state is State.DELETED:
            return await gone_answer(self._site, item, scope)
        may_see = file_access(self._site, item, scope)
        file = item.linked_file(path)
        if file is None and (may_see or item.visibility.listing):
            raise NoSuchFile(label=item.rep.spelling, path=repr(show_octets(path[:200])))
        if file is None or not may_see:
            return redirect(self._site.urls.metadata(item, None, None))
        return await self._files.look(item, file, scope)

    def _target(self, item: Item, scope: Scope) -> Response:
        """Redirect to the only address of the file: links inside it are relative to that address, and caches store it
        once."""
        may_see = file_access(self._site, item, scope)
        urls = reading_urls(self._site, may_see)
        if self._site.profile.landing_page and wants_page(scope["headers"]):
            return redirect(urls.metadata(item, None, None))
        if item.target is not None and (may_see or item.visibility.listing):
            return redirect(urls.file(item, item.target))
        if item.target_url is not None and may_see:
            return redirect(item.target_url)
        return redirect(urls.metadata(item, None, None))

    def _list(self, item: Item, number: str | None, scope: Scope) -> Response:
        if not list_access(self._site, item, scope):
            raise ListingNotPermitted(label=str(item.rep))
        page = None if number is None else whole_number(number, 6)
        return self._files.answer(item, 1 if page is None else page, scope)

    async def _file(self, item: Item, path: str, scope: Scope, receive: Receive, send: Send) -> Response | None:
        number, elsewhere = version_in(scope), self._host.for_bytes(scope)
        shown, item, access = await self._wanted(item, number, scope)
        if elsewhere is not None and access is not FileAccess.BY_RIGHT:
            return redirect(elsewhere)
        if item.state is State.DELETED:
            return await gone_answer(self._site, item, scope)
        file = None if shown is None else shown.linked_file(path)
        if shown is None or file is None or not access:
            return self._without_file(item, path, access, scope, is_there=file is not None)
        if is_to_run(scope["headers"]):
            raise PathNotFound()
        is_use = scope["query_string"] != PREVIEW.encode()
        headers = partial(self._headers, item, file.path, access, is_saved=elsewhere is not None)
        if number is not None:
            await self._delivery.send(item, file, scope, receive, send, headers, version=(number, shown), is_use=is_use)
            return None
        view = await self._documents.answer(item, file, scope, headers) if elsewhere is None else None
        if view is not None:
            self._delivery.count(item, file.path, scope, view.status_code)
            return view
        await self._delivery.send(item, file, scope, receive, send, headers, is_use=is_use)
        return None

    def _without_file(self, item: Item, path: str, access: FileAccess, scope: Scope, *, is_there: bool) -> Response:
        """Answer a reader who may not have the file, or who names none: with the target of a relative link, or the
        item's page."""
        link = relative_link(path, with_octets(scope["query_string"]))
        if link is not None:
            return redirect(link.text(f"{self._site.public_url}/ibi", keep_spelling=True))
        # A reader who may neither list nor read the files must not learn which names exist.
        if not is_there and (access or item.visibility.listing):
            raise NoSuchFile(label=item.rep.spelling, path=repr(show_octets(path[:200])))
        if is_to_run(scope["headers"]):
            raise PathNotFound()
        return redirect(self._site.urls.metadata(item, None, None))

    async def _wanted(self, item: Item, number: int | None, scope: Scope) -> tuple[Item | None, Item, FileAccess]:
        """Return the item in the requested version, the present item, and the access of the reader to the files.

        The present item has the combined restrictions of both versions. The first is None if the version cannot be
        read.
        """
        access = file_access(self._site, item, scope)
        if number is None or not access or item.state is State.DELETED:
            return item, item, access
        version = await asyncio.to_thread(self._site.versions.find, item, number)
        item = item.with_visibility(version.visibility(item))
        return version.item, item, file_access(self._site, item, scope)

    async def _all_files(self, item: Item, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Send all files in one ZIP file, which also lists them."""
        access, elsewhere = file_access(self._site, item, scope), self._host.for_bytes(scope)
        lists = list_access(self._site, item, scope)
        used = FileAccess.BY_RIGHT if FileAccess.BY_RIGHT in (access, lists) else access
        if elsewhere is not None and used is not FileAccess.BY_RIGHT:
            return redirect(elsewhere)
        if item.state is State.DELETED:
            return await gone_answer(self._site, item, scope)
        if not lists:
            raise ListingNotPermitted(label=str(item.rep))
        if not item.files or is_to_run(scope["headers"]):
            raise PathNotFound()
        if not access:
            return redirect(self._site.urls.metadata(item, None, None))
        await self._zip.send(item, scope, receive, send, _caching(item, used))
        return None

    def _headers(self, item: Item, path: str, access: FileAccess, media_type: str, *, is_saved: bool) -> dict[str, str]:
        """Return the headers of a file.

        With `is_saved`, the file comes from the host of the pages although content has its own host: it is never shown
        there.
        """
        if is_saved:
            return {**attachment_headers(media_type, path), **_caching(item, access)}
        safe, varying = safety_headers(media_type, path, pages=self._site.origin), _caching(item, access)
        if is_document(media_type):
            varying["vary"] = ", ".join(("Accept", *filter(None, (varying.get("vary"),))))
        return {**safe, **varying}

    def _redirect_to_name(self, item: Item, rest: str, scope: Scope) -> Response:
        """Redirect from a label from before 2008 (E72): relative links of a page, and caches, know one address of
        it."""
        query = quote(scope["query_string"], safe=_IN_QUERY)
        place = f"/col/{item.rep.spelling}{encoded_path(rest)}"
        return redirect(f"{self._site.public_url}{place}{'?' if query else ''}{query}")

    async def _redirect_to_resolver(self, label: Label, rest: str, scope: Scope) -> Response:
        """Redirect to the resolver (E34).

        Links between repositories are relative. They lead here even if another Archive keeps the other repository.
        """
        resolver = self._resolver
        if self._standby is not None and await self._standby.is_needed():
            resolver = self._site.public_url
        wanted = _persistent(label, rest, with_octets(scope["query_string"]))
        if resolver is None or wanted is None:
            elsewhere = None if wanted is None else wanted.at_world_resolver(self._site.public_url)
            return refusal(UnknownItem(label=label.spelling), scope, elsewhere)
        return redirect(wanted.text(resolver, keep_spelling=True))


def _caching(item: Item, access: FileAccess) -> dict[str, str]:
    """Return headers with which caches store a file but revalidate it each time.

    Visibility and content may have changed. Content that a person reads by right of an account is stored nowhere.
    """
    if access is FileAccess.BY_RIGHT:
        return {**FOR_ONE_PERSON, "vary": "Cookie"}
    return {"cache-control": "no-cache" if item.visibility.is_public else "private, no-cache"}


def _persistent(label: Label, rest: str, query: str) -> PersistentUrl | None:
    """Return the persistent URL of the target of such an address; None if it can have no target."""
    pairs = decode_query(query)
    if rest == _METADATA:
        named = _first_value(pairs, "format")
        target = f":({named})" if named and named not in {"html", "json"} else ":"
    elif rest == _DOC and _first_value(pairs, "list") is not None:
        target = "?ibiurl.verblist=GetFileList"
    elif rest in {"/doc", _DOC}:
        target = ""
    elif rest in {"", "/", ZIP}:
        target = ":"
    elif rest.startswith(_DOC):
        target = encoded_path(rest[len(_DOC) - 1 :]) + (f"?{query}" if query else "")
    else:
        return None
    try:
        return PersistentUrl.parse(f"/{label.spelling}{target}")
    except (InvalidPersistentUrl, UnicodeEncodeError):
        return None


def _redirect_without_slash(item: Item, rest: str, scope: Scope) -> Response:
    sent, place = raw_query(scope), f"/col/{encoded_path(item.rep.spelling)}{rest.removesuffix('/')}"
    where = f"{place}?{sent}" if sent else place
    return Response(b"", HTTPStatus.PERMANENT_REDIRECT, {"location": where})


def _first_value(query: Sequence[tuple[str, str]], name: str) -> str | None:
    return next((value for given, value in query if given == name), None)


def without_body(answer: Response, scope: Scope) -> Response:
    """Return the answer to a HEAD: the headers of the whole, without its body."""
    if scope["method"] == "HEAD":
        answer.body = b""
    return answer
