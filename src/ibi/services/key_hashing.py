"""Registration keys hashed and checked: dearly for whoever guesses, at no cost for an Archive that comes again."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

from ibi.errors import IbiError
from ibi.messages.key import RegistrationKey
from ibi.services.secret_hashing import SecretHasher

if TYPE_CHECKING:
    from argon2 import PasswordHasher

__all__ = ["HashingBusy", "KeyHasher"]

_MOST_WAITING: Final = 64
_MOST_REMEMBERED: Final = 4096

Made = TypeVar("Made")


class HashingBusy(IbiError):
    """Too many keys are being checked at the moment. Ask again in a moment."""

    code = "hashing-busy"


class KeyHasher:
    """Makes and checks hashes beside the event loop, and remembers which keys were right.

    What is remembered is not the key, but a digest of it under a secret that ends with this process.
    """

    def __init__(self, argon: PasswordHasher | None = None, *, most_waiting: int = _MOST_WAITING) -> None:
        """`argon` sets the costs; without it, those that the library recommends."""
        self._hasher = SecretHasher(argon)
        self._secret = secrets.token_bytes(32)
        self._right: dict[bytes, None] = {}
        self._waiting, self._most_waiting = 0, most_waiting

    async def hash(self, key: RegistrationKey) -> str:
        return await self._in_turn(lambda: self._hasher.hash(key.reveal()))

    def remembers(self, key_hash: str, key: RegistrationKey) -> bool:
        """Whether this key was right for this hash before. At once."""
        return self._digest(key_hash, key) in self._right

    async def verify(self, key_hash: str | None, key: RegistrationKey) -> bool:
        """Whether it is the key of this hash. Without one it takes as long, from the first time on, and the answer is
        no. `HashingBusy` if too many wait already."""
        right = await self._in_turn(lambda: self._hasher.agrees(key_hash, key.reveal()))
        if not right or key_hash is None:
            return False
        if len(self._right) >= _MOST_REMEMBERED:
            del self._right[next(iter(self._right))]
        self._right[self._digest(key_hash, key)] = None
        return True

    def close(self) -> None:
        self._hasher.close()

    def _digest(self, key_hash: str, key: RegistrationKey) -> bytes:
        return hmac.digest(self._secret, f"{key_hash}\0{key.reveal()}".encode(), "sha256")

    async def _in_turn(self, begin: Callable[[], Awaitable[Made]]) -> Made:
        if self._waiting >= self._most_waiting:
            raise HashingBusy()
        self._waiting += 1
        try:
            return await begin()
        finally:
            self._waiting -= 1
