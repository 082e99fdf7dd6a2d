"""The page of claims: what waits for an answer of who is signed in, and what items of theirs claim of others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.accounts.sign_in import csrf_of
from ibi.archive.related_items import ClaimState
from ibi.errors import IbiError, InvalidLabel
from ibi.instant import Instant
from ibi.label import Label, parse
from ibi.model.account import Actor, Role, Scope, person_account
from ibi.model.item import Item
from ibi.model.notification import ClaimRelation, DeliveryState, ReceivedClaim, RemoteClaimState, SenderCheck, SentClaim
from ibi.services.accounts.sign_in import SignedIn
from ibi.services.items.claims import ItemClaim
from ibi.services.sites import ArchiveSite
from ibi.web.http.errors import answer_to
from ibi.web.http.request import reader_address
from ibi.web.http.request_errors import PathNotFound
from ibi.web.pages.item_words import shown_title
from ibi.web.pages.language import message, page_language, translations
from ibi.web.pages.rendering import SESSIONS, render
from ibi.web.pages.sessions import ForeignForm, Sessions, read_form

MOST_SHOWN: Final = 200
"""Claims of each kind on the page."""
PLACE: Final = "/account/claims"
_PRIVATE: Final = {"cache-control": "no-store"}
_SCOPES: Final = {
    Role.READER: Scope.READ,
    Role.DEPOSITOR: Scope.DEPOSIT,
    Role.LIBRARIAN: Scope.EDIT,
    Role.ADMIN: Scope.ADMIN,
}
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
    RemoteClaimState.PENDING: message("waits for an answer"),
    RemoteClaimState.ACCEPTED: message("accepted"),
    RemoteClaimState.DECLINED: message("declined"),
    RemoteClaimState.WITHDRAWN: message("withdrawn"),
}
CHECKS: Final = {
    SenderCheck.WAITING: message("Its Archive is being asked."),
    SenderCheck.VERIFIED: message("Verified: it says so where it is kept."),
    SenderCheck.UNVERIFIED: message("Not verified: it could not be looked at where it is kept."),
    SenderCheck.CONTRADICTED: message("Not true: it does not say so where it is kept."),
}
DELIVERIES: Final = {
    DeliveryState.QUEUED: message("on its way"),
    DeliveryState.DELIVERED: message("delivered"),
    DeliveryState.REFUSED: message("refused by its Archive"),
    DeliveryState.FAILED: message("could not be delivered"),
}


class ClaimsPage:
    def __init__(self, site: ArchiveSite, wake: Callable[[], object]) -> None:
        """`wake` is called after an answer, which is to be sent."""
        self._site, self._wake = site, wake

    async def handle(self, request: Request) -> Response:
        """The page, for who is signed in; or the answer that one of its forms gives."""
        sessions = request.scope.get(SESSIONS)
        signed = sessions.current(request.scope) if isinstance(sessions, Sessions) else None
        if signed is None or not isinstance(sessions, Sessions):
            return _see(f"/sign-in?to={PLACE}")
        if request.method != "POST":
            return await self._show(request, signed)
        fields = await read_form(request.scope, request.receive)
        try:
            sessions.check_form(request.scope, fields, signed)
            await asyncio.to_thread(self._answer, fields, self._actor(request, signed), signed.person.name)
        except ForeignForm:
            raise
        except IbiError as error:
            if not answer_to(error).told:
                raise
            return await self._show(request, signed, error)
        self._wake()
        return _see(PLACE)

    def _answer(self, fields: dict[str, str], actor: Actor, who: str) -> None:
        services, word = self._site.item_services, fields.get("answer")
        if services is None or word not in {"accept", "decline"}:
            raise PathNotFound()
        label, claimant = parse(fields.get("item", "")), fields.get("claimant", "")
        if fields.get("here"):
            claims = services.claims_of(actor)
            (claims.accept if word == "accept" else claims.decline)(label, parse(claimant), who)
            return
        remote = services.remote_claims_of(actor)
        if remote is None:
            raise PathNotFound()
        (remote.accept if word == "accept" else remote.decline)(label, claimant_named(claimant), who)

    async def _show(self, request: Request, signed: SignedIn, error: IbiError | None = None) -> Response:
        actor = self._actor(request, signed)
        gettext = translations(page_language(request.scope)).gettext
        return render(
            request.scope,
            "account_claims.html",
            status=HTTPStatus.OK if error is None else answer_to(error).status,
            headers=_PRIVATE,
            csrf=csrf_of(signed.text),
            problem=None if error is None else error.message(gettext),
            relations=RELATIONS,
            states=STATES,
            checks=CHECKS,
            deliveries=DELIVERIES,
            instant=Instant,
            page_of=self._page_of,
            title_of=shown_title,
            **await asyncio.to_thread(self._gather, actor),
        )

    def _gather(self, actor: Actor) -> dict[str, Any]:
        services = self._site.item_services
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
        return {"local": local, "received": received, "answered": answered, "sent": sent}

    def _page_of(self, item: Item) -> str:
        return self._site.urls.metadata(item, None, None)

    def _actor(self, request: Request, signed: SignedIn) -> Actor:
        address = reader_address(request.scope, self._site.proxies)
        shown = "unknown" if address is None else str(address)
        return Actor(person_account(signed.person.name), _SCOPES[signed.person.role], None, shown)


def claimant_named(text: str) -> Label | str:
    """What makes a claim: an item, or else something by its address."""
    try:
        return parse(text)
    except InvalidLabel:
        return text


def _see(place: str) -> Response:
    return Response(b"", HTTPStatus.SEE_OTHER, {"location": place, **_PRIVATE})
