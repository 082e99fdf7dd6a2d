"""Keys of Archives: the requests that a resolver accepts, by the key that signed them (E81 to E83).

The first key that an Archive proves beside its registration key is pinned. From then on, the resolver accepts only
requests with its signature. An overheard registration key, or a whole overheard request, then neither includes nor
excludes an Archive.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Final, NamedTuple

from ibi.membership.model.registration import NamedCopies, Registration
from ibi.standard.errors import ErrorKind, IbiError, InvalidInput
from ibi.standard.messages.holders import CopiesStatement, read_copies_statement
from ibi.standard.messages.membership import ExclusionRequest, InclusionRequest
from ibi.standard.messages.signatures import RequestSignature, leads_to, read_request_signature
from ibi.standard.signing import PublicKey

SKEW: Final = 300_000
"""Milliseconds by which the clocks of an Archive and its resolver may differ, including the transmission time."""


class SignatureMissing(IbiError):
    """This Archive has to sign its requests, and this one has no signature. If it signs no longer, because it runs
    another software or lost its key, the resolver's administrator takes its key away: `ibi resolver set
    --forget-archive-key`."""

    code = "signature-missing"
    kind = ErrorKind.FORBIDDEN


class SignatureRefused(IbiError):
    """The signature of this request does not count: {reason}."""

    code = "signature-refused"
    kind = ErrorKind.FORBIDDEN


class SignaturePolicy(StrEnum):
    """The signatures that a resolver requires on the requests of Archives."""

    LEGACY = "legacy"
    """The registration key alone, as in R §7.2. Signatures are ignored, and no key is pinned."""
    PREFER = "prefer"
    """Archives with a pinned key must sign. The first key that another Archive proves is pinned."""
    REQUIRE = "require"
    """All Archives must sign."""


class Audience(NamedTuple):
    """The names by which Archives may address this resolver: its keys, past and present, and its own address."""

    names: frozenset[str]


def read_signature(
    request: InclusionRequest | ExclusionRequest, audience: Audience, arrived: int
) -> RequestSignature | None:
    """Return the signature of a request that `arrived` at that millisecond; None if it has none.

    Raise `SignatureRefused` if the signature does not fit this request, this resolver or this time.
    """
    try:
        found = read_request_signature(request)
    except InvalidInput as error:
        raise SignatureRefused(reason=error.reason.format(**error.details)) from None
    if found is None:
        return None
    if found.audience not in audience.names:
        raise SignatureRefused(reason="it is for another resolver")
    behind = (arrived - found.at) // 1000
    if abs(arrived - found.at) > SKEW:
        side = "before" if behind > 0 else "after"
        raise SignatureRefused(
            reason=f"it was made {abs(behind)} seconds {side} it came, by the clocks of the Archive and of this"
            f" resolver; {SKEW // 1000} are allowed, so set the clocks right"
        )
    return found


def after_signature(
    registration: Registration,
    request: InclusionRequest | ExclusionRequest,
    signature: RequestSignature | None,
    policy: SignaturePolicy,
) -> Registration:
    """Return the registration after a request with the right registration key and that signature.

    Raise `SignatureMissing` or `SignatureRefused` if the request must not be accepted. The caller must serialise the
    requests of one Archive, so that only one of two equal requests is accepted.
    """
    if policy is SignaturePolicy.LEGACY:
        return registration
    pinned = registration.key
    if signature is None:
        if pinned is not None or policy is SignaturePolicy.REQUIRE:
            raise SignatureMissing()
        return registration
    if pinned is not None and not leads_to(pinned, signature.signer, request.key_changes):
        raise SignatureRefused(
            reason="it is by another key than the one that is known of this Archive. If the Archive has lost that, the"
            " resolver's administrator gives it another: `ibi resolver set --archive-key`"
        )
    if signature.at <= registration.signed_at:
        raise SignatureRefused(reason="this request, or a later one, has come already")
    if pinned is not None:
        registration = registration.with_key(signature.signer)
    return replace(registration, signed_at=signature.at)


def distrust_copies(
    registration: Registration | None, said: CopiesStatement, known: NamedCopies, now: int
) -> str | None:
    """Return why a statement about holders of Copies is not believed at millisecond `now`; None if it is (E84)."""
    if registration is None or registration.key is None:
        return "no key of that Archive is known"
    if said.signer != registration.key:
        return "it is signed by another key than that of the Archive"
    if set(said.archive).isdisjoint(registration.labels):
        return "it is about the Copies of another Archive"
    if said.at > now + SKEW:
        return "it is of a time to come"
    if said.at <= known.signed_at and known.statement is not None and _signer(known.statement) == said.signer:
        return "a later one is known"
    return None


def _signer(statement: str) -> PublicKey | None:
    try:
        return read_copies_statement(statement).signer
    except InvalidInput:
        return None


def wants_proof(registration: Registration, signature: RequestSignature | None) -> bool:
    """Return whether the Archive, when called back, should prove the key of its request, so that it can be pinned."""
    return registration.key is None and signature is not None
