"""The register of a data directory's resolver, for the Archive of the same server.

The Archive reads the files instead of asking over the network. This also works before its server listens, and in a
command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final

from ibi.copies.client.item_source import HttpItemSources
from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.store.registry import SqliteRegistry
from ibi.settings import Settings
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.standard.origin import Origin, is_same_place
from ibi.standard.storage_errors import StorageError
from ibi.storage.state import has_state
from ibi.transfers.client import HttpTransferPeers
from ibi.transfers.ports import PeerSilent
from ibi.transfers.store.releases import SqliteChainStore

_PAGE: Final = 1000


def find_resolver_elsewhere(settings: Settings, public_url: str) -> str | None:
    """Return the address of an Archive's resolver; None if it is the same server."""
    resolver = (settings.resolver or "").rstrip("/")
    return None if not resolver or is_same_place(resolver, public_url) else resolver


def resolves_here(settings: Settings, public_url: str) -> bool:
    """Return whether this server resolves persistent URLs by its own register."""
    if "resolver" not in settings.roles:
        return False
    if settings.resolve.enabled is not None:
        return settings.resolve.enabled
    return settings.resolver is None or is_same_place(settings.resolver, public_url)


class OwnRegister:
    """The Archives and releases that the resolver of a data directory knows. A directory without `state` knows none."""

    def __init__(self, settings: Settings, public_url: str) -> None:
        self._data = settings.data
        self.url = public_url or settings.own_url
        """The address by which `PeersOfResolver` recognises itself."""

    @classmethod
    def find(cls, settings: Settings, public_url: str) -> OwnRegister | None:
        """Return the register of a server without a resolver elsewhere; None if the server does not resolve."""
        is_ours = find_resolver_elsewhere(settings, public_url) is None and resolves_here(settings, public_url)
        return cls(settings, public_url) if is_ours else None

    @property
    def is_alone(self) -> bool:
        """True if no Archive is registered, not even one that is switched off."""
        if not has_state(self._data):
            return True
        with closing(SqliteRegistry(self._data)) as registry:
            return not registry.all()

    def archives(self) -> dict[Label, str]:
        """Return the addresses of Archives that are switched on, without those lost for good."""
        return self._places(lambda each: each.inclusion)

    def away(self) -> dict[Label, str]:
        """Return the last addresses of Archives that are switched off, without those lost for good."""
        return self._places(lambda each: each.last_inclusion if each.inclusion is None else None)

    def _places(self, find: Callable[[Registration], Inclusion | None]) -> dict[Label, str]:
        if not has_state(self._data):
            return {}
        with closing(SqliteRegistry(self._data)) as registry:
            found = [(each.labels, find(each)) for each in registry.all() if each.lost is None]
        return {
            label: str(Origin.of_url(f"{inclusion.protocol.scheme}://{inclusion.address}"))
            for labels, inclusion in found
            if inclusion is not None
            for label in labels
        }

    def releases(self, service: Label) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the chains in which an Archive gave or took an Original."""
        if not has_state(self._data):
            return
        with closing(SqliteChainStore(self._data)) as store:
            after = ""
            while found := store.with_service(service, after, _PAGE):
                yield from found
                after = found[-1][0]


class PeersOfResolver(HttpTransferPeers):
    """The port `TransferPeers` for an Archive on the server of its resolver: it reads the resolver's data from disk."""

    def __init__(self, own: OwnRegister, *, allow_plain: bool = False, sources: HttpItemSources | None = None) -> None:
        super().__init__(allow_plain=allow_plain, sources=sources)
        self._own = own

    def releases(self, url: str, service: Label) -> Iterator[tuple[str, tuple[str, ...]]]:
        if url != self._own.url:
            return super().releases(url, service)
        return self._read_releases(service)

    def _read_releases(self, service: Label) -> Iterator[tuple[str, tuple[str, ...]]]:
        try:
            yield from self._own.releases(service)
        except StorageError as error:
            raise PeerSilent(peer=self._own.url, reason=str(error)) from error

    def run_of(self, url: str, service: Label) -> str:
        return "" if url == self._own.url else super().run_of(url, service)

    def archives(self, url: str) -> dict[Label, str]:
        if url != self._own.url:
            return super().archives(url)
        try:
            return self._own.archives()
        except IbiError as error:
            raise PeerSilent(peer=url, reason=str(error)) from error

    def away(self, url: str) -> dict[Label, str]:
        if url != self._own.url:
            return super().away(url)
        try:
            return self._own.away()
        except IbiError as error:
            raise PeerSilent(peer=url, reason=str(error)) from error
