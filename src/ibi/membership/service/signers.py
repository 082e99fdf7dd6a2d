"""The keys of a resolver and of an Archive at work: they sign requests and answers, and judge the signatures of others
(E81 to E83).

The keys are in files, which another command may replace while a server runs: they are read again every second.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import takewhile
from secrets import token_urlsafe
from typing import Final, NamedTuple, Protocol

import structlog

from ibi.membership.model.registration import Registration
from ibi.membership.ports.archive_state import KeyStore, ResolverKeys
from ibi.membership.rules.archive_keys import Audience, SignaturePolicy, after_signature, read_signature
from ibi.minting.resources import SigningKeys
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.messages.answers import ExclusionStatus, InclusionStatus
from ibi.standard.messages.holders import Field, KeyFields, key_fields, signature_field
from ibi.standard.messages.membership import ExclusionRequest, InclusionRequest
from ibi.standard.messages.signatures import (
    MOST_CHANGES,
    RequestSignature,
    former_keys,
    leads_to,
    milliseconds,
    read_answer,
    read_request_signature,
    sign_answer,
    sign_confirmation,
    sign_request,
)
from ibi.standard.origin import Origin, bracketed
from ibi.standard.signing import PublicKey, SigningKey
from ibi.standard.storage_errors import StorageError

MembershipRequest = InclusionRequest | ExclusionRequest

_LOOKED_AT: Final = 1.0
"""Seconds for which the keys are not read again."""
_NONCE_BYTES: Final = 16


class KeyRing(NamedTuple):
    """The key of one Archive or resolver, and those before it."""

    key: SigningKey
    former: tuple[PublicKey, ...] = ()
    changes: tuple[str, ...] = ()


class OwnKeys:
    """The keys of one store, read once a second at most. Reading them takes a fraction of a millisecond."""

    def __init__(self, store: KeyStore, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._store, self._monotonic = store, monotonic
        self._read: tuple[float, KeyRing] | None = None

    def ring(self) -> KeyRing:
        now, read = self._monotonic(), self._read
        if read is None or now >= read[0]:
            store = self._store
            ring = KeyRing(store.signing_key(), store.former(), store.changes()[-MOST_CHANGES:])
            self._read = read = now + _LOOKED_AT, ring
        return read[1]

    def read_public(self) -> PublicKey:
        return self.ring().key.public


class SignatureCheck(Protocol):
    """Judges the requests of Archives by their signatures."""

    def read(self, request: MembershipRequest, arrived: Instant) -> RequestSignature | None:
        """Return the signature of a request; None if it has none, or signatures are not checked. `SignatureRefused` if
        it does not count."""

    def admit(
        self, registration: Registration, request: MembershipRequest, signature: RequestSignature | None
    ) -> Registration:
        """Return the registration after a request with that signature. `SignatureMissing` or `SignatureRefused` if the
        request is not accepted."""


class _Unchecked:
    def read(self, request: MembershipRequest, arrived: Instant) -> RequestSignature | None:
        return None

    def admit(
        self, registration: Registration, request: MembershipRequest, signature: RequestSignature | None
    ) -> Registration:
        return registration


UNCHECKED: Final[SignatureCheck] = _Unchecked()
"""Checks no signatures."""


class ResolverSigner:
    """The resolver's side: checks the signatures of Archives, and signs the answers."""

    def __init__(self, keys: OwnKeys, url: str, policy: SignaturePolicy = SignaturePolicy.PREFER) -> None:
        """`url` is the address of the resolver: the name that Archives use while they do not know its key."""
        self._keys, self._address, self._policy = keys, address_of(url), policy

    def read(self, request: MembershipRequest, arrived: Instant) -> RequestSignature | None:
        if self._policy is SignaturePolicy.LEGACY or request.signature is None:
            return None
        ring = self._keys.ring()
        names = {self._address, str(ring.key.public), *map(str, ring.former)}
        return read_signature(request, Audience(frozenset(names)), milliseconds(arrived))

    def admit(
        self, registration: Registration, request: MembershipRequest, signature: RequestSignature | None
    ) -> Registration:
        return after_signature(registration, request, signature, self._policy)

    def fields(self) -> tuple[Field, ...]:
        """Return the header fields that identify this resolver in every answer."""
        ring = self._keys.ring()
        return key_fields(ring.key.public, ring.changes)

    def sign(self, request: MembershipRequest, answer: InclusionStatus | ExclusionStatus) -> tuple[Field, ...]:
        """Return the signature of an answer; none if the request has none, since nobody would check it."""
        try:
            found = read_request_signature(request)
        except InvalidInput:  # where signatures are not checked, it may be anything
            return ()
        return () if found is None else (signature_field(sign_answer(found.nonce, answer, self._keys.ring().key)),)


class MemberSigner:
    """The Archive's side: signs requests to a resolver, and believes the answers of one key alone."""

    def __init__(self, keys: OwnKeys, resolvers: ResolverKeys, resolver: str, clocks: Clocks) -> None:
        self._keys, self._resolvers, self._clocks = keys, resolvers, clocks
        self._resolver = resolver.rstrip("/")

    def audience(self) -> PublicKey | None:
        """Return the key of the resolver, as far as it is known."""
        return self._resolvers.find(self._resolver)

    def sign(self, request: MembershipRequest, audience: PublicKey | None) -> tuple[MembershipRequest, str]:
        """Return the signed request, and the nonce that identifies its answer."""
        ring, nonce = self._keys.ring(), token_urlsafe(_NONCE_BYTES)
        name = address_of(self._resolver) if audience is None else str(audience)
        return sign_request(request, ring.key, name, milliseconds(self._clocks.read().wall), nonce, ring.changes), nonce

    def distrust(self, fields: KeyFields, nonce: str, answer: InclusionStatus | ExclusionStatus) -> str | None:
        """Return the reason why the answer is not that of the known resolver; None if it is. At the first request, the
        key of the resolver is believed and stored, if it has signed the answer."""
        known, signature = self.audience(), fields.read_signature()
        if signature is None:
            return None if known is None else f"its answer is not signed, and its key {known} is known"
        try:
            signer = read_answer(signature, nonce, answer)
        except InvalidInput as error:
            return f"the signature of its answer does not count: {error.reason.format(**error.details)}"
        if known is not None and not leads_to(known, signer, fields.read_changes()):
            return (
                f"its answer is signed with the key {signer}, and {known} is known; if it has a new one, as its"
                " administrator can tell, `ibi key trust-resolver` lets this Archive believe it"
            )
        if known != signer:
            # The known key has said nothing about the keys before it.
            former = takewhile(lambda key: key != known, former_keys(signer, fields.read_changes()))
            self._resolvers.keep(self._resolver, signer, () if known is None else former)
        return None


def confirm(keys: OwnKeys, challenge: str) -> tuple[Field, ...]:
    """Return the header fields that prove the key of this Archive to a resolver that calls back; none if no key can be
    read."""
    try:
        return (signature_field(sign_confirmation(challenge, keys.ring().key)),)
    except StorageError as error:
        structlog.get_logger("ibi.membership").error("the key of this Archive cannot be read", reason=str(error))
        return ()


def address_of(url: str) -> str:
    """Return the name of a resolver without a known key: scheme, host and port, in one spelling."""
    origin = Origin.of_url(url)
    return f"{origin.scheme}://{bracketed(origin.name)}:{origin.effective_port}"


def signing_keys(ring: KeyRing) -> SigningKeys:
    """Return the keys for people and programs."""
    return SigningKeys(key=str(ring.key.public), former=list(map(str, ring.former)), changes=list(ring.changes))
