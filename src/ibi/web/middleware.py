"""Middleware around all pages: refused connections, the check of the host name, and the facts of the site.

Pages are answered only under the host names of this server. All other requests are answered under any name. Programs
that call services may know this server by an address or by an older name, and health checks use the address that they
dial. Persistent URLs outlive names: a link under a name that still leads here is followed, because a redirect has no
content that could act under that name. An answer that would be a page is refused. Answers of the fast path
(`ibi.server.fast_path`) are all of these kinds, so that it need not check the host.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.server.connection_bounds import fields_of, plain_refusal, response_bytes
from ibi.server.fast_path import Dispatcher
from ibi.standard.errors import ErrorKind, IbiError
from ibi.web.appearance import Appearance
from ibi.web.errors import PROBLEM, problem
from ibi.web.page_answers import HTML, refusal, wants_page
from ibi.web.reader import SESSIONS, Sessions, page_language, translations
from ibi.web.rendering import SITE, SiteFacts, render_text
from ibi.web.request import ServedHosts, percent_decode, raw_path, raw_target, values
from ibi.web.request_errors import ArchiveSwitchedOff


class ConnectionRefusals:
    """The answers to refused connections. `facts` are those of the site's pages.

    Each page is made once: it depends on nothing but the error and the language.
    """

    def __init__(self, facts: SiteFacts) -> None:
        self._facts = facts
        self._pages: dict[tuple[str, str], bytes] = {}

    def __call__(self, error: IbiError, head: bytes) -> bytes:
        """Return the answer. `head` has the first bytes of a request, or none."""
        headers = fields_of(head)
        if not wants_page(headers):
            return plain_refusal(error)
        language = page_language({"headers": headers})
        page = self._pages.get((error.code, language))
        if page is None:
            page = self._pages[error.code, language] = self._page(error, language)
        return page

    def _page(self, error: IbiError, language: str) -> bytes:
        wishes = [(b"accept", HTML.encode("ascii")), (b"accept-language", language.encode("ascii"))]
        scope = {
            "type": "http",
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": wishes,
            SITE: self._facts,
        }
        return response_bytes(refusal(error, scope))


_ALWAYS: Final = frozenset({"/healthz", "/readyz", "/metrics", "/api/identity"})
"""Paths served under any name or address. `/api/identity` also shows whether another instance mints under the same
name."""
_PLAIN: Final = frozenset({"application/json", PROBLEM})
"""Media types of content that a browser neither runs nor shows as a page of this site."""
_MOST_TOLD: Final = 256
"""Largest number of hosts that are logged, each once."""
_LONGEST_SHOWN: Final = 100
_LONGEST_TARGET: Final = 2000


class MisdirectedRequest(IbiError):
    """This server has no pages for the host {host}: use {url} instead. If {host} is a name of this server, its
    administrator can add the name to the setting hosts."""

    code = "misdirected-request"
    kind = ErrorKind.MISDIRECTED
    request_field = "Host"


class HostCheck:
    """Pure ASGI middleware around all pages and files."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: ServedHosts,
        public_url: str,
        dispatcher: Dispatcher,
        refused: Callable[[], object],
        log: FilteringBoundLogger,
    ) -> None:
        """`dispatcher` recognises requests to services and persistent URLs. `refused` counts refusals."""
        self._app, self._hosts, self._public_url, self._log = app, hosts, public_url, log
        self._dispatcher, self._refused = dispatcher, refused
        self._told: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._hosts.serves(scope):
            await self._app(scope, receive, send)
            return
        if percent_decode(raw_path(scope)) in _ALWAYS or self._dispatcher.is_for_service(scope):
            await self._app(scope, receive, send)
        elif self._dispatcher.may_be_persistent(scope):
            await self._app(scope, receive, _WithoutPages(self, scope, receive, send).send)
        else:
            await self.refusal(scope)(scope, receive, send)

    def refusal(self, scope: Scope) -> Response:
        host = ", ".join(values(scope["headers"], b"host"))[:_LONGEST_SHOWN]
        self._refused()
        if host not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(host)
            self._log.warning("pages were asked for under a name that is not in hosts", host=host)
        url = self._right_url(scope)
        error = MisdirectedRequest(host=repr(host), url=url)
        if not wants_page(scope["headers"]):
            answer = problem(error)
            answer.headers["vary"] = "Accept"
            return answer
        language = page_language(scope)
        page = render_text("misdirected.html", language, said=error.message(translations(language).gettext), url=url)
        headers = {"cache-control": "no-store", "vary": "Accept, Accept-Language", "content-language": language}
        return Response(page.encode(), HTTPStatus.MISDIRECTED_REQUEST, headers, f"{HTML}; charset=utf-8")

    def _right_url(self, scope: Scope) -> str:
        """Return the same target under the name of this server. A path without its slash would be read as part of the
        name."""
        target = raw_target(scope)
        if not target.startswith("/") or len(target) > _LONGEST_TARGET:
            return f"{self._public_url}/"
        return self._public_url + re.sub(r"[^!-~]+", lambda strange: quote(strange[0]), target)


class _WithoutPages:
    """Passes an answer on if it is a redirect or JSON. An answer that a browser would show as a page is refused."""

    __slots__ = ("_check", "_receive", "_replaced", "_scope", "_send")

    def __init__(self, check: HostCheck, scope: Scope, receive: Receive, send: Send) -> None:
        self._check, self._scope, self._receive, self._send = check, scope, receive, send
        self._replaced = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not _is_harmless(message):
            self._replaced = True
            await self._check.refusal(self._scope)(self._scope, self._receive, self._send)
        elif not self._replaced:
            await self._send(message)


def _is_harmless(start: Message) -> bool:
    headers: Any = start.get("headers", ())
    sent = next((value for name, value in headers if name == b"content-type"), None)
    return sent is None or sent.partition(b";")[0].strip().decode("latin-1").lower() in _PLAIN


class KnownSite:
    """Pure ASGI middleware around all pages.

    The session is looked up only when a page is made, unless the store is slow. With an `appearance`, pages have the
    look that the owner of the site chose. Under `/api/` there are no pages, and errors are not pages either.
    """

    def __init__(
        self,
        app: ASGIApp,
        facts: SiteFacts,
        sessions: Sessions | None = None,
        appearance: Appearance | None = None,
    ) -> None:
        self._app, self._facts, self._sessions, self._appearance = app, facts, sessions, appearance
        self._slow_sessions = None if sessions is None or sessions.is_prompt else sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._appearance is not None and not scope.get("path", "").startswith("/api/"):
            self._facts = await self._appearance.with_current_look(self._facts)
        scope.setdefault(SITE, self._facts)
        scope[SESSIONS] = self._sessions
        if self._slow_sessions is not None:
            await self._slow_sessions.look_up(scope)
        await self._app(scope, receive, send)


WITHHELD: Final = frozenset({"", "col", "collections", "search", "search.atom"})
"""First segments of paths that lead to items and lists of them."""
_LOOK: Final = 1.0
"""Seconds between two looks at the switch, which a command may change."""


class SwitchGuard:
    """Pure ASGI middleware that shows readers a notice while the Archive is switched off (E78).

    It withholds the pages about items, and their bytes. Signed-in people still see everything, so that they can look
    after it. Services, the API for programs with a token, the sign-in pages and health checks go on. The guard stands
    inside the middleware that knows the sessions. `is_on` reads the switch.
    """

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
