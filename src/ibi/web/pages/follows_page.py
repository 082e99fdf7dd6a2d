"""`/follows`: for librarians, what this Archive follows, how far each follow is behind, and who is told of changes."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.accounts.errors import NotAllowed
from ibi.instant import Instant
from ibi.model.account import Role
from ibi.model.follow import FollowedState, FollowKind
from ibi.services.subscriptions.subscriptions import Listing
from ibi.web.pages.language import message
from ibi.web.pages.rendering import render
from ibi.web.pages.sessions import Sessions

_PRIVATE: Final = {"cache-control": "no-store"}
_KINDS: Final = {
    FollowKind.ITEM: message("an item"),
    FollowKind.PREFIX: message("a prefix"),
    FollowKind.SEARCH: message("a search"),
    FollowKind.ALL: message("the whole Archive"),
    FollowKind.MOVED: message("items that moved there"),
}
_STATES: Final = {
    FollowedState.COPY: message("Copies"),
    FollowedState.DELETED: message("deleted at their Original; the Copies stay"),
    FollowedState.PURGED: message("purged at their Original; the Copies stay until they are dropped"),
    FollowedState.MOVED: message("whose Original was given to another Archive"),
    FollowedState.GONE: message("which the source does not have any more"),
    FollowedState.DROPPED: message("dropped here, and not brought again"),
    FollowedState.OWN: message("of which the Original is here"),
}


class FollowsPage:
    def __init__(self, sessions: Sessions, follows: Listing, webhooks: Listing) -> None:
        """Both lists block."""
        self._sessions, self._follows, self._webhooks = sessions, follows, webhooks

    def routes(self) -> list[Route]:
        return [Route("/follows", self.get)]

    async def get(self, request: Request) -> Response:
        signed = self._sessions.current(request.scope)
        if signed is None:
            return Response(b"", 303, {"location": "/sign-in?to=/follows", **_PRIVATE})
        if signed.person.role < Role.LIBRARIAN:
            raise NotAllowed(scope=str(signed.person.role), needed=str(Role.LIBRARIAN))
        follows = await asyncio.to_thread(self._follows)
        is_admin = signed.person.role is Role.ADMIN
        return render(
            request.scope,
            "follows.html",
            headers=_PRIVATE,
            follows=follows,
            webhooks=await asyncio.to_thread(self._webhooks) if is_admin else None,
            kinds={kind.value: words for kind, words in _KINDS.items()},
            states={state.value: words for state, words in _STATES.items()},
            moment=Instant.parse,
        )
