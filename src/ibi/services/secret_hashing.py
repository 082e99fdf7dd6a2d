"""Slow hashes of what people choose: argon2id, in threads, two at once, so that guessing is dear and the loop free."""

from __future__ import annotations

import asyncio
import secrets
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

__all__ = ["SecretHasher"]

_AT_ONCE: Final = 2
"""Each takes 64 MiB for a tenth of a second: more at once would starve everything else."""


class SecretHasher:
    """Hashes and compares. The parameters of RFC 9106, second choice, unless told otherwise."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="hashing")
        self._decoy = _decoy(self._hasher)

    def hash_now(self, secret: str) -> str:
        """For commands: whoever calls waits."""
        return self._hasher.hash(secret)

    async def hash(self, secret: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._hasher.hash, secret)

    async def agrees(self, kept: str | None, secret: str) -> bool:
        """Whether `secret` is what `kept` is the hash of. Without a hash it takes as long, and the answer is no: time
        tells nobody what there is."""
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
    """A hash of nothing, with the costs of the others: comparing with it takes as long, from the first time on."""
    salt, digest = (
        b64encode(secrets.token_bytes(length)).decode().rstrip("=") for length in (argon.salt_len, argon.hash_len)
    )
    costs = f"m={argon.memory_cost},t={argon.time_cost},p={argon.parallelism}"
    return f"$argon2id$v=19${costs}${salt}${digest}"
