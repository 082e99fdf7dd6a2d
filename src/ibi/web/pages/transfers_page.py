"""`/account/transfers`: Originals that other Archives offer, to accept or to decline, and those that are on their way,
to this Archive or from it; for librarians who are signed in."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.accounts.errors import NotAllowed
from ibi.accounts.sign_in import csrf_of
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.label import RepositoryName
from ibi.model.account import Role, Scope
from ibi.model.transfer_record import IncomingTransfer, ReceiverStage, SenderStage
from ibi.services.accounts.sign_in import SignedIn
from ibi.services.transfers.worker import TransferWorker
from ibi.web.http.errors import answer_to
from ibi.web.http.request_errors import InvalidMember, PathNotFound
from ibi.web.pages.language import message, page_language, translations
from ibi.web.pages.rendering import render
from ibi.web.pages.sessions import ForeignForm, Sessions, read_form

PLACE: Final = "/account/transfers"
SHOWN: Final = 100
"""Transfers of each kind on one page."""
_PAGE: Final = 1000
_PRIVATE: Final = {"cache-control": "no-store"}
_COMING: Final = (ReceiverStage.ACCEPTED, ReceiverStage.HELD)
_GOING: Final = (SenderStage.OFFERED, SenderStage.RELEASED)

STAGES: Final = {
    ReceiverStage.ACCEPTED: message("accepted: the Copy is being brought"),
    ReceiverStage.HELD: message("the Copy is here: its release is awaited"),
    SenderStage.OFFERED: message("offered"),
    SenderStage.RELEASED: message("released: the other Archive has not confirmed yet"),
}


class TransfersPage:
    """The page of one Archive."""

    def __init__(self, transfers: TransferWorker, sessions: Sessions) -> None:
        self._transfers, self._sessions = transfers, sessions

    def routes(self) -> list[Route]:
        return [Route(PLACE, self.handle, methods=["GET", "POST"])]

    async def handle(self, request: Request) -> Response:
        signed = self._sessions.current(request.scope)
        if signed is None:
            return _see(f"/sign-in?to={PLACE}")
        if signed.person.role < Role.LIBRARIAN:
            raise NotAllowed(scope=str(signed.person.role), needed=str(Scope.EDIT))
        if request.method != "POST":
            return await self._show(request, signed)
        fields = await read_form(request.scope, request.receive)
        try:
            self._sessions.check_form(request.scope, fields, signed)
            await asyncio.to_thread(self._answer, fields)
        except ForeignForm:
            raise
        except IbiError as error:
            if not answer_to(error).told:
                raise
            return await self._show(request, signed, error)
        self._transfers.wake()
        return _see(PLACE)

    def _answer(self, fields: dict[str, str]) -> None:
        """Answer one offer, or all of one Archive that wait."""
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
        gettext, after = translations(page_language(request.scope)).gettext, request.query_params.get("after", "")
        return render(
            request.scope,
            "account_transfers.html",
            status=HTTPStatus.OK if error is None else answer_to(error).status,
            headers=_PRIVATE,
            csrf=csrf_of(signed.text),
            problem=None if error is None else error.message(gettext),
            stages=STAGES,
            instant=Instant,
            **await asyncio.to_thread(self._gather, after[:1024]),
        )

    def _gather(self, after: str) -> dict[str, Any]:
        ledger = self._transfers.ledger
        waiting = ledger.list_incoming(ReceiverStage.WAITING, after=after, most=SHOWN + 1)
        return {
            "waiting": waiting[:SHOWN],
            "count": ledger.count_waiting(),
            "sources": sorted({offer.source for offer in waiting[:SHOWN]}),
            "following": str(waiting[SHOWN - 1].rep) if len(waiting) > SHOWN else None,
            "coming": ledger.list_incoming(*_COMING, most=SHOWN),
            "going": ledger.list_outgoing(*_GOING, most=SHOWN),
            "unheard": self._transfers.tracking.unheard,
        }


def _see(place: str) -> Response:
    return Response(b"", HTTPStatus.SEE_OTHER, {"location": place, **_PRIVATE})
