"""The versions of an item in the API: list, records and files."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope as AsgiScope

from ibi.archive.rules.profile import encoded_path
from ibi.deposits.api.drafts import read_message
from ibi.items.model.item import Item
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.file_access import require_access_by_right, version_access_by_address
from ibi.items.service.versions import ItemVersion
from ibi.people.model.account import Scope
from ibi.reading.api.item_content import AttachedFile
from ibi.reading.delivery.file_delivery import FileDelivery
from ibi.reading.delivery.metadata import item_record, record_links
from ibi.reading.pages.file_pages import version_file_url
from ibi.standard.label import Label, match_any, parse
from ibi.standard.vocabulary import State
from ibi.web.authentication import Callers
from ibi.web.body import JSON, NO_STORE, json_answer
from ibi.web.headers import is_to_run
from ibi.web.record_requests import PREFIX, json_object
from ibi.web.request import percent_decode, raw_path, reader_address
from ibi.web.request_errors import NoSuchFile, PathNotFound, check_parameters, number_of
from ibi.web.sites import ArchiveSite

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
        record = item_record(self._site, found.item.with_visibility(found.visibility(item)), in_full=in_full)
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
        await self._require_open(request, item.with_visibility(found.visibility(item)))
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
        if not version_access_by_address(item, () if address is None else (address,), self._site.now):
            actor, service = await self._callers.actor(request, Scope.READ), self._site.profile.service
            require_access_by_right(item, service, actor, self._site.now)

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
