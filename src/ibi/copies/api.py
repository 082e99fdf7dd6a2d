"""`/api/copies`: jobs that make Copies of items of other Archives, and `DELETE /api/items/<label>/object`, which drops
a Copy.

They need a token of the scope edit. No answer contains the token for the other Archive.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.copies.model import CopyJob, object_document
from ibi.copies.resources import CopyJobItem, CopyJobResource, CopyJobsResource
from ibi.copies.rules.copies import SandboxItem, read_source, read_wanted
from ibi.copies.service.giving import LARGEST_INLINE, ObjectGiving
from ibi.copies.service.jobs import MOST_LABELS, CopyWork
from ibi.items.model.item import Item
from ibi.items.rules.file_access import require_access_of_program
from ibi.people.model.account import Actor, Scope
from ibi.standard.errors import IbiError
from ibi.standard.label import Label, parse
from ibi.web.authentication import Callers
from ibi.web.body import NO_STORE, short_json
from ibi.web.errors import problem_details
from ibi.web.record_requests import json_object, record_target, refusing_members
from ibi.web.request import by_method, reader_address
from ibi.web.request_errors import (
    InvalidMember,
    InvalidParameter,
    ListingNotPermitted,
    MemberMissing,
    ReadOnlyArchive,
    UnknownMember,
    whole_number,
)

MOST_LISTED: Final = 100
"""Number of jobs in one answer."""
MOST_ITEMS: Final = 1_000
"""Number of labels of a job in one answer."""
_MOST_BODY: Final = 2 << 20
_MOST_TOKEN: Final = 500
_MEMBERS: Final = ("labels", "from", "token")
_PATH: Final = "/api/copies"


class CopyPages:
    """Endpoints of jobs. Every librarian sees all jobs: Copies belong to the Archive."""

    def __init__(self, callers: Callers, work: CopyWork | None) -> None:
        self._callers, self._site, self._found = callers, callers.site, work

    def routes(self) -> list[Route]:
        return [
            Route(_PATH, by_method(GET=self.list, POST=self.begin), methods=["GET", "POST"]),
            Route(f"{_PATH}/{{job}}", by_method(GET=self.get, DELETE=self.cancel), methods=["GET", "DELETE"]),
        ]

    @property
    def _work(self) -> CopyWork:
        if self._found is None:
            raise ReadOnlyArchive()
        return self._found

    async def begin(self, request: Request) -> Response:
        token = await self._callers.token(request, Scope.EDIT)
        who, work = self._callers.depositor_of(token, request), self._work
        labels, source, shown = _read_wanted(await json_object(request, most=_MOST_BODY) or {})
        job = await self._callers.run_short(lambda: work.begin(labels, source, shown, who.name, who.actor))
        headers = {**NO_STORE, "location": self._url(job)}
        return short_json(self._job(job), HTTPStatus.ACCEPTED, headers)

    async def list(self, request: Request) -> Response:
        await self._callers.token(request, Scope.EDIT)
        work, before = self._work, request.query_params.get("before")
        found = await self._callers.run_short(lambda: work.latest(MOST_LISTED, before))
        links = {"self": f"{self._site.public_url}{_PATH}"}
        if len(found) == MOST_LISTED:
            links["next"] = f"{links['self']}?before={found[-1].id}"
        return short_json(CopyJobsResource(jobs=[self._job(job) for job in found], links=links))

    async def get(self, request: Request) -> Response:
        await self._callers.token(request, Scope.EDIT)
        work, name, after = self._work, request.path_params["job"], _after(request)
        job = await self._callers.run_short(lambda: work.find(name))
        items = await self._callers.run_short(lambda: work.items(name, after, MOST_ITEMS))
        shown = self._job(job)
        following = {"next": f"{self._url(job)}?after={items[-1].number}"} if len(items) == MOST_ITEMS else {}
        listed = [CopyJobItem.of(item) for item in items]
        return short_json(structs.replace(shown, items=listed, links={**shown.links, **following}))

    async def cancel(self, request: Request) -> Response:
        await self._callers.token(request, Scope.EDIT)
        work, name = self._work, request.path_params["job"]
        job = await self._callers.run_short(lambda: work.cancel(name))
        return short_json(self._job(job))

    async def drop(self, request: Request) -> Response:
        """Drop the Copy of an item."""
        token = await self._callers.token(request, Scope.EDIT)
        who, label = self._callers.depositor_of(token, request), record_target(request.scope, "/object").required_label
        copying = self._work.copying.acting_for(who.actor)
        await self._callers.run_short(lambda: copying.drop(label, who.name))
        return Response(None, HTTPStatus.NO_CONTENT, NO_STORE)

    def _url(self, job: CopyJob) -> str:
        return f"{self._site.public_url}{_PATH}/{job.id}"

    def _job(self, job: CopyJob) -> CopyJobResource:
        return CopyJobResource.of(job, self._url(job))


def _read_wanted(said: dict[str, Any]) -> tuple[list[Label], str | None, str | None]:
    unknown = next((name for name in said if name not in _MEMBERS), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known=", ".join(_MEMBERS))
    labels = said.get("labels")
    if labels is None:
        raise MemberMissing(field="labels")
    if not isinstance(labels, list) or not all(isinstance(each, str) for each in labels):
        raise InvalidMember(field="labels", reason="it is a list of texts")
    if not 1 <= len(labels) <= MOST_LABELS:
        raise InvalidMember(field="labels", reason=f"there are 1 to {MOST_LABELS}")
    source, token = said.get("from"), said.get("token")
    with refusing_members("labels"):
        read = [read_wanted(each) for each in labels]
    return read, None if source is None else checked_source(source), checked_token(token)


def checked_source(source: object) -> str:
    if not isinstance(source, str):
        raise InvalidMember(field="from", reason="it is a text")
    with refusing_members("from"):
        return read_source(source)


def checked_token(token: object) -> str | None:
    if token is None or token == "":
        return None
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or len(token) > _MOST_TOKEN:
        raise InvalidMember(field="token", reason="it holds characters that no token has")
    return token


def _after(request: Request) -> int:
    number = whole_number(request.query_params.get("after", "0"), 9)
    if number is None:
        raise InvalidParameter(field="after", reason="it is the number of a label")
    return number


MOST_OBJECTS: Final = 200
"""Largest number of items in one request."""
_MOST_ANSWER: Final = 8 << 20
"""Bytes of files in one such answer. Files of further items must be fetched separately."""
_MOST_WANTED: Final = 256 * 1024
_RECORD, _LINES = "application/json", "application/x-ndjson"
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
        return Response(body, HTTPStatus.OK, _PRIVATE, _RECORD)

    async def get_several(self, request: Request) -> Response:
        """Return a line for each label: the object with the contents of small files, or the reason for a refusal."""
        judge = await self._judge(request)
        labels = _labels(await json_object(request, most=_MOST_WANTED) or {})
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
                told["problem"] = problem_details(error)
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
            require_access_of_program(item, service, who, now)
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
