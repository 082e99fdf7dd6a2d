"""Requests of readers: `/request/copy` and `/request/message`, forms that the page of an item links to, and
`/requests`, where the items' owners and librarians answer.

Everyone may send the forms. Their number is bounded for each network, and no text typed there is sent to an address
typed there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.people.model.account import Role
from ibi.reading.pages.file_pages import file_access
from ibi.requests.model import RequestKind, RequestState
from ibi.requests.rules import (
    LONGEST_NAME,
    LONGEST_REASON,
    MOST_DAYS,
    InvalidRequest,
    NothingWithheld,
    UnknownRequest,
    read_asked,
    read_days,
)
from ibi.requests.service import ReaderRequests
from ibi.standard.errors import ErrorKind, IbiError, InvalidLabel
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.web.errors import retry_header
from ibi.web.reader import (
    PRIVATE,
    SESSIONS,
    ForeignForm,
    Sessions,
    Visitor,
    find_visitor,
    message,
    page_language,
    read_form,
    see_other,
    translations,
)
from ibi.web.rendering import render
from ibi.web.request import reader_address, truncate_address
from ibi.web.request_errors import PathNotFound, whole_number
from ibi.web.sites import ArchiveSite
from ibi.web.words import shown_title

SHOWN: Final = 50
"""Number of requests on one page."""
_DAYS: Final = "7"
_FIELDS: Final = ("name", "mail", "text")
_KINDS: Final = {
    "copy": (RequestKind.COPY, message("Request a copy")),
    "message": (RequestKind.MESSAGE, message("Write to the depositor")),
}
STATES: Final = {
    RequestState.WAITING: message("pending"),
    RequestState.GRANTED: message("granted"),
    RequestState.DECLINED: message("declined"),
    RequestState.CLOSED: message("read"),
}
# Errors of the rules, for translation.
_ERRORS: Final = (
    message("enter your name"),
    message("it is one line of at most {most} characters"),
    message("it has a character that cannot be seen, {character}: type it anew"),
    message("enter an e-mail address"),
    message("enter a message"),
    message("say why: the reader gets it by mail"),
    message("say why: it is kept with the request"),
    message("it is a number from 1 to {most}"),
)


class RequestPages:
    def __init__(self, site: ArchiveSite, requests: ReaderRequests) -> None:
        self._site, self._requests = site, requests

    def routes(self) -> list[Route]:
        return [
            Route("/request/sent", self.sent, methods=["GET"]),
            Route("/request/{kind}", self.ask, methods=["GET", "POST"]),
            Route("/requests", self.list, methods=["GET"]),
            Route("/requests/{number}", self.answer, methods=["GET", "POST"]),
        ]

    async def ask(self, request: Request) -> Response:
        """Show the form, or take it."""
        named = _KINDS.get(request.path_params["kind"])
        if named is None:
            raise PathNotFound()
        label = _label(request.query_params.get("item", ""))
        if request.method != "POST":
            return await self._form(request, label, *named)
        fields = await read_form(request.scope, request.receive)
        sessions = request.scope.get(SESSIONS)
        if isinstance(sessions, Sessions):
            sessions.check_form(request.scope, fields, None)
        if fields.get("website"):  # no person sees this field; a program that fills in every field does
            return see_other("/request/sent")
        act = self._requests.ask_for_copy if named[0] is RequestKind.COPY else self._requests.send_message
        try:
            if named[0] is RequestKind.COPY:
                await self._require_withheld(request, label)
            said = (fields.get(name, "") for name in _FIELDS)
            asked = read_asked(*said, language=page_language(request.scope))
            await asyncio.to_thread(act, label, asked, self._network(request))
        except IbiError as error:
            if not error.kind.is_told or error.kind is ErrorKind.NOT_FOUND:
                raise
            return await self._form(request, label, *named, error, fields)
        return see_other("/request/sent")

    async def _require_withheld(self, request: Request, label: Label) -> None:
        """Raise `NothingWithheld` if the reader can read the files. The form is not offered then either."""
        item = await asyncio.to_thread(self._requests.find_item, label)
        if file_access(self._site, item, request.scope):
            raise NothingWithheld(label=str(item.rep))

    async def sent(self, request: Request) -> Response:
        days, sends_mail = self._requests.rules.days, self._requests.sends_mail
        return render(request.scope, "request_sent.html", headers=PRIVATE, days=days, sends_mail=sends_mail)

    async def _form(
        self,
        request: Request,
        label: Label,
        kind: RequestKind,
        heading: str,
        error: IbiError | None = None,
        fields: dict[str, str] | None = None,
    ) -> Response:
        item = await asyncio.to_thread(self._requests.find_item, label)
        return render(
            request.scope,
            "request_form.html",
            headers=PRIVATE if error is None else {**PRIVATE, **retry_header(error)},
            kind=kind,
            heading=heading,
            item=item,
            title=shown_title(item),
            page=self._site.urls.metadata(item, None, None),
            is_withheld=self._requests.is_withheld(item) and not file_access(self._site, item, request.scope),
            days=self._requests.rules.days,
            sends_mail=self._requests.sends_mail,
            longest={"name": LONGEST_NAME, "text": LONGEST_REASON},
            **_problem(request, error),
            fields={name: (fields or {}).get(name, "")[: 2 * LONGEST_REASON] for name in _FIELDS},
        )

    def _network(self, request: Request) -> str:
        address = reader_address(request.scope, self._site.proxies)
        return "unknown" if address is None else truncate_address(str(address))

    async def list(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site, Role.DEPOSITOR)
        if isinstance(visitor, Response):
            return visitor
        before = whole_number(request.query_params.get("before", ""))
        found = await asyncio.to_thread(self._requests.list, visitor.actor, before, SHOWN + 1)
        return render(
            request.scope,
            "requests.html",
            headers=PRIVATE,
            requests=found[:SHOWN],
            following=found[SHOWN - 1].number if len(found) > SHOWN else None,
            states=STATES,
            instant=Instant,
            days=self._requests.rules.days,
        )

    async def answer(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site, Role.DEPOSITOR)
        if isinstance(visitor, Response):
            return visitor
        number = whole_number(request.path_params["number"])
        if number is None:
            raise UnknownRequest(number=request.path_params["number"][:20])
        if request.method != "POST":
            return await self._show(request, visitor, number)
        fields = await visitor.read_form(request)
        try:
            link = await asyncio.to_thread(self._act, visitor, number, fields)
        except ForeignForm:
            raise
        except IbiError as error:
            if not error.kind.is_told or error.kind in {ErrorKind.FORBIDDEN, ErrorKind.NOT_FOUND}:
                raise
            return await self._show(request, visitor, number, error, fields)
        if link is not None:  # the link is shown once and stored nowhere
            return await self._show(request, visitor, number, link=link)
        return see_other(f"/requests/{number}")

    def _act(self, visitor: Visitor, number: int, fields: dict[str, str]) -> str | None:
        act, text, who = fields.get("act"), fields.get("text", ""), visitor.actor
        if act == "grant":
            return self._requests.grant(who, visitor.name, number, read_days(fields.get("days", "")), text)[1]
        acts: dict[str, Callable[[], object]] = {
            "decline": lambda: self._requests.decline(who, visitor.name, number, text),
            "revoke": lambda: self._requests.revoke(who, number),
            "close": lambda: self._requests.close(who, visitor.name, number),
        }
        if act not in acts:
            raise PathNotFound()
        acts[act]()
        return None

    async def _show(
        self,
        request: Request,
        visitor: Visitor,
        number: int,
        error: IbiError | None = None,
        fields: dict[str, str] | None = None,
        link: str | None = None,
    ) -> Response:
        found = await asyncio.to_thread(self._requests.look, visitor.actor, number)
        item, now = found.item, self._site.now.seconds
        return render(
            request.scope,
            "request_answer.html",
            headers=PRIVATE,
            asked=found.request,
            page=None if item is None else self._site.urls.metadata(item, None, None),
            states=STATES,
            is_open=found.request.is_open(now),
            instant=Instant,
            csrf=visitor.csrf,
            link=link,
            sends_mail=self._requests.sends_mail,
            most_days=MOST_DAYS,
            longest=LONGEST_REASON,
            **_problem(request, error),
            fields={
                "text": (fields or {}).get("text", "")[: 2 * LONGEST_REASON],
                "days": (fields or {}).get("days", _DAYS)[:10],
            },
        )


def _problem(request: Request, error: IbiError | None) -> dict[str, Any]:
    """Return the facts about an error: its message beside its field, or above the form."""
    if error is None:
        return {"status": HTTPStatus.OK, "wrong": {}, "problem": ""}
    gettext = translations(page_language(request.scope)).gettext
    if isinstance(error, InvalidRequest):
        wrong = {each.field: each.explain(gettext) for each in (error, *error.others)}
        return {"status": error.kind.status, "wrong": wrong, "problem": ""}
    return {"status": error.kind.status, "wrong": {}, "problem": error.message(gettext)}


def _label(text: str) -> Label:
    try:
        return parse(text[:1000])
    except InvalidLabel:
        raise PathNotFound() from None
