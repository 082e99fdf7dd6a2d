"""Hashes of secrets: of passwords, and of the keys of Archives."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from base64 import b64encode
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from ibi.errors import IbiError
from ibi.messages.key import RegistrationKey

if TYPE_CHECKING:
    from argon2 import PasswordHasher

_AT_ONCE: Final = 2
"""Hashes computed at a time: each takes 64 MiB for a tenth of a second, and more would starve everything else."""


class SecretHasher:
    """Hashes and compares secrets, by default with the second parameters of RFC 9106."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="hashing")
        self._decoy = _decoy(self._hasher)

    def hash_now(self, secret: str) -> str:
        """Hash and block, for commands."""
        return self._hasher.hash(secret)

    async def hash(self, secret: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._hasher.hash, secret)

    async def agrees(self, kept: str | None, secret: str) -> bool:
        """Whether `kept` is the hash of `secret`. Without a hash the answer is no and takes as long, so that its time
        does not reveal whether there is one."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._agrees, kept, secret)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _agrees(self, kept: str | None, secret: str) -> bool:
        try:
            self._hasher.verify(self._decoy if kept is None else kept, secret)
            return kept is not None
        except (VerificationError, InvalidHashError):
            return False


def _decoy(argon: PasswordHasher) -> str:
    """A random hash that belongs to no secret: comparing with it takes as long as with others, from the first time
    on."""
    salt, digest = (
        b64encode(secrets.token_bytes(length)).decode().rstrip("=") for length in (argon.salt_len, argon.hash_len)
    )
    costs = f"m={argon.memory_cost},t={argon.time_cost},p={argon.parallelism}"
    return f"$argon2id$v=19${costs}${salt}${digest}"


_MOST_WAITING: Final = 64
_MOST_REMEMBERED: Final = 4096

Made = TypeVar("Made")


class HashingBusy(IbiError):
    """Too many keys are being checked at the moment. Ask again in a moment."""

    code = "hashing-busy"


class KeyHasher:
    """Makes and checks hashes of keys in threads, and remembers which keys were right.

    Not the key is remembered, but a digest of it under a secret that ends with this process.
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
        """Whether this key was right for this hash before. Does not wait."""
        return self._digest(key_hash, key) in self._right

    async def verify(self, key_hash: str | None, key: RegistrationKey) -> bool:
        """Whether `key` belongs to `key_hash`. Without a hash the answer is no and takes as long. `HashingBusy` if too
        many wait already."""
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
