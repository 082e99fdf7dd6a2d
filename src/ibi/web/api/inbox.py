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

from ibi.archive.errors import NoSuchClaim
from ibi.archive.related_items import ClaimState
from ibi.errors import InvalidLabel
from ibi.federation.notification import (
    RELATIONS,
    Party,
    Relationship,
    Sender,
    announcement_document,
    offer_document,
)
from ibi.label import Label, RepositoryName, parse_any
from ibi.messages.holders import SIGNATURE
from ibi.model.account import Scope
from ibi.model.notification import ClaimRelation, ReceivedClaim, RemoteClaimState
from ibi.resources.claims import (
    ItemClaimResource,
    ItemClaimsResource,
    ReceivedClaimResource,
    ReceivedClaims,
    SentClaimResource,
    SentClaims,
)
from ibi.services.limits import network_of
from ibi.services.notifications.answering import ANSWERS, RemoteClaims
from ibi.services.notifications.delivery import Courier
from ibi.services.notifications.inbox import MOST_BODY, NotificationInbox
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State
from ibi.web.api.authentication import Authentication, Callers
from ibi.web.api.record_requests import json_object, refusing_members
from ibi.web.archive.metadata import item_record
from ibi.web.http.body import JSON, NO_STORE, check_media_type, json_answer, read_body, short_json
from ibi.web.http.request import Handler, by_method, reader_address
from ibi.web.http.request_errors import (
    InvalidMember,
    InvalidParameter,
    MemberMissing,
    PathNotFound,
    UnknownMember,
    check_parameters,
    whole_number,
)
from ibi.web.pages import redirect, wants_page
from ibi.web.pages.account_pages import PLACE, ClaimsPage

JSON_LD: Final = "application/ld+json"
MOST_CLAIMS: Final = 1000
"""Number of claims in one answer."""
_ACCEPTED: Final = {"accept-post": f"{JSON_LD}, {JSON}", "allow": "GET, HEAD, OPTIONS, POST"}
_ALL: Final = tuple(state for state in RemoteClaimState if state is not RemoteClaimState.WITHDRAWN)
_STATES: Final = {str(state.value): state for state in RemoteClaimState}
_LONGEST_NUMBER: Final = 15


def inbox_routes(site: ArchiveSite, authentication: Authentication, courier: Courier | None = None) -> list[Route]:
    """Return the routes of an Archive's inbox. The `courier` is woken after each notification and each answer."""
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
    """The default: a notification waits until a courier looks."""


class InboxPages:
    """Endpoints of the inbox. Without an inbox, its address does not exist."""

    def __init__(self, callers: Callers, wake: Callable[[], object]) -> None:
        self._callers, self._site, self._wake = callers, callers.site, wake
        self._turn = Lock()

    @property
    def _inbox(self) -> NotificationInbox:
        if self._site.inbox is None:
            raise PathNotFound()
        return self._site.inbox

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
        if self._site.inbox is None:
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


# --- claims within one Archive ----------------------------------------------------------------------------------------

_SMALL: Final = 64 * 1024
_MEMBERS: Final = ("item", "claimant", "answer")
_CLAIM_STATES: Final = {str(state.value): state for state in ClaimState}


class ItemClaimPages:
    """Endpoints of claims. A token sees the claims that it may answer, and those of its account's items."""

    def __init__(self, callers: Callers) -> None:
        self._callers, self._site = callers, callers.site

    async def list(self, request: Request) -> Response:
        actor, services = await self._callers.actor(request, Scope.READ), self._callers.item_services
        state, after = _claims_page(request)
        found = await self._callers.run_short(
            lambda: list(islice(services.claims_of(actor).list({state}, after), MOST_CLAIMS + 1))
        )
        links = {"self": f"{self._site.public_url}/api/items/claims?state={state.value}"}
        shown = found[:MOST_CLAIMS]
        if len(found) > MOST_CLAIMS:
            # An item makes at most three claims. The next page lists all claims of the last item.
            last = found[MOST_CLAIMS].claimant.rep
            shown = [claim for claim in shown if claim.claimant.rep != last]
            links["next"] = f"{links['self']}&after={shown[-1].claimant.rep.spelling}"
        claims = [ItemClaimResource.of(each.claimant, each.link, each.item, each.state) for each in shown]
        return short_json(ItemClaimsResource(claims=claims, links=links))

    async def answer(self, request: Request) -> Response:
        """Accept or decline a claim, and return the claimed item."""
        who, services = await self._callers.depositor(request), self._callers.item_services
        item, claimant, word = _answer(await json_object(request, most=_SMALL) or {})
        claims, remote = services.claims_of(who.actor), services.remote_claims_of(who.actor)
        if isinstance(claimant, str) or (remote is not None and await self._is_elsewhere(claimant)):
            if remote is None:
                raise NoSuchClaim(label=str(item), claimant=str(claimant))
            changed = await self._callers.run_short(lambda: remote.answer(word, item, claimant, who.name))
        else:
            answer = claims.accept if word == "accept" else claims.decline
            changed = await self._callers.run_short(lambda: answer(item, claimant, who.name))
        return json_answer(item_record(self._site, changed, in_full=True), HTTPStatus.OK, NO_STORE, JSON)

    async def _is_elsewhere(self, label: Label) -> bool:
        """Return whether this Archive never had the Original of that label: its claims came from another Archive."""
        found = await self._site.find(label)
        return found is None or found.state is State.COPY


def _claims_page(request: Request) -> tuple[ClaimState, RepositoryName | None]:
    query = request.query_params
    check_parameters(query, ("state", "after"))
    state, after = query.get("state", ClaimState.PENDING.value), query.get("after")
    if state not in _CLAIM_STATES:
        raise InvalidParameter(field="state", reason=f"it is one of {', '.join(_CLAIM_STATES)}")
    try:
        return _CLAIM_STATES[state], None if after is None else RepositoryName.parse(after)
    except InvalidLabel as error:
        raise InvalidParameter(field="after", reason=str(error).rstrip(".")) from None


def _answer(said: dict[str, Any]) -> tuple[Label, Label | str, str]:
    unknown = next((name for name in said if name not in _MEMBERS), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known=", ".join(_MEMBERS))
    for name in _MEMBERS:
        if name not in said:
            raise MemberMissing(field=name)
        if not isinstance(said[name], str):
            raise InvalidMember(field=name, reason="it is a text")
    if said["answer"] not in ANSWERS:
        raise InvalidMember(field="answer", reason=f"it is one of {', '.join(ANSWERS)}")
    with refusing_members("item"):
        item = parse_any(said["item"])
    answer, claimant = said["answer"], said["claimant"]
    if claimant.partition("://")[0].lower() in {"http", "https"}:
        return item, claimant, answer  # a review, or another object without an IBI
    with refusing_members("claimant"):
        return item, parse_any(claimant), answer
