"""The check of registration keys in requests of Archives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ibi.jobs.limits import LimitRows, MemoryRows, network_of
from ibi.jobs.promptness import ask
from ibi.membership.model.registration import Registration
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.archive_keys import SignatureMissing
from ibi.membership.rules.membership import KeyRefused, TooManyAttempts
from ibi.membership.service.signers import MembershipRequest
from ibi.people.service.secret_hasher import KeyHasher, is_long_key
from ibi.standard.label import Label
from ibi.standard.messages.identification import RegistrationKey
from ibi.standard.messages.membership import ExclusionRequest, InclusionRequest
from ibi.standard.messages.signatures import RequestSignature
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import IpNetwork

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
