"""The Archives that a resolution may ask: those included, and the one of this very process."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.model.registration import Registration
from ibi.ports.registry import Registry
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.membership import archive_ref
from ibi.resolver.origin import Origin, origin_of

__all__ = ["ArchiveDirectory"]

_NEVER: Hashable = object()


class ArchiveDirectory:
    """Made anew when the register changes, whoever changed it; between changes the same tuple is given."""

    def __init__(self, registry: Registry | None, own: ArchiveRef | None) -> None:
        """`own` is the Archive of this process: always there, without a registration, and first."""
        self._registry, self._own = registry, own
        self._version: Hashable = _NEVER
        self._archives: tuple[ArchiveRef, ...] = ()
        self._away: dict[Origin, LabelForms] = {}

    def archives(self) -> tuple[ArchiveRef, ...]:
        version = None if self._registry is None else self._registry.recent_version()
        if version != self._version:
            # The version is older than what is read, never newer: a change in between is read again next time.
            registered = () if self._registry is None else self._registry.all()
            self._archives, self._version = tuple(self._found(registered)), version
            self._away = self._switched_off(registered)
        return self._archives

    def away(self, label: Label) -> LabelForms | None:
        """The service of the Archive of the label's own origin, if that one is registered and switched off. To be asked
        after `archives`, and about the same state of the register."""
        return self._away.get(origin_of(label))

    def _switched_off(self, registered: Iterable[Registration]) -> dict[Origin, LabelForms]:
        there = {origin_of(label) for archive in self._archives for label in archive.service.labels}
        away = ((each.service, label) for each in registered if each.inclusion is None for label in each.labels)
        return {origin_of(label): service for service, label in away if origin_of(label) not in there}

    def _found(self, registered: Iterable[Registration]) -> Iterator[ArchiveRef]:
        if self._own is not None:
            yield self._own
        own = frozenset(() if self._own is None else self._own.service.labels)
        for registration in registered:
            ref = archive_ref(registration)
            # One that is registered with the resolver it runs beside is asked once, without a network.
            if ref is not None and own.isdisjoint(ref.service.labels):
                yield ref
