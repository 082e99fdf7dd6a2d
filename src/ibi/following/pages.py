"""`/follows`: pages where librarians add, list and end follows."""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.following.model.subscription import FollowedState, FollowKind
from ibi.following.service.subscriptions import FollowListing, WebhookListing
from ibi.people.model.account import Role
from ibi.people.rules.errors import RoleTooSmall
from ibi.standard.instant import Instant
from ibi.web.reader import (
    PRIVATE,
    Sessions,
    message,
    see_other,
)
from ibi.web.rendering import render

_KINDS: Final = {
    FollowKind.ITEM: message("an item"),
    FollowKind.PREFIX: message("a prefix"),
    FollowKind.SEARCH: message("a search"),
    FollowKind.ALL: message("the whole Archive"),
    FollowKind.MOVED: message("transferred items"),
}
_STATES: Final = {
    FollowedState.COPY: message("Copies"),
    FollowedState.DELETED: message("whose Original was deleted; the Copies are kept"),
    FollowedState.PURGED: message("whose Original was purged; the Copies are kept until they are removed"),
    FollowedState.MOVED: message("whose Original was transferred to another Archive"),
    FollowedState.GONE: message("no longer at the source"),
    FollowedState.DROPPED: message("removed here, and not copied again"),
    FollowedState.OWN: message("of which the Original is here"),
}


class FollowsPage:
    def __init__(self, sessions: Sessions, follows: FollowListing, webhooks: WebhookListing) -> None:
        """Both listings block."""
        self._sessions, self._follows, self._webhooks = sessions, follows, webhooks

    def routes(self) -> list[Route]:
        return [Route("/follows", self.get)]

    async def get(self, request: Request) -> Response:
        signed = self._sessions.current(request.scope)
        if signed is None:
            return see_other("/sign-in?to=/follows")
        if signed.person.role < Role.LIBRARIAN:
            raise RoleTooSmall(role=signed.person.role, needed=Role.LIBRARIAN)
        follows = await asyncio.to_thread(self._follows)
        is_admin = signed.person.role is Role.ADMIN
        return render(
            request.scope,
            "follows.html",
            headers=PRIVATE,
            follows=follows,
            webhooks=await asyncio.to_thread(self._webhooks) if is_admin else None,
            kinds={kind.value: words for kind, words in _KINDS.items()},
            states={state.value: words for state, words in _STATES.items()},
            moment=Instant.parse,
            members=asdict,
        )
