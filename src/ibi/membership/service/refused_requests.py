"""Inclusions that were refused, kept for a while until their Archive is registered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from ibi.jobs.limits import network_of
from ibi.membership.model.registration import Registration
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages.membership import InclusionRequest
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import IpNetwork

KEPT_FOR: Final = 1800.0
"""Seconds. An Archive asks again within ten minutes, so a request of an Archive that still wants to be included is
there."""
MOST: Final = 512
MOST_OF_ONE: Final = 16
"""Requests of one network, so that one network pushes out few requests of others."""
_MOST_OF_LABEL: Final = 4
"""Requests about one label, each from another network. A stranger who names the label does not push out the Archive's
own."""

_UNKNOWN: Final = Instant(0)
"""No signature is of that time."""

_RefusalKey: TypeAlias = "tuple[Label, IpNetwork | None]"


class RefusedRequest(NamedTuple):
    request: InclusionRequest
    key_hash: str | None
    """The hash that refused the request; None if the Archive was not registered."""
    until: float
    arrived: Instant
    """The time against which the time of the signature is judged."""


class RefusedRequests:
    """Requests for inclusion that were refused, kept in memory for a while (E74). For one event loop. Times are
    monotonic.

    An Archive may start before the resolver's administrator registers it, which takes minutes or days. By then it would
    rarely ask again, since a resolver slows down senders of wrong keys. So the resolver keeps the last request of each
    Archive, and takes it up when the register has the Archive.
    """

    def __init__(self) -> None:
        self._kept: dict[_RefusalKey, RefusedRequest] = {}

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
        """Return the requests of Archives that are registered by now, or have another key, and are not included. Each
        is returned once."""
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
        """Drop the requests of an Archive that is included now."""
        for key in [key for key in self._kept if key[0] in request.labels]:
            del self._kept[key]

    def _drop_expired(self, now: float) -> None:
        while self._kept and (oldest := next(iter(self._kept.items())))[1].until <= now:
            del self._kept[oldest[0]]

    def _drop_oldest(self, keys: list[_RefusalKey], most: int) -> None:
        """Make room for one more among those `keys`, which are in the order of their arrival."""
        for key in keys[: max(0, len(keys) - most + 1)]:
            del self._kept[key]
