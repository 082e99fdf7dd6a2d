"""The directory of Archives that a resolution may ask, and of the homes of labels: registered ones, and the one of this
process."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Iterator
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.model.registration import Registration
from ibi.ports.registry import Registry
from ibi.resolver.authority import ArchiveRef, Home, Homes
from ibi.resolver.membership import archive_ref
from ibi.services.promptness import beside

_NEVER: Hashable = object()
_LOG: Final = structlog.get_logger("ibi.resolver")


class ArchiveDirectory:
    """Reads the register again when it changes, by any process; until then the values are the same."""

    def __init__(self, registry: Registry | None, own: ArchiveRef | None) -> None:
        """`own` is the Archive of this process: always included, first, and counted as registered."""
        self._registry, self._own = registry, own
        self._version: Hashable = _NEVER
        self._archives: tuple[ArchiveRef, ...] = ()
        self._homes = Homes()
        self._reading: asyncio.Task[None] | None = None
        if registry is not None and not registry.prompt:  # before the event loop asks
            self._set(registry.recent_version(), registry.all())

    def archives(self) -> tuple[ArchiveRef, ...]:
        """The Archives. After a change of a slow register those of before, until it has been read again."""
        registry = self._registry
        version = None if registry is None else registry.recent_version()
        if version != self._version:
            # The version is read first, so it is never newer than the content: a change in between is read next time.
            if registry is None or registry.prompt:
                self._set(version, () if registry is None else registry.all())
            elif self._reading is None:
                self._reading = asyncio.get_running_loop().create_task(self._read(registry, version))
        return self._archives

    async def _read(self, registry: Registry, version: Hashable) -> None:
        try:
            self._set(version, await beside(registry.all))
        except IbiError as error:  # what was read before stays until the next question
            _LOG.error("the register cannot be read", reason=str(error))
        finally:
            self._reading = None

    def _set(self, version: Hashable, registered: Iterable[Registration]) -> None:
        refs = {registration: self._ref(registration) for registration in registered}
        self._archives = tuple(self._own_and_included(refs.values()))
        self._homes, self._version = Homes(self._prefixes_by_home(refs)), version

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
            yield Home(own.service, own), own.home_prefixes
        for registration, ref in refs.items():
            if ref is None or ref is not own:
                yield Home(registration.service, ref, registration.successor), registration.home_prefixes
