"""Checks that a request comes from the Archive it names. Every change that Archives make themselves passes here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from ibi.label import Label
from ibi.lru_cache import LruCache
from ibi.messages.key import RegistrationKey
from ibi.messages.membership import ExclusionRequest, InclusionRequest
from ibi.messages.values import IpAddress
from ibi.model.registration import Registration
from ibi.model.visibility import IpNetwork
from ibi.ports.registry import Registry
from ibi.resolver.membership import KeyRefused, TooManyAttempts
from ibi.services.accounts.hashing import KeyHasher
from ibi.services.limits import Attempts, network_of
from ibi.services.promptness import ask

_MOST_EARLY: Final = 4096


class KeyCheck:
    """Checks keys, and slows guessing down by the label that is tried and by the network that tries.

    Guesses must not lock the Archive itself out. A key that was right before is never slowed down. A request from the
    network from which the Archive was last included is slowed down only if there are wrong attempts both for its label
    and from that network: neither guesses from elsewhere nor a neighbour with a wrong key suffice. What an Archive
    asked before it was registered does not count when it is: one that was started early is heard then.
    """

    def __init__(self, registry: Registry, hasher: KeyHasher, monotonic: Callable[[], float]) -> None:
        self._registry, self._hasher, self._monotonic = registry, hasher, monotonic
        self._by_label, self._by_network = Attempts(), Attempts()
        self._early: LruCache[tuple[Label, IpNetwork | None], int] = LruCache(_MOST_EARLY)
        """How often a network has asked for an Archive that is not registered."""

    async def require(self, request: InclusionRequest | ExclusionRequest, client: IpAddress | None) -> Registration:
        """Return the registration whose key the request has. `KeyRefused` is the same, and takes as long, whether the
        Archive is unknown or its key is another; `TooManyAttempts` comes before either check."""
        label, key = request.archive_service_ibi, request.registration_key
        # An Archive may be registered by either form, and does not know by which (E59).
        registry = self._registry
        found = await ask(registry, lambda: next(filter(None, map(registry.find, request.labels)), None))
        if found is not None and self._hasher.remembers(found.key_hash, key):
            return found
        network = network_of(client)
        # Attempts are counted by the first registered form, so that the other one does not allow as many again; and for
        # each key of it: those of before it was registered, or had this key, have guessed nothing of this one.
        subject = (label, None) if found is None else (found.labels[0], found.key_hash)
        if found is not None:
            self._forgive(request.labels, network)
        self._begin(subject, network, at_home=found is not None and _is_home(found, network))
        if found is None:
            self._early.keep((label, network), (self._early.find((label, network)) or 0) + 1)
        if not await self._hasher.verify(None if found is None else found.key_hash, key) or found is None:
            raise KeyRefused()
        self._by_label.note_success(subject)
        self._by_network.note_success(network)
        return found

    def _forgive(self, labels: Iterable[Label], network: IpNetwork | None) -> None:
        """Take back what a network has tried for an Archive that was not registered then: it was started early."""
        for label in labels:
            times = self._early.find((label, network))
            if times is not None:
                self._early.forget((label, network))
                self._by_network.take_back(network, times)

    async def has_key(self, registration: Registration, key: RegistrationKey) -> bool:
        """Whether this is its key. For requests that were counted when they came."""
        return await self._hasher.verify(registration.key_hash, key)

    def _begin(self, subject: tuple[Label, str | None], network: IpNetwork | None, *, at_home: bool) -> None:
        now = self._monotonic()
        waits = self._by_label.wait(subject, now), self._by_network.wait(network, now)
        wait = min(waits) if at_home else max(waits)
        if wait > 0:
            raise TooManyAttempts(wait=wait)
        self._by_label.begin(subject, now)
        self._by_network.begin(network, now)


def _is_home(registration: Registration, network: IpNetwork | None) -> bool:
    inclusion = registration.inclusion
    return network is not None and inclusion is not None and network_of(inclusion.ip) == network
