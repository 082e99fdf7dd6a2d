"""`/api/items/<label>/object` and `/api/items/objects`: what other Archives make Copies of.

A program is judged by its token, as for the files: what is public needs none, what is restricted one of the scope copy.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi.accounts.rights import Belonging
from ibi.archive.copies import SandboxItem
from ibi.errors import IbiError
from ibi.label import Label, parse
from ibi.model.account import Actor, Scope
from ibi.model.item import Item
from ibi.model.item_object_record import object_document
from ibi.services.copies.giving import LARGEST_INLINE, ObjectGiving
from ibi.web.api.authentication import Callers
from ibi.web.api.item_content import require_readable
from ibi.web.api.record_requests import json_object, record_target, refusing_members
from ibi.web.http.errors import problem_document
from ibi.web.http.request import reader_address
from ibi.web.http.request_errors import InvalidMember, ListingNotPermitted, MemberMissing, UnknownMember

MOST_OBJECTS: Final = 200
"""Items that are asked for at a time."""
_MOST_ANSWER: Final = 8 << 20
"""Bytes of files in one answer to that; those of further items have to be fetched."""
_MOST_BODY: Final = 256 * 1024
_JSON, _LINES = "application/json", "application/x-ndjson"
_PRIVATE: Final = {"cache-control": "private, no-cache", "vary": "Authorization"}
Judge = Callable[[Item], None]


class ObjectPages:
    def __init__(self, callers: Callers, giving: ObjectGiving) -> None:
        self._callers, self._site, self._giving = callers, callers.site, giving

    async def get(self, request: Request) -> Response:
        label, judge = record_target(request.scope, "/object").required_label, await self._judge(request)
        body = await self._callers.run_short(
            lambda: msgspec.json.encode(object_document(self._giving.read(label, judge)))
        )
        return Response(body, HTTPStatus.OK, _PRIVATE, _JSON)

    async def get_several(self, request: Request) -> Response:
        """A line for each label: the object, with the contents of small files, or why it is not given."""
        judge = await self._judge(request)
        labels = _labels(await json_object(request, most=_MOST_BODY) or {})
        body = await self._callers.run_short(lambda: self._lines(labels, judge))
        return Response(body, HTTPStatus.OK, _PRIVATE, _LINES)

    def _lines(self, labels: list[Label], judge: Judge) -> bytes:
        lines, room = [], _MOST_ANSWER
        for label in labels:
            told: dict[str, Any] = {"label": label.spelling}
            try:
                record = self._giving.read(label, judge, room=min(room, LARGEST_INLINE))
                room -= sum(map(len, record.contents.values()))
                told["object"] = object_document(record)
            except IbiError as error:
                told["problem"] = problem_document(error)
            lines.append(msgspec.json.encode(told))
        return b"\n".join(lines) + b"\n"

    async def _judge(self, request: Request) -> Judge:
        has_token = await self._callers.is_known(request)
        who: Actor | None = await self._callers.actor(request, Scope.READ) if has_token else None
        address = reader_address(request.scope, self._site.proxies)
        is_near = address is not None and address.is_loopback
        service, now = self._site.profile.service, self._site.now

        def judge(item: Item) -> None:
            if not is_near and (self._giving.is_sandbox or not item.rep.is_global):
                raise SandboxItem(label=str(item.rep), reason="it is given to programs on the same machine alone")
            require_readable(who, Belonging.of(item, service, now))
            if who is None and not item.visibility.listing:
                raise ListingNotPermitted(label=str(item.rep))

        return judge


def _labels(said: dict[str, Any]) -> list[Label]:
    unknown = next((name for name in said if name != "labels"), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known="labels")
    labels = said.get("labels")
    if labels is None:
        raise MemberMissing(field="labels")
    if not isinstance(labels, list) or not all(isinstance(each, str) for each in labels):
        raise InvalidMember(field="labels", reason="it is a list of texts")
    if len(labels) > MOST_OBJECTS:
        raise InvalidMember(field="labels", reason=f"there are at most {MOST_OBJECTS}")
    with refusing_members("labels"):
        return [parse(each) for each in dict.fromkeys(labels)]
