"""`/api/reviews`: drafts that wait for review: listed, commented, sent back, withdrawn.

They are submitted and published by `POST /api/items/<draft>/publish`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.instant import Instant
from ibi.model.account import Scope, shown_account
from ibi.model.draft import Review, ReviewEntry, ReviewState
from ibi.services.drafts.drafts import Check
from ibi.services.drafts.ledger import Depositor
from ibi.services.drafts.reviews import Reviews, ReviewView
from ibi.services.sites import ArchiveSite
from ibi.web.api.authentication import Callers
from ibi.web.api.drafts import draft_validators
from ibi.web.http.body import NO_STORE, read_json, short_json
from ibi.web.http.request import by_method
from ibi.web.http.request_errors import InvalidParameter, PathNotFound, check_parameters, number_of

MOST_LISTED: Final = 1000
"""Reviews in one answer."""
_LISTED: Final = 100


class _Comment(msgspec.Struct, forbid_unknown_fields=True):
    text: str = ""


def review_document(site: ArchiveSite, review: Review) -> dict[str, Any]:
    base, draft = f"{site.public_url}/api/reviews/{review.draft}", f"{site.public_url}/api/items/{review.draft}"
    links = {"self": base, "draft": draft, "comments": f"{base}/comments"}
    if review.label is not None:
        links["item"] = f"{site.public_url}/api/items/{review.label}"
    if review.state is ReviewState.SUBMITTED:
        links |= {"return": f"{base}/return", "withdraw": f"{base}/withdraw", "publish": f"{draft}/publish"}
    return {
        "id": review.draft,
        "state": str(review.state),
        "title": review.title,
        "owner": shown_account(review.owner),
        "depositor": review.depositor,
        "submitted": str(Instant(review.submitted)),
        "changed": str(Instant(review.changed)),
        **({"deletes": True} if review.deletes else {}),
        "links": links,
    }


def _entry_document(entry: ReviewEntry) -> dict[str, Any]:
    return {"act": str(entry.act), "at": str(Instant(entry.at)), "name": entry.name, "text": entry.text}


class ReviewPages:
    """Endpoints of reviews: a depositor's own with a token of the scope deposit, all with one of the scope edit."""

    def __init__(self, callers: Callers) -> None:
        self._callers, self._site = callers, callers.site

    def routes(self) -> list[Route]:
        return [
            Route("/api/reviews", by_method(GET=self.list), methods=["GET"]),
            Route("/api/reviews/{draft}", by_method(GET=self.get), methods=["GET"]),
            Route("/api/reviews/{draft}/comments", by_method(POST=self.comment), methods=["POST"]),
            Route("/api/reviews/{draft}/return", by_method(POST=self.send_back), methods=["POST"]),
            Route("/api/reviews/{draft}/withdraw", by_method(POST=self.withdraw), methods=["POST"]),
        ]

    async def list(self, request: Request) -> Response:
        """The queue, the oldest first; or what was returned or published."""
        who, reviews = await self._ask(request, Scope.EDIT)
        state, after, most = _page(request)
        found = await self._callers.run_short(lambda: reviews.waiting(who, after, most + 1, state))
        links = {"self": f"{self._site.public_url}/api/reviews?state={state}"}
        if len(found) > most:
            links["next"] = f"{links['self']}&limit={most}&after={found[most - 1].turn}"
        return short_json({"reviews": [review_document(self._site, each) for each in found[:most]], "links": links})

    async def get(self, request: Request) -> Response:
        who, reviews = await self._ask(request)
        draft = request.path_params["draft"]
        return self._answer(await self._callers.run_short(lambda: reviews.look(who, draft)))

    async def comment(self, request: Request) -> Response:
        return await self._change(request, lambda reviews, who, draft, text: reviews.comment(who, draft, text))

    async def withdraw(self, request: Request) -> Response:
        return await self._change(request, lambda reviews, who, draft, text: reviews.withdraw(who, draft, text))

    async def send_back(self, request: Request) -> Response:
        headers = request.scope["headers"]

        def check(view: Any) -> None:
            draft_validators(view).check(headers)

        conditions: Check = check
        return await self._change(
            request, lambda reviews, who, draft, text: reviews.send_back(who, draft, text, conditions)
        )

    async def _change(self, request: Request, act: Any) -> Response:
        who, reviews = await self._ask(request)
        draft, said = request.path_params["draft"], await read_json(request, _Comment)

        def work() -> ReviewView:
            act(reviews, who, draft, said.text)
            return reviews.look(who, draft)

        return self._answer(await self._callers.run_short(work))

    async def _ask(self, request: Request, needed: Scope = Scope.DEPOSIT) -> tuple[Depositor, Reviews]:
        who = self._callers.depositor_of(await self._callers.token(request, needed), request)
        reviews = self._callers.item_services.drafts.reviews
        if reviews is None:
            raise PathNotFound()
        return who, reviews

    def _answer(self, found: ReviewView) -> Response:
        document = review_document(self._site, found.review)
        headers = NO_STORE if found.view is None else {**NO_STORE, "etag": draft_validators(found.view).etag}
        entries = [_entry_document(entry) for entry in found.entries]
        return short_json({**document, "entries": entries}, headers=headers)


def _page(request: Request) -> tuple[ReviewState, int, int]:
    query = request.query_params
    check_parameters(query, ("state", "after", "limit"))
    state = query.get("state", ReviewState.SUBMITTED.value)
    if state not in set(ReviewState):
        raise InvalidParameter(field="state", reason=f"it is one of {', '.join(ReviewState)}")
    return (
        ReviewState(state),
        number_of(query, "after", 0, 0, 10**12),
        number_of(query, "limit", _LISTED, 1, MOST_LISTED),
    )
