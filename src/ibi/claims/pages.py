"""Forms of the pages under `/account` where signed-in people answer claims and transfers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.claims.model import DeliveryState, ReceivedClaim, RemoteClaimState, SenderCheck, SentClaim
from ibi.claims.service.answering import ANSWERS
from ibi.items.model.item import Item
from ibi.items.model.related_link import ClaimRelation
from ibi.items.rules.related_items import ClaimState
from ibi.items.service.item_claims import ItemClaim
from ibi.people.model.account import Actor
from ibi.standard.errors import IbiError, InvalidLabel
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.web.account_forms import _form_facts, _take_form
from ibi.web.reader import (
    Visitor,
    find_visitor,
    message,
    see_other,
)
from ibi.web.rendering import render
from ibi.web.request_errors import PathNotFound
from ibi.web.sites import ArchiveSite, ItemServices
from ibi.web.words import shown_title

MOST_SHOWN: Final = 200
"""Number of claims of each kind on the page."""
PLACE: Final = "/account/claims"
_ANSWERED: Final = (RemoteClaimState.ACCEPTED, RemoteClaimState.DECLINED)

RELATIONS: Final = {
    ClaimRelation.EDITION_OF: message("a newer edition of"),
    ClaimRelation.TRANSLATION_OF: message("a translation of"),
    ClaimRelation.DESCRIBES: message("metadata of"),
    ClaimRelation.REVIEW: message("a review of"),
    ClaimRelation.ENDORSEMENT: message("an endorsement of"),
    ClaimRelation.RELATED: message("related to"),
}
STATES: Final = {
    RemoteClaimState.PENDING: message("pending"),
    RemoteClaimState.ACCEPTED: message("accepted"),
    RemoteClaimState.DECLINED: message("declined"),
    RemoteClaimState.WITHDRAWN: message("withdrawn"),
}
CHECKS: Final = {
    SenderCheck.WAITING: message("Verification in progress."),
    SenderCheck.VERIFIED: message("Verified: the Archive that keeps it confirms this."),
    SenderCheck.UNVERIFIED: message("Not verified: the Archive that keeps it could not be consulted."),
    SenderCheck.CONTRADICTED: message("False: the Archive that keeps it does not confirm this."),
}
DELIVERIES: Final = {
    DeliveryState.QUEUED: message("being delivered"),
    DeliveryState.DELIVERED: message("delivered"),
    DeliveryState.REFUSED: message("refused by its Archive"),
    DeliveryState.FAILED: message("could not be delivered"),
}


class ClaimsPage:
    def __init__(self, site: ArchiveSite, services: ItemServices | None, wake: Callable[[], object]) -> None:
        """`wake` is called after an answer, so that it is sent."""
        self._site, self._services, self._wake = site, services, wake

    async def handle(self, request: Request) -> Response:
        """Show the page to a signed-in person, or take the answer from one of its forms."""
        visitor = find_visitor(request, self._site)
        if isinstance(visitor, Response):
            return visitor
        if request.method != "POST":
            return await self._show(request, visitor)
        actor, who = visitor.actor, visitor.name
        problem = await _take_form(
            request, visitor.sessions, visitor.signed, lambda fields: self._answer(fields, actor, who)
        )
        if problem is not None:
            return await self._show(request, visitor, problem)
        self._wake()
        return see_other(PLACE)

    def _answer(self, fields: dict[str, str], actor: Actor, who: str) -> None:
        services, word = self._services, fields.get("answer")
        if services is None or word not in ANSWERS:
            raise PathNotFound()
        label, claimant = parse(fields.get("item", "")), fields.get("claimant", "")
        if fields.get("here"):
            claims = services.claims_of(actor)
            (claims.accept if word == "accept" else claims.decline)(label, parse(claimant), who)
            return
        remote = services.remote_claims_of(actor)
        if remote is None:
            raise PathNotFound()
        remote.answer(word, label, claimant_named(claimant), who)

    async def _show(self, request: Request, visitor: Visitor, error: IbiError | None = None) -> Response:
        return render(
            request.scope,
            "account_claims.html",
            **_form_facts(request, visitor.signed, error),
            relations=RELATIONS,
            states=STATES,
            checks=CHECKS,
            deliveries=DELIVERIES,
            instant=Instant,
            page_of=self._page_of,
            title_of=shown_title,
            **await asyncio.to_thread(self._gather, visitor.actor),
        )

    def _gather(self, actor: Actor) -> dict[str, Any]:
        services = self._services
        remote = None if services is None else services.remote_claims_of(actor)
        local: tuple[ItemClaim, ...] = ()
        if services is not None:
            waiting = services.claims_of(actor).list({ClaimState.PENDING})
            local = tuple(islice(waiting, MOST_SHOWN))
        received: tuple[tuple[ReceivedClaim, Item], ...] = ()
        answered: tuple[tuple[ReceivedClaim, Item], ...] = ()
        sent: tuple[tuple[SentClaim, Item, str], ...] = ()
        if remote is not None:
            received = tuple(islice(remote.received(), MOST_SHOWN))
            answered = tuple(islice(remote.received(_ANSWERED), MOST_SHOWN))
            sent = tuple(
                (claim, item, self._site.persistent_url(claim.forms))
                for claim, item in islice(remote.sent(tuple(RemoteClaimState)), MOST_SHOWN)
            )
        networks = Counter(claim.network for claim, _ in received)
        return {"local": local, "received": received, "answered": answered, "sent": sent, "networks": networks}

    def _page_of(self, item: Item) -> str:
        return self._site.urls.metadata(item, None, None)


def claimant_named(text: str) -> Label | str:
    """Return the author of a claim: the label of an item, or else an address."""
    try:
        return parse(text)
    except InvalidLabel:
        return text
