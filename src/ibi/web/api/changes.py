"""The feed of changes over HTTP: `GET /api/changes`.

Public, as the labels in it are: it says which items changed and when, and nothing of what they are.
"""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.model.change import ChangePage
from ibi.services.items.following import LONGEST_WAIT, FeedReaders
from ibi.web.http.preconditions import is_tag_known
from ibi.web.http.request_errors import InvalidParameter

MOST_CHANGES: Final = 1_000
"""Entries in one answer."""
_HIGHEST: Final = 1 << 62
_KNOWN: Final = frozenset({"after", "epoch", "most", "wait"})


class EpochEnded(IbiError):
    """That is not of the present feed of changes, whose epoch is {epoch} and which ends at {end}: it was begun again,
    or put back from a backup. Read it from the beginning, with after=0."""

    code = "epoch-ended"


class ChangePages:
    def __init__(self, readers: FeedReaders, public_url: str) -> None:
        self._readers, self._place = readers, f"{public_url}/api/changes"

    async def get(self, request: Request) -> Response:
        _refuse_others(request)
        after, most = _number(request, "after", 0, _HIGHEST), _number(request, "most", MOST_CHANGES, MOST_CHANGES)
        asked = request.query_params.get("epoch")
        page = await self._readers.page(after, most, _number(request, "wait", 0, LONGEST_WAIT))
        if (asked is not None and asked != page.epoch) or after > page.end:
            raise EpochEnded(epoch=page.epoch, end=page.end)
        headers = _headers(page, after, most)
        if is_tag_known(request.headers.raw, headers["etag"]):
            return Response(None, HTTPStatus.NOT_MODIFIED, headers)
        return Response(msgspec.json.encode(self._body(page, after)), HTTPStatus.OK, headers, "application/json")

    def _body(self, page: ChangePage, after: int) -> dict[str, object]:
        following = page.changes[-1].number if page.changes else after
        return {
            "epoch": page.epoch,
            "changes": [
                {
                    "number": number,
                    "label": label,
                    "kind": kind,
                    "at": at,
                    "version": head,
                    "listed": _time(listed),
                    "related": related,
                }
                for number, label, kind, at, head, listed, related in page.changes
            ],
            "after": following,
            "end": page.end,
            "links": {
                "self": f"{self._place}?epoch={page.epoch}&after={after}",
                "next": f"{self._place}?epoch={page.epoch}&after={following}",
            },
        }


@lru_cache(maxsize=1024)
def _time(second: int) -> str:
    return str(Instant(second))


def _headers(page: ChangePage, after: int, most: int) -> dict[str, str]:
    """A full page never changes within its epoch. Another has to be asked for again: it may get longer."""
    is_full = len(page.changes) == most
    end = page.changes[-1].number if page.changes else after
    return {
        "etag": f'"{page.epoch}-{after}-{end}-{0 if is_full else page.end}"',
        "cache-control": "public, max-age=60" if is_full else "no-cache",
    }


def _refuse_others(request: Request) -> None:
    for name in request.query_params:
        if name not in _KNOWN:
            raise InvalidParameter(field=name, reason=f"it is none of {', '.join(sorted(_KNOWN))}")


def _number(request: Request, field: str, default: int, highest: int) -> int:
    text = request.query_params.get(field)
    if text is None:
        return default
    lowest = 1 if field == "most" else 0
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and lowest <= int(text) <= highest):
        raise InvalidParameter(field=field, reason=f"it is a whole number from {lowest} to {highest}")
    return int(text)
