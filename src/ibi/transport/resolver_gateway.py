"""A resolver, as an Archive asks it: one GET, one answer of a few words (R §6.1, §7.2)."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession, DummyCookieJar
from yarl import URL

from ibi.archive.membership import Failure, Outcome
from ibi.errors import InvalidMessage, InvalidPairs
from ibi.messages.answers import ErrorAnswer, ExclusionStatus, InclusionStatus, parse_answer
from ibi.messages.membership import ExclusionRequest, InclusionRequest
from ibi.messages.service import resolver_service
from ibi.pairs import Pairs
from ibi.transport.origin import Origin

_TIMEOUT: Final = 30.0
"""Seconds for all of it: before it answers, the resolver calls back, and waits for that."""

_MOST_BODY: Final = 4096
_PASSING: Final = frozenset({408, 429})
"""Of the statuses that blame the request, those that will pass."""


class ResolverGateway:
    """Sends the requests of one Archive to one resolver. The key in them appears in no outcome."""

    def __init__(self, resolver: str, *, timeout: float = _TIMEOUT) -> None:
        self._origin, self._timeout = Origin.parse(resolver), timeout

    def __str__(self) -> str:
        return str(self._origin)

    async def send(self, request: InclusionRequest | ExclusionRequest, *, within: float | None = None) -> Outcome:
        """What the resolver answers, `within` so many seconds at the latest; never raises for what it does."""
        seconds = self._timeout if within is None else min(within, self._timeout)
        try:
            async with asyncio.timeout(seconds):
                outcome = await self._asked(request)
        except ClientConnectorError as error:
            return Failure(f"it cannot be reached: {error.strerror or 'no connection'}".rstrip(), sent=False)
        except TimeoutError:
            return Failure(f"it did not answer within {seconds:g} seconds")
        except (ClientError, OSError, ValueError) as error:
            # Only the kind: the text of some of them has the whole URL in it, and so the key.
            return Failure(f"the connection failed ({type(error).__name__})")
        return _without_key(outcome, request.registration_key.reveal())

    async def _asked(self, request: InclusionRequest | ExclusionRequest) -> Outcome:
        # Encoded already, and byte for byte as it is.
        url = URL(f"{self._origin}/{resolver_service().spelling}?{request.to_query()}", encoded=True)
        async with (
            ClientSession(cookie_jar=DummyCookieJar(), auto_decompress=False, trust_env=False) as session,
            # Not sent on: the key goes to the resolver that the settings name, and to nobody else.
            session.get(url, allow_redirects=False, headers={"Accept-Encoding": "identity"}) as answer,
        ):
            return _outcome(request, answer.status, await _body(answer))


async def _body(answer: ClientResponse) -> bytes:
    """At most one byte more than is ever read."""
    body = b""
    while len(body) <= _MOST_BODY and (piece := await answer.content.read(_MOST_BODY + 1 - len(body))):
        body += piece
    return body


def _outcome(request: InclusionRequest | ExclusionRequest, status: int, body: bytes) -> Outcome:
    if 300 <= status < 400:
        return Failure("it sends elsewhere, and the key goes to one resolver only")
    try:
        answer = parse_answer(request.subject, Pairs.decode(body, limit=_MOST_BODY))
    except (InvalidMessage, InvalidPairs):
        # Not quoted: it may be a page of some proxy, or anything else.
        return Failure(f"it answers, with status {status}, what no resolver would")
    if isinstance(answer, ErrorAnswer):
        refused = 400 <= status < 500 and status not in _PASSING
        return answer if refused else Failure(f"it could not do it (status {status}): {answer.text}")
    if status == 200 and isinstance(answer, InclusionStatus | ExclusionStatus):
        return answer
    return Failure(f"it answers with status {status}")


def _without_key(outcome: Outcome, key: str) -> Outcome:
    """An error may quote the request it is about."""
    match outcome:
        case ErrorAnswer(text) if key in text:
            return ErrorAnswer(text.replace(key, "..."))
        case Failure(reason, sent):
            return Failure(reason.replace(key, "..."), sent)
    return outcome
