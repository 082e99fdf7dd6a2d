"""`/inbox`: notifications of other Archives and services (W3C Linked Data Notifications), and claims between Archives.

Anyone may send. A person who may answer for an item sees the notifications about it. Browsers are redirected to the
page for people.
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

from ibi.claims.model import ReceivedClaim, RemoteClaimState
from ibi.claims.pages import PLACE, ClaimsPage
from ibi.claims.resources import ReceivedClaimResource, ReceivedClaims, SentClaimResource, SentClaims
from ibi.claims.rules import RELATIONS, Party, Relationship, Sender, announcement_document, offer_document
from ibi.claims.service.answering import RemoteClaims
from ibi.claims.service.courier import Courier
from ibi.claims.service.inbox import MOST_BODY, NotificationInbox
from ibi.items.model.related_link import ClaimRelation
from ibi.jobs.limits import network_of
from ibi.people.model.account import Scope
from ibi.standard.messages.holders import SIGNATURE
from ibi.web.authentication import Authentication, Callers
from ibi.web.body import JSON, NO_STORE, check_media_type, json_answer, read_body, short_json
from ibi.web.page_answers import redirect, wants_page
from ibi.web.request import Handler, by_method, reader_address
from ibi.web.request_errors import InvalidParameter, PathNotFound, whole_number
from ibi.web.sites import ArchiveSite, ItemServices

JSON_LD: Final = "application/ld+json"
MOST_CLAIMS: Final = 1000
"""Number of claims in one answer."""
_ACCEPTED: Final = {"accept-post": f"{JSON_LD}, {JSON}", "allow": "GET, HEAD, OPTIONS, POST"}
_ALL: Final = tuple(state for state in RemoteClaimState if state is not RemoteClaimState.WITHDRAWN)
_STATES: Final = {str(state.value): state for state in RemoteClaimState}
_LONGEST_NUMBER: Final = 15


def inbox_routes(
    site: ArchiveSite,
    services: ItemServices | None,
    inbox: NotificationInbox | None,
    authentication: Authentication,
    courier: Courier | None,
) -> list[Route]:
    """Return the routes of claims. The `courier` is woken after each notification and each answer."""
    wake = _nothing if courier is None else courier.wake
    pages, page = (
        InboxPages(Callers(site, services, authentication), inbox, wake),
        ClaimsPage(site, services, wake),
    )
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
    """The default: a notification waits until a courier looks."""


class InboxPages:
    """Endpoints of the inbox. Without an inbox, its address does not exist."""

    def __init__(self, callers: Callers, inbox: NotificationInbox | None, wake: Callable[[], object]) -> None:
        self._callers, self._site, self._found, self._wake = callers, callers.site, inbox, wake
        self._turn = Lock()

    @property
    def _inbox(self) -> NotificationInbox:
        if self._found is None:
            raise PathNotFound()
        return self._found

    async def receive(self, request: Request) -> Response:
        """Take a notification.

        It is created once it is stored, before any check. A reply to a notification of this Archive is accepted, and
        gets no resource of its own.
        """
        address = reader_address(request.scope, self._site.proxies)
        network = str(network_of(address) or "unknown")
        inbox, headers = self._inbox, request.scope["headers"]
        signature = request.headers.get(SIGNATURE.decode())
        seems_registered = signature is not None and await asyncio.to_thread(inbox.seems_registered, signature)
        if not seems_registered:
            inbox.count(network)
        check_media_type(headers, (JSON_LD, JSON))
        body = await read_body(headers, request.receive, MOST_BODY)
        if signature is not None and seems_registered:
            sender = await asyncio.to_thread(inbox.find_sender, signature, body)
            network = sender or network
            inbox.count(network)
        claim = await asyncio.to_thread(self._receive, body, network)
        self._wake()
        if claim is None:
            return Response(b"", HTTPStatus.ACCEPTED, NO_STORE)
        return Response(b"", HTTPStatus.CREATED, {"location": self._place(claim), **NO_STORE})

    def _receive(self, body: bytes, network: str) -> ReceivedClaim | None:
        with self._turn:
            return self._inbox.receive(body, network)

    async def describe(self, request: Request) -> Response:
        if self._found is None:
            raise PathNotFound()
        return Response(b"", HTTPStatus.NO_CONTENT, _ACCEPTED)

    async def list(self, request: Request) -> Response:
        """Return the notifications that a token may see. Browsers are redirected to the page."""
        if wants_page(request.scope["headers"]):
            return redirect(PLACE)
        claims = await self._remote_claims(request)
        found = await self._callers.run_short(lambda: list(islice(claims.received(_ALL), MOST_CLAIMS)))
        document = {
            "@context": "http://www.w3.org/ns/ldp",
            "@id": self._site.inbox_url,
            "contains": [self._place(claim) for claim, _ in found],
        }
        return json_answer(document, HTTPStatus.OK, {**NO_STORE, **_ACCEPTED, "vary": "Accept"}, JSON_LD)

    async def get(self, request: Request) -> Response:
        """Return a notification as it was understood."""
        claims, number = await self._remote_claims(request), _number(request.path_params["number"])
        claim = await self._callers.run_short(lambda: claims.find(number))
        if claim is None:
            raise PathNotFound()
        return json_answer(self._document(claim), HTTPStatus.OK, NO_STORE, JSON_LD)

    def _document(self, claim: ReceivedClaim) -> dict[str, Any]:
        sender = Sender(claim.origin, claim.origin_inbox, claim.name or claim.origin)
        target = Party(self._site.public_url, self._site.inbox_url or "")
        if claim.relation in {ClaimRelation.REVIEW, ClaimRelation.ENDORSEMENT}:
            return announcement_document(sender, target, claim.id, claim.relation, claim.url, claim.object)
        relationship = Relationship(claim.url, claim.iri or RELATIONS[claim.relation], claim.object)
        return offer_document(sender, target, claim.id, relationship, announces=not claim.is_offer)

    def _place(self, claim: ReceivedClaim) -> str:
        return f"{self._site.inbox_url}/{claim.number}"

    async def received(self, request: Request) -> Response:
        """Return claims of other Archives about items here."""
        claims, (state, after) = await self._remote_claims(request), _page(request)
        found = await self._callers.run_short(lambda: tuple(islice(claims.received({state}, after), MOST_CLAIMS + 1)))
        shown = [ReceivedClaimResource.of(claim, item, self._place(claim)) for claim, item in found]
        links = self._links("received", state, [claim.number for claim in shown])
        return short_json(ReceivedClaims(claims=shown[:MOST_CLAIMS], links=links))

    async def sent(self, request: Request) -> Response:
        """Return claims of items here about items of other Archives."""
        claims, (state, after) = await self._remote_claims(request), _page(request)
        found = await self._callers.run_short(lambda: tuple(islice(claims.sent({state}, after), MOST_CLAIMS + 1)))
        shown = [SentClaimResource.of(claim, item) for claim, item in found]
        links = self._links("sent", state, [claim.number for claim in shown])
        return short_json(SentClaims(claims=shown[:MOST_CLAIMS], links=links))

    def _links(self, name: str, state: RemoteClaimState, numbers: Sequence[int]) -> dict[str, str]:
        """Return the links of a page of claims. `numbers` are those of the claims, and of one more if there is one."""
        place = f"{self._site.public_url}/api/items/claims/{name}?state={state.value}"
        following = {"next": f"{place}&after={numbers[MOST_CLAIMS - 1]}"} if len(numbers) > MOST_CLAIMS else {}
        return {"self": place, **following}

    async def _remote_claims(self, request: Request) -> RemoteClaims:
        actor = await self._callers.actor(request, Scope.READ)
        claims = self._callers.item_services.remote_claims_of(actor)
        if claims is None:
            raise PathNotFound()
        return claims


def _number(text: str) -> int:
    number = whole_number(text, _LONGEST_NUMBER)
    if not number:
        raise PathNotFound()
    return number


def _page(request: Request) -> tuple[RemoteClaimState, int]:
    query = request.query_params
    state, after = (
        query.get("state", RemoteClaimState.PENDING.value),
        whole_number(query.get("after", "0"), _LONGEST_NUMBER),
    )
    if state not in _STATES:
        raise InvalidParameter(field="state", reason=f"it is one of {', '.join(_STATES)}")
    if after is None:
        raise InvalidParameter(field="after", reason="it is the number of a claim")
    return _STATES[state], after
