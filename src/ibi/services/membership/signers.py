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

from ibi.errors import InvalidInput
from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.answers import ExclusionStatus, InclusionStatus
from ibi.messages.holders import Field, KeyFields, key_fields, signature_field
from ibi.messages.identification import RegistrationKey
from ibi.messages.membership import ExclusionRequest, InclusionRequest
from ibi.messages.signatures import (
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
from ibi.messages.values import IpAddress
from ibi.model.registration import Registration
from ibi.model.visibility import IpNetwork
from ibi.origin import Origin, bracketed
from ibi.ports.archive_state import KeyStore, ResolverKeys
from ibi.ports.clocks import Clocks
from ibi.ports.errors import StorageError
from ibi.ports.federation import Registry
from ibi.resolver.archive_keys import Audience, SignatureMissing, SignaturePolicy, after_signature, read_signature
from ibi.resolver.membership import KeyRefused, TooManyAttempts
from ibi.resources.server import SigningKeys
from ibi.services.accounts.sign_in import KeyHasher, is_long_key
from ibi.services.limits import LimitRows, MemoryRows, network_of
from ibi.services.promptness import ask
from ibi.signing import PublicKey, SigningKey

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


# --- requests of Archives ---------------------------------------------------------------------------------------------


COMPARED_A_MINUTE: Final = 60
"""Shorter keys that are compared for one label in a minute. At that rate ten digits take three hundred years."""
_FROM_ELSEWHERE: Final = 50
"""The part of these for networks other than the one of the Archive's last inclusion: that network keeps a share of its
own."""
_MINUTE: Final = 60.0
_MOST_LABELS: Final = 4096


class KeyCheck:
    """Checks the keys of requests, and slows guesses down by the label, never by the network of the client (R 7.2).
    Every change that Archives make themselves passes here.

    Wrong keys that a neighbour sends for its own label, or for one that is not registered, delay no other Archive. A
    key that was right before, and a long one, are always compared.
    """

    def __init__(
        self,
        registry: Registry,
        hasher: KeyHasher,
        monotonic: Callable[[], float],
        compared: LimitRows | None = None,
    ) -> None:
        """`compared` counts the short keys of each label: in this process, or in all workers of a server."""
        self._registry, self._hasher, self._monotonic = registry, hasher, monotonic
        self._compared = MemoryRows(_MOST_LABELS) if compared is None else compared

    async def require(self, request: InclusionRequest | ExclusionRequest, client: IpAddress | None) -> Registration:
        """Return the registration with the key of the request. `KeyRefused` is the same, and takes as long, whether the
        Archive is unknown or its key is another. `TooManyAttempts` comes before either check.

        A registration without a known registration key is returned for any key: `prove` checks the signature in its
        place.
        """
        # An Archive may be registered by either form, and does not know by which (E59).
        registry, key = self._registry, request.registration_key
        found = await ask(registry, lambda: next(filter(None, map(registry.find, request.labels)), None))
        if found is not None and found.awaits_key and found.key is not None:
            return found
        if found is not None and self._hasher.remembers(found.key_hash, key):
            return found
        if not await self._compare(found, request, client) or found is None:
            raise KeyRefused()
        return found

    async def _compare(
        self, found: Registration | None, request: InclusionRequest | ExclusionRequest, client: IpAddress | None
    ) -> bool:
        """Return whether the key of the request is right. A short key counts as wrong until it was compared."""
        label, key = request.archive_service_ibi, request.registration_key
        # Keys are counted by the first registered form, so that the other one does not allow as many again. The key
        # hash counts too: guesses from before the Archive was registered, or had this key, reveal nothing about it.
        subject = (label, None) if found is None else (found.labels[0], found.key_hash)
        at_home = found is not None and _is_home(found, network_of(client))
        is_short = not is_long_key(key)
        if is_short:
            self._count(subject, 1, at_home=at_home)
        is_wrong = False
        try:
            is_wrong = not await self._hasher.verify(None if found is None else found.key_hash or None, key)
        finally:
            if is_short and not is_wrong:  # it was right, or there was no turn to compare it
                self._count(subject, -1, at_home=at_home)
        return not is_wrong

    async def has_key(self, registration: Registration, key: RegistrationKey) -> bool:
        """Return whether this is the Archive's key. For requests that were counted when they came."""
        return await self._hasher.verify(registration.key_hash or None, key)

    async def prove(
        self,
        found: Registration,
        request: MembershipRequest,
        signature: RequestSignature | None,
        admit: Callable[[Registration, MembershipRequest, RequestSignature | None], Registration],
    ) -> str:
        """Return the hash of the registration key, which was found right. If the hash is not known, the request brings
        the key. Then it needs a `signature` that `admit` accepts by the Archive's public key; `KeyRefused` where
        signatures are not checked."""
        if not found.awaits_key:
            return self._hasher.marked(found.key_hash, request.registration_key)
        if signature is None:
            raise SignatureMissing() if request.signature is None else KeyRefused()
        admit(found, request, signature)
        return await self._hasher.hash(request.registration_key)

    def _count(self, subject: tuple[Label, str | None], number: int, *, at_home: bool) -> None:
        """Count a short key of this minute, from its beginning, so that a thousand at once are not one."""
        with self._compared.alone():
            now = self._monotonic()
            all_, elsewhere, began = (self._compared.get(subject) or (0.0, 0.0, now))[:3]
            if now - began >= _MINUTE:
                all_, elsewhere, began = 0.0, 0.0, now
            if number > 0 and (all_ >= COMPARED_A_MINUTE or (not at_home and elsewhere >= _FROM_ELSEWHERE)):
                raise TooManyAttempts(wait=began + _MINUTE - now)
            elsewhere += 0 if at_home else number
            self._compared.put(subject, (max(0.0, all_ + number), max(0.0, elsewhere), began))


def _is_home(registration: Registration, network: IpNetwork | None) -> bool:
    inclusion = registration.inclusion
    return network is not None and inclusion is not None and network_of(inclusion.ip) == network
