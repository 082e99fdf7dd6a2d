"""Hashes of passwords and keys, computed by a bounded number of threads."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from base64 import b64encode
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.messages.identification import RegistrationKey

if TYPE_CHECKING:
    from argon2 import PasswordHasher


HASHES_AT_ONCE: Final = 2
"""Hashes computed at a time. Each takes 64 MiB for a tenth of a second; more would starve everything else."""


class SecretHasher:
    """Hashes and compares secrets, by default with the second parameters of RFC 9106."""

    def __init__(self, hasher: PasswordHasher | None = None, *, at_once: int = HASHES_AT_ONCE) -> None:
        self._hasher = hasher or PasswordHasher()
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="hashing")
        self._decoy = _decoy(self._hasher)

    def hash_now(self, secret: str) -> str:
        """Hash a secret. This call blocks, for commands."""
        return self._hasher.hash(secret)

    async def hash(self, secret: str) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._hasher.hash, secret)

    async def agrees(self, kept: str | None, secret: str) -> bool:
        """Return whether `kept` is the hash of `secret`. Without a hash the answer is no after the same time, so the
        time does not reveal whether a hash exists."""
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
    """Return a random hash that no secret has. A comparison with it takes the usual time, from the first one on."""
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
    kind = ErrorKind.UNAVAILABLE


class HashingTurns:
    """A queue for each label; the queues take turns at hashing.

    A flood of keys for one label fills only the queue of that label. It delays the others by one hash for each queue.
    """

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}
        self._present: Counter[str] = Counter()

    async def take(self, line: str, most: int, begin: Callable[[], Awaitable[Made]]) -> Made:
        """Return the result of `begin` when it is this queue's turn. `HashingBusy` if `most` callers are in this queue
        already."""
        if self._present[line] >= most:
            raise HashingBusy()
        self._present[line] += 1
        try:
            await self._wait(line)
            try:
                return await begin()
            finally:
                self._pass_on()
        finally:
            self._present[line] -= 1
            if not self._present[line]:
                del self._present[line]

    async def _wait(self, line: str) -> None:
        if self._free:
            self._free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._lines.setdefault(line, deque()).append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # its turn came at the same moment
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Give the turn to the head of the queue that has waited longest, and put that queue last."""
        while self._lines:
            line = next(iter(self._lines))
            waiting = self._lines.pop(line)
            while waiting:
                waiter = waiting.popleft()
                if waiter.done():  # cancelled
                    continue
                if waiting:
                    self._lines[line] = waiting
                waiter.set_result(None)
                return
        self._free += 1


LONG_KEY: Final = 20
"""The number of digits from which on a key cannot be guessed, at any number of comparisons."""
_MARK: Final = "#"
_SHORT: Final = "short"
_MARK_DIGITS: Final = 4


def is_long_key(key: RegistrationKey) -> bool:
    return sum(map(str.isdigit, key.reveal())) >= LONG_KEY


def is_of_one_key(one: str, other: str) -> bool:
    """Return whether two stored hashes are the same, with or without a mark."""
    return one.partition(_MARK)[0] == other.partition(_MARK)[0]


class KeyHasher:
    """Makes and checks hashes of keys in threads, and remembers the keys that were right.

    The memory holds no key, but its digest under a secret that ends with this process.

    A hash is followed by a mark: `#` and four hexadecimal digits of a fast digest of a long key. The mark rejects all
    but one of 65,536 wrong long keys without a hash, so a flood of them does not take the turn of the right one.
    Sixteen bits reveal too little of a key of twenty digits to help a reader of the register. A short key has no digest
    in its mark.
    """

    def __init__(self, argon: PasswordHasher | None = None, *, most_waiting: int = _MOST_WAITING) -> None:
        """`argon` sets the costs; the default is the library's recommendation. `most_waiting` bounds the waiting keys
        of one label."""
        self._hasher = SecretHasher(argon)
        self._secret = secrets.token_bytes(32)
        self._right: dict[bytes, None] = {}
        self._turns, self._most_waiting = HashingTurns(HASHES_AT_ONCE), most_waiting

    async def hash(self, key: RegistrationKey) -> str:
        made = await self._turns.take("", self._most_waiting, lambda: self._hasher.hash(key.reveal()))
        return self.marked(made, key)

    def marked(self, key_hash: str, key: RegistrationKey) -> str:
        """Return the hash with the mark of this key, which is right."""
        made = key_hash.partition(_MARK)[0]
        return f"{made}{_MARK}{_mark_of(made, key) if is_long_key(key) else _SHORT}"

    def remembers(self, key_hash: str, key: RegistrationKey) -> bool:
        """Return whether this key was right for this hash before. Does not wait."""
        return self._digest(key_hash, key) in self._right

    async def verify(self, key_hash: str | None, key: RegistrationKey) -> bool:
        """Return whether `key` belongs to `key_hash`. Without a hash the answer is no, after the same time.
        `HashingBusy` if too many wait for the same hash. Half as many may wait without a hash, since those are names of
        strangers."""
        if is_long_key(key) and (key_hash is None or _is_ruled_out(key_hash, key)):
            return False
        line, most = (key_hash, self._most_waiting) if key_hash is not None else (_MARK, (self._most_waiting + 1) // 2)
        kept = None if key_hash is None else key_hash.partition(_MARK)[0]
        right = await self._turns.take(line, most, lambda: self._hasher.agrees(kept, key.reveal()))
        if not right or key_hash is None:
            return False
        if len(self._right) >= _MOST_REMEMBERED:
            del self._right[next(iter(self._right))]
        self._right[self._digest(key_hash, key)] = None
        return True

    def close(self) -> None:
        self._hasher.close()

    def _digest(self, key_hash: str, key: RegistrationKey) -> bytes:
        text = f"{key_hash.partition(_MARK)[0]}\0{key.reveal()}"
        return hmac.digest(self._secret, text.encode(), "sha256")


def _mark_of(key_hash: str, key: RegistrationKey) -> str:
    """Return the mark of a long key. The hash, which has a salt of its own, is the key of the digest."""
    return hmac.digest(key_hash.encode(), key.reveal().encode(), "sha256").hex()[:_MARK_DIGITS]


def _is_ruled_out(key_hash: str, key: RegistrationKey) -> bool:
    """Return whether the mark proves a long key wrong. A hash of an earlier version has no mark, and rules out
    nothing."""
    made, has_mark, mark = key_hash.partition(_MARK)
    return bool(has_mark) and not hmac.compare_digest(mark, _mark_of(made, key))
