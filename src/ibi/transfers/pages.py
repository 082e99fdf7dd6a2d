"""`/account/transfers`: the transfers of Originals, for people who are signed in."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.people.service.sign_in import SignedIn
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.transfers.model import IncomingTransfer, ReceiverStage, SenderStage
from ibi.transfers.rules.standing import SenderStanding
from ibi.transfers.service.worker import TransferWorker
from ibi.web.account_forms import _form_facts, _take_form
from ibi.web.reader import (
    Sessions,
    message,
    require_librarian,
    see_other,
)
from ibi.web.rendering import render
from ibi.web.request_errors import InvalidMember, PathNotFound
from ibi.web.words import OPEN_MEANINGS, OPEN_REMEDIES

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
