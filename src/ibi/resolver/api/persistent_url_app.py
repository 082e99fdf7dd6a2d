"""`/<ibi><modifier><path>?<query>`: a persistent URL sent to a resolver (R §8)."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Final, NamedTuple

import msgspec
from babel.support import NullTranslations
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.jobs.limits import LimitExceeded
from ibi.reading.pages.item_page import tombstone_page
from ibi.resolver.api.alert import Alert, alert_about_fault, alert_about_punctuation
from ibi.resolver.api.alerts import alert_about
from ibi.resolver.pages.records import PAGE, resolved_record, trace_page, trace_record
from ibi.resolver.rules.caching import UNFED_AGE
from ibi.resolver.rules.outcome import Deleted, Redirect
from ibi.resolver.service.resolution_runner import Resolved, Unfinished
from ibi.server.fast_path import FastAnswer, Handover, Head
from ibi.standard.errors import IbiError, InvalidPersistentUrl
from ibi.standard.language_choice import Preference, preferences
from ibi.standard.lru_cache import LruCache
from ibi.standard.messages.answers import resolver_service
from ibi.standard.messages.values import decode_query
from ibi.standard.persistent_url import PersistentUrl, PunctuatedLabel
from ibi.web.errors import PROBLEM, problem
from ibi.web.page_answers import refusal, wants_page
from ibi.web.reader import page_language, translations
from ibi.web.rendering import render
from ibi.web.request import (
    choose,
    client_addresses,
    is_wanted_anew,
    link_target,
    percent_decode,
    raw_path,
    raw_query,
    raw_target,
    values,
)
from ibi.web.request_errors import MethodNotAllowed, NotAcceptable, PathNotFound
from ibi.web.request_middleware import REQUEST
from ibi.web.sites import ArchiveSite, ResolverSite

JSON: Final = "application/json"

_INFO, _TRACE = "ibiurl.info", "ibiurl.trace"


class View(Enum):
    REDIRECT = "redirect"
    INFO = "info"
    TRACE_PAGE = "trace=html"
    TRACE_JSON = "trace=json"

    @property
    def is_trace(self) -> bool:
        return self is View.TRACE_PAGE or self is View.TRACE_JSON


_BY_PAIR: Final = {
    (_INFO, "json"): View.INFO,
    (_TRACE, "html"): View.TRACE_PAGE,
    (_TRACE, "json"): View.TRACE_JSON,
}


def view_of(scope: Scope) -> View:
    """Return the view that the pairs `ibiurl.info` and `ibiurl.trace` name, or else the one in Accept. The pairs belong
    to the resolver itself (E35)."""
    query = scope["query_string"]
    # Few URLs have these pairs: only a query that may contain one, perhaps percent-encoded, is parsed.
    if query and (b"ibiurl." in query.lower() or b"%" in query):
        found = _named_view(raw_query(scope))
        if found is not None:
            return found
    return View.INFO if _wants_json(scope) else View.REDIRECT


def _named_view(query: str) -> View | None:
    for name, value in decode_query(query):
        name = name.lower()
        if name in {_INFO, _TRACE}:
            view = _BY_PAIR.get((name, value.lower()))
            if view is None:
                known = ", ".join(each for own, each in _BY_PAIR if own == name)
                raise InvalidPersistentUrl(f"{name}={value}", len(name) + 1, "it can be {known} only", known=known)
            return view
    return None


def _wants_json(scope: Scope) -> bool:
    for name, value in scope["headers"]:
        if name == b"accept" and b"json" in value.lower():
            break
    else:
        return False
    try:
        return choose(values(scope["headers"], b"accept"), ("text/html", JSON)) == JSON
    except NotAcceptable:
        return False


_OWN_PATH: Final = f"/{resolver_service().spelling}".upper().encode("ascii")
_ALLOWED: Final = "GET, HEAD, OPTIONS"
_LONGEST_REMEMBERED: Final = 256
"""Largest number of characters of a link with a cached parsed form. Long links would fill the memory."""
_READING: Final = frozenset({"GET", "HEAD"})
_ANY_ORIGIN: Final = (b"access-control-allow-origin", b"*")
"""The target of a persistent URL is public, also to a script of another site."""
_EMPTY: Final = (b"content-length", b"0")
_VARY: Final = (b"vary", b"Accept")
_VARY_WITH_LANGUAGE: Final = (b"vary", b"Accept, Accept-Language")
_PREFLIGHT: Final = [
    (b"allow", _ALLOWED.encode()),
    _ANY_ORIGIN,
    (b"access-control-allow-methods", b"GET, HEAD"),
    (b"access-control-allow-headers", b"*"),
    (b"access-control-max-age", b"86400"),
]


class _Wanted(NamedTuple):
    """A request, and its resolution so far."""

    url: PersistentUrl
    view: View
    by_language: bool
    begun: Resolved | Unfinished


_HANDOVER: Final = Handover[_Wanted | LimitExceeded]("resolution")


class PersistentUrlApp:
    """Resolves persistent URLs, as an ASGI application. Nearly every answer is a redirect, which is written straight to
    the connection."""

    def __init__(self, site: ResolverSite, log: FilteringBoundLogger, archive: ArchiveSite | None = None) -> None:
        """`archive` is the Archive of the same server. It has the tombstones of the items that it deleted."""
        self._site, self._log, self._archive = site, log, archive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            method = scope["method"]
            if method == "OPTIONS":
                await _respond(send, 204, list(_PREFLIGHT))
                return
            if method not in _READING:
                raise MethodNotAllowed(method=method[:20], allowed=_ALLOWED)
            answer = await self._answer(scope, send)
        except InvalidPersistentUrl as error:
            answer = await self._unreadable(error, scope)
        except IbiError as error:
            answer = self._refusal(error, scope)
        if answer is not None:
            answer.headers["access-control-allow-origin"] = "*"
            if scope["method"] == "HEAD":
                answer.body = b""
            await answer(scope, receive, send)

    async def _unreadable(self, error: InvalidPersistentUrl, scope: Scope) -> Response:
        """Return the alert about an unreadable link. It takes as long as a miss, so it counts as one."""
        try:
            await self._site.resolving.count_unreadable(client_addresses(scope, self._site.proxies))
        except LimitExceeded as refusal_:
            return self._refusal(refusal_, scope)
        if isinstance(error, PunctuatedLabel):
            return _alert_answer(alert_about_punctuation(error, _words(scope)), scope)
        return _alert_answer(alert_about_fault(error, raw_target(scope), _words(scope)), scope)

    def _refusal(self, error: IbiError, scope: Scope) -> Response:
        if error.kind.is_told:
            return refusal(error, scope)
        self._log.error("refused", request=scope.get(REQUEST), code=error.code, detail=str(error), exc_info=error)
        return problem(error)

    def at_once(self, scope: Scope) -> FastAnswer | None:
        """Return the redirect if no remote Archive has to be asked. Otherwise return None, and leave the resolution in
        the scope."""
        if scope["method"] not in _READING or is_resolver_itself(scope):
            return None
        # Handed over even if it fails, so that one request asks Archives, or is refused, only once.
        try:
            wanted = self._begin(scope)
        except LimitExceeded as error:
            _HANDOVER.leave(scope, error)
            return None
        _HANDOVER.leave(scope, wanted)
        resolved = wanted.begun
        if not isinstance(resolved, Resolved) or (redirect := _redirect(wanted, resolved)) is None:
            return None
        if resolved.age is not None:
            return None
        head = _REDIRECTS[wanted.by_language].fill(redirect.url.encode("ascii"), _cache_control(resolved.max_age))
        return FastAnswer(302, head, b"", partial(self._thank, redirect, scope))

    async def _answer(self, scope: Scope, send: Send) -> Response | None:
        """Return the answer; None if it is a redirect, which is sent already."""
        if is_resolver_itself(scope):
            page = f"{self._site.public_url}{PAGE}".encode("ascii")
            await _respond(send, 302, _redirect_headers(page, b"max-age=3600", by_language=False))
            return None
        wanted = _HANDOVER.take(scope) or self._begin(scope)
        if isinstance(wanted, LimitExceeded):
            raise wanted
        resolved = wanted.begun if isinstance(wanted.begun, Resolved) else await wanted.begun()
        redirect = _redirect(wanted, resolved)
        if redirect is None:
            answer = await self._tombstone(wanted, resolved, scope) or self._information(
                wanted.url, wanted.view, resolved, scope
            )
            if resolved.age is not None:
                answer.headers["age"] = str(resolved.age)
            return answer
        location, caching = redirect.url.encode("ascii"), _cache_control(resolved.max_age)
        headers = _redirect_headers(location, caching, by_language=wanted.by_language)
        if resolved.age is not None:
            headers.append((b"age", b"%d" % resolved.age))
        await _respond(send, 302, headers)
        self._thank(redirect, scope)
        return None

    async def _tombstone(self, wanted: _Wanted, resolved: Resolved, scope: Scope) -> Response | None:
        """Return the tombstone of an item that the Archive of this server deleted, for a browser.

        Programs get the alert instead, and so does a link that led on to another item than it names.
        """
        outcome, archive = resolved.outcome, self._archive
        if archive is None or wanted.view is not View.REDIRECT or not isinstance(outcome, Deleted):
            return None
        item = await archive.find(outcome.label) if wants_page(scope["headers"]) else None
        if item is None or item.tombstone is None or wanted.url.label not in (*item.labels.labels, outcome.label):
            return None
        copies = tuple(
            (f"{each.protocol.scheme}://{each.address}/{outcome.label.spelling}", each.address)
            for each in outcome.copies
        )
        return await tombstone_page(archive, item, scope, copies, _alert_headers(resolved.max_age))

    def _begin(self, scope: Scope) -> _Wanted:
        url, view, site = _parse_target(scope), view_of(scope), self._site
        by_language = _hangs_on_language(url)
        wishes = _wishes(scope) if by_language else ()
        clients = client_addresses(scope, site.proxies)
        resolving = site.resolving
        begun = (
            partial(resolving.resolve, url, clients, wishes, base=site.base, fresh=True)
            if view.is_trace
            else resolving.begin(url, clients, wishes, base=site.base, anew=is_wanted_anew(scope["headers"]))
        )
        return _Wanted(url, view, by_language, begun)

    def _thank(self, redirect: Redirect, scope: Scope) -> None:
        thanks = redirect.acknowledgment
        if scope["method"] == "GET" and thanks is not None:
            is_robot = self._site.is_robot(_user_agent(scope))
            self._site.acknowledgments.send(redirect.archive, thanks.for_robot() if is_robot else thanks)

    def _information(self, url: PersistentUrl, view: View, resolved: Resolved, scope: Scope) -> Response:
        base, outcome = f"{self._site.public_url}/", resolved.outcome
        if view is View.TRACE_JSON:
            return _json(trace_record(url, resolved, base), {"vary": "Accept-Language"})
        if view is View.TRACE_PAGE:
            return trace_page(scope, url, resolved, base)
        if view is View.INFO and isinstance(outcome, Redirect) and not resolved.to_confirm:
            vary = "Accept, Accept-Language" if _hangs_on_language(url) else "Accept"
            return _json(resolved_record(url, outcome, resolved, base), {"vary": vary})
        alert = alert_about(outcome, url, _words(scope), self._site.public_url)
        return _alert_answer(alert, scope, resolved.max_age, url, as_json=view is View.INFO)


_parsed: Final[LruCache[str, PersistentUrl]] = LruCache(50_000, 48 << 20)
"""Cache of parsed links: many readers follow the same link. Errors are not cached."""
_PARSED_SIZE: Final = 1_200
"""Approximate bytes that a parsed link takes in addition to its text."""


def _parse_target(scope: Scope) -> PersistentUrl:
    target = link_target(scope)
    try:
        return _parse_once(target) if len(target) <= _LONGEST_REMEMBERED else PersistentUrl.parse(target)
    except InvalidPersistentUrl:
        # Every label contains a slash, so `/favicon.ico` is not a mistyped label.
        if "/" not in percent_decode(raw_path(scope)).strip("/"):
            raise PathNotFound() from None
        raise


def _user_agent(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"user-agent":
            return str(value.decode("latin-1"))
    return ""


def _parse_once(target: str) -> PersistentUrl:
    url = _parsed.find(target)
    if url is None:
        url = PersistentUrl.parse(target)
        _parsed.keep(target, url, _PARSED_SIZE + 4 * len(target))
    return url


def is_resolver_itself(scope: Scope) -> bool:
    """Return whether the link is that of the resolver's own service (E75). No Archive needs to have it."""
    return raw_path(scope)[: len(_OWN_PATH)].upper() == _OWN_PATH and _parse_target(scope).label == resolver_service()


def _wishes(scope: Scope) -> tuple[Preference, ...]:
    return preferences(", ".join(values(scope["headers"], b"accept-language")))


def _hangs_on_language(url: PersistentUrl) -> bool:
    """Return whether the browser's languages decide the target. A language in the link replaces them (E21)."""
    return bool(url.relation.steps) and url.language is None and bool(url.relation.open_translations)


def _words(scope: Scope) -> NullTranslations:
    return translations(page_language(scope))


def _redirect(wanted: _Wanted, resolved: Resolved) -> Redirect | None:
    """Return the redirect; None if the reader gets a page or JSON instead."""
    outcome = resolved.outcome
    if wanted.view is not View.REDIRECT or not isinstance(outcome, Redirect) or resolved.to_confirm:
        return None
    return outcome


def _redirect_headers(location: bytes, caching: bytes, *, by_language: bool) -> list[tuple[bytes, bytes]]:
    vary = _VARY_WITH_LANGUAGE if by_language else _VARY
    return [(b"location", location), (b"cache-control", caching), vary, _ANY_ORIGIN, _EMPTY]


def _cache_control(max_age: int) -> bytes:
    """Return Cache-Control of a redirect.

    Caches of readers follow no feed, so that they keep a redirect for seconds only, even if this server caches it
    longer (E32).
    """
    return b"max-age=%d" % min(max_age, UNFED_AGE) if max_age > 0 else b"no-store"


_REDIRECTS: Final = {each: Head.of(_redirect_headers(b"%b", b"%b", by_language=each)) for each in (False, True)}
"""The heads of redirects without their `Location` and `Cache-Control`, by whether they depend on the language."""


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _json(record: object, headers: dict[str, str]) -> Response:
    return Response(msgspec.json.encode(record), 200, {"cache-control": "no-store", **headers}, JSON)


def _alert_headers(max_age: int) -> dict[str, str]:
    return {
        "cache-control": f"private, max-age={max_age}" if max_age > 0 else "no-store",
        "vary": "Accept, Accept-Language",
    }


def _alert_answer(
    alert: Alert, scope: Scope, max_age: int = 0, url: PersistentUrl | None = None, *, as_json: bool = False
) -> Response:
    """Return an alert as page or JSON. `url` is the requested one.

    It may be cached for a moment if all Archives answered, and never if one was silent (E24).
    """
    headers = _alert_headers(max_age)
    if alert.retry_after is not None:
        headers["retry-after"] = str(alert.retry_after)
    if not as_json and wants_page(scope["headers"]):
        shown = {"alert": alert, "trace_link": None if url is None else _trace_address(url)}
        return render(scope, "resolver_alert.html", status=int(alert.status), headers=headers, **shown)
    headers["content-language"] = page_language(scope)
    return Response(msgspec.json.encode(alert.record()), int(alert.status), headers, PROBLEM)


def _trace_address(url: PersistentUrl) -> str:
    """Return the address of the same resolution with its trace."""
    text = url.text("", keep_spelling=True)
    return f"/{text}{'&' if '?' in text else '?'}ibiurl.trace=html"
