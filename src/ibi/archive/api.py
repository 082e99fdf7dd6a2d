"""`GET /<archive service IBI>?servicesubject=…`: requests of resolvers to an Archive (R §9)."""

from __future__ import annotations

from typing import Final

from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.items.model.item import name_one_item
from ibi.items.rules.related_items import find_forms
from ibi.server.fast_path import FastAnswer
from ibi.standard.errors import IbiError
from ibi.standard.label import Label, match_label
from ibi.standard.messages.answers import ErrorAnswer
from ibi.standard.messages.holders import Field
from ibi.web.errors import UNTOLD, log_untold
from ibi.web.request import RawHeaders, as_text, is_cross_site, percent_decode
from ibi.web.request_errors import MethodNotAllowed
from ibi.web.sites import ArchiveSite

_PLAIN_TEXT: Final = (b"content-type", b"text/plain")
_NO_STORE: Final = b"no-store"
_NO_FIELDS: Final[tuple[Field, ...]] = ()


Response = tuple[int, list[tuple[bytes, bytes]], bytes]


class ArchiveService:
    """The endpoint for resolvers, an ASGI application of its own."""

    def __init__(self, site: ArchiveSite, log: FilteringBoundLogger) -> None:
        self._site, self._log, self._reply = site, log, site.answers.reply
        labels = site.profile.service.labels
        self._paths = {f"/{text}".encode() for label in labels for text in (label.spelling, str(label))}
        self._is_prompt = site.answers.prompt
        self._labels = set(labels) if site.catalog.prompt else _all_labels(site)
        self._longest = b"max-age=%d" % site.answers.max_age if site.answers.max_age else _NO_STORE

    def is_asked(self, path: bytes) -> bool:
        """Return whether the path is this service's label, in either form and any case (R §6.1)."""
        return path in self._paths or self._is_ours(path)

    def _is_ours(self, path: bytes) -> bool:
        text = percent_decode(path)
        found = match_label(text, 1) if text[:1] == "/" else None
        if found is None or found[1] != len(text):
            return False
        service = self._site.profile.service
        if found[0] in service.labels:
            return True
        if not self._site.catalog.prompt:
            return found[0] in self._labels
        item = self._site.catalog.find(found[0])  # only the service's own item may know the other form
        return item is not None and name_one_item(item.labels, service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, headers, body = self._response(scope) if self._is_prompt else await self._slow_response(scope)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def at_once(self, scope: Scope) -> FastAnswer | None:
        return FastAnswer(*self._response(scope)) if self._is_prompt else None

    def _response(self, scope: Scope) -> Response:
        if scope["method"] == "GET":
            return _write_response(*self.http_answer(scope["query_string"], scope["headers"]))
        return self._other_method(scope)

    async def _slow_response(self, scope: Scope) -> Response:
        """Return the response when storage is slow."""
        if scope["method"] != "GET":
            return self._other_method(scope)
        query, headers = scope["query_string"], scope["headers"]
        try:
            body, age, fields = await self._site.answers.reply_slowly(
                as_text(query), is_counted=_is_counted(query, headers)
            )
        except IbiError as error:
            return _write_response(*self._refusal(error))
        return _write_response(200, body, self._cache_control(age), fields)

    def _other_method(self, scope: Scope) -> Response:
        """Return the refusal of another method. R §6.1: every message is a GET."""
        return _write_response(*self._refusal(MethodNotAllowed(method=scope["method"][:20], allowed="GET")))

    def http_answer(self, query: bytes, headers: RawHeaders = ()) -> tuple[int, bytes, bytes, tuple[Field, ...]]:
        """Return status, body, Cache-Control and further fields of the answer to a GET, as they are sent over HTTP.

        A refusal is an answer too (E18).
        """
        try:
            body, age, fields = self._reply(as_text(query), is_counted=_is_counted(query, headers))
        except IbiError as error:
            return self._refusal(error)
        return 200, body, self._cache_control(age), fields

    def _cache_control(self, max_age: int) -> bytes:
        if max_age == self._site.answers.max_age:
            return self._longest
        return b"max-age=%d" % max_age if max_age else _NO_STORE

    def _refusal(self, error: IbiError) -> tuple[int, bytes, bytes, tuple[Field, ...]]:
        """Return the answer to a refused request (E18)."""
        log_untold(error, self._log)
        body = ErrorAnswer(str(error) if error.kind.is_told else UNTOLD).encode()
        return error.kind.status, body, _NO_STORE, _NO_FIELDS


def _all_labels(site: ArchiveSite) -> set[Label]:
    """Return the labels of the service. Its own item may add another form. This call blocks."""
    item = find_forms(site.catalog, site.profile.service)
    return {*site.profile.service.labels, *(() if item is None else item.labels.labels)}


def _write_response(status: int, body: bytes, caching: bytes, fields: tuple[Field, ...]) -> Response:
    headers = [_PLAIN_TEXT, (b"content-length", b"%d" % len(body)), (b"cache-control", caching), *fields]
    if status == 405:
        headers.append((b"allow", b"GET"))
    return status, headers, body


def _is_counted(query: bytes, headers: RawHeaders) -> bool:
    """Return whether an acknowledgment counts. A page of another site could make its readers' browsers send a false
    one.

    The headers are read only if the request may be an acknowledgment: most are not, and this runs for each.
    """
    return (b"cknowledgment" not in query and b"%" not in query) or not is_cross_site(headers)
