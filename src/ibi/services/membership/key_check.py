"""Whether a request comes from the Archive it names: the one door to every change that Archives make themselves."""

from __future__ import annotations

from collections.abc import Callable

from ibi.label import Label
from ibi.messages.membership import ExclusionRequest, InclusionRequest
from ibi.messages.values import IpAddress
from ibi.model.registration import Registration
from ibi.model.visibility import IpNetwork
from ibi.resolver.errors import KeyRefused, TooManyAttempts
from ibi.services.accounts.hashing import KeyHasher
from ibi.services.limits import Attempts, network_of


class KeyCheck:
    """Slows guessing down by the label that is tried and by the network that tries.

    Somebody who guesses must not keep the Archive itself out. One whose key was right before is not slowed down at
    all. One that comes from the network it was last included from is slowed down only if both its label and that
    network are guessed with: neither by who tries its label elsewhere, nor by a neighbour that has a wrong key.
    """

    def __init__(
        self, find: Callable[[Label], Registration | None], hasher: KeyHasher, monotonic: Callable[[], float]
    ) -> None:
        self._find, self._hasher, self._monotonic = find, hasher, monotonic
        self._by_label, self._by_network = Attempts(), Attempts()

    async def require(self, request: InclusionRequest | ExclusionRequest, client: IpAddress | None) -> Registration:
        """The registration whose key the request has. `KeyRefused` is the same, and takes as long, whether there is
        no such Archive or its key is another; `TooManyAttempts` before either is looked at."""
        label, key = request.archive_service_ibi, request.registration_key
        # An Archive may be registered by either form, and does not know by which (E59).
        found = next(filter(None, map(self._find, request.labels)), None)
        if found is not None and self._hasher.remembers(found.key_hash, key):
            return found
        network = network_of(client)
        # A label counts by its first registered form, so that the other is not a second lot of attempts.
        subject = label if found is None else found.labels[0]
        self._begin(subject, network, at_home=found is not None and _is_home(found, network))
        if not await self._hasher.verify(None if found is None else found.key_hash, key) or found is None:
            raise KeyRefused()
        self._by_label.succeeded(subject)
        self._by_network.succeeded(network)
        return found

    def _begin(self, subject: Label, network: IpNetwork | None, *, at_home: bool) -> None:
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
