"""Files that were granted for a time to a reader who asked for a copy."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ibi.archive.rules.profile import encoded_path
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.reading.delivery.file_delivery import FileDelivery
from ibi.requests.rules import LinkOver
from ibi.requests.service import ReaderRequests
from ibi.standard.instant import Instant
from ibi.web.headers import attachment_headers, is_to_run
from ibi.web.rendering import render
from ibi.web.request_errors import NoSuchFile, PathNotFound
from ibi.web.sites import ArchiveSite
from ibi.web.words import shown_title

_SECRET: Final = {"cache-control": "no-store", "referrer-policy": "no-referrer", "x-robots-tag": "noindex, nofollow"}
MOST_FILES: Final = 1000
"""Number of files on the page. Further files can be fetched by their names."""


class GrantedFiles:
    """`/request/files/<secret>`: files that were granted for a time to a reader who asked for a copy.

    The secret is the only proof. So no cache stores these answers, and no other site or robot learns the address. Files
    are saved, and never shown on the host of the pages.
    """

    def __init__(self, site: ArchiveSite, requests: ReaderRequests) -> None:
        self._site, self._requests, self._delivery = site, requests, FileDelivery(site)

    def routes(self) -> list[Route]:
        return [
            Route("/request/files/{secret}", self.list, methods=["GET"]),
            Route("/request/files/{secret}/{path:path}", self.file, methods=["GET"]),
        ]

    async def list(self, request: Request) -> Response:
        found = await asyncio.to_thread(self._requests.open_link, request.path_params["secret"])
        item, expires = found.item, found.request.expires
        if item is None or expires is None:
            raise LinkOver()
        return render(
            request.scope,
            "request_files.html",
            headers=_SECRET,
            item=item,
            title=shown_title(item),
            files=item.files[:MOST_FILES],
            base=request.url.path,
            place=encoded_path,
            expires=Instant(expires),
            page=self._site.urls.metadata(item, None, None),
        )

    async def file(self, request: Request) -> Response:
        found = await asyncio.to_thread(self._requests.open_link, request.path_params["secret"])
        item, path = found.item, request.path_params["path"]
        file = None if item is None else item.file(path)
        if item is None or file is None:
            raise NoSuchFile(label="" if item is None else item.rep.spelling, path=repr(path[:200]))
        if is_to_run(request.scope["headers"]):
            raise PathNotFound()
        await asyncio.to_thread(self._requests.count_use, found.request.number)
        return _SavedFile(self._delivery, item, file)


class _SavedFile(Response):
    """A file for saving, sent while it is read."""

    def __init__(self, delivery: FileDelivery, item: Item, file: File) -> None:
        super().__init__()
        self._delivery, self._item, self._file = delivery, item, file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def headers(media_type: str) -> Mapping[str, str]:
            return {**attachment_headers(media_type, self._file.path), **_SECRET}

        await self._delivery.send(self._item, self._file, scope, receive, send, headers)
