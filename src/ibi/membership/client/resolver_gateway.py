"""The gateway through which an Archive sends its requests to a resolver: one GET, one short answer (R §6.1, §7.2)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from ssl import SSLContext
from typing import Final, Protocol

from ibi.membership.client.register_client import RegisterClient
from ibi.membership.model.membership import OfferedKey, Outcome, RequestFailure, ResolverStanding
from ibi.net.address_guard import NameLookup
from ibi.net.http_connection import HttpResponse, connection_failure
from ibi.net.server_url import ServerUrl
from ibi.net.single_request import SingleRequests
from ibi.standard.errors import InvalidMessage, InvalidPairs
from ibi.standard.messages.answers import (
    ErrorAnswer,
    ExclusionStatus,
    InclusionStatus,
    parse_answer,
    resolver_service,
)
from ibi.standard.messages.holders import KeyFields, accepts_https, read_reason
from ibi.standard.messages.membership import ExclusionRequest, InclusionConfirmationRequest, InclusionRequest
from ibi.standard.pairs import Pairs
from ibi.standard.reply import Failure as FailureOfReply
from ibi.standard.signing import PublicKey
from ibi.standard.storage_errors import StorageError
from ibi.standard.vocabulary import ArchiveProtocol

_TIMEOUT: Final = 30.0
"""Seconds for the whole exchange. The resolver calls the Archive back before it answers."""

_LONGEST_ANSWER: Final = 4096
_MOST_BODY: Final = 64 * 1024
"""Maximum bytes received. Error pages of proxies are longer than answers, and their status is worth reporting."""

_PASSING: Final = frozenset({408, 429})
"""Client-error statuses that are temporary."""


MembershipRequest = InclusionRequest | ExclusionRequest

SIGNATURE_REFUSED: Final = "signature-refused"
"""The resolver's reason for a refused signature. Signing for the resolver's key instead of its address may help."""


class RequestSigner(Protocol):
    """Signs requests and verifies answers; `ibi.membership.service.signers` implements it. Calls block."""

    def audience(self) -> PublicKey | None:
        """Return the key of the resolver, if it is known."""

    def sign(self, request: MembershipRequest, audience: PublicKey | None) -> tuple[MembershipRequest, str]:
        """Return the signed request for the resolver with that key, and the nonce that the answer has to repeat."""

    def distrust(self, fields: KeyFields, nonce: str, answer: InclusionStatus | ExclusionStatus) -> str | None:
        """Return why the answer is not the resolver's; None if it is."""


class ResolverGateway:
    """Sends the requests of one Archive to one resolver. No outcome contains the registration key of the request.

    The address comes from the settings of this installation, never from another party. So it is not checked, and may
    lie in a private network or on this machine. `tls` is for an HTTPS resolver; without it the machine's authorities
    are trusted. Without a `signer`, requests are unsigned, as R defines them.
    """

    def __init__(
        self,
        resolver: str,
        *,
        timeout: float = _TIMEOUT,
        names: NameLookup | None = None,
        tls: SSLContext | None = None,
        signer: RequestSigner | None = None,
    ) -> None:
        self._server, self._timeout, self._signer = ServerUrl.parse(resolver), timeout, signer
        self._names, self._tls = names or NameLookup(), tls
        self._requests = SingleRequests(self._names, tls)
        self._accepts_https: bool | None = None
        """True if the resolver says that it supports HTTPS Archives; None until it has answered."""

    def __str__(self) -> str:
        return str(self._server)

    async def send(self, request: MembershipRequest, *, within: float | None = None) -> Outcome:
        """Return the resolver's outcome, after `within` seconds at the latest. No behaviour of the resolver raises an
        error."""
        seconds = self._timeout if within is None else min(within, self._timeout)
        try:
            async with asyncio.timeout(seconds):
                outcome = await self._ask(request)
        except TimeoutError:
            return RequestFailure(f"it did not answer within {seconds:g} seconds")
        return _without_key(outcome, request.registration_key.reveal())

    async def _ask(self, request: MembershipRequest) -> Outcome:
        try:
            request = await self._as_it_is_known(request)
            if self._signer is None:
                outcome, _ = await self._exchange(request)
                return outcome
            return await self._ask_signed(request, self._signer)
        except StorageError as error:
            return RequestFailure(f"it is not asked: {error}", sent=False)
        except (OSError, ValueError) as error:  # ValueError: a name that no certificate can have
            return RequestFailure(f"it cannot be reached: {_reason(error)}", sent=False)

    async def _ask_signed(self, request: MembershipRequest, signer: RequestSigner) -> Outcome:
        """Send a signed request. If the resolver's key is unknown, the signature names the resolver by its address. If
        that is not the resolver's own name for itself, a second request names it by the key that it offers."""
        audience = await asyncio.to_thread(signer.audience)
        if audience is not None and (refusal := await self._refuse_other(audience)) is not None:
            return refusal
        signed, nonce = await asyncio.to_thread(signer.sign, request, audience)
        outcome, response = await self._exchange(signed)
        if audience is None and response is not None and read_reason(response.reason) == SIGNATURE_REFUSED:
            offered = response.keys.read_key()
            if offered is not None:
                signed, nonce = await asyncio.to_thread(signer.sign, request, offered)
                outcome, response = await self._exchange(signed)
        if response is None or not isinstance(outcome, InclusionStatus | ExclusionStatus):
            return outcome
        distrust = await asyncio.to_thread(signer.distrust, response.keys, nonce, outcome)
        return outcome if distrust is None else RequestFailure(distrust)

    async def _refuse_other(self, known: PublicKey) -> RequestFailure | None:
        """Return why nothing is sent: the server does not prove the `known` key. None if it does. The request carries
        the registration key, which is for that resolver alone."""
        offered = await self._ask_key(known)
        return None if offered.standing is ResolverStanding.THERE else RequestFailure(explain(offered, known), False)

    async def _ask_key(self, known: PublicKey) -> OfferedKey:
        client = RegisterClient(str(self._server), names=self._names, tls=self._tls)
        return await client.ask_key(known, self._timeout)

    async def _exchange(self, request: MembershipRequest) -> tuple[Outcome, HttpResponse | None]:
        """Return the outcome of one request, and the response if there was one."""
        response = await self._get(request.to_query())
        if isinstance(response, FailureOfReply):
            closed = response is FailureOfReply.UNREACHABLE
            said = f"the connection failed ({'closed without an answer' if closed else response.value})"
            return RequestFailure(said), None
        outcome = _outcome(request, response.status, response.body)
        if isinstance(outcome, InclusionStatus) and not outcome.confirmed:
            outcome = replace(outcome, reason=read_reason(response.reason))
        return outcome, response

    async def _as_it_is_known(self, request: MembershipRequest) -> InclusionRequest | ExclusionRequest:
        """Return the request as the resolver can read it. R Table 7.2 knows only the protocol HTTP (E22). Any answer
        tells whether the resolver supports HTTPS, so an unknown resolver is first sent a harmless question."""
        if request.archive_protocol is ArchiveProtocol.HTTP:
            return request
        if self._accepts_https is None:
            await self._get(InclusionConfirmationRequest().to_query())
        return request if self._accepts_https else replace(request, archive_protocol=ArchiveProtocol.HTTP)

    async def _get(self, query: str) -> HttpResponse | FailureOfReply:
        """Send the encoded query. Redirects are not followed: the key goes only to the resolver from the settings."""
        origin, target = self._server.origin, f"{self._server.path}/{resolver_service().spelling}?{query}"
        response = await self._requests.send(origin, target, {"Accept": "text/plain"}, most=_MOST_BODY)
        if isinstance(response, HttpResponse):
            self._accepts_https = accepts_https(response.accepts)
        return response


def explain(offered: OfferedKey, known: PublicKey) -> str:
    """Return why a server is not accepted as the resolver."""
    if offered.standing is ResolverStanding.OTHER_KEY:
        return (
            f"it has the key {offered.key}, and {known} is known, so nothing is sent to it; if the resolver has a new"
            " key, as its administrator can tell, `ibi key trust-resolver` lets this Archive believe it"
        )
    if offered.standing is ResolverStanding.SILENT:
        return "it cannot be reached: it is out of order"
    return f"the server at its address does not prove the key {known} of the resolver, so nothing is sent to it"


def _reason(error: OSError | ValueError) -> str:
    """Return why there is no connection, for a person."""
    found = connection_failure(error)
    if found is FailureOfReply.UNREACHABLE:
        return getattr(error, "strerror", None) or "no connection"
    # OpenSSL names the fault of the certificate.
    because = getattr(error, "verify_message", None)
    return f"{found.value} ({because})" if because else found.value


def _outcome(request: MembershipRequest, status: int, body: bytes) -> Outcome:
    if 300 <= status < 400:
        return RequestFailure("it sends elsewhere, and the key goes to one resolver only")
    try:
        answer = parse_answer(request.subject, Pairs.decode(body, limit=_LONGEST_ANSWER))
    except (InvalidMessage, InvalidPairs):
        # The body is not quoted: it may be a page of a proxy, or anything else.
        return RequestFailure(f"it answers, with status {status}, what no resolver would")
    if isinstance(answer, ErrorAnswer):
        refused = 400 <= status < 500 and status not in _PASSING
        return answer if refused else RequestFailure(f"it could not do it (status {status}): {answer.text}")
    if status == 200 and isinstance(answer, InclusionStatus | ExclusionStatus):
        return answer
    return RequestFailure(f"it answers with status {status}")


def _without_key(outcome: Outcome, key: str) -> Outcome:
    """Return the outcome without the key. An error may quote the request."""
    match outcome:
        case ErrorAnswer(text) if key in text:
            return ErrorAnswer(text.replace(key, "..."))
        case RequestFailure(reason, sent):
            return RequestFailure(reason.replace(key, "..."), sent)
    return outcome
