"""The register of this resolver, signed, for Archives that keep it (E94).

It is signed anew when something in it has changed, and is otherwise the same text, by which Archives see that there is
nothing new.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Final

from ibi.ports.archive_state import KeyStore
from ibi.ports.registry import Beliefs, Registry
from ibi.resolver.authority import ArchiveRef
from ibi.resolver.signed_register import ListedArchive, etag_of, register_entries, sign_register

_LOOK: Final = 5.0
"""Seconds after which Copies that homes have named since are looked for."""


class RegisterPublication:
    """Calls block: they read the register and a key. From any thread."""

    def __init__(
        self,
        registry: Registry,
        beliefs: Beliefs,
        keys: KeyStore,
        *,
        resolver_url: str,
        own: ArchiveRef | None = None,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`own` is the Archive of the same server, which counts as registered."""
        self._registry, self._beliefs, self._keys = registry, beliefs, keys
        self._resolver_url, self._own = resolver_url, own
        self._wall, self._monotonic = wall, monotonic
        self._lock = Lock()
        self._version: Hashable = object()
        self._look_again = 0.0
        self._signed_by = ""
        self._entries: list[dict[str, object]] | None = None
        self._issued = 0
        self._text = self._etag = ""

    def current(self) -> tuple[str, str]:
        """The statement, and its entity tag."""
        with self._lock:
            version, now = self._registry.version(), self._monotonic()
            if version != self._version or now >= self._look_again:
                self._refresh()
                self._version, self._look_again = version, now + _LOOK
            return self._text, self._etag

    def _refresh(self) -> None:
        entries, key = register_entries(self._listed()), self._keys.signing_key()
        if entries == self._entries and str(key.public) == self._signed_by:
            return
        # Later than the one before, also if the clock was set back: Archives take no older one.
        self._issued = max(int(self._wall()), self._issued + 1)
        self._text = sign_register(entries, self._resolver_url, self._issued, key, self._keys.changes())
        self._etag, self._entries, self._signed_by = etag_of(self._text), entries, str(key.public)

    def _listed(self) -> Iterator[ListedArchive]:
        own = self._own
        if own is not None:
            yield ListedArchive.of_own(own, self._beliefs.copies(own.service.labels[0]).holders)
        for registration in self._registry.all():
            if own is None or set(own.service.labels).isdisjoint(registration.labels):
                yield ListedArchive.of_registration(registration, self._beliefs.copies(registration.labels[0]).holders)
