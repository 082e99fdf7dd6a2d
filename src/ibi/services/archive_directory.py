"""The Archives that a resolution may ask: those included, and the one of this very process."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from ibi.ports.registry import Registry
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.membership import archive_ref

__all__ = ["ArchiveDirectory"]

_NEVER: Hashable = object()


class ArchiveDirectory:
    """Made anew when the register changes, whoever changed it; between changes the same tuple is given."""

    def __init__(self, registry: Registry | None, own: ArchiveRef | None) -> None:
        """`own` is the Archive of this process: always there, without a registration, and first."""
        self._registry, self._own = registry, own
        self._version: Hashable = _NEVER
        self._archives: tuple[ArchiveRef, ...] = ()

    def archives(self) -> tuple[ArchiveRef, ...]:
        version = None if self._registry is None else self._registry.recent_version()
        if version != self._version:
            # The version is older than what is read, never newer: a change in between is read again next time.
            self._archives, self._version = tuple(self._found()), version
        return self._archives

    def _found(self) -> Iterator[ArchiveRef]:
        if self._own is not None:
            yield self._own
        own = frozenset(() if self._own is None else self._own.service.labels)
        for registration in () if self._registry is None else self._registry.all():
            ref = archive_ref(registration)
            # One that is registered with the resolver it runs beside is asked once, without a network.
            if ref is not None and own.isdisjoint(ref.service.labels):
                yield ref
