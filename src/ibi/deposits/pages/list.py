"""`/account/items`: the drafts and items of the signed-in person, with the possible actions on each."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.deposits.rules.drafts import UnknownDraft
from ibi.items.rules.rights import Belonging, ItemAct, may
from ibi.people.model.account import Role
from ibi.standard.errors import IbiError
from ibi.standard.label import RepositoryName
from ibi.standard.vocabulary import State
from ibi.web.reader import PRIVATE, Visitor, find_visitor, page_language, see_other, translations
from ibi.web.rendering import render
from ibi.web.sites import ArchiveSite, ItemServices
from ibi.web.words import KINDS, STATES, shown_title

PLACE: Final = "/account/items"
SHOWN: Final = 50
"""Number of items on one page."""
DRAFTS_SHOWN: Final = 200


class OwnItemsPage:
    """The page of one Archive that takes deposits."""

    def __init__(self, site: ArchiveSite, services: ItemServices) -> None:
        self._site, self._services = site, services

    def routes(self) -> list[Route]:
        return [Route(PLACE, self.handle, methods=["GET", "POST"])]

    async def handle(self, request: Request) -> Response:
        visitor = find_visitor(request, self._site, Role.DEPOSITOR)
        if isinstance(visitor, Response):
            return visitor
        if request.method != "POST":
            return await self._show(request, visitor)
        fields = await visitor.read_form(request)
        try:
            await asyncio.to_thread(self._discard, visitor, fields.get("discard", ""))
        except UnknownDraft:
            raise
        except IbiError as error:
            if not error.kind.is_told:
                raise
            return await self._show(request, visitor, error)
        return see_other(PLACE)

    def _discard(self, visitor: Visitor, draft: str) -> None:
        self._services.drafts.discard(visitor.depositor, draft)

    async def _show(self, request: Request, visitor: Visitor, error: IbiError | None = None) -> Response:
        gettext = translations(page_language(request.scope)).gettext
        return render(
            request.scope,
            "deposit_list.html",
            status=200 if error is None else error.kind.status,
            headers=PRIVATE,
            csrf=visitor.csrf,
            problem=None if error is None else error.message(gettext),
            kinds=KINDS,
            states=STATES,
            original=State.ORIGINAL,
            deleted=State.DELETED,
            title_of=shown_title,
            **await asyncio.to_thread(self._gather, visitor, request.query_params.get("before", "")),
        )

    def _gather(self, visitor: Visitor, before: str) -> dict[str, Any]:
        services, site = self._services, self._site
        after = RepositoryName.parse(before) if before else None
        items = site.catalog.owned_by(visitor.depositor.owner, after, SHOWN + 1)
        drafts = () if after is not None else services.drafts.list_own(visitor.depositor, DRAFTS_SHOWN)
        now = site.now
        changeable = {
            item.rep
            for item in items
            if item.state is State.ORIGINAL
            and may(visitor.actor, ItemAct.UPDATE, Belonging.of(item, services.service, now))
        }
        return {
            "drafts": drafts,
            "items": items[:SHOWN],
            "following": items[SHOWN - 1].rep.spelling if len(items) > SHOWN else None,
            "is_first": after is None,
            "changeable": changeable,
            "days": services.drafts.rules.days,
            "now": now,
        }
