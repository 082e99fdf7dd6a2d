"""`/api/items/<label>/files/<path>` and `/api/items/<label>/manifest`: the bytes of an item for programs.

The token alone decides about a program, never its address; public files need no token. A browser saves a file from
these addresses and shows none of it, because depositors' documents stand here on the host of the pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from hashlib import sha512
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from ibi.archive.rules.profile import encoded_path
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.model.item_json import file_document, forms_document
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.file_access import require_access_of_program
from ibi.people.model.account import Scope
from ibi.reading.delivery.file_delivery import FileDelivery
from ibi.reading.delivery.metadata import record_url
from ibi.standard.label import Label
from ibi.standard.vocabulary import State
from ibi.web.authentication import Callers
from ibi.web.body import LongList, json_answer
from ibi.web.headers import attachment_headers, is_to_run
from ibi.web.preconditions import Validators
from ibi.web.record_requests import record_target
from ibi.web.request import values
from ibi.web.request_errors import ItemDeleted, ListingNotPermitted, MethodNotAllowed, NoSuchFile, PathNotFound

_JSON: Final = "application/json"
_DRAFT_METHODS: Final = "DELETE, PUT"


class ContentPages:
    def __init__(self, callers: Callers) -> None:
        self._callers, self._site = callers, callers.site
        self._delivery = FileDelivery(callers.site)

    async def file(self, request: Request) -> Response:
        """Deliver a file, with the ranges and conditions of every file. Each byte is checked before it is sent."""
        target = record_target(request.scope, "", names_file=True)
        if target.draft is not None:
            raise MethodNotAllowed(method=request.method[:20], allowed=_DRAFT_METHODS)
        item, path = await self._readable(request, target.required_label), target.file
        if item.state is State.DELETED:
            raise _explain_deletion(item)
        file = None if path is None else item.file(path)
        if file is None:
            raise NoSuchFile(label=item.rep.spelling, path=repr((path or "")[:200]))
        if is_to_run(request.scope["headers"]):
            raise PathNotFound()
        return AttachedFile(self._delivery, item, file, self._headers(item))

    async def manifest(self, request: Request) -> Response:
        """Return all files of an item with sizes and digests, for a program that copies it."""
        label = record_target(request.scope, "/manifest").required_label
        item = await self._readable(request, label)
        if not item.visibility.listing and not await self._callers.is_known(request):
            raise ListingNotPermitted(label=str(item.rep))
        if item.state is State.DELETED:
            raise _explain_deletion(item)
        # There may be ten thousand files.
        validators, size = await asyncio.to_thread(_sum_up, item)
        headers = request.scope["headers"]
        told = {**self._headers(item), "etag": validators.etag}
        if values(headers, b"if-none-match") and validators.is_known(headers):
            return Response(None, HTTPStatus.NOT_MODIFIED, told)
        return json_answer(self._manifest(item, size), HTTPStatus.OK, told, _JSON)

    def _manifest(self, item: Item, size: int) -> dict[str, Any]:
        base = record_url(self._site, item)

        def listed(file: File) -> dict[str, Any]:
            return {**file_document(file), "url": f"{base}/files/{encoded_path(file.path)}"}

        return {
            "labels": forms_document(item.labels),
            "state": item.state.value,
            **({"unconfirmed": True} if self._site.is_unconfirmed(item) else {}),
            "version": item.version,
            "updated": str(item.updated),
            **({} if item.target is None else {"target": item.target}),
            "size": size,
            "files": LongList(lambda: map(listed, item.files)),
            "links": {"self": f"{base}/manifest", "item": base},
        }

    async def _readable(self, request: Request, label: Label) -> Item:
        """Return the item if its files may be read. A refused caller does not learn which files exist."""
        has_token = await self._callers.is_known(request)
        who = await self._callers.actor(request, Scope.READ) if has_token else None
        item = await self._site.find(label)
        if item is None:
            raise UnknownItem(label=label.spelling)
        if item.state is not State.DELETED:
            require_access_of_program(item, self._site.profile.service, who, self._site.now)
        return item

    @staticmethod
    def _headers(item: Item) -> dict[str, str]:
        if item.visibility.is_public:
            return {"cache-control": "no-cache"}
        return {"cache-control": "private, no-cache", "vary": "Authorization"}


def _explain_deletion(item: Item) -> ItemDeleted:
    tombstone = item.tombstone
    assert tombstone is not None  # no item is deleted without one
    return ItemDeleted(label=item.rep.spelling, when=str(tombstone.when)[:10], why=tombstone.why)


def _sum_up(item: Item) -> tuple[Validators, int]:
    """Return the validators of a manifest, and the total size of its files in bytes."""
    said, size = sha512(msgspec.json.encode([item.version, str(item.updated), item.target])), 0
    for file in item.files:
        said.update(f"{file.path}\0{file.sha512}\0{file.media_type}\0".encode())
        size += file.size
    return Validators(said.hexdigest(), item.updated.seconds), size


class AttachedFile(Response):
    """A file of an item for saving, sent while it is read.

    It belongs to the present version, or to an earlier `version`: its number, and the item as it was.
    """

    def __init__(
        self,
        delivery: FileDelivery,
        item: Item,
        file: File,
        headers: Mapping[str, str],
        version: tuple[int, Item] | None = None,
    ) -> None:
        super().__init__()
        self._delivery, self._item, self._file, self._told, self._version = delivery, item, file, headers, version

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        def headers(media_type: str) -> Mapping[str, str]:
            return {**attachment_headers(media_type, self._file.path), **self._told}

        await self._delivery.send(self._item, self._file, scope, receive, send, headers, version=self._version)
