"""The signed register as a resolver publishes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from threading import Lock
from typing import Final

import structlog

from ibi.membership.model.registration import RemovedArchive
from ibi.membership.ports.archive_state import KeyStore, PublishedStatement
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.signed_register import (
    ListedArchive,
    etag_of,
    read_register,
    register_entries,
    sign_register,
)
from ibi.resolver.ports import Beliefs
from ibi.standard.signing import InvalidStatement, PublicKey, SigningKey
from ibi.standard.storage_errors import StorageError

_LOG: Final = structlog.get_logger("ibi.resolver")
_LOOK: Final = 5.0
"""Seconds after which Copies that homes have named since are looked for."""


class RegisterPublication:
    """The signed register of this resolver, for Archives that keep it (E94). Calls block: they read the register and a
    key. From any thread.

    It is signed anew when something in it has changed. Otherwise the text stays the same, for all processes of a server
    and after a restart: so Archives see that there is nothing new.
    """

    def __init__(
        self,
        registry: Registry,
        beliefs: Beliefs,
        keys: KeyStore,
        *,
        resolver_url: str,
        own: ArchiveRef | None = None,
        own_keys: KeyStore | None = None,
        published: PublishedStatement | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`own` is the Archive of the same server, which counts as registered and signs with `own_keys`. `published` is
        the statement that all its processes give out."""
        self._registry, self._beliefs, self._keys = registry, beliefs, keys
        self._resolver_url, self._own, self._published = resolver_url, own, published
        self._own_keys = own_keys
        self._wall = wall
        self._lock = Lock()
        self._version: Hashable = object()
        self._look_again = 0.0
        self._said: tuple[list[dict[str, object]], tuple[RemovedArchive, ...], str] | None = None
        self._text = self._etag = ""

    def current(self) -> tuple[str, str]:
        """Return the statement, and its entity tag."""
        with self._lock:
            version, now = self._registry.version(), time.monotonic()
            if version != self._version or now >= self._look_again:
                self._refresh()
                self._version, self._look_again = version, now + _LOOK
            return self._text, self._etag

    def _refresh(self) -> None:
        listed, key = list(self._list_archives()), self._keys.signing_key()
        entries, removed = register_entries(listed), tuple(self._list_removed(listed))
        said = entries, removed, str(key.public)
        if said == self._said:
            return
        self._text = self._publish(partial(self._sign, entries, removed, key, self._keys.changes()))
        self._etag, self._said = etag_of(self._text), said

    def _publish(self, sign: Callable[[str | None], str]) -> str:
        if self._published is not None:
            try:
                return self._published.change(sign)
            except StorageError as error:  # the statement is given out, although the others cannot share it
                _LOG.warning("the register that is published cannot be kept", reason=str(error))
        return sign(self._text or None)

    def _sign(
        self,
        entries: list[dict[str, object]],
        removed: tuple[RemovedArchive, ...],
        key: SigningKey,
        changes: tuple[str, ...],
        before: str | None,
    ) -> str:
        """Return the statement, or the previous one if it says the same: a signature is the same whenever it is
        made."""
        issued = _read_issued(before)
        if sign_register(entries, self._resolver_url, issued, key, changes, removed) == before:
            return before
        # Later than the one before, also if the clock was set back: Archives take no older one.
        issued = max(int(self._wall()), issued + 1)
        return sign_register(entries, self._resolver_url, issued, key, changes, removed)

    def _list_removed(self, listed: Iterable[ListedArchive]) -> Iterator[RemovedArchive]:
        """Yield the removed Archives that were not registered again."""
        if self._published is None:
            return
        labels = {label for each in listed for label in each.home.service.labels}
        try:
            removed = self._published.removed()
        except StorageError as error:  # Archives keep entries that it no longer lists
            _LOG.warning("the Archives that were removed cannot be read", reason=str(error))
            return
        yield from (each for each in removed if labels.isdisjoint(each.service.labels))

    def _list_archives(self) -> Iterator[ListedArchive]:
        own = self._own
        if own is not None:
            yield ListedArchive.of_own(own, self._beliefs.copies(own.service.labels[0]).holders, self._keys_of_own())
        for registration in self._registry.all():
            if own is None or set(own.service.labels).isdisjoint(registration.labels):
                yield ListedArchive.of_registration(registration, self._beliefs.copies(registration.labels[0]).holders)

    def _keys_of_own(self) -> tuple[PublicKey, ...]:
        keys = self._own_keys
        try:
            return () if keys is None else (keys.signing_key().public, *keys.former())
        except StorageError:  # it is damaged: the others are listed all the same
            return ()


def _read_issued(statement: str | None) -> int:
    """Return the time when a statement was issued; 0 if it is none."""
    try:
        return 0 if statement is None else read_register(statement).issued
    except InvalidStatement:
        return 0
