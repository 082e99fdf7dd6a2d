"""Shared memory of a server's worker processes, which their supervisor makes before it forks them.

It exists as long as one of them does, and has no name that another program could open. Each worker has a slot. Only its
worker writes the values of a slot, and all read them without a lock: these values are used by every request. Values
that several workers change are under a kernel lock, which a killed worker releases.

Subjects are identified by their hashes: the workers are forked from one process, so `hash` is the same in all.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import chain
from mmap import mmap
from socket import AF_UNIX, MSG_DONTWAIT, SOCK_DGRAM, socket, socketpair
from struct import Struct
from threading import Lock, RLock
from typing import Final
from zlib import crc32

from ibi.usage.rules.counting import MOST_COUNTED, WINDOW, Recent

SLOTS_PER_WORKER: Final = 3
"""A replaced worker keeps its slot until its last request is answered, perhaps while its successor is replaced."""
_SECRET_BYTES: Final = 32
_WORD: Final = (1 << 64) - 1
_RETRY: Final = 0.0005
"""Seconds before a lock is tried again that the kernel refused."""


def _words(number: int) -> memoryview:
    """Return that many 64-bit numbers, shared by all workers and initially 0. Each read or write is a single access."""
    return memoryview(mmap(-1, number * 8)).cast("Q")


class ProcessLock:
    """A reentrant lock for one thread of one worker at a time. It is held for moments: others wait without a
    timeout."""

    def __init__(self, descriptor: int, place: int) -> None:
        """`place` is the byte of the file that the kernel locks."""
        self._descriptor, self._place = descriptor, place
        self._threads, self._depth = RLock(), 0

    def __enter__(self) -> None:
        self._threads.acquire()
        try:
            if not self._depth:
                self._lock()
        except BaseException:
            self._threads.release()
            raise
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, self._place)
        self._threads.release()

    def _lock(self) -> None:
        """Take the kernel lock.

        The kernel knows processes, not threads. If two workers each have a thread that holds one lock and another
        thread that waits for the other's lock, the kernel sees a deadlock. No thread holds two locks, so it is none,
        and the call is repeated.
        """
        while True:
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX, 1, self._place)
            except OSError as error:
                if error.errno != errno.EDEADLK:
                    raise
                time.sleep(_RETRY)
            else:
                return


_BUCKETS: Final = 8192
"""Number of buckets. With rows for `MOST_TURNS` networks, hardly any bucket is full. Memory that is not written takes
no room."""
_WAYS: Final = 8
_ROW: Final = Struct("=QQ4d")
"""The hash of a subject, the time of its last write or the end of its protection, and its values."""
_VALUES: Final = 4


class SharedRows:
    """A few numbers for each of some thousand subjects, shared by all workers: the rows of `ibi.jobs.limits`. When
    a bucket is full, its oldest row is dropped."""

    def __init__(self, lock: ProcessLock) -> None:
        self._lock, self._memory = lock, mmap(-1, _BUCKETS * _WAYS * _ROW.size)

    def alone(self) -> ProcessLock:
        """Return the lock that excludes other workers from the rows within the `with`."""
        return self._lock

    def get(self, subject: Hashable) -> tuple[float, ...] | None:
        key = _key(subject)
        with self._lock:
            return next((tuple(row[2:]) for _, row in self._bucket(key) if row[0] == key), None)

    def put(self, subject: Hashable, values: tuple[float, ...], keep: float = 0.0) -> bool:
        key, now = _key(subject), time.monotonic_ns()
        filled = (*values, *(0.0,) * (_VALUES - len(values)))
        with self._lock:
            places = list(self._bucket(key))
            place = next((place for place, row in places if row[0] == key), None)
            if place is None:
                place, oldest = min(places, key=lambda each: int(each[1][1]))
                if int(oldest[1]) > now:
                    return False  # all of them are protected
            _ROW.pack_into(self._memory, place, key, now + int(keep * 1e9), *filled)
        return True

    def drop(self, subject: Hashable) -> None:
        key = _key(subject)
        with self._lock:
            for place, row in self._bucket(key):
                if row[0] == key:
                    _ROW.pack_into(self._memory, place, 0, 0, *(0.0,) * _VALUES)

    def __len__(self) -> int:
        with self._lock:
            return sum(1 for row in _ROW.iter_unpack(self._memory[:]) if row[0])

    def _bucket(self, key: int) -> Iterator[tuple[int, tuple[float, ...]]]:
        """Yield the rows of a subject's bucket with their offsets."""
        first = key % _BUCKETS * _WAYS * _ROW.size
        for place in range(first, first + _WAYS * _ROW.size, _ROW.size):
            yield place, _ROW.unpack_from(self._memory, place)


def _key(subject: Hashable) -> int:
    return hash(subject) & _WORD or 1  # 0 is an empty row


_WISHES: Final = 1 << 17
_KEYS: Final = 1 << 16
_SECONDS: Final = (1 << 30) - 1
_CLAIMED: Final = 1
_COUNTED: Final = 2
_STATE: Final = 3
_LOOKS: Final = 1000
"""Maximum checks whether another worker gives up its claim, because that worker may have been killed."""
_COUNT_BITS: Final = 24
_COUNT: Final = (1 << _COUNT_BITS) - 1


class SharedRecent(Recent):
    """Wishes of the last half minute in all workers.

    Each worker has a table of its own: half of a wish's hash, its time, and its state. A worker writes its claim to a
    wish before it looks for claims of others, so of two at the same time at least one sees the other. A counted wish
    has won; of two claims, the lower slot wins.
    """

    __slots__ = ("_fence", "_keys", "_known", "_others", "_own", "_slot", "_tables", "_used", "_wishes")

    def __init__(self, wishes: list[memoryview], keys: list[memoryview], used: memoryview, slot: int) -> None:
        super().__init__(WINDOW, most_counted=MOST_COUNTED)
        self._wishes, self._keys, self._used, self._slot = wishes, keys, used, slot
        self._own, self._fence, self._known = wishes[slot], Lock(), 0
        self._tables: list[memoryview] = []
        self._others: list[tuple[int, memoryview]] = []

    def is_first(self, wish: Hashable, seconds: int) -> bool:
        number, now = hash(wish) & _WORD, seconds & _SECONDS
        place, mark = number % _WISHES, number >> 32 << 32
        beside, low, high = place ^ 1, mark | max(0, now - self._window + 1) << 2, (mark | now + self._window << 2) - 1
        if self._used[0] != self._known:
            self._learn_tables()
        for words in self._tables:
            if low <= words[place] <= high or low <= words[beside] <= high:
                return False
        own = self._own
        mine = place if own[place] >> 2 & _SECONDS <= own[beside] >> 2 & _SECONDS else beside  # the older one
        own[mine] = mark | now << 2 | _CLAIMED
        with self._fence:  # memory barrier: the others see the claim before this process reads theirs
            pass
        for slot, words in self._others:
            for at in (place, beside):
                if low <= words[at] <= high and self._loses_to(slot, words, at, low, high):
                    own[mine] = 0
                    return False
        own[mine] = mark | now << 2 | _COUNTED
        return True

    def is_within_share(self, key: Hashable) -> bool:
        number = hash(key) & _WORD
        place, mark = number % _KEYS, number >> _COUNT_BITS
        counted = 0
        for table in self._keys[: self._used[0]]:
            word = table[place]
            counted += word & _COUNT if word >> _COUNT_BITS == mark else 0
        if counted >= self._most_counted:
            return False
        own = self._keys[self._slot]
        word = own[place]
        own[place] = word + 1 if word >> _COUNT_BITS == mark else mark << _COUNT_BITS | 1
        return True

    def __len__(self) -> int:
        return sum(1 for word in self._own if word)

    def _learn_tables(self) -> None:
        self._known = self._used[0]
        self._tables = self._wishes[: self._known]
        self._others = [(slot, table) for slot, table in enumerate(self._tables) if slot != self._slot]

    def _loses_to(self, slot: int, words: memoryview, at: int, low: int, high: int) -> bool:
        for _ in range(_LOOKS):
            word = words[at]
            if not low <= word <= high:
                return False
            if word & _STATE == _COUNTED or slot < self._slot:
                return True
            time.sleep(0)  # it sees this claim as well, and gives way
        return False


_HEAD: Final = Struct("=QI")
"""Length and checksum of the published content."""


class PublishedFigures:
    """The last publication of each slot, of any length. It survives its worker, even a killed one: a new publication is
    written beside the old one until it is complete."""

    def __init__(self, slots: int) -> None:
        self._versions = _words(slots)
        self._files = [(os.memfd_create("ibi-figures"), os.memfd_create("ibi-figures")) for _ in range(slots)]
        self._calls = [socketpair(AF_UNIX, SOCK_DGRAM) for _ in range(slots)]

    def publish(self, slot: int, content: bytes) -> None:
        version = self._versions[slot] + 1
        os.pwrite(self._files[slot][version & 1], _HEAD.pack(len(content), crc32(content)) + content, 0)
        self._versions[slot] = version

    def read(self, slot: int) -> bytes | None:
        """Return the last publication of the slot; None if there is none."""
        while version := self._versions[slot]:
            descriptor = self._files[slot][version & 1]
            head = os.pread(descriptor, _HEAD.size, 0)
            size, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, -1)
            content = os.pread(descriptor, size, _HEAD.size)
            if crc32(content) == checksum:  # else it was written during the read
                return content
        return None

    def version(self, slot: int) -> int:
        """Return a number that differs after each publication."""
        return self._versions[slot]

    def ask(self, slot: int) -> None:
        """Ask the worker of the slot to publish its present figures soon."""
        try:
            self._calls[slot][0].send(b"?", MSG_DONTWAIT)
        except OSError:
            return  # it has unanswered requests already

    def close(self) -> None:
        for descriptor in chain.from_iterable(self._files):
            os.close(descriptor)
        for each in chain.from_iterable(self._calls):
            each.close()

    def calls(self, slot: int) -> socket:
        """Return the socket for the worker of the slot: it is readable when a publication is requested."""
        return self._calls[slot][1]


class WorkerState:
    """The shared state. Only the supervisor makes it, before any thread, event loop or database exists."""

    def __init__(self, workers: int) -> None:
        self.workers, self.slots = workers, workers * SLOTS_PER_WORKER
        self.secret = secrets.token_bytes(_SECRET_BYTES)
        """The key for the marks of browsers."""
        self.figures = PublishedFigures(self.slots)
        self._locks = os.memfd_create("ibi-locks")
        self.sign_ins, self.compared_keys, self.offers, self.refusals = (
            SharedRows(ProcessLock(self._locks, place)) for place in range(4)
        )
        # Texts from unknown senders create rows of letters. Rows of accounts exist only for real accounts, so unknown
        # senders cannot displace them with other texts.
        self.letters, self.accounts, self.notifications, self.signed_notifications = (
            SharedRows(ProcessLock(self._locks, place)) for place in range(4, 8)
        )
        self._wishes = [_words(_WISHES) for _ in range(self.slots)]
        self._keys = [_words(_KEYS) for _ in range(self.slots)]
        self._used, self._live, self._beats = _words(1), _words(self.slots), _words(self.slots)

    def close(self) -> None:
        """Close the state in this process, which no longer uses it."""
        self.figures.close()
        os.close(self._locks)

    def occupy(self, slot: int) -> None:
        """Record that a worker has the slot. Called by the supervisor."""
        self._used[0] = max(self._used[0], slot + 1)
        self._live[slot] = 1
        self.beat(slot)

    def vacate(self, slot: int) -> None:
        """Record that the worker of the slot has ended. Called by the supervisor."""
        self._live[slot] = 0

    def used(self) -> range:
        """Return the slots that have or had a worker."""
        return range(self._used[0])

    def is_live(self, slot: int) -> bool:
        return bool(self._live[slot])

    def beat(self, slot: int) -> None:
        """Record that the event loop of the slot's worker is running."""
        self._beats[slot] = time.monotonic_ns()

    def silence(self, slot: int) -> float:
        """Return the seconds since the last beat of the slot's worker."""
        return (time.monotonic_ns() - self._beats[slot]) / 1e9

    def recent(self, slot: int) -> SharedRecent:
        """Return the wishes of all workers, for the worker of that slot."""
        return SharedRecent(self._wishes, self._keys, self._used, slot)


@dataclass(frozen=True)
class WorkerShare:
    """The share of one process in its server's state. Without a `state` the process is the only worker."""

    state: WorkerState | None = None
    slot: int = 0

    @property
    def workers(self) -> int:
        return 1 if self.state is None else self.state.workers

    def recent(self) -> Recent:
        return Recent() if self.state is None else self.state.recent(self.slot)

    def divide(self, bound: int) -> int:
        """Return each worker's part of a limit; 0 means no limit."""
        return -(-bound // self.workers)

    @property
    def secret(self) -> bytes | None:
        return None if self.state is None else self.state.secret

    @property
    def sign_ins(self) -> SharedRows | None:
        return None if self.state is None else self.state.sign_ins

    @property
    def letters(self) -> SharedRows | None:
        return None if self.state is None else self.state.letters

    @property
    def accounts(self) -> SharedRows | None:
        return None if self.state is None else self.state.accounts

    @property
    def refusals(self) -> SharedRows | None:
        return None if self.state is None else self.state.refusals

    @property
    def notifications(self) -> SharedRows | None:
        return None if self.state is None else self.state.notifications

    @property
    def signed_notifications(self) -> SharedRows | None:
        return None if self.state is None else self.state.signed_notifications

    @property
    def offers(self) -> SharedRows | None:
        return None if self.state is None else self.state.offers


ALONE: Final = WorkerShare()
