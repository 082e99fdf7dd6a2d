"""The port `KeyStore` in memory."""

from __future__ import annotations

import secrets
from threading import Lock

from ibi.signing import KEY_BYTES, PublicKey, SigningKey


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

    def replace(self) -> SigningKey:
        with self._lock:
            self._keys.append(SigningKey(secrets.token_bytes(KEY_BYTES)))
            return self._keys[-1]
