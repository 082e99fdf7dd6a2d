"""The ports `KeyStore` and `ResolverKeys` in memory."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from itertools import pairwise
from threading import Lock

from ibi.standard.messages.signatures import sign_key_change
from ibi.standard.signing import KEY_BYTES, PublicKey, SigningKey


class MemoryKeyStore:
    """The key of one Archive or resolver, for as long as the process lives."""

    def __init__(self, seed: bytes | None = None) -> None:
        self._keys = [] if seed is None else [SigningKey(seed)]
        self._lock = Lock()

    def signing_key(self) -> SigningKey:
        with self._lock:
            if not self._keys:
                self._keys.append(SigningKey(secrets.token_bytes(KEY_BYTES)))
            return self._keys[-1]

    def former(self) -> tuple[PublicKey, ...]:
        return tuple(key.public for key in reversed(self._keys[:-1]))

    def changes(self) -> tuple[str, ...]:
        return tuple(sign_key_change(old, new.public, 0) for old, new in pairwise(self._keys))

    def replace(self) -> SigningKey:
        with self._lock:
            self._keys.append(SigningKey(secrets.token_bytes(KEY_BYTES)))
            return self._keys[-1]


class MemoryResolverKeys:
    """The port `ResolverKeys`."""

    def __init__(self) -> None:
        self._known: dict[str, PublicKey] = {}
        self._former: dict[str, tuple[PublicKey, ...]] = {}

    def former(self, resolver: str) -> tuple[PublicKey, ...]:
        return self._former.get(resolver, ())

    def find(self, resolver: str) -> PublicKey | None:
        return self._known.get(resolver)

    def keep(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        found = (self._known.get(resolver), *former, *self.former(resolver))
        self._former[resolver] = tuple(each for each in dict.fromkeys(found) if each is not None and each != key)
        self._known[resolver] = key

    def forget(self, resolver: str) -> bool:
        self._former.pop(resolver, None)
        return self._known.pop(resolver, None) is not None
