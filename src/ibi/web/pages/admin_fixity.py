"""`/admin/fixity`: what verifications of the content found, when everything is read again, and a form that has one item
verified before its turn."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.accounts.rights import SiteAct
from ibi.archive.errors import UnknownItem
from ibi.errors import IbiError
from ibi.label import parse
from ibi.model.content import HeldTotal, Verification
from ibi.services.integrity.integrity import Integrity
from ibi.services.items.verification import VerificationSchedule
from ibi.services.sites import ArchiveSite
from ibi.web.http.errors import answer_to
from ibi.web.http.request_errors import PathNotFound
from ibi.web.pages.admin_shell import ADMIN, AdminShell
from ibi.web.pages.reader import ForeignForm, Visitor, see_other

FIXITY: Final = f"{ADMIN}/fixity"
SHOWN: Final = 50
"""Verifications, and wishes, on the page."""
_MOST_DAMAGED: Final = 200
_LONGEST: Final = 500


class FixityPage:
    def __init__(self, shell: AdminShell, site: ArchiveSite, integrity: Integrity) -> None:
        self._shell, self._site, self._integrity = shell, site, integrity
        self._schedule: VerificationSchedule | None = shell.administration.verification

    def routes(self) -> list[Route]:
        return [Route(FIXITY, self._shell.guard(SiteAct.VERIFY, self.handle), methods=["GET", "POST"])]

    async def handle(self, request: Request, visitor: Visitor) -> Response:
        if request.method != "POST":
            return await self._show(request, visitor)
        fields = await visitor.read_form(request)
        typed = fields.get("label", "")[:_LONGEST].strip()
        try:
            await self._begin(typed)
        except ForeignForm:
            raise
        except IbiError as error:
            if not answer_to(error).told:
                raise
            return await self._show(request, visitor, error, typed)
        return see_other(f"{FIXITY}?begun=1")

    async def _begin(self, text: str) -> None:
        """Have an item verified soon. One whose record cannot be read is known by its name alone."""
        if self._schedule is None:
            raise PathNotFound()
        label, damaged = parse(text), self._integrity.ledger.damaged_items()
        item = None if str(label) in damaged else await self._site.find(label)
        if item is None and str(label) not in damaged:
            raise UnknownItem(label=str(label))
        name = str(label) if item is None else str(item.rep)
        await asyncio.to_thread(self._schedule.verify_soon, name)

    async def _show(
        self, request: Request, visitor: Visitor, error: IbiError | None = None, typed: str = ""
    ) -> Response:
        return self._shell.render(
            request,
            visitor,
            "admin_fixity.html",
            error,
            typed=typed,
            begun=error is None and request.query_params.get("begun") == "1",
            **await asyncio.to_thread(self._gather),
        )

    def _gather(self) -> dict[str, Any]:
        ledger, schedule = self._integrity.ledger, self._schedule
        summary, damaged = self._integrity.summary(), ledger.damaged_items()
        holdings = self._site.catalog.holdings().values()
        total = sum((each.size for each in holdings), HeldTotal().size)
        rate = 0 if schedule is None else schedule.rate
        shown = sorted(damaged.values(), key=_since, reverse=True)
        return {
            "summary": summary.among(holdings),
            "damaged": shown[:_MOST_DAMAGED],
            "more_damaged": max(0, len(shown) - _MOST_DAMAGED),
            "latest": ledger.latest(SHOWN),
            "wanted": ledger.wanted()[:SHOWN],
            "days": None if schedule is None else schedule.days,
            "rate": rate,
            "total": total,
            "hours": -(-total // rate // 3600) if rate else None,
        }


def _since(found: Verification) -> tuple[int, str]:
    return found.damaged_since or 0, found.name
