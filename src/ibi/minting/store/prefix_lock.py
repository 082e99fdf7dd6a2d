"""One minter per prefix: a lock for each prefix of an identity, valid on the whole machine.

The file of a prefix records its minter and the last minted date. A minter holds a shared lock on the file while its
store is open; the processes of one data directory share the lock.
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

from ibi.standard.errors import InvalidInstant
from ibi.standard.instant import Instant
from ibi.storage.errors import IdentityInUse, LockRefused
from ibi.storage.locks import LockDirectory, is_data_directory_of
from ibi.storage.machine import refusals

_LONGEST = 16_384
_BEYOND = 1 << 62
_PATIENCE = 5.0
"""Seconds to wait while another process takes or releases a lock, which takes a millisecond."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An instance of a store, and its data directory."""

    instance: str
    path: str

    def is_elsewhere(self, other: Owner) -> bool:
        """Return whether the instance is still in its directory, and that is not the directory of the `other`."""
        if not self.path or self.is_beside(other):
            return False
        return is_data_directory_of(Path(self.path), self.instance)

    def is_beside(self, other: Owner) -> bool:
        """Return whether both have the same directory, under any name."""
        try:
            return self.path == other.path or Path(self.path).samefile(other.path)
        except OSError:
            return False

    def is_same(self, other: Owner) -> bool:
        return self.instance == other.instance and self.is_beside(other)


NO_OWNER = Owner("", "")


class Use(NamedTuple):
    """The continuous use of a data directory to which a record belongs. A record of another use proves nothing."""

    boot: str = ""
    epoch: str = ""
    place: str = ""
    """The inodes of the data directory and of the prefix's file. Copies have other inodes."""


NO_USE = Use()


class Trail(NamedTuple):
    """The last line of the log when the record was written: its begin, its end and its hash."""

    begin: int = 0
    end: int = 0
    head: str = ""


NO_TRAIL = Trail()


@dataclass(frozen=True, slots=True)
class PrefixRecord:
    """The content of a prefix's file: the minter, the latest date, and the number of the log's last line."""

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
        """Decode the record; None if a crash left it unreadable. After the line, the end of a longer record may
        remain."""
        try:
            fields = json.loads(content.partition(b"\n")[0])
            prefix, instance, path, high, number = (fields[name] for name in _FIELDS)
            date = None if high is None else Instant.parse(str(high))
            # Earlier versions wrote only the fields above.
            trail = Trail(int(fields.get("begin", 0)), int(fields.get("end", 0)), str(fields.get("head", "")))
            use = Use(*(str(fields.get(name, "")) for name in Use._fields))
            return cls(str(prefix), Owner(str(instance), str(path)), date, int(number), trail, use)
        except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError, InvalidInstant):
            return None


_FIELDS = ("prefix", "instance", "path", "high", "number")


@lru_cache(maxsize=64)
def _encode_owner(prefix: str, owner: Owner, use: Use) -> str:
    """Return the constant part of a record, up to its last brace."""
    return json.dumps({"prefix": prefix, "instance": owner.instance, "path": owner.path, **use._asdict()})[:-1]


def _encode_date(high: Instant | None, number: int, trail: Trail) -> str:
    """Return the changing part of a record."""
    date = "null" if high is None else f'"{high}"'
    begin, end, head = trail
    return f', "high": {date}, "number": {number}, "begin": {begin}, "end": {end}, "head": {json.dumps(head)}}}\n'


class PrefixLocks:
    """The prefixes of a store, held against all other stores on this machine.

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
        """Return whether exactly these prefixes are held."""
        return self._held.keys() == set(prefixes)

    def hold(self, prefixes: Iterable[str], number: int, *, sandbox: bool = False) -> Instant | None:
        """Hold these prefixes, and return the date that the clock has to pass; None if there is none.

        Another minter issued that date under a prefix, or this one did before its data directory was restored from a
        backup. `number` is the number of the log's last line. Raise `IdentityInUse` if another store has one of the
        prefixes; then no prefix is held that was not held before. A sandbox takes its prefix from other sandboxes:
        every clone of the software has the same one.
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
        """Return the present records of the held prefixes."""
        with refusals(LockRefused, self._directory.path):
            found = [_read_record(descriptor) for descriptor in self._held.values()]
        return [record for record in found if record is not None]

    def are_of(self, boot: str, epoch: str) -> bool:
        """Return whether every held prefix was last marked in this use of this directory."""
        records = self.records()
        if len(records) < len(self._held):
            return False
        return all(
            record.use == Use(boot, epoch, self._place(self._held[record.prefix]))
            for record in records
            if record.prefix in self._held
        )

    def begin_use(self, boot: str, epoch: str) -> None:
        """Assign later marks to this use."""
        self._uses = {prefix: Use(boot, epoch, self._place(each)) for prefix, each in self._held.items()}

    def mark(self, high: Instant | None, number: int, trail: Trail = NO_TRAIL) -> None:
        """Write the latest date and the log's last line. Not synced: the mark only has to outlive the process, not the
        running system."""
        date = _encode_date(high, number, trail)
        with refusals(LockRefused, self._directory.path):
            for prefix, descriptor in self._held.items():
                owner = _encode_owner(prefix, self._owner, self._uses.get(prefix, NO_USE))
                os.pwrite(descriptor, (owner + date).encode("ascii"), 0)

    def keep_just(self, prefixes: Iterable[str]) -> None:
        """Release all other prefixes. Another data directory may now mint under them, after the recorded date."""
        for prefix in self._held.keys() - set(prefixes):
            descriptor = self._held.pop(prefix)
            with refusals(LockRefused, self._path(prefix)):
                record = _read_record(descriptor)
                if record is not None and record.owner.is_same(self._owner):
                    _write_record(descriptor, replace(record, owner=NO_OWNER, use=NO_USE))
                os.close(descriptor)

    def close(self) -> None:
        """Release the locks, but remain the recorded minter."""
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
        """Refuse the file of another user: a date in it could stop the clock for years."""
        maker = os.fstat(descriptor).st_uid
        if maker not in (0, os.geteuid(), self._user):
            raise LockRefused(path=self._path(prefix), reason=f"user {maker} made it; if they do not mint, remove it")
        if os.geteuid() == 0 and maker != self._user:
            os.fchown(descriptor, self._user, -1)  # root came first; the minter itself must get in later

    def _lock(self, descriptor: int, prefix: str) -> None:
        """Wait until the shared lock is held and the record is ours."""
        deadline = time.monotonic() + _PATIENCE
        while not self._try(descriptor, prefix):
            if time.monotonic() > deadline:
                raise LockRefused(path=self._path(prefix), reason="another process holds it and does not say which one")
            time.sleep(0.005)

    def _try(self, descriptor: int, prefix: str) -> bool:
        if _try_lock(descriptor, fcntl.LOCK_EX):
            self._take_over(descriptor, prefix)
        # While an exclusive lock becomes shared, others get in for a moment; they find our record.
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
        """Write our record, now that the lock was free, unless the recorded minter still exists."""
        record = _read_record(descriptor)
        if record is None or record.prefix != prefix:
            _write_record(descriptor, PrefixRecord(prefix, self._owner))
        elif not record.owner.is_same(self._owner):
            if not self._sandbox and record.owner.is_elsewhere(self._owner):
                raise IdentityInUse(prefix=prefix, path=record.owner.path)
            if record.owner.instance != self._owner.instance:
                # Its number is of another log. A number beyond ours keeps the date in force until our store has
                # recorded it.
                record = replace(record, number=_BEYOND, trail=NO_TRAIL, use=NO_USE)
            _write_record(descriptor, replace(record, owner=self._owner))

    def _place(self, descriptor: int) -> str:
        with refusals(LockRefused, self._directory.path):
            return f"{Path(self._owner.path, 'mint').stat().st_ino} {os.fstat(descriptor).st_ino}"

    def _path(self, prefix: str) -> Path:
        return self._directory.path / _name(prefix)


def last_marks(directory: Path | None, prefixes: Iterable[str]) -> list[PrefixRecord]:
    """Return this machine's records of minting under these prefixes, by any data directory. Nothing is created."""
    try:
        locks = LockDirectory(directory)
    except LockRefused:
        return []
    locks.close()
    found = [_trusted_record(locks.path / _name(prefix)) for prefix in prefixes]
    return [record for record in found if record is not None]


def _trusted_record(path: Path) -> PrefixRecord | None:
    """Return the record if this user or root wrote it. A date by another user could stop a clock for years."""
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
