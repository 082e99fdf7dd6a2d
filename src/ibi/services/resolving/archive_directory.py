"""The directory of Archives that a resolution may ask, and of the homes of labels: registered ones, and the one of this
process."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ibi.model.registration import Registration
from ibi.ports.registry import Registry
from ibi.resolver.authority import ArchiveRef, Home, Homes, archive_prefixes
from ibi.resolver.membership import archive_ref

_NEVER: Hashable = object()


class ArchiveDirectory:
    """Reads the register again when it changes, by any process; until then the values are the same."""

    def __init__(self, registry: Registry | None, own: ArchiveRef | None) -> None:
        """`own` is the Archive of this process: always included, first, and counted as registered."""
        self._registry, self._own = registry, own
        self._version: Hashable = _NEVER
        self._archives: tuple[ArchiveRef, ...] = ()
        self._homes = Homes()

    def archives(self) -> tuple[ArchiveRef, ...]:
        version = None if self._registry is None else self._registry.recent_version()
        if version != self._version:
            # The version is read first, so it is never newer than the content: a change in between is read next time.
            registered = () if self._registry is None else self._registry.all()
            refs = {registration: self._ref(registration) for registration in registered}
            self._archives = tuple(self._own_and_included(refs.values()))
            self._homes, self._version = Homes(self._prefixes_by_home(refs)), version
        return self._archives

    def homes(self) -> Homes:
        """The homes of labels, also those that are switched off. Call it after `archives`: it describes the same state
        of the register."""
        return self._homes

    def _ref(self, registration: Registration) -> ArchiveRef | None:
        """The Archive of a registration: `own` if it is that one, so that it is asked once, without a network."""
        own = self._own
        if own is not None and not set(own.service.labels).isdisjoint(registration.labels):
            return own
        return archive_ref(registration)

    def _own_and_included(self, refs: Iterable[ArchiveRef | None]) -> Iterator[ArchiveRef]:
        if self._own is not None:
            yield self._own
        yield from (ref for ref in refs if ref is not None and ref is not self._own)

    def _prefixes_by_home(self, refs: dict[Registration, ArchiveRef | None]) -> Iterator[tuple[Home, Iterable[str]]]:
        """Each home with its prefixes, its own Archive first, then by date of registration."""
        own = self._own
        if own is not None:
            yield Home(own.service, own), archive_prefixes(own)
        for registration, ref in refs.items():
            if ref is None or ref is not own:
                yield Home(registration.service, ref, registration.successor), registration.home_prefixes
