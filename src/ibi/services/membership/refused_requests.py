"""Inclusions that were refused, kept for a while: an Archive that was started before it was registered (E74).

Its administrator writes a mail, and starts it; the resolver's administrator registers it minutes or days later. An
Archive that had to ask again would do so rarely by then, since a resolver slows those down who give wrong keys. So the
resolver keeps the last request of each, in memory, and takes it up when the register has the Archive.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.membership import InclusionRequest
from ibi.messages.values import IpAddress
from ibi.model.registration import Registration
from ibi.model.visibility import IpNetwork
from ibi.services.limits import network_of

KEPT_FOR: Final = 1800.0
"""Seconds; an Archive asks again within ten minutes, so that the one that still wants to be included is there."""
MOST: Final = 512
MOST_OF_ONE: Final = 16
"""Requests of one network: what one sends pushes out few of the others."""
_MOST_OF_LABEL: Final = 4
"""Requests about one label, each from another network: a stranger who names it does not push out the Archive's own."""

_UNKNOWN: Final = Instant(0)
"""No signature is of that time."""

_Key: TypeAlias = "tuple[Label, IpNetwork | None]"


class RefusedRequest(NamedTuple):
    request: InclusionRequest
    key_hash: str | None
    """The hash by which it was refused; None if the Archive was not registered."""
    until: float
    arrived: Instant
    """By which the time of its signature is judged."""


class RefusedRequests:
    """For one event loop. Times are monotonic."""

    def __init__(self) -> None:
        self._kept: dict[_Key, RefusedRequest] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def keep(
        self,
        request: InclusionRequest,
        client: IpAddress | None,
        key_hash: str | None,
        now: float,
        arrived: Instant = _UNKNOWN,
    ) -> None:
        label, network = request.labels[0], network_of(client)
        self._drop_expired(now)
        self._kept.pop((label, network), None)
        self._drop_oldest([key for key in self._kept if key[1] == network], MOST_OF_ONE)
        self._drop_oldest([key for key in self._kept if key[0] == label], _MOST_OF_LABEL)
        self._drop_oldest(list(self._kept), MOST)
        self._kept[label, network] = RefusedRequest(request, key_hash, now + KEPT_FOR, arrived)

    def take(self, registrations: Iterable[Registration], now: float) -> list[tuple[Registration, RefusedRequest]]:
        """Those of Archives that are registered by now, or have another key, and are not included; each once."""
        self._drop_expired(now)
        if not self._kept:
            return []
        by_label = {label: each for each in registrations for label in each.labels}
        found = []
        for key, refused in tuple(self._kept.items()):
            registration = next(filter(None, map(by_label.get, refused.request.labels)), None)
            if registration is not None and registration.key_hash != refused.key_hash:
                del self._kept[key]
                if registration.inclusion is None:
                    found.append((registration, refused))
        return found

    def forget(self, request: InclusionRequest) -> None:
        """The Archive is included."""
        for key in [key for key in self._kept if key[0] in request.labels]:
            del self._kept[key]

    def _drop_expired(self, now: float) -> None:
        while self._kept and (oldest := next(iter(self._kept.items())))[1].until <= now:
            del self._kept[oldest[0]]

    def _drop_oldest(self, keys: list[_Key], most: int) -> None:
        """Make room for one more among those `keys`, which are in the order in which they came."""
        for key in keys[: max(0, len(keys) - most + 1)]:
            del self._kept[key]
