"""`/api/reviews`: list drafts that wait for review, comment on them, return and withdraw them.

`POST /api/items/<draft>/publish` submits and publishes them.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.deposits.api.drafts import draft_validators
from ibi.deposits.model import ReviewState
from ibi.deposits.resources.reviews import MOST_REVIEWS, ReviewResource, ReviewsResource, ReviewText
from ibi.deposits.service.drafts import Check
from ibi.deposits.service.ledger import Depositor
from ibi.deposits.service.reviews import Reviews, ReviewView
from ibi.people.model.account import Scope
from ibi.web.authentication import Callers
from ibi.web.body import NO_STORE, read_json, short_json
from ibi.web.request import by_method
from ibi.web.request_errors import InvalidParameter, PathNotFound, check_parameters, number_of

_LISTED: Final = 100


class ReviewPages:
    """Endpoints of reviews. The scope deposit shows a depositor's own reviews, the scope edit all of them."""

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
        """Return the queue, oldest first, or the returned or published drafts."""
        who, reviews = await self._ask(request, Scope.EDIT)
        state, after, most = _page(request)
        found = await self._callers.run_short(lambda: reviews.waiting(who, after, most + 1, state))
        links = {"self": f"{self._site.public_url}/api/reviews?state={state}"}
        if len(found) > most:
            links["next"] = f"{links['self']}&limit={most}&after={found[most - 1].turn}"
        shown = [ReviewResource.of(each, self._site.public_url) for each in found[:most]]
        return short_json(ReviewsResource(reviews=shown, links=links))

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
        draft, said = request.path_params["draft"], await read_json(request, ReviewText)

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
        headers = NO_STORE if found.view is None else {**NO_STORE, "etag": draft_validators(found.view).etag}
        shown = ReviewResource.of(found.review, self._site.public_url).with_entries(found.entries)
        return short_json(shown, headers=headers)


def _page(request: Request) -> tuple[ReviewState, int, int]:
    query = request.query_params
    check_parameters(query, ("state", "after", "limit"))
    state = query.get("state", ReviewState.SUBMITTED.value)
    if state not in set(ReviewState):
        raise InvalidParameter(field="state", reason=f"it is one of {', '.join(ReviewState)}")
    return (
        ReviewState(state),
        number_of(query, "after", 0, 0, 10**12),
        number_of(query, "limit", _LISTED, 1, MOST_REVIEWS),
    )
