"""`GET /api/records/<label>`, its files and its use: an item for programs. Descriptions are for everybody."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.archive.errors import UnknownItem
from ibi.archive.urls import encoded_path
from ibi.label import match_label, parse
from ibi.messages.field import State
from ibi.model.item import Item
from ibi.model.item_json import item_document, local_document
from ibi.model.usage import Usage
from ibi.web.archive_site import ArchiveSite
from ibi.web.raw_target import decoded, raw_path
from ibi.web.refusals import ListingNotPermitted, NotFound

__all__ = ["JSON", "PREFIX", "RecordPages", "record"]

JSON = "application/json"
PREFIX = b"/api/records/"

_NO_CACHE = {"cache-control": "no-cache"}

_ADMINISTRATIVE = frozenset({"schema", "source", "followers"})
"""Whom an Archive exchanges copies with is no part of what it says of an item."""


class RecordPages:
    """Labels hold slashes: the path is read as it came, `%2F` or not, in either form and any case."""

    def __init__(self, site: ArchiveSite) -> None:
        self._site = site

    async def get(self, request: Request) -> Response:
        item = self._item(request, "")
        return _answer(record(self._site, item), item)

    async def files(self, request: Request) -> Response:
        item = self._item(request, "/files")
        if not item.visibility.listing:
            raise ListingNotPermitted(label=str(item.rep))
        return _answer({"files": _files(self._site, item), "target": item.target}, item)

    async def usage(self, request: Request) -> Response:
        item = self._item(request, "/usage")
        if self._site.usage is None:
            raise NotFound()
        counted = await asyncio.to_thread(self._site.usage.days, item.rep)
        days = [{"date": day.date, **_counts(usage)} for day, usage in counted]
        return _answer({"days": days, "links": _links(self._site, item)}, item)

    def _item(self, request: Request, rest: str) -> Item:
        path = raw_path(request.scope)
        if not path.startswith(PREFIX):
            raise NotFound()
        text = decoded(path[len(PREFIX) :])
        found = match_label(text)
        if found is None:
            parse(text.removesuffix(rest))  # says what is wrong with it
            raise NotFound()
        if text[found[1] :] != rest:
            raise NotFound()
        item = self._site.catalog.find(found[0])
        if item is None:
            raise UnknownItem(label=found[0].spelling)
        return item


def record(site: ArchiveSite, item: Item) -> dict[str, Any]:
    """The item as a document, with links; without its files if they may not be listed."""
    shared = {name: value for name, value in item_document(item).items() if name != "schema"}
    local = {name: value for name, value in local_document(item).items() if name not in _ADMINISTRATIVE}
    if item.visibility.listing:
        shared["files"] = _files(site, item)
    else:
        shared = {name: value for name, value in shared.items() if name not in {"files", "target"}}
    return {**shared, **local, "links": _links(site, item)}


def _links(site: ArchiveSite, item: Item) -> dict[str, str]:
    urls, base = site.urls, f"{site.public_url}/api/records/{encoded_path(item.rep.spelling)}"
    page = urls.metadata(item, None, None)
    links = {
        "self": base,
        "persistent": site.persistent_url(item.labels),
        "metadata": page,
        "oai_dc": urls.metadata(item, None, "oai_dc"),
        "usage": f"{base}/usage",
    }
    if item.state is State.DELETED:
        return links
    if item.visibility.listing and item.files:
        links |= {"files": f"{base}/files", "file_list": urls.file_list(item)}
    if item.target is not None or item.target_url is not None:
        links["content"] = item.target_url or f"{site.content_url}/col/{item.rep.spelling}/doc/"
    return links


def _files(site: ArchiveSite, item: Item) -> list[dict[str, Any]]:
    return [
        {
            "path": file.path,
            "size": file.size,
            "sha512": file.sha512,
            "media_type": file.media_type,
            "url": site.urls.file(item, file.path),
        }
        for file in item.files
    ]


def _counts(usage: Usage) -> dict[str, int]:
    return {
        "resolutions": usage.resolutions,
        "downloads": usage.downloads,
        "robot_resolutions": usage.robot_resolutions,
        "robot_downloads": usage.robot_downloads,
    }


def _answer(body: Mapping[str, Any], item: Item) -> Response:
    """What is left of a deleted item is told with the status that says so (E24)."""
    status = HTTPStatus.GONE if item.state is State.DELETED else HTTPStatus.OK
    return Response(msgspec.json.encode(body), status, _NO_CACHE, JSON)
