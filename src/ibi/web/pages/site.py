"""Middleware that gives every page the facts about this site."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.web.pages.rendering import SESSIONS, SITE, SiteFacts
from ibi.web.pages.sessions import Sessions


class KnownSite:
    """Pure ASGI around all pages. Who is signed in is looked up only when a page is made, unless the store is slow."""

    def __init__(self, app: ASGIApp, facts: SiteFacts, sessions: Sessions | None = None) -> None:
        self._app, self._facts, self._sessions = app, facts, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault(SITE, self._facts)
        scope[SESSIONS] = self._sessions
        if self._sessions is not None:
            await self._sessions.look_up(scope)
        await self._app(scope, receive, send)
