"""Tells the audit log of requests that were refused: whatever page or endpoint did it, and however it said so.

What counts is the status that was sent: 401 and 403, and 404 where a thing of another's is kept secret. The answer has
gone out before the line is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.errors import IbiError
from ibi.model.account import Actor
from ibi.model.visibility import IpNetwork
from ibi.safe_text import printable
from ibi.services.accounts.refusals import Refusal, RefusalLog
from ibi.web.http.logging import mask_links
from ibi.web.http.request import reader_address, truncate_address

DENIED: Final = "ibi.denied"
"""The key of the error in the scope of a request that was refused, if it is known."""
_STATUSES: Final = frozenset({401, 403})

Identify = Callable[[Scope], Awaitable[Actor | None]]


class RefusalWatch:
    """Pure ASGI around all pages and endpoints. `identify` tells who sent a request, None for a stranger; `proxies` are
    the networks that are trusted to name their client."""

    def __init__(
        self,
        app: ASGIApp,
        refusals: RefusalLog,
        identify: Identify,
        proxies: tuple[IpNetwork, ...] = (),
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self._app, self._refusals, self._identify, self._proxies = app, refusals, identify, proxies
        self._log = log or structlog.get_logger("ibi.web")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, watch)
        if status in _STATUSES or DENIED in scope:
            await self._tell(scope, status)

    async def _tell(self, scope: Scope, status: int) -> None:
        try:
            who = await self._identify(scope)
            await asyncio.to_thread(self._refusals.note, self._refusal(scope, status, who))
        except IbiError as error:  # the store is away, say: the request was refused all the same
            self._log.error("a refusal was not written down", code=error.code, detail=str(error))

    def _refusal(self, scope: Scope, status: int, who: Actor | None) -> Refusal:
        error: IbiError | None = scope.get(DENIED)
        path = mask_links(printable(scope["path"]))
        label = None if error is None else error.parameters.get("label")
        why = str(status) if error is None else error.code
        address = reader_address(scope, self._proxies)
        where = "unknown" if address is None else str(address)
        network = where if address is None else truncate_address(where)
        subject = label if isinstance(label, str) else f"path:{path}"
        return Refusal(subject, f"{scope['method'][:20]} {path}: {why}", where, network, who)
