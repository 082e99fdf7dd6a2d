"""Forms of the pages under `/account` where signed-in people answer claims and transfers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.accounts.sign_in import csrf_of
from ibi.archive.related_items import ClaimState
from ibi.errors import IbiError, InvalidLabel
from ibi.federation.standing import SenderStanding
from ibi.instant import Instant
from ibi.label import Label, RepositoryName, parse
from ibi.model.account import Actor
from ibi.model.item import Item
from ibi.model.notification import ClaimRelation, DeliveryState, ReceivedClaim, RemoteClaimState, SenderCheck, SentClaim
from ibi.model.transfer_ledger import IncomingTransfer, ReceiverStage, SenderStage
from ibi.services.accounts.sign_in import SignedIn
from ibi.services.items.item_claims import ItemClaim
from ibi.services.notifications.answering import ANSWERS
from ibi.services.sites import ArchiveSite, ItemServices
from ibi.services.transfers.worker import TransferWorker
from ibi.web.http.request_errors import InvalidMember, PathNotFound
from ibi.web.pages.reader import (
    PRIVATE,
    ForeignForm,
    Sessions,
    Visitor,
    find_visitor,
    message,
    page_language,
    read_form,
    require_librarian,
    see_other,
    translations,
)
from ibi.web.pages.rendering import render
from ibi.web.pages.words import OPEN_MEANINGS, OPEN_REMEDIES, shown_title


async def _take_form(
    request: Request, sessions: Sessions, signed: SignedIn, answer: Callable[[dict[str, str]], None]
) -> IbiError | None:
    """Let a thread answer the form. Return why it was refused, if readers may know; raise other errors."""
    fields = await read_form(request.scope, request.receive)
    try:
        sessions.check_form(request.scope, fields, signed)
        await asyncio.to_thread(answer, fields)
    except ForeignForm:
        raise
    except IbiError as error:
        if not error.kind.is_told:
            raise
        return error
    return None


def _form_facts(request: Request, signed: SignedIn, error: IbiError | None) -> dict[str, Any]:
    """Return the facts for a page with forms, or for the same page after an `error`."""
    gettext = translations(page_language(request.scope)).gettext
    return {
        "status": HTTPStatus.OK if error is None else error.kind.status,
        "headers": PRIVATE,
        "csrf": csrf_of(signed.text),
        "problem": None if error is None else error.message(gettext),
    }


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


TRANSFERS: Final = "/account/transfers"
SHOWN: Final = 100
"""Number of transfers of each kind on one page."""
_PAGE: Final = 1000
_COMING: Final = (ReceiverStage.ACCEPTED, ReceiverStage.HELD)
_GOING: Final = (SenderStage.OFFERED, SenderStage.RELEASED)

STAGES: Final = {
    ReceiverStage.ACCEPTED: message("accepted: the Copy is being made"),
    ReceiverStage.HELD: message("copied: waiting for the release"),
    SenderStage.OFFERED: message("offered"),
    SenderStage.RELEASED: message("released: the other Archive has not confirmed yet"),
}


STANDINGS: Final = {
    SenderStanding.NO_REGISTER: message(
        "Unproven: there is no register of a resolver here that could tell who this is."
    ),
    SenderStanding.NO_KEY: message("Unproven: the register of the resolver has no key of this Archive."),
    SenderStanding.UNKNOWN_WAY: message("The Original came to it through an Archive that the register does not know."),
    SenderStanding.NOT_REGISTERED: message("It is not registered at the resolver, and cannot be accepted."),
    SenderStanding.OTHER_KEY: message(
        "It has another key than the register has of this Archive, and cannot be accepted."
    ),
    SenderStanding.NOT_HOME: message("It is not the home of the item, and cannot be accepted."),
    SenderStanding.REGISTERED: message("Registered at the resolver with this key."),
}


class TransfersPage:
    """Transfers of one Archive, for librarians: offered Originals, to accept or to decline, and those on their way to
    this Archive or from it."""

    def __init__(self, transfers: TransferWorker, sessions: Sessions) -> None:
        self._transfers, self._sessions = transfers, sessions

    def routes(self) -> list[Route]:
        return [Route(TRANSFERS, self.handle, methods=["GET", "POST"])]

    async def handle(self, request: Request) -> Response:
        signed = self._sessions.current(request.scope)
        if signed is None:
            return see_other(f"/sign-in?to={TRANSFERS}")
        require_librarian(signed)
        if request.method != "POST":
            return await self._show(request, signed)
        problem = await _take_form(request, self._sessions, signed, self._answer)
        if problem is not None:
            return await self._show(request, signed, problem)
        self._transfers.wake()
        return see_other(TRANSFERS)

    def _answer(self, fields: dict[str, str]) -> None:
        """Answer one offer, or all waiting offers of one Archive."""
        receiving, word = self._transfers.receiving, fields.get("answer")
        if word not in ("accept", "decline"):
            raise InvalidMember(field="answer", reason="it is accept or decline")
        act = receiving.agree if word == "accept" else receiving.decline
        if "from" not in fields:
            rep = RepositoryName.parse(fields.get("item", ""))
            receiving.agree(rep, fields.get("key")) if word == "accept" else receiving.decline(rep)
            return
        for offer in self._waiting_of(fields["from"]):
            act(offer.rep)

    def _waiting_of(self, source: str) -> list[IncomingTransfer]:
        found: list[IncomingTransfer] = []
        after = ""
        while page := self._transfers.ledger.list_incoming(ReceiverStage.WAITING, after=after, most=_PAGE):
            found += (offer for offer in page if offer.source == source)
            after = str(page[-1].rep)
        if not found:
            raise PathNotFound()
        return found

    async def _show(self, request: Request, signed: SignedIn, error: IbiError | None = None) -> Response:
        after = request.query_params.get("after", "")
        return render(
            request.scope,
            "account_transfers.html",
            **_form_facts(request, signed, error),
            stages=STAGES,
            instant=Instant,
            **await asyncio.to_thread(self._gather, after[:1024]),
        )

    def _gather(self, after: str) -> dict[str, Any]:
        ledger = self._transfers.ledger
        waiting = ledger.list_incoming(ReceiverStage.WAITING, after=after, most=SHOWN + 1)
        return {
            "waiting": waiting[:SHOWN],
            "senders": {each.rep: STANDINGS[self._transfers.receiving.senders.judge_kept(each)] for each in waiting},
            "count": ledger.count_waiting(),
            "sources": sorted({offer.source for offer in waiting[:SHOWN]}),
            "following": str(waiting[SHOWN - 1].rep) if len(waiting) > SHOWN else None,
            "coming": ledger.list_incoming(*_COMING, most=SHOWN),
            "going": ledger.list_outgoing(*_GOING, most=SHOWN),
            "unheard": self._transfers.tracking.unheard,
            # An item that was not checked yet is checked within seconds.
            "open_items": [each for each in ledger.open_items() if each.problem in OPEN_MEANINGS][:SHOWN],
            "open_meanings": OPEN_MEANINGS,
            "open_remedies": OPEN_REMEDIES,
        }
