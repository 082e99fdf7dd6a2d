"""Claims between items of one Archive, in the API."""

from __future__ import annotations

from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ibi.claims.api.inbox import MOST_CLAIMS
from ibi.claims.resources import ItemClaimResource, ItemClaimsResource
from ibi.claims.service.answering import ANSWERS
from ibi.items.rules.errors import NoSuchClaim
from ibi.items.rules.related_items import ClaimState
from ibi.people.model.account import Scope
from ibi.reading.delivery.metadata import item_record
from ibi.standard.errors import InvalidLabel
from ibi.standard.label import Label, RepositoryName, parse_any
from ibi.standard.vocabulary import State
from ibi.web.authentication import Callers
from ibi.web.body import JSON, NO_STORE, json_answer, short_json
from ibi.web.record_requests import json_object, refusing_members
from ibi.web.request_errors import InvalidMember, InvalidParameter, MemberMissing, UnknownMember, check_parameters

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
