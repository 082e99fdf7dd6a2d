"""`/admin/audit`: the audit trail, newest line first, with filters, a check of its hash chain, and an export. No page
changes a line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, Final
from urllib.parse import urlencode

import structlog
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ibi.deposits.pages.field_choices import ActRefused
from ibi.items.rules.rights import SiteAct
from ibi.people.model.account import LOG_BROKEN, AuditQuery
from ibi.people.ports import AuditTrail
from ibi.standard.errors import IbiError, InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.safe_text import csv_row
from ibi.web.admin_shell import ADMIN, AdminShell
from ibi.web.reader import PRIVATE, Visitor, message, see_other
from ibi.web.request_errors import PathNotFound, whole_number

AUDIT: Final = f"{ADMIN}/audit"
SHOWN: Final = 50
_LONGEST: Final = 500
_DAY: Final = message("A day is written as 2026-12-31.")
_FIELDS: Final = ("who", "act", "label", "since", "until")
_COLUMNS: Final = ("number", "at", "account", "token", "from", "act", "subject", "detail", "previous")
_LOG: Final = structlog.get_logger("ibi.audit")

ACTS: Final = (
    *("publish", "update", "visibility", "relate", "restore", "delete", "purge", "drop", "give", "transfer"),
    *("create person", "disable person", "set password", "create token", "revoke token", "follow", "unfollow"),
    *("register archive", "change archive", "replace archive key", "forget archive", "settle dispute", LOG_BROKEN),
)
"""Acts that the form offers. Any other act may be typed."""


class TrailPage:
    def __init__(self, shell: AdminShell, trail: AuditTrail) -> None:
        self._shell, self._trail = shell, trail
        self._verifying: asyncio.Task[None] | None = None

    def routes(self) -> list[Route]:
        guard = self._shell.guard
        return [
            Route(AUDIT, guard(SiteAct.READ_AUDIT, self.handle), methods=["GET", "POST"]),
            Route(f"{AUDIT}/export.{{form}}", guard(SiteAct.READ_AUDIT, self.export)),
        ]

    async def handle(self, request: Request, visitor: Visitor) -> Response:
        if request.method == "POST":
            await visitor.read_form(request)
            self._begin_verification()
            return see_other(AUDIT)
        typed = {name: request.query_params.get(name, "")[:_LONGEST].strip() for name in _FIELDS}
        try:
            query = await self._read_query(typed)
        except IbiError as error:
            return await self._show(request, visitor, typed, AuditQuery(), error)
        return await self._show(request, visitor, typed, query)

    def _begin_verification(self) -> None:
        """Verify the chain in a thread, because that reads the whole log. All processes see the outcome."""
        if self._verifying is None or self._verifying.done():
            self._verifying = asyncio.get_running_loop().create_task(self._verify(), name="audit")

    async def _verify(self) -> None:
        try:
            check = await asyncio.to_thread(self._trail.verify, _now)
        except IbiError as error:
            _LOG.error("the audit log cannot be verified", reason=str(error))
            return
        if check is not None and check.problem is not None:
            _LOG.error("the audit log is not whole", reason=check.problem)

    async def _show(
        self,
        request: Request,
        visitor: Visitor,
        typed: dict[str, str],
        query: AuditQuery,
        error: IbiError | None = None,
    ) -> Response:
        before, trail = _place(request.query_params), self._trail
        page = await asyncio.to_thread(trail.page, query, SHOWN, before)
        # In this order: a verification that ends in between has stored its outcome.
        is_verifying = self._is_verifying or await asyncio.to_thread(trail.is_being_verified)
        given = [(name, text) for name, text in typed.items() if text]
        return self._shell.render(
            request,
            visitor,
            "admin_audit.html",
            error,
            typed=typed,
            acts=ACTS,
            lines=page.lines,
            reached=page.reached,
            is_first=before is None,
            newest=f"{AUDIT}?{urlencode(given)}" if given else AUDIT,
            older=None if page.older is None else f"{AUDIT}?{urlencode([*given, ('before', page.older)])}",
            exports={form: f"{AUDIT}/export.{form}?{urlencode(given)}".rstrip("?") for form in ("csv", "ndjson")},
            check=await asyncio.to_thread(trail.last_check),
            is_verifying=is_verifying,
            subject_link=_item_link,
        )

    @property
    def _is_verifying(self) -> bool:
        return self._verifying is not None and not self._verifying.done()

    async def export(self, request: Request, visitor: Visitor) -> Response:
        """Export all lines of the query: as they are in the log, so that the chain can be checked, or as a table."""
        form = request.path_params["form"]
        if form not in ("csv", "ndjson"):
            raise PathNotFound()
        typed = {name: request.query_params.get(name, "")[:_LONGEST].strip() for name in _FIELDS}
        lines = self._trail.export(await self._read_query(typed))
        media = "text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson"
        headers = {
            **PRIVATE,
            "content-disposition": f'attachment; filename="audit.{form}"',
            "x-content-type-options": "nosniff",
        }
        return StreamingResponse(_table(lines) if form == "csv" else lines, 200, headers, media)

    async def _read_query(self, typed: dict[str, str]) -> AuditQuery:
        return AuditQuery(
            who=typed["who"] or None,
            act=typed["act"] or None,
            subject=await self._subject(typed["label"]),
            since=_day(typed["since"]),
            until=_day(typed["until"], last=True),
        )

    async def _subject(self, text: str) -> str | None:
        """Return the subject as the log names it: an item by its repository name, any other text unchanged."""
        if not text:
            return None
        site = self._shell.administration.archive
        try:
            label = parse(text)
        except InvalidInput:
            return text
        item = None if site is None else await site.find(label)
        return str(label if item is None else item.rep)


def _now() -> Instant:
    return Instant(int(datetime.now(UTC).timestamp()))


def _place(query: QueryParams) -> int | None:
    return whole_number(query.get("before", ""))


def _day(text: str, *, last: bool = False) -> Instant | None:
    """Return the first second of a day, or its last one."""
    if not text:
        return None
    try:
        begin = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
    except ValueError:
        raise ActRefused(reason=_DAY) from None
    return Instant(int(begin.timestamp()) + (86_399 if last else 0))


def _item_link(subject: str) -> str | None:
    """Return the page of an item; None if the subject is not an item."""
    return None if ":" in subject or subject.count("/") < 3 else f"/col/{subject}/metadata"


def _table(pieces: Iterator[bytes]) -> Iterator[str]:
    """Yield the lines as CSV. An unreadable line is in the NDJSON export only."""
    yield csv_row(*_COLUMNS)
    for piece in pieces:
        yield "".join(csv_row(*(_cell(fields, name) for name in _COLUMNS)) for fields in _decode_lines(piece))


def _decode_lines(piece: bytes) -> Iterator[dict[str, Any]]:
    for line in piece.splitlines():
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict):
            yield fields


def _cell(fields: dict[str, Any], name: str) -> object:
    value = fields.get(name)
    return value if value is None or type(value) is int else str(value)
