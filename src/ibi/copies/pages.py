"""`/jobs`: pages where signed-in librarians begin, watch and cancel the jobs that make Copies."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.copies.model import ItemOutcome, JobState
from ibi.copies.rules.copies import read_source, read_wanted
from ibi.copies.service.jobs import MOST_LABELS, CopyWork
from ibi.people.model.account import Actor, Scope, person_account
from ibi.people.rules.sign_in import csrf_of
from ibi.people.service.sign_in import SignedIn
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.web.reader import (
    PRIVATE,
    Sessions,
    message,
    page_language,
    read_form,
    require_librarian,
    see_other,
    translations,
)
from ibi.web.rendering import render
from ibi.web.request import address_text
from ibi.web.request_errors import whole_number
from ibi.web.sites import ArchiveSite

SHOWN: Final = 50
"""Number of jobs, or of labels of a job, on one page."""
_MOST_TEXT: Final = 60_000

STATES: Final = {
    JobState.WAITING: message("waiting"),
    JobState.RUNNING: message("running"),
    JobState.DONE: message("done"),
    JobState.CANCELLED: message("cancelled"),
}
OUTCOMES: Final = {
    ItemOutcome.PENDING: message("pending"),
    ItemOutcome.COPIED: message("copied"),
    ItemOutcome.REFRESHED: message("updated"),
    ItemOutcome.UNCHANGED: message("unchanged"),
    ItemOutcome.DELETED: message("Original deleted"),
    ItemOutcome.REFUSED: message("refused"),
}


class NoLabelGiven(IbiError):
    """Name 1 to {most} items, one a line."""

    code = "no-label-given"
    kind = ErrorKind.MALFORMED
    request_field = "labels"


class JobPages:
    def __init__(self, work: CopyWork, sessions: Sessions, site: ArchiveSite) -> None:
        self._work, self._sessions, self._site = work, sessions, site

    def routes(self) -> list[Route]:
        return [
            Route("/jobs", self.list, methods=["GET", "POST"]),
            Route("/jobs/{job}", self.get, methods=["GET", "POST"]),
        ]

    async def list(self, request: Request) -> Response:
        signed = self._librarian(request)
        if isinstance(signed, Response):
            return signed
        if request.method == "POST":
            return await self._begin(request, signed)
        return await self._page(request, signed)

    async def get(self, request: Request) -> Response:
        signed = self._librarian(request)
        if isinstance(signed, Response):
            return signed
        name = request.path_params["job"]
        if request.method == "POST":
            self._sessions.check_form(request.scope, await read_form(request.scope, request.receive), signed)
            await asyncio.to_thread(self._work.cancel, name)
            return see_other(f"/jobs/{name}")
        number = whole_number(request.query_params.get("after", "0"), 9) or 0
        job = await asyncio.to_thread(self._work.find, name)
        items = await asyncio.to_thread(self._work.items, name, number, SHOWN + 1)
        return render(
            request.scope,
            "job.html",
            headers=PRIVATE,
            job=job,
            items=items[:SHOWN],
            following=items[SHOWN - 1].number if len(items) > SHOWN else None,
            csrf=csrf_of(signed.text),
            states=STATES,
            outcomes=OUTCOMES,
            instant=Instant,
        )

    def _librarian(self, request: Request) -> SignedIn | Response:
        """Return the librarian who sent the request, or a redirect to the sign-in page. Raise if it is another
        person."""
        signed = self._sessions.current(request.scope)
        if signed is None:
            return see_other("/sign-in?to=/jobs")
        require_librarian(signed)
        return signed

    async def _begin(self, request: Request, signed: SignedIn) -> Response:
        fields = await read_form(request.scope, request.receive)
        self._sessions.check_form(request.scope, fields, signed)
        address = address_text(request.scope, self._site.proxies)
        actor = Actor(person_account(signed.person.name), Scope.EDIT, address=address)
        try:
            labels, place = _labels(fields.get("labels", "")), fields.get("from", "").strip()
            token = fields.get("token", "").strip() or None
            source = read_source(place) if place else None
            job = await asyncio.to_thread(self._work.begin, labels, source, token, signed.person.name, actor)
        except IbiError as error:
            return await self._page(request, signed, error=error, fields=fields)
        return see_other(f"/jobs/{job.id}")

    async def _page(
        self, request: Request, signed: SignedIn, error: IbiError | None = None, fields: dict[str, str] | None = None
    ) -> Response:
        before = request.query_params.get("before")
        jobs = await asyncio.to_thread(self._work.latest, SHOWN + 1, before)
        shown: dict[str, Any] = fields or {}
        return render(
            request.scope,
            "jobs.html",
            status=HTTPStatus.OK if error is None else error.kind.status,
            headers=PRIVATE,
            jobs=jobs[:SHOWN],
            following=jobs[SHOWN - 1].id if len(jobs) > SHOWN else None,
            csrf=csrf_of(signed.text),
            problem="" if error is None else error.message(translations(page_language(request.scope)).gettext),
            labels=shown.get("labels", "")[:_MOST_TEXT],
            source=shown.get("from", "")[:500],
            states=STATES,
            instant=Instant,
        )


def _labels(text: str) -> list[Label]:
    found = [read_wanted(line.strip()) for line in text.splitlines() if line.strip()]
    if not 1 <= len(found) <= MOST_LABELS:
        raise NoLabelGiven(most=MOST_LABELS)
    return found
