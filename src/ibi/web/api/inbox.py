"""`/inbox`: notifications of other Archives and services (W3C Linked Data Notifications), and claims between Archives.

Anyone may send; who may answer for an item sees what was sent about it. Browsers are sent on to the page
for people.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus
from itertools import islice
from threading import Lock
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.federation.notification import (
    RELATIONS,
    Party,
    Relationship,
    Sender,
    announcement_document,
    offer_document,
)
from ibi.model.account import Scope
from ibi.model.notification import ClaimRelation, ReceivedClaim, RemoteClaimState
from ibi.services.limits import network_of
from ibi.services.notifications.answering import RemoteClaims, received_document, sent_document
from ibi.services.notifications.courier import Courier
from ibi.services.notifications.inbox import MOST_BODY, NotificationInbox
from ibi.services.sites import ArchiveSite
from ibi.web.api.authentication import Authentication, Callers
from ibi.web.http.body import check_media_type, json_answer, read_body
from ibi.web.http.request import Handler, by_method, reader_address
from ibi.web.http.request_errors import InvalidParameter, PathNotFound
from ibi.web.pages import redirect, wants_page
from ibi.web.pages.claims_page import PLACE, ClaimsPage

JSON_LD: Final = "application/ld+json"
MOST_CLAIMS: Final = 1000
"""Claims in one answer."""
_JSON: Final = "application/json"
_NO_STORE: Final = {"cache-control": "no-store"}
_ACCEPTED: Final = {"accept-post": f"{JSON_LD}, {_JSON}", "allow": "GET, HEAD, OPTIONS, POST"}
_ALL: Final = tuple(state for state in RemoteClaimState if state is not RemoteClaimState.WITHDRAWN)
_STATES: Final = {str(state.value): state for state in RemoteClaimState}
_LONGEST_NUMBER: Final = 15


def inbox_routes(site: ArchiveSite, authentication: Authentication, courier: Courier | None = None) -> list[Route]:
    """The inbox of an Archive. The `courier` is woken when something came or was answered."""
    wake = _nothing if courier is None else courier.wake
    pages, page = InboxPages(Callers(site, authentication), wake), ClaimsPage(site, wake)
    return [
        Route(PLACE, page.handle, methods=["GET", "POST"]),
        _route("/inbox", GET=pages.list, POST=pages.receive, OPTIONS=pages.describe),
        _route("/inbox/{number}", GET=pages.get),
        _route("/api/items/claims/received", GET=pages.received),
        _route("/api/items/claims/sent", GET=pages.sent),
    ]


def _route(path: str, **handlers: Handler) -> Route:
    return Route(path, by_method(**handlers), methods=list(handlers))


def _nothing() -> None:
    """Default: what came waits until a courier looks."""


class InboxPages:
    """Endpoints of the inbox; without one, there is nothing at its address."""

    def __init__(self, callers: Callers, wake: Callable[[], object]) -> None:
        self._callers, self._site, self._wake = callers, callers.site, wake
        self._turn = Lock()

    @property
    def _inbox(self) -> NotificationInbox:
        if self._site.inbox is None:
            raise PathNotFound()
        return self._site.inbox

    # --- notifications ---

    async def receive(self, request: Request) -> Response:
        """Take a notification. It is created when it was kept, though nothing was checked yet; a reply to one of ours
        is accepted, and leaves no resource of its own."""
        address = reader_address(request.scope, self._site.proxies)
        network = str(network_of(address) or "unknown")
        self._inbox.rate.count(network)
        headers = request.scope["headers"]
        check_media_type(headers, (JSON_LD, _JSON))
        body = await read_body(headers, request.receive, MOST_BODY)
        claim = await asyncio.to_thread(self._receive, body, network)
        self._wake()
        if claim is None:
            return Response(b"", HTTPStatus.ACCEPTED, _NO_STORE)
        return Response(b"", HTTPStatus.CREATED, {"location": self._place(claim), **_NO_STORE})

    def _receive(self, body: bytes, network: str) -> ReceivedClaim | None:
        with self._turn:
            return self._inbox.receive(body, network)

    async def describe(self, request: Request) -> Response:
        if self._site.inbox is None:
            raise PathNotFound()
        return Response(b"", HTTPStatus.NO_CONTENT, _ACCEPTED)

    async def list(self, request: Request) -> Response:
        """The notifications that a token may see; browsers are sent on to the page."""
        if wants_page(request.scope["headers"]):
            return redirect(PLACE)
        claims = await self._remote_claims(request)
        found = await self._callers.run_short(lambda: list(islice(claims.received(_ALL), MOST_CLAIMS)))
        document = {
            "@context": "http://www.w3.org/ns/ldp",
            "@id": self._site.inbox_url,
            "contains": [self._place(claim) for claim, _ in found],
        }
        return json_answer(document, HTTPStatus.OK, {**_NO_STORE, **_ACCEPTED, "vary": "Accept"}, JSON_LD)

    async def get(self, request: Request) -> Response:
        """A notification as it was understood."""
        claims, number = await self._remote_claims(request), _number(request.path_params["number"])
        claim = await self._callers.run_short(lambda: claims.find(number))
        if claim is None:
            raise PathNotFound()
        return json_answer(self._document(claim), HTTPStatus.OK, _NO_STORE, JSON_LD)

    def _document(self, claim: ReceivedClaim) -> dict[str, Any]:
        sender = Sender(claim.origin, claim.origin_inbox, claim.name or claim.origin)
        target = Party(self._site.public_url, self._site.inbox_url or "")
        if claim.relation in {ClaimRelation.REVIEW, ClaimRelation.ENDORSEMENT}:
            return announcement_document(sender, target, claim.id, claim.relation, claim.url, claim.object)
        relationship = Relationship(claim.url, claim.iri or RELATIONS[claim.relation], claim.object)
        return offer_document(sender, target, claim.id, relationship, announces=not claim.is_offer)

    def _place(self, claim: ReceivedClaim) -> str:
        return f"{self._site.inbox_url}/{claim.number}"

    # --- claims ---

    async def received(self, request: Request) -> Response:
        """Claims of other Archives on items here."""
        claims, (state, after) = await self._remote_claims(request), _page(request)
        found = await self._callers.run_short(lambda: tuple(islice(claims.received({state}, after), MOST_CLAIMS + 1)))
        shown = [{**received_document(claim, item), "notification": self._place(claim)} for claim, item in found]
        return self._listed("received", state, shown)

    async def sent(self, request: Request) -> Response:
        """Claims of items here on items of other Archives."""
        claims, (state, after) = await self._remote_claims(request), _page(request)
        found = await self._callers.run_short(lambda: tuple(islice(claims.sent({state}, after), MOST_CLAIMS + 1)))
        return self._listed("sent", state, [sent_document(claim, item) for claim, item in found])

    def _listed(self, name: str, state: RemoteClaimState, shown: Sequence[dict[str, Any]]) -> Response:
        place = f"{self._site.public_url}/api/items/claims/{name}?state={state.value}"
        links, given = {"self": place}, shown[:MOST_CLAIMS]
        if len(shown) > MOST_CLAIMS:
            links["next"] = f"{place}&after={given[-1]['number']}"
        return json_answer({"claims": given, "links": links}, HTTPStatus.OK, _NO_STORE, _JSON)

    async def _remote_claims(self, request: Request) -> RemoteClaims:
        actor = await self._callers.actor(request, Scope.READ)
        claims = self._callers.item_services.remote_claims_of(actor)
        if claims is None:
            raise PathNotFound()
        return claims


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER and int(text)):
        raise PathNotFound()
    return int(text)


def _page(request: Request) -> tuple[RemoteClaimState, int]:
    query = request.query_params
    state, after = query.get("state", RemoteClaimState.PENDING.value), query.get("after", "0")
    if state not in _STATES:
        raise InvalidParameter(field="state", reason=f"it is one of {', '.join(_STATES)}")
    if not (after.isascii() and after.isdigit() and len(after) <= _LONGEST_NUMBER):
        raise InvalidParameter(field="after", reason="it is the number of a claim")
    return _STATES[state], int(after)
