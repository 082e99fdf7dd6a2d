"""What each depositor has in drafts, and what was promised to files that are on their way.

A file that is announced is refused if there is no room for all of it. Promised to it is what has come and a step beyond
that: a length that is announced costs its sender nothing, and must not keep others from what is free.

The disk is the truth, and is looked at when a server starts and now and then: the records of drafts are read, of their
files only the sizes. Between two looks the ledger adds what this process takes in, so it may say too much, and before
it refuses anything it looks again. What another process on the same data directory takes in is seen with the next look.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final
from weakref import WeakSet

from ibi.archive.drafts import (
    DiskNearlyFull,
    DraftPublished,
    DraftRules,
    DraftShareUsed,
    DraftsTooLarge,
    Holding,
    TooManyDrafts,
    UnknownDraft,
    together,
)
from ibi.instant import Instant
from ibi.model.draft_record import DraftRecord
from ibi.model.file import File
from ibi.ports.clocks import Clocks
from ibi.ports.drafts import DraftStore, IncomingFile
from ibi.ports.errors import DraftDamaged, StorageError


@dataclass(frozen=True, slots=True)
class Depositor:
    """Who asks: by what drafts are known as theirs, and by what the versions of an item tell who made them."""

    owner: str
    name: str
    librarian: bool = False


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft as it is at the moment, with all its files."""

    record: DraftRecord
    files: tuple[File, ...]
    changed: Instant
    size: int = 0
    """Bytes that were sent for it: those of the item that it changes are not the draft's."""


@dataclass(frozen=True, slots=True)
class DraftViews:
    """Calls block, from any thread."""

    files: DraftStore
    clocks: Clocks
    rules: DraftRules

    def record(self, who: Depositor, draft: str) -> DraftRecord:
        """`UnknownDraft` for those of others too: that there is one is nobody else's business."""
        record = self.files.read(draft)
        if record is None or not _may_see(who, record) or self.is_stale(draft):
            raise UnknownDraft(draft=draft[:40])
        return record

    def open_record(self, who: Depositor, draft: str) -> DraftRecord:
        """The draft, if it can still be changed; `DraftPublished` if not."""
        record = self.record(who, draft)
        if record.publication is not None:
            raise DraftPublished(draft=draft, label=str(record.publication.labels.labels[0]))
        return record

    def open_records(self, who: Depositor, after: str = "") -> Iterator[DraftRecord]:
        """Those that were not published, in the order of their ids."""
        for draft in self.files.ids(after):
            try:
                record = self.files.read(draft)
            except DraftDamaged:
                continue
            if record is None or not _may_see(who, record) or self.is_stale(draft):
                continue
            if record.publication is None:
                yield record

    def view(self, record: DraftRecord) -> DraftView:
        uploaded = [one.file for one in self.files.uploads(record.id).values()]
        changed = max(record.created.seconds, self.files.last_change(record.id))
        size = sum(file.size for file in uploaded)
        return DraftView(record, together(record.kept, uploaded), Instant(changed), size)

    def is_stale(self, draft: str) -> bool:
        changed, now = self.files.last_change(draft), self.clocks.read().wall
        return changed > 0 and self.rules.is_stale(changed, now, done=self.files.is_done(draft))


def _may_see(who: Depositor, record: DraftRecord) -> bool:
    return who.librarian or who.owner == record.owner


STEP: Final = 16 * 1024 * 1024
"""Bytes that are promised to a file beyond what has come of it."""

_BETWEEN_LOOKS: Final = 60.0
_UNSEEN: Final = (-1, 0)
_BEING_MADE: Final = (-2, 0)
"""Where the stamp of a draft's record would be: it has to be looked at, or is not there yet to be looked at."""


@dataclass(slots=True)
class _Entry:
    """One draft, as it was when its record had this stamp."""

    owner: str
    size: int = 0
    stamp: tuple[int, int] = _UNSEEN
    changed: int = 0
    """POSIX seconds."""
    is_open: bool = True
    """Not any more when it was published."""
    is_stale: bool = False

    @property
    def counts(self) -> bool:
        return self.is_open and not self.is_stale


class Share:
    """The room that was promised to one file on its way. Ends with `settle` or `release`, or when nobody has it."""

    __slots__ = ("__weakref__", "_announced", "_incoming", "_ledger", "draft", "is_open", "owner", "path", "size")

    def __init__(self, ledger: DraftLedger, owner: str, draft: str, path: str, announced: int) -> None:
        self._ledger, self.owner, self.draft, self.path = ledger, owner, draft, path
        self._announced, self.size = announced, min(STEP, announced)
        self._incoming: IncomingFile | None = None
        self.is_open = True

    def begin(self, incoming: IncomingFile) -> None:
        """Before its first byte: from now on what comes in is not counted a second time."""
        self._incoming = incoming

    @property
    def name(self) -> str | None:
        return None if self._incoming is None else self._incoming.name

    @property
    def unwritten(self) -> int:
        return self.size if self._incoming is None else max(0, self.size - self._incoming.size)

    def write(self, piece: int) -> None:
        """Before so many bytes are written: refuse them if they are too many, though fewer were announced or none."""
        come = piece if self._incoming is None else self._incoming.size + piece
        self._ledger.grow(self, come - self.size, piece, ahead=min(STEP, max(0, self._announced - come)))

    def settle(self) -> None:
        """All of it has come, and is the draft's; which is said while nobody else changes that."""
        self._ledger.settle(self, 0 if self._incoming is None else self._incoming.size)

    def release(self) -> None:
        """It does not come, and nothing of it is left. Waits for nobody."""
        self.is_open = False


class DraftLedger:
    """Calls may block for a look at the disk, from any thread."""

    def __init__(
        self,
        files: DraftStore,
        rules: DraftRules,
        clocks: Clocks,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files, self._rules, self._clocks, self._monotonic = files, rules, clocks, monotonic
        self._quota = rules.quota
        self._entries: dict[str, _Entry] = {}
        self._of_owner: defaultdict[str, set[str]] = defaultdict(set)
        # Whoever asked may have been cancelled before the answer came: what is promised to nobody counts no more.
        self._shares: WeakSet[Share] = WeakSet()
        self._looked = float("-inf")
        self._lock = Lock()

    # --- asking for room ---

    @contextmanager
    def beginning(self, owner: str, draft: str) -> Iterator[None]:
        """Within the `with` the draft is made. `TooManyDrafts` or `DiskNearlyFull` if it may not be."""
        with self._lock:
            self._judge(lambda: self._quota.check_begin(self._held(owner)))
            self._check_disk(0)
            self._put(draft, _Entry(owner, stamp=_BEING_MADE))
        try:
            yield
        except BaseException:
            self.forget(draft)
            raise
        self.see_anew(draft)

    def promise(self, owner: str, draft: str, path: str, announced: int) -> Share:
        """`DraftsTooLarge`, `DraftShareUsed` or `DiskNearlyFull` if there is no room for so many bytes."""
        with self._lock:
            self._check_room(owner, path, announced)
            share = Share(self, owner, draft, path, announced)
            self._shares.add(share)
            return share

    def grow(self, share: Share, more: int, piece: int, *, ahead: int = 0) -> None:
        """For a `Share`: `more` bytes, and if there is room some that come after them. What was promised is refused,
        too, if others have filled the disk meanwhile."""
        if more <= 0:
            if self._quota.reserve:
                self._quota.check_disk(self._files.free(), piece)
            return
        with self._lock:
            if ahead:
                with suppress(DraftsTooLarge, DraftShareUsed, DiskNearlyFull):
                    self._check_room(share.owner, share.path, more + ahead)
                    share.size += more + ahead
                    return
            self._check_room(share.owner, share.path, more)
            share.size += more

    def _check_room(self, owner: str, path: str, more: int) -> None:
        self._judge(lambda: self._check_depositor(owner, path, more))
        self._check_disk(more)

    def _check_depositor(self, owner: str, path: str, more: int) -> None:
        held = self._held(owner)
        self._quota.check_send(owner, path, held, more)
        if self._quota.bounds_share:
            coming = sum(share.unwritten for share in self._shares if share.is_open and share.owner == owner)
            free = self._files.free()
            self._quota.check_share(owner, path, held, more, written=held.size - coming, free=free)

    def _check_disk(self, more: int) -> None:
        if self._quota.reserve:
            promised = sum(share.unwritten for share in self._shares if share.is_open)
            self._quota.check_disk(self._files.free() - promised, more)

    def _judge(self, check: Callable[[], None]) -> None:
        if not self._quota.bounds_depositors:
            return
        if self._monotonic() - self._looked > _BETWEEN_LOOKS:
            self._look()
        try:
            check()
        except (TooManyDrafts, DraftsTooLarge, DraftShareUsed):
            self._look()
            check()

    # --- what became of it ---

    def settle(self, share: Share, size: int) -> None:
        """For a `Share`. What it took the place of is gone, which the next look sees."""
        with self._lock:
            share.is_open = False
            if (entry := self._entries.get(share.draft)) is not None:
                entry.size += size
                entry.stamp = _UNSEEN

    def see_anew(self, draft: str) -> None:
        """Something has gone from the draft, or it is there now."""
        with self._lock:
            if (entry := self._entries.get(draft)) is not None:
                entry.stamp = _UNSEEN

    def forget(self, draft: str) -> None:
        """It was published or discarded."""
        with self._lock:
            self._drop(draft)

    # --- what there is ---

    def held(self, owner: str) -> Holding:
        with self._lock:
            self._look()
            return self._held(owner)

    def look(self) -> None:
        with self._lock:
            self._look()

    def _held(self, owner: str) -> Holding:
        entries = [self._entries[draft] for draft in self._of_owner.get(owner, ())]
        coming = sum(share.size for share in self._shares if share.is_open and share.owner == owner)
        return Holding(
            sum(entry.counts for entry in entries), sum(entry.size for entry in entries if entry.counts) + coming
        )

    def _look(self) -> None:
        there, now = set(self._files.ids()), self._clocks.read().wall
        for draft in there:
            self._look_at(draft)
        for draft, entry in list(self._entries.items()):
            if entry.stamp == _BEING_MADE:
                continue
            if draft not in there:
                self._drop(draft)
            else:
                # Their owners see those no more that were left alone for too long, and could not discard them.
                entry.is_stale = self._rules.is_stale(entry.changed, now)
        self._looked = self._monotonic()

    def _look_at(self, draft: str) -> None:
        """One that is as it was when it was read costs a glance: thousands are looked at while somebody waits."""
        entry, stamp = self._entries.get(draft), self._files.stamp(draft)
        if entry is None or entry.stamp not in {stamp, _BEING_MADE}:
            self._read(draft, stamp)

    def _read(self, draft: str, stamp: tuple[int, int]) -> None:
        """One that cannot be read is nobody's: who runs the server has to look at it, and its owner does not see it."""
        try:
            record = self._files.read(draft)
        except StorageError:
            record = None
        if record is None:
            self._drop(draft)
            return
        coming = {share.name for share in self._shares if share.is_open}
        size = sum(size for name, size in self._files.sizes(draft).items() if name not in coming)
        changed = self._files.last_change(draft)
        self._put(draft, _Entry(record.owner, size, stamp, changed, is_open=record.publication is None))

    def _put(self, draft: str, entry: _Entry) -> None:
        self._entries[draft] = entry
        self._of_owner[entry.owner].add(draft)

    def _drop(self, draft: str) -> None:
        entry = self._entries.pop(draft, None)
        if entry is not None:
            self._of_owner[entry.owner].discard(draft)
            if not self._of_owner[entry.owner]:
                del self._of_owner[entry.owner]
