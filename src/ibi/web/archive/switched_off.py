"""An Archive that is switched off shows its readers a notice instead of its items (E78).

Signed-in people still see everything, so that they can look after it. Services, the API for programs with a token, the
pages for signing in and health checks go on: what is withheld are the pages about items and their bytes. Short: one
rule around all pages, which none of them has to know.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.web.http.errors import problem
from ibi.web.http.request import percent_decode, raw_path
from ibi.web.http.request_errors import ArchiveSwitchedOff
from ibi.web.pages import refusal, wants_page
from ibi.web.pages.rendering import SESSIONS

WITHHELD: Final = frozenset({"", "col", "search", "search.atom"})
"""First segments of paths that lead to items and lists of them."""
_LOOK: Final = 1.0
"""Seconds between two looks at the switch, which a command may turn."""


class SwitchGuard:
    """Pure ASGI, inside of what knows the sessions. `is_on` looks at the switch."""

    def __init__(
        self, app: ASGIApp, is_on: Callable[[], bool], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._app, self._look, self._monotonic = app, is_on, monotonic
        self._is_on, self._due = True, float("-inf")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._is_withheld(scope):
            error = ArchiveSwitchedOff()
            answer = refusal(error, scope) if wants_page(scope["headers"]) else problem(error)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_withheld(self, scope: Scope) -> bool:
        first = percent_decode(raw_path(scope)).removeprefix("/").partition("/")[0]
        return first in WITHHELD and not self._is_switched_on() and not _is_signed_in(scope)

    def _is_switched_on(self) -> bool:
        now = self._monotonic()
        if now >= self._due:
            self._is_on, self._due = self._look(), now + _LOOK
        return self._is_on


def _is_signed_in(scope: Scope) -> bool:
    sessions = scope.get(SESSIONS)
    return sessions is not None and sessions.current(scope) is not None
