"""Accounts of the space of drafts: the bytes of each depositor, and the reservations of uploads under way.

A file is refused if there is no room for its announced length. But space is reserved only for the bytes that have
arrived, and one step beyond. An announcement costs its sender nothing, so it must not block space for others.

The disk is the truth: the records of drafts, and the sizes of their files. The ledger reads all drafts when a server
starts and from time to time; callers do not wait for that. In between it adds the bytes that this process receives, and
reads drafts that other processes report as changed. It keeps a sum for each depositor, so that the number of drafts
does not slow a request. A sum may be too high. So the depositor's own drafts are read again before a request is
refused.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final, NamedTuple
from weakref import WeakSet

from ibi.deposits.model import DraftRecord, ReviewState
from ibi.deposits.ports import DraftStore, IncomingFile
from ibi.deposits.rules.drafts import DraftRules, DraftShareUsed, DraftsTooLarge, Holding, TooManyDrafts
from ibi.items.model.file import File
from ibi.items.rules.errors import DiskNearlyFull
from ibi.people.model.account import Actor, Scope
from ibi.standard.clock_reading import Clocks
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import DiskFull, StorageError


@dataclass(frozen=True, slots=True)
class Depositor:
    """A caller. `owner` is the account that owns drafts and items, `name` is recorded in the versions of an item, and
    `scope` is the scope of the token."""

    owner: str
    name: str
    scope: Scope = Scope.DEPOSIT
    token: str | None = None
    address: str = "command"

    @property
    def actor(self) -> Actor:
        return Actor(self.owner, self.scope, self.token, self.address)


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft at this moment, with all its files."""

    record: DraftRecord
    files: tuple[File, ...]
    changed: Instant
    size: int = 0
    """Bytes that were sent for the draft. The files of the item that it changes do not count."""
    review: ReviewState | None = None
    """The state of the review; None if the draft was never submitted."""

    @property
    def is_waiting(self) -> bool:
        """True if the draft waits for review, and so does not change."""
        return self.review is ReviewState.SUBMITTED


@dataclass(frozen=True, slots=True)
class DraftSummary:
    """A draft in a list, without its files: there may be thousands."""

    record: DraftRecord
    files: int
    size: int
    """Bytes that were sent for the draft, including files that are being sent."""
    changed: Instant
    review: ReviewState | None = None


STEP: Final = 16 * 1024 * 1024
"""Bytes that are reserved for a file beyond those that have arrived."""

_BETWEEN_LOOKS: Final = 300.0
"""Seconds between readings of all drafts. A reading finds changes of processes that died before they reported them."""
_UNSEEN: Final = (-1, 0)
_BEING_MADE: Final = (-2, 0)
"""Stands for the stamp of a record that has to be read, or is not written yet."""


class _Entry(NamedTuple):
    """A draft as it was at the time of the stamp."""

    owner: str
    size: int = 0
    stamp: tuple[int, int] = _UNSEEN
    changed: int = 0
    """POSIX seconds."""
    is_open: bool = True
    """False once it is published."""
    is_stale: bool = False

    @property
    def counts(self) -> bool:
        return self.is_open and not self.is_stale


class _Accounts:
    """The known drafts, with the sums of each depositor."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._of_owner: defaultdict[str, set[str]] = defaultdict(set)
        self._held: dict[str, Holding] = {}
        self.total = _NOTHING
        """The sum over all depositors."""

    def get(self, draft: str) -> _Entry | None:
        return self._entries.get(draft)

    def all(self) -> list[str]:
        return list(self._entries)

    def of(self, owner: str) -> list[str]:
        return list(self._of_owner.get(owner, ()))

    def held_by(self, owner: str) -> Holding:
        return self._held.get(owner, _NOTHING)

    def put(self, draft: str, entry: _Entry) -> None:
        self.drop(draft)
        self._entries[draft] = entry
        self._of_owner[entry.owner].add(draft)
        self._count(entry, 1)

    def drop(self, draft: str) -> None:
        entry = self._entries.pop(draft, None)
        if entry is None:
            return
        self._count(entry, -1)
        self._of_owner[entry.owner].discard(draft)
        if not self._of_owner[entry.owner]:
            del self._of_owner[entry.owner]
            self._held.pop(entry.owner, None)

    def _count(self, entry: _Entry, sign: int) -> None:
        if entry.counts:
            self._held[entry.owner] = _add(self.held_by(entry.owner), entry, sign)
            self.total = _add(self.total, entry, sign)


def _add(held: Holding, entry: _Entry, sign: int) -> Holding:
    return Holding(held.drafts + sign, held.size + sign * entry.size)


_NOTHING: Final = Holding()


class Share:
    """The space reserved for one upload. The reservation ends with `settle` or `release`, or when it is
    garbage-collected."""

    __slots__ = ("__weakref__", "_announced", "_incoming", "_ledger", "draft", "is_open", "owner", "path", "size")

    def __init__(self, ledger: DraftLedger, owner: str, draft: str, path: str, announced: int) -> None:
        self._ledger, self.owner, self.draft, self.path = ledger, owner, draft, path
        self._announced, self.size = announced, min(STEP, announced)
        self._incoming: IncomingFile | None = None
        self.is_open = True

    def begin(self, incoming: IncomingFile) -> None:
        """Begin counting the bytes of `incoming`. Called before the first byte. From now on each byte counts once,
        including bytes of earlier requests."""
        self._incoming = incoming
        self._announced, self.size = self._announced + incoming.size, self.size + incoming.size

    @property
    def name(self) -> str | None:
        return None if self._incoming is None else self._incoming.name

    @property
    def unwritten(self) -> int:
        return self.size if self._incoming is None else max(0, self.size - self._incoming.size)

    def write(self, piece: int) -> None:
        """Reserve space for a piece before it is written. Refuse the piece if there is no room, whatever length was
        announced."""
        come = piece if self._incoming is None else self._incoming.size + piece
        self._ledger.grow(self, come - self.size, piece, ahead=min(STEP, max(0, self._announced - come)))

    def settle(self) -> None:
        """Count the whole file as part of the draft. Called by the holder of the draft's lock."""
        if self.is_open:
            self._ledger.settle(self, 0 if self._incoming is None else self._incoming.size)

    def release(self) -> None:
        """End an upload that left nothing. Does not wait."""
        self.is_open = False


class DraftLedger:
    """The accounts of all drafts. Calls may block while they read the disk, from any thread."""

    def __init__(
        self,
        files: DraftStore,
        rules: DraftRules,
        clocks: Clocks,
        monotonic: Callable[[], float] = time.monotonic,
        is_waiting: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Drafts that wait for review (`is_waiting`) count at any age."""
        self._files, self._rules, self._clocks, self._monotonic = files, rules, clocks, monotonic
        self._is_waiting = is_waiting
        self._quota = rules.quota
        self._accounts = _Accounts()
        # Weak references: a caller that was cancelled before it got its reservation must not hold it.
        self._shares: WeakSet[Share] = WeakSet()
        self._looked, self._doubts = float("-inf"), 0
        self._lock, self._looking = Lock(), Lock()

    @contextmanager
    def admit(self, owner: str, draft: str) -> Iterator[None]:
        """Check that a draft may be made. Count it while the caller makes it inside the `with`. Raise `TooManyDrafts`
        or `DiskNearlyFull` if the draft is refused."""
        self._catch_up()
        with self._lock:
            self._judge(owner, lambda: self._quota.check_begin(self._holding(owner)))
            self._check_disk(0)
            self._accounts.put(draft, _Entry(owner, stamp=_BEING_MADE))
        try:
            yield
        except BaseException:
            self.forget(draft)
            raise
        self.see_anew(draft)

    def promise(self, owner: str, draft: str, path: str, announced: int) -> Share:
        """Reserve space for an upload. Raise `DraftsTooLarge`, `DraftShareUsed` or `DiskNearlyFull` if there is no room
        for the announced bytes."""
        self._catch_up()
        with self._lock:
            self._check_room(owner, path, announced)
            share = Share(self, owner, draft, path, announced)
            self._shares.add(share)
            return share

    def grow(self, share: Share, more: int, piece: int, *, ahead: int = 0) -> None:
        """Enlarge a reservation by `more` bytes, plus `ahead` bytes if there is room. If the disk was filled meanwhile,
        refuse even reserved space."""
        if more <= 0:
            if self._quota.reserve:
                self._quota.check_disk(self._files.free(), piece)
            return
        self._catch_up()
        with self._lock:
            if ahead:
                with suppress(DraftsTooLarge, DraftShareUsed, DiskNearlyFull):
                    self._check_room(share.owner, share.path, more + ahead)
                    share.size += more + ahead
                    return
            self._check_room(share.owner, share.path, more)
            share.size += more

    def _check_room(self, owner: str, path: str, more: int) -> None:
        self._check_disk(0)  # first: on a full disk the share of each depositor is 0, which is not their fault
        self._judge(owner, lambda: self._check_depositor(owner, path, more))
        self._check_disk(more)

    def _check_depositor(self, owner: str, path: str, more: int) -> None:
        held = self._holding(owner)
        self._quota.check_send(owner, path, held, more)
        if self._quota.bounds_share:
            coming = sum(share.unwritten for share in self._shares if share.is_open and share.owner == owner)
            free = self._files.free()
            self._quota.check_share(owner, path, held, more, written=held.size - coming, free=free)

    def _check_disk(self, more: int) -> None:
        if self._quota.reserve:
            promised = sum(share.unwritten for share in self._shares if share.is_open)
            self._quota.check_disk(self._files.free() - promised, more)

    def _judge(self, owner: str, check: Callable[[], None]) -> None:
        if not self._quota.bounds_depositors:
            return
        try:
            check()
        except (TooManyDrafts, DraftsTooLarge, DraftShareUsed):
            self._look_at_own(owner)
            check()

    def settle(self, share: Share, size: int) -> None:
        """Count a finished upload. If the upload replaced a file, the next reading corrects the sum."""
        with self._lock:
            share.is_open = False
            if (entry := self._accounts.get(share.draft)) is not None:
                self._accounts.put(share.draft, entry._replace(size=entry.size + size, stamp=_UNSEEN))

    def see_anew(self, draft: str) -> None:
        """Mark a draft to be read again, because it is new or a file was removed from it."""
        with self._lock:
            if (entry := self._accounts.get(draft)) is not None:
                self._accounts.put(draft, entry._replace(stamp=_UNSEEN))

    def forget(self, draft: str) -> None:
        """Drop a draft that was published or discarded."""
        with self._lock:
            self._accounts.drop(draft)

    def holding(self, owner: str) -> Holding:
        """Return the depositor's sum, after reading their drafts again."""
        self._catch_up(always=True)
        with self._lock:
            self._look_at_own(owner)
            return self._holding(owner)

    def total(self) -> Holding:
        """Return the sum over all depositors."""
        self._catch_up()
        with self._lock:
            held, coming = self._accounts.total, sum(share.size for share in self._shares if share.is_open)
            return Holding(held.drafts, held.size + coming)

    def check_space(self) -> None:
        """Raise `DiskNearlyFull` or `DiskFull` if there is no room for another draft."""
        with self._lock:
            self._check_disk(0)
        if self._files.free() <= 0:
            raise DiskFull()

    def look(self) -> None:
        """Read the drafts with changed stamps. Other callers have their turn after each draft."""
        with self._looking:
            self._look_at_all()

    def _holding(self, owner: str) -> Holding:
        held = self._accounts.held_by(owner)
        coming = sum(share.size for share in self._shares if share.is_open and share.owner == owner)
        return Holding(held.drafts, held.size + coming)

    def _catch_up(self, *, always: bool = False) -> None:
        """Read the changes of other processes. With `always`, do so even if depositors have no quota."""
        if not (always or self._quota.bounds_depositors):
            return
        with self._lock:
            changed = self._files.changed_elsewhere()
            for draft in changed or ():
                self._look_at(draft)
            if changed is None:
                self._looked, self._doubts = float("-inf"), self._doubts + 1
            is_unknown = self._looked == float("-inf")
        # While one caller reads all drafts again, the others use the known sums, if there are any.
        if self._is_due() and self._looking.acquire(blocking=is_unknown):
            try:
                if self._is_due():
                    self._look_at_all()
            finally:
                self._looking.release()

    def _is_due(self) -> bool:
        return self._monotonic() - self._looked > _BETWEEN_LOOKS

    def _look_at_own(self, owner: str) -> None:
        for draft in self._accounts.of(owner):
            self._look_at(draft)

    def _look_at_all(self) -> None:
        began, doubts = self._monotonic(), self._doubts
        there = set(self._files.ids())
        for draft in there:
            with self._lock:
                self._look_at(draft)
        with self._lock:
            others = [draft for draft in self._accounts.all() if draft not in there]
        for draft in others:
            with self._lock:
                self._look_at(draft)
        with self._lock:
            if doubts == self._doubts:  # otherwise a draft may have changed after it was read
                self._looked = began

    def _look_at(self, draft: str) -> None:
        """Read a draft if its stamp has changed. Otherwise the call is cheap, because thousands of drafts are
        checked."""
        entry, stamp = self._accounts.get(draft), self._files.stamp(draft)
        if entry is not None and entry.stamp == _BEING_MADE:
            return
        if entry is None or entry.stamp != stamp:
            entry = self._read_draft(draft, stamp)
        if entry is None:
            self._accounts.drop(draft)
            return
        # Abandoned drafts do not count: their owners no longer see them, and could not discard them.
        is_stale = self._rules.is_stale(entry.changed, self._clocks.read().wall) and not self._is_waiting(draft)
        if entry is not self._accounts.get(draft) or is_stale != entry.is_stale:
            self._accounts.put(draft, entry._replace(is_stale=is_stale))

    def _read_draft(self, draft: str, stamp: tuple[int, int]) -> _Entry | None:
        """Read a draft. An unreadable draft counts for no depositor: its owner does not see it, and the administrator
        has to repair it."""
        try:
            record = self._files.read(draft)
        except StorageError:
            return None
        if record is None:
            return None
        coming = {share.name for share in self._shares if share.is_open and share.draft == draft}
        size = sum(size for name, size in self._files.sizes(draft).items() if name not in coming)
        changed = self._files.last_change(draft)
        # A requested deletion takes no room, and nobody edits it.
        is_open = record.publication is None and record.deletion is None
        return _Entry(record.owner, size, stamp, changed, is_open=is_open)
