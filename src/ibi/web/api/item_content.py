"""`/api/items/<label>/files/<path>` and `/api/items/<label>/manifest`: the bytes of an item for programs.

The token alone decides about a program, never its address; public files need no token. A browser saves a file from
these addresses and shows none of it, because depositors' documents stand here on the host of the pages.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha512
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from ibi.accounts.errors import NotAuthenticated
from ibi.accounts.rights import Belonging, ItemAct, require_right
from ibi.archive.errors import UnknownItem
from ibi.archive.profile import Reader, encoded_path
from ibi.label import Label, match_any, parse
from ibi.model.account import Actor, Scope
from ibi.model.file import File
from ibi.model.item import Item
from ibi.model.item_json import file_document, forms_document
from ibi.services.items.versions import ItemVersion
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State
from ibi.web.api.authentication import Callers
from ibi.web.api.drafts import read_message
from ibi.web.api.record_requests import PREFIX, json_object, record_target
from ibi.web.archive.file_delivery import FileDelivery
from ibi.web.archive.metadata import item_record, record_links, record_url
from ibi.web.http.body import JSON, NO_STORE, LongList, json_answer
from ibi.web.http.headers import Validators, attachment_headers, is_to_run
from ibi.web.http.request import percent_decode, raw_path, reader_address, values
from ibi.web.http.request_errors import (
    ItemDeleted,
    ListingNotPermitted,
    MethodNotAllowed,
    NoSuchFile,
    PathNotFound,
    check_parameters,
    number_of,
)
from ibi.web.pages.file_pages import version_file_url

_JSON: Final = "application/json"
_DRAFT_METHODS: Final = "DELETE, PUT"


def require_readable(who: Actor | None, item: Belonging) -> None:
    """Refuse the files of an item that a program may not read. `who` is None without a token.

    Files that are open to all readers at any address need no token.
    """
    if who is not None:
        require_right(who, ItemAct.READ_FILES, item)
    elif item.is_restricted:
        raise NotAuthenticated()


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
            require_readable(who, Belonging.of(item, self._site.profile.service, self._site.now))
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


# --- versions ---------------------------------------------------------------------------------------------------------


MOST_VERSIONS: Final = 100
"""Number of versions in one answer."""

_PATH: Final = re.compile(r"/versions(?:/([0-9]{1,9})(?:/(restore)|/files/(.+))?)?", re.DOTALL)
_HEADERS: Final = {"cache-control": "private, no-cache", "vary": "Authorization"}
_SMALL: Final = 64 * 1024


class VersionPages:
    """Endpoints of the versions of items.

    Versions are as restricted as the item is now. Those of a deleted item are for callers who may read its restricted
    files.
    """

    def __init__(self, callers: Callers) -> None:
        self._callers, self._site = callers, callers.site
        self._delivery = FileDelivery(callers.site)

    async def list(self, request: Request) -> Response:
        """Return the versions, newest first."""
        item, _, in_full = await self._find(request)
        before, most = _page(request)
        found = await asyncio.to_thread(self._site.versions.list, item, before=before, most=most)
        base = versions_url(self._site, item)
        links = {**record_links(self._site, item), "self": base}
        if found and found[-1].number > 1:
            links["next"] = f"{base}?limit={most}&before={found[-1].number}"
        body = {"versions": [self._summary(item, each, in_full=in_full) for each in found], "links": links}
        return json_answer(body, HTTPStatus.OK, _HEADERS, "application/json")

    async def get(self, request: Request) -> Response:
        """Return one version: the record as it was, with the present access of readers."""
        item, target, in_full = await self._find(request)
        found = await asyncio.to_thread(self._site.versions.find, item, target.required_number)
        summary = self._summary(item, found, in_full=in_full)
        if found.item is None:
            return json_answer(summary, HTTPStatus.OK, _HEADERS, "application/json")
        record = item_record(self._site, replace(found.item, visibility=found.visibility(item)), in_full=in_full)
        if "files" in record:
            record["files"] = [
                {**file, "url": version_file_url(self._site.urls, item, found.number, file["path"])}
                for file in record["files"]
            ]
        kept = {name: url for name, url in record["links"].items() if name in {"persistent", "metadata"}}
        body = {**record, "change": summary, "links": {**kept, **summary["links"]}}
        return json_answer(body, HTTPStatus.OK, _HEADERS, "application/json")

    async def restore(self, request: Request) -> Response:
        """Make an earlier version the content of a new one."""
        who, target = await self._callers.depositor(request), _target(request.scope)
        message = read_message(await json_object(request, most=_SMALL) or {})
        services, number = self._callers.item_services, target.required_number
        restored = await self._callers.run_long(
            lambda: services.restoring_of(who.actor).restore(target.label, number, who.name, message)
        )
        body = item_record(self._site, restored.item, in_full=True)
        return json_answer(body, HTTPStatus.CREATED, NO_STORE, JSON)

    async def file(self, request: Request) -> Response:
        """Deliver a file of a version."""
        item, target, _ = await self._find(request, for_bytes=True)
        number, path = target.required_number, target.file or ""
        found = await asyncio.to_thread(self._site.versions.find, item, number)
        await self._require_open(request, replace(item, visibility=found.visibility(item)))
        file = None if found.item is None else found.item.file(path)
        if found.item is None or file is None:
            raise NoSuchFile(label=item.rep.spelling, path=repr(path[:200]))
        if is_to_run(request.scope["headers"]):
            raise PathNotFound()
        return AttachedFile(self._delivery, item, file, _HEADERS, version=(number, found.item))

    async def _find(self, request: Request, *, for_bytes: bool = False) -> tuple[Item, _Target, bool]:
        """Return the present item if the caller may see its versions, its target, and whether a token shows all of
        it."""
        target = _target(request.scope)
        item = await self._site.find(target.label)
        if item is None:
            raise UnknownItem(label=target.label.spelling)
        if for_bytes or item.state is State.DELETED:
            await self._require_open(request, item)
        return item, target, await self._callers.is_known(request)

    async def _require_open(self, request: Request, item: Item) -> None:
        """Refuse a caller who may not read the files of an item, by its visibility or by a token."""
        address = reader_address(request.scope, self._site.proxies)
        reader = Reader(() if address is None else (address,), self._site.now)
        if item.state is State.DELETED or not reader.may_see(item.visibility):
            actor, service = await self._callers.actor(request, Scope.READ), self._site.profile.service
            whose = replace(Belonging.of(item, service, self._site.now), is_restricted=True)
            require_right(actor, ItemAct.READ_FILES, whose)

    def _summary(self, now: Item, version: ItemVersion, *, in_full: bool) -> dict[str, Any]:
        lists = version.visibility(now).listing or in_full
        changes = version.changes if lists else version.changes.without_files()
        base = f"{versions_url(self._site, now)}/{version.number}"
        links = {"self": base}
        if not version.is_current and now.state is State.ORIGINAL and version.item is not None:
            links["restore"] = f"{base}/restore"
        return {
            "number": version.number,
            "version": None if version.item is None else version.item.version,
            "current": version.is_current,
            **({"who": version.change.user} if in_full else {}),
            "message": version.change.message,
            "at": str(version.change.at),
            "changed": list(changes.fields),
            "files_added": list(changes.added),
            "files_changed": list(changes.changed),
            "files_removed": list(changes.removed),
            "links": links,
        }


@dataclass(frozen=True, slots=True)
class _Target:
    """The target of a path: an item, perhaps one of its versions, and perhaps a file of that."""

    label: Label
    number: int | None
    file: str | None

    @property
    def required_number(self) -> int:
        if self.number is None:
            raise PathNotFound()
        return self.number


def _target(scope: AsgiScope) -> _Target:
    path = raw_path(scope)
    if not path.startswith(PREFIX):
        raise PathNotFound()
    text = percent_decode(path[len(PREFIX) :])
    found = match_any(text)
    if found is None:
        parse(text.partition("/versions")[0])  # raises the error in the label
        raise PathNotFound()
    rest = _PATH.fullmatch(text[found[1] :])
    if rest is None:
        raise PathNotFound()
    return _Target(found[0], None if rest[1] is None else int(rest[1]), rest[3])


def _page(request: Request) -> tuple[int | None, int]:
    given = request.query_params
    check_parameters(given, ("before", "limit"))
    before = number_of(given, "before", 0, 0, 999_999_999) if "before" in given else None
    return before, number_of(given, "limit", MOST_VERSIONS, 1, MOST_VERSIONS)


def versions_url(site: ArchiveSite, item: Item) -> str:
    return f"{site.public_url}/api/items/{encoded_path(item.rep.spelling)}/versions"
