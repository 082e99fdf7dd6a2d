"""One prefix, one minter: a lock for each prefix of an identity that the whole machine respects.

The file of a prefix tells who mints under it and how far that has come. A minter holds a shared lock on it for as long
as its store is open; the processes of one data directory share it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ibi.errors import InvalidInstant
from ibi.instant import Instant
from ibi.storage.errors import IdentityInUse, LockRefused
from ibi.storage.locks import LockDirectory, is_data_directory_of
from ibi.storage.machine import refusals

_LONGEST = 16_384
_BEYOND = 1 << 62
_PATIENCE = 5.0
"""Seconds to wait while another process takes or gives up a lock, which is done in a millisecond."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An instance of a store, and the data directory it lives in."""

    instance: str
    path: str

    def is_elsewhere(self, other: Owner) -> bool:
        """Whether it lives in its directory still, and that is not the directory of the `other`."""
        if not self.path or self.is_beside(other):
            return False
        return is_data_directory_of(Path(self.path), self.instance)

    def is_beside(self, other: Owner) -> bool:
        """Whether both have one directory, by whatever name."""
        try:
            return self.path == other.path or Path(self.path).samefile(other.path)
        except OSError:
            return False

    def is_same(self, other: Owner) -> bool:
        return self.instance == other.instance and self.is_beside(other)


NO_OWNER = Owner("", "")


class Use(NamedTuple):
    """Which continuous use of a data directory a record belongs to. A record of another use proves nothing."""

    boot: str = ""
    epoch: str = ""
    place: str = ""
    """The inodes of the data directory and of the file of the prefix: copies of both have others."""


NO_USE = Use()


class Trail(NamedTuple):
    """The last line of the log when the record was written: where it begins and ends, and its hash."""

    begin: int = 0
    end: int = 0
    head: str = ""


NO_TRAIL = Trail()


@dataclass(frozen=True, slots=True)
class PrefixRecord:
    """What the file of a prefix says: who mints under it, the latest date, and the number of the log's last line."""

    prefix: str
    owner: Owner
    high: Instant | None = None
    number: int = 0
    trail: Trail = NO_TRAIL
    use: Use = NO_USE

    def encode(self) -> bytes:
        owner = _encode_owner(self.prefix, self.owner, self.use)
        return (owner + _encode_date(self.high, self.number, self.trail)).encode("ascii")

    @classmethod
    def decode(cls, content: bytes) -> PrefixRecord | None:
        """None of what a crash has left without sense. A longer record may have left its end after the line."""
        try:
            fields = json.loads(content.partition(b"\n")[0])
            prefix, instance, path, high, number = (fields[name] for name in _FIELDS)
            date = None if high is None else Instant.parse(str(high))
            # Earlier versions wrote no more than that.
            trail = Trail(int(fields.get("begin", 0)), int(fields.get("end", 0)), str(fields.get("head", "")))
            use = Use(*(str(fields.get(name, "")) for name in Use._fields))
            return cls(str(prefix), Owner(str(instance), str(path)), date, int(number), trail, use)
        except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError, InvalidInstant):
            return None


_FIELDS = ("prefix", "instance", "path", "high", "number")


@lru_cache(maxsize=64)
def _encode_owner(prefix: str, owner: Owner, use: Use) -> str:
    """The part of a record that stays the same, up to its last brace."""
    return json.dumps({"prefix": prefix, "instance": owner.instance, "path": owner.path, **use._asdict()})[:-1]


def _encode_date(high: Instant | None, number: int, trail: Trail) -> str:
    """The rest of it."""
    date = "null" if high is None else f'"{high}"'
    begin, end, head = trail
    return f', "high": {date}, "number": {number}, "begin": {begin}, "end": {end}, "head": {json.dumps(head)}}}\n'


class PrefixLocks:
    """The prefixes that a store mints under, held against all others on this machine.

    Its methods are called under the lock of the data directory.
    """

    def __init__(self, directory: LockDirectory, owner: Owner) -> None:
        self._directory = directory
        self._owner = owner
        self._user = Path(owner.path).stat().st_uid
        self._held: dict[str, int] = {}
        self._uses: dict[str, Use] = {}
        self._sandbox = False

    def are_just(self, prefixes: Iterable[str]) -> bool:
        """Whether these are held, and no others."""
        return self._held.keys() == set(prefixes)

    def hold(self, prefixes: Iterable[str], number: int, *, sandbox: bool = False) -> Instant | None:
        """Hold these prefixes; `IdentityInUse` and none more than before if one is another's. `number` is that of the
        log's last line. A prefix of sandboxes goes to the one that runs: every clone of the software has the same one.

        Gives the date that the clock has to be later than: one that another minter issued under a prefix, or this one
        before its data directory was put back from a backup.
        """
        before = set(self._held)
        self._sandbox = sandbox
        try:
            records = [self._take(prefix) for prefix in prefixes]
        except BaseException:
            self.keep_just(before)
            raise
        highs = [record.high for record in records if record.number > number and record.high is not None]
        return max(highs, default=None)

    def records(self) -> list[PrefixRecord]:
        """What the files of the prefixes that are held say now."""
        with refusals(LockRefused, self._directory.path):
            found = [_read_record(descriptor) for descriptor in self._held.values()]
        return [record for record in found if record is not None]

    def are_of(self, boot: str, epoch: str) -> bool:
        """Whether every prefix that is held was last marked in this use of this directory."""
        records = self.records()
        if len(records) < len(self._held):
            return False
        return all(
            record.use == Use(boot, epoch, self._place(self._held[record.prefix]))
            for record in records
            if record.prefix in self._held
        )

    def begin_use(self, boot: str, epoch: str) -> None:
        """What is marked from now on belongs to this use."""
        self._uses = {prefix: Use(boot, epoch, self._place(each)) for prefix, each in self._held.items()}

    def mark(self, high: Instant | None, number: int, trail: Trail = NO_TRAIL) -> None:
        """Write how far minting has come. Not synced: it guards what lives no longer than the running system."""
        date = _encode_date(high, number, trail)
        with refusals(LockRefused, self._directory.path):
            for prefix, descriptor in self._held.items():
                owner = _encode_owner(prefix, self._owner, self._uses.get(prefix, NO_USE))
                os.pwrite(descriptor, (owner + date).encode("ascii"), 0)

    def keep_just(self, prefixes: Iterable[str]) -> None:
        """Another data directory may mint under all others from now on, after the date that is on record."""
        for prefix in self._held.keys() - set(prefixes):
            descriptor = self._held.pop(prefix)
            with refusals(LockRefused, self._path(prefix)):
                record = _read_record(descriptor)
                if record is not None and record.owner.is_same(self._owner):
                    _write_record(descriptor, replace(record, owner=NO_OWNER, use=NO_USE))
                os.close(descriptor)

    def close(self) -> None:
        """Let go, and stay on record as the one who mints."""
        for descriptor in self._held.values():
            os.close(descriptor)
        self._held.clear()

    def _take(self, prefix: str) -> PrefixRecord:
        with refusals(LockRefused, self._path(prefix)):
            if prefix not in self._held:
                self._held[prefix] = self._open_and_lock(prefix)
            return _read_record(self._held[prefix]) or PrefixRecord(prefix, self._owner)

    def _open_and_lock(self, prefix: str) -> int:
        descriptor = self._directory.open(_name(prefix))
        try:
            self._check_maker(descriptor, prefix)
            self._lock(descriptor, prefix)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _check_maker(self, descriptor: int, prefix: str) -> None:
        """Refuse the file of another user: a date written in it could stop the clock for years."""
        maker = os.fstat(descriptor).st_uid
        if maker not in (0, os.geteuid(), self._user):
            raise LockRefused(path=self._path(prefix), reason=f"user {maker} made it; if they do not mint, remove it")
        if os.geteuid() == 0 and maker != self._user:
            os.fchown(descriptor, self._user, -1)  # the administrator was first; the minter itself must get in later

    def _lock(self, descriptor: int, prefix: str) -> None:
        """Until the lock is held, shared, and the record is ours."""
        deadline = time.monotonic() + _PATIENCE
        while not self._try(descriptor, prefix):
            if time.monotonic() > deadline:
                raise LockRefused(path=self._path(prefix), reason="another process holds it and does not say which one")
            time.sleep(0.005)

    def _try(self, descriptor: int, prefix: str) -> bool:
        if _try_lock(descriptor, fcntl.LOCK_EX):
            self._take_over(descriptor, prefix)
        # From exclusive to shared, others get in for a moment; they find our record.
        if not _try_lock(descriptor, fcntl.LOCK_SH):
            return False
        record = _read_record(descriptor)
        if record is not None and record.owner.is_same(self._owner):
            return True
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        if record is not None and record.owner != NO_OWNER:
            raise IdentityInUse(prefix=prefix, path=record.owner.path)
        return False

    def _take_over(self, descriptor: int, prefix: str) -> None:
        """The lock was free: write our record, unless the minter on record is still there."""
        record = _read_record(descriptor)
        if record is None or record.prefix != prefix:
            _write_record(descriptor, PrefixRecord(prefix, self._owner))
        elif not record.owner.is_same(self._owner):
            if not self._sandbox and record.owner.is_elsewhere(self._owner):
                raise IdentityInUse(prefix=prefix, path=record.owner.path)
            if record.owner.instance != self._owner.instance:
                # Its number is of another log. One beyond any of ours keeps the date in force until our store has it.
                record = replace(record, number=_BEYOND, trail=NO_TRAIL, use=NO_USE)
            _write_record(descriptor, replace(record, owner=self._owner))

    def _place(self, descriptor: int) -> str:
        with refusals(LockRefused, self._directory.path):
            return f"{Path(self._owner.path, 'mint').stat().st_ino} {os.fstat(descriptor).st_ino}"

    def _path(self, prefix: str) -> Path:
        return self._directory.path / _name(prefix)


def last_marks(directory: Path | None, prefixes: Iterable[str]) -> list[PrefixRecord]:
    """What this machine knows of minting under these prefixes, by whichever data directory. Nothing is made."""
    try:
        locks = LockDirectory(directory)
    except LockRefused:
        return []
    locks.close()
    found = [_trusted_record(locks.path / _name(prefix)) for prefix in prefixes]
    return [record for record in found if record is not None]


def _trusted_record(path: Path) -> PrefixRecord | None:
    """The record of this user or of the administrator: a date that another user wrote could stop a clock for years."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read_record(descriptor) if os.fstat(descriptor).st_uid in (0, os.geteuid()) else None
    finally:
        os.close(descriptor)


def _name(prefix: str) -> str:
    return f"{sha256(prefix.encode()).hexdigest()[:32]}.lock"


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_record(descriptor: int) -> PrefixRecord | None:
    return PrefixRecord.decode(os.pread(descriptor, _LONGEST, 0))


def _write_record(descriptor: int, record: PrefixRecord) -> None:
    os.pwrite(descriptor, record.encode(), 0)
