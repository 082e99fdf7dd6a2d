"""`GET /J8LNKB5R7W/3FUQHC5?servicesubject=…`: requests of Archives to a resolver (R §7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from ibi.membership.rules.archive_keys import SignatureRefused
from ibi.membership.service.registration_admin import RegistrationAdmin
from ibi.standard.errors import IbiError, InvalidMessage
from ibi.standard.label import match_label
from ibi.standard.messages.answers import ErrorAnswer, ExclusionStatus, InclusionStatus, resolver_service
from ibi.standard.messages.holders import ACCEPTS_FIELD, Field, reason_field
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.membership import ExclusionRequest, InclusionRequest
from ibi.standard.messages.requests import parse_request
from ibi.standard.messages.values import UnknownSubject, decode_query
from ibi.standard.networks import IpNetwork
from ibi.web.errors import UNTOLD, retry_after
from ibi.web.request import as_text, percent_decode, reader_address, refuse_other_sites
from ibi.web.request_errors import MethodNotAllowed

_LATER: Final = frozenset({429, 503})
"""Statuses that have a Retry-After."""

_KEY: Final = "registrationkey"
_SHORTEST_SECRET: Final = 6
"""Least number of characters of a key that is masked in an answer that would quote it."""


class ResolverEndpoint:
    """The endpoint for Archives, an ASGI application beside the framework. Every request is a change, so that no answer
    may be cached."""

    def __init__(
        self,
        admin: RegistrationAdmin,
        log: FilteringBoundLogger,
        *,
        proxies: Sequence[IpNetwork] = (),
        forms: LabelForms | None = None,
    ) -> None:
        """`proxies` are trusted to name their client. `forms` are those of the resolver's own label, by default the
        standard's."""
        self._admin, self._log, self._proxies = admin, log, tuple(proxies)
        self._labels = frozenset((LabelForms.of(resolver_service()) if forms is None else forms).labels)
        self._paths = {f"/{text}".encode() for label in self._labels for text in (label.spelling, str(label))}

    def is_asked(self, path: bytes) -> bool:
        """Return whether the path is the resolver's label, in any case (R §6.1)."""
        return path in self._paths or self._is_ours(path)

    def _is_ours(self, path: bytes) -> bool:
        text = percent_decode(path)
        found = match_label(text, 1) if text[:1] == "/" else None
        return found is not None and found[1] == len(text) and found[0] in self._labels

    def at_once(self, _: Scope) -> None:
        """Return None: every answer needs the disk, or an Archive."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/plain"), (b"cache-control", b"no-store"), ACCEPTS_FIELD]
        try:
            request, answer = await self._answer(scope)
            status, body = 200, answer.encode()
            if isinstance(answer, InclusionStatus) and answer.reason is not None:
                headers.append(reason_field(answer.reason))
            headers += self._signed_fields(request, answer)
        except IbiError as error:
            status, body = self._refusal(error, scope["query_string"])
            headers += self._signed_fields()
            if isinstance(error, SignatureRefused):
                headers.append(reason_field(error.code))
            if status == 405:
                headers.append((b"allow", b"GET"))
            if status in _LATER:
                headers.append((b"retry-after", b"%d" % retry_after(error)))
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _signed_fields(
        self,
        request: InclusionRequest | ExclusionRequest | None = None,
        answer: InclusionStatus | ExclusionStatus | None = None,
    ) -> tuple[Field, ...]:
        """Return the fields with the key of this resolver and its signature of the answer.

        There are none if the key cannot be read: the request is carried out anyway.
        """
        try:
            return self._admin.signed_fields(request, answer)
        except IbiError as error:
            self._log.error("the key of this resolver cannot be read", reason=str(error))
            return ()

    async def _answer(
        self, scope: Scope
    ) -> tuple[InclusionRequest | ExclusionRequest, InclusionStatus | ExclusionStatus]:
        if scope["method"] != "GET":  # R §6.1: every message is a GET
            raise MethodNotAllowed(method=scope["method"][:20], allowed="GET")
        refuse_other_sites(scope["headers"])
        request = parse_request(as_text(scope["query_string"]))
        client = reader_address(scope, self._proxies)
        if isinstance(request, InclusionRequest):
            return request, await self._admin.include(request, client)
        if isinstance(request, ExclusionRequest):
            return request, await self._admin.exclude(request, client)
        raise UnknownSubject(request.subject.value, 0, "it is asked of Archives, not of a resolver")

    def _refusal(self, error: IbiError, query: bytes) -> tuple[int, bytes]:
        """Return the answer to a refused request (E18)."""
        if not error.kind.is_told:
            self._log.error("refused", code=error.code, detail=str(error), exc_info=error)
        text = _without_key(str(error), query) if error.kind.is_told else UNTOLD
        return error.kind.status, ErrorAnswer(text).encode()


def _without_key(text: str, query: bytes) -> str:
    """Mask the given key in a message that quotes the request."""
    try:
        given = [value for name, value in decode_query(as_text(query)) if name.lower() == _KEY]
    except InvalidMessage:
        return text
    for value in given:
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "...")
    return text
