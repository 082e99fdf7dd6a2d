"""The persistent state of the clock, and the guards against a second clock with the same identity.

DATA/mint/ticks.sqlite   the state of every clock, the served keys, and the known end of the log
DATA/mint/mint.log       every batch, in a hash chain
DATA/mint/lock           held while the clock is moved; lock.queue is held by the next process in turn
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from ibi.minting.model import Gap, LabelBatch, Span, TickState
from ibi.minting.ports import NewestKept, Remembered, TickChange
from ibi.minting.rules.errors import IdentityMissing
from ibi.minting.rules.identity import is_loopback_sandbox
from ibi.minting.rules.mint_log import (
    GENESIS,
    LogBroken,
    check_links,
    hash_of,
    issued_spans,
    later,
    mint_entry,
    resumed_clock,
    with_gap,
)
from ibi.minting.store.mint_log_file import BEGINNING, Position
from ibi.minting.store.prefix_lock import Owner, PrefixLocks, PrefixRecord, Trail
from ibi.minting.store.tick_rows import Store
from ibi.minting.store.tick_store import Known, TickStore
from ibi.standard.clock_reading import Clocks, Reading
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.storage.connection import TICKS, DatabaseError, storage_errors
from ibi.storage.errors import (
    DataDirectoryCopied,
    DiskRefused,
    IdentityInUse,
    MintLogLost,
    StoreClosed,
    StoreForked,
)
from ibi.storage.locks import DataLock, LockDirectory
from ibi.storage.machine import MachineClocks, make_directory, refusals

STEPS = (
    "directory made",
    "locked",
    "begun",
    "torn line cut",
    "extra lines synced",
    "extra lines taken in",
    "prefixes held",
    "decided",
    "line half written",
    "line written",
    "line synced",
    "rows written",
    "committed",
    "marked",
    "unlocked",
)
"""Points between opening, a request and its answer where a process may die. Tests try each of them."""

Change = TypeVar("Change", bound=TickChange)


class SqliteTicks:
    """Implements the port `Ticks` on a data directory."""

    prompt = True

    def __init__(
        self,
        directory: Path,
        *,
        machine: str,
        lock_directory: Path | None = None,
        clocks: Clocks | None = None,
        on_step: Callable[[str], None] | None = None,
        confirmed: Reading | None = None,
        newest_kept: NewestKept | None = None,
        accept_loss: bool = False,
    ) -> None:
        """Open or begin the clock of `directory`, on the machine with that id.

        Raise `DataDirectoryCopied` if the directory was last used on another machine, unless an operator has
        `confirmed` its new place, at that time. Raise `IdentityInUse` if another data directory of this machine mints
        with the identity.

        `clocks` only dates lines of the log; `on_step` is called at each of `STEPS`. `newest_kept` returns the newest
        instant of the stored labels, which the log may not know. It is called when the directory has lost track of
        issued labels, and when an identity is new to it. If labels are stored but the log has none, freezing an
        identity raises `MintLogLost`, unless an operator sets `accept_loss`.
        """
        self._newest_kept = newest_kept or _nothing_kept
        self._accept_loss = accept_loss
        self._step = on_step or _pass_by
        self._clocks = clocks or MachineClocks()
        self._turn = threading.Lock()
        self._closed = self._forked = False
        self._directory = _make_directory(directory)
        self._step("directory made")
        with ExitStack() as self._opened:
            self._lock = DataLock(self._directory)
            self._opened.callback(self._lock.close)
            self._lock_directory = LockDirectory(lock_directory)
            self._opened.callback(self._lock_directory.close)
            here = Store(secrets.token_hex(16), machine, str(self._directory))
            self._store = TickStore(self._directory / "mint", here, on_step)
            self._opened.callback(self._store.close)
            identity = self._open(here, confirmed)
            if identity is not None:
                self._resume(identity)
            self._opened = self._opened.pop_all()
        _OPEN.add(self)

    def identity(self) -> Identity | None:
        return self._look().identity

    def state(self) -> TickState:
        return self._look().state

    def freeze(self, identity: Identity) -> None:
        if self._look().identity == identity:
            return
        newest = self._newest_kept(identity)  # before the lock: a process that stores items may wait for that one
        with self._exclusive():
            known = self._begin()
            if known.identity == identity:
                self._store.rollback()
                return
            gap = self._gap_before(known, identity, newest)
            high = self._prefixes.hold(identity.prefixes, known.store.log.number, sandbox=identity.sandbox)
            state = later(resumed_clock(identity, self._store.clocks()), high)
            if gap is not Gap.NONE:
                state = with_gap(state, gap, newest)
            entry = known.next_line("identity", identity, self._clocks.read().wall)
            self._store.hold_home(identity, entry.at)
            store = known.store._replace(epoch=secrets.token_hex(16), in_doubt=not is_loopback_sandbox(identity))
            known = self._store.commit(known, entry, store=store, clocks={identity.key: state})
            self._settle(known, identity)

    def epoch(self) -> str:
        return self._look().store.epoch

    def is_in_doubt(self) -> bool:
        return self._look().store.in_doubt

    def set_doubt(self, *, in_doubt: bool) -> None:
        with self._exclusive():
            known = self._begin()
            if known.store.in_doubt == in_doubt:
                self._store.rollback()
            else:
                self._store.commit(known, store=known.store._replace(in_doubt=in_doubt), clocks={})

    def check_log(self, pause: Callable[[], None] | None = None) -> None:
        end = self._look().store.log
        try:
            check_links(self._store.log.lines(0, end.size), end.head, pause)
        except LogBroken:
            with self._exclusive():
                self._store.forget_seen(self._store.begin())
            raise

    def advance(self, decide: Callable[[TickState, Remembered], Change]) -> Change:
        with self._exclusive():
            known = self._begin()
            if known.identity is None:
                raise IdentityMissing
            change = decide(known.state, self._store.find_share)
            self._step("decided")
            if change.batch is None:
                self._store.rollback()
            else:
                self._record(known, known.identity, change.batch, change)
        self._step("unlocked")
        return change

    def accept_clock(self, accept: Callable[[TickState, list[Span]], TickState]) -> None:
        with self._exclusive():
            known = self._begin()
            identity = known.identity
            if identity is None:
                raise IdentityMissing
            issued = issued_spans(identity, known.state, self._store.entries(known.store.log))
            state = accept(known.state, issued)
            entry = known.next_line("clock", identity, state.accepted or self._clocks.read().wall)
            self._store.keep_keys(entry.at.seconds)
            known = self._store.commit(known, entry, clocks={identity.key: state})
            self._mark(known)

    def log(self) -> Iterator[bytes]:
        return self._lines(self._look().store.log)

    def close(self) -> None:
        if self._forked or self._closed:
            return
        with self._turn:
            self._closed = True
            self._opened.close()

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Exclude all others, in this process and on this machine. An error inside leaves everything unchanged."""
        if self._forked:  # before waiting for a lock that a thread of the parent may have held
            raise StoreForked(path=self._directory)
        with self._turn:
            if self._closed:
                raise StoreClosed(path=self._directory)
            try:
                self._lock.acquire()
                self._step("locked")
                with storage_errors(self._store.path, TICKS.damaged):
                    yield
            except BaseException as error:
                self._store.rollback()
                if isinstance(error.__cause__, DatabaseError):
                    self._store.disconnect()
                raise
            finally:
                self._lock.release()

    def _begin(self) -> Known:
        """Begin a transaction. If another process has frozen another identity, hold its prefixes first."""
        known = self._store.begin()
        if known.identity is None or self._prefixes.are_just(known.identity.prefixes):
            return known
        return self._hold_or_resume(known, known.identity)

    def _hold_or_resume(self, known: Known, identity: Identity) -> Known:
        """Hold the prefixes of the identity. Its clock continues after all labels given out under them."""
        self._hold(known, identity)
        return known if self._is_certain(known) else self._begin_new_use(known, identity, None)

    def _hold(self, known: Known, identity: Identity) -> None:
        self._prefixes.hold(identity.prefixes, known.store.log.number, sandbox=identity.sandbox)
        self._step("prefixes held")
        self._prefixes.keep_just(identity.prefixes)
        if self._is_certain(known):
            self._settle(known, identity)

    def _settle(self, known: Known, identity: Identity) -> None:
        """Record the progress under the held prefixes of the identity, and release all others."""
        self._prefixes.keep_just(identity.prefixes)
        self._prefixes.begin_use(self._clocks.read().boot, known.store.epoch)
        self._mark(known)

    def _mark(self, known: Known) -> None:
        log = known.store.log
        self._prefixes.mark(known.state.last, log.number, Trail(log.last, log.size, log.head))

    def _is_certain(self, known: Known) -> bool:
        """Return whether this directory is certain to continue its past, in this boot and without a restore.

        If so, the lock records are of the same use, and the log has the last line that they saw.
        """
        epoch, boot = known.store.epoch, self._clocks.read().boot
        if not epoch or not self._prefixes.are_of(boot, epoch):
            return False
        return all(self._goes_on_from(record, known) for record in self._prefixes.records())

    def _goes_on_from(self, record: PrefixRecord, known: Known) -> bool:
        begin, end, head = record.trail
        if not head:
            return record.number <= known.store.log.number
        if not begin < end <= known.store.log.size:
            return end == 0 and head == GENESIS
        return hash_of(self._store.log.read(begin, end - begin - 1)) == head

    def _begin_new_use(self, known: Known, identity: Identity, newest: Instant | None) -> Known:
        """Begin a new use of the directory, later than now and than all dates known to be issued."""
        highs = [record.high for record in self._prefixes.records() if not self._goes_on_from(record, known)]
        latest = max((date for date in (newest, *highs) if date is not None), default=None)
        gap = Gap.BEGINNING if is_loopback_sandbox(identity) else Gap.LOST_TRACK
        state = with_gap(known.state, gap, latest)
        if not self._is_another_boot_alone(known):
            # The store may not know all issued dates, for example after a restore from a backup.
            self._store.restart_home(self._clocks.read().wall)
        store = known.store._replace(epoch=secrets.token_hex(16), in_doubt=not is_loopback_sandbox(identity))
        known = self._store.commit(known, store=store, clocks={identity.key: state})
        self._settle(known, identity)
        return self._store.begin()

    def _is_another_boot_alone(self, known: Known) -> bool:
        """Return whether the machine was restarted, and nothing else has changed."""
        records = self._prefixes.records()
        boots = {record.use.boot for record in records}
        if len(boots) != 1 or not known.store.epoch or not self._prefixes.are_of(boots.pop(), known.store.epoch):
            return False
        return all(self._goes_on_from(record, known) for record in records)

    def _gap_before(self, known: Known, identity: Identity, newest: Instant | None) -> Gap:
        """Return the gap in the knowledge of an identity that is new here."""
        if known.store.log == BEGINNING and newest is not None:
            if not self._accept_loss:
                raise MintLogLost(path=self._store.log.path, prefix=identity.key, newest=str(newest))
            return Gap.LOST_TRACK
        return Gap.NONE if is_loopback_sandbox(identity) and newest is None else Gap.BEGINNING

    def _look(self) -> Known:
        with self._exclusive():
            known = self._begin()
            self._store.rollback()
            return known

    def _record(self, known: Known, identity: Identity, batch: LabelBatch, change: TickChange) -> None:
        log = known.store.log
        entry = mint_entry(log.number + 1, log.head, identity, batch, change.outcomes)
        self._mark(self._store.commit(known, entry, clocks={identity.key: change.state}, keys=change.keys))
        self._step("marked")

    def _lines(self, end: Position) -> Iterator[bytes]:
        head = GENESIS
        for line in self._store.log.lines(0, end.size):
            yield line
            head = hash_of(line)
        if head != end.head:
            raise LogBroken(line=end.number, reason="it was changed, or lines are missing")

    def _open(self, here: Store, confirmed: Reading | None) -> Identity | None:
        """Open the store. Return the identity if its clock has lost track."""
        with self._exclusive():
            known = self._store.note_seen(self._store.begin())
            here = known.store._replace(machine=here.machine, path=here.path)
            if confirmed is not None:
                here = here._replace(instance=secrets.token_hex(16))
            elif known.identity is not None:  # a directory that has minted nothing may be copied
                _check_place(known, here, known.identity)
            self._prefixes = PrefixLocks(self._lock_directory, Owner(here.instance, here.path))
            self._opened.callback(self._prefixes.close)
            known = self._move_in(known, here, confirmed)
            if known.identity is not None:
                self._hold(known, known.identity)
            self._lock.write_instance(here.instance)
            self._store.settle_home(known.identity, self._clocks.read().wall)
            return None if known.identity is None or self._is_certain(known) else known.identity

    def _resume(self, identity: Identity) -> None:
        newest = self._newest_kept(identity)  # not under the lock: a process that stores items may wait for it
        with self._exclusive():
            known = self._store.begin()
            if known.identity == identity and not self._is_certain(known):  # another process may have been quicker
                self._begin_new_use(known, identity, newest)
            self._store.rollback()

    def _move_in(self, known: Known, here: Store, confirmed: Reading | None) -> Known:
        """Record the store's place; a confirmation by an operator goes into the log."""
        if confirmed is not None:
            self._confirm(known, here, confirmed)
        elif here != known.store:
            self._store.commit(known, store=here, clocks={})
        else:
            return known
        return self._store.begin()

    def _confirm(self, known: Known, here: Store, reading: Reading) -> None:
        clocks = {key: later(clock, reading.wall) for key, clock in self._store.clocks().items()}
        self._store.restart_home(reading.wall)
        entry = None
        if known.identity is not None:
            identity = known.identity
            self._prefixes.hold(identity.prefixes, known.store.log.number, sandbox=identity.sandbox)
            entry = known.next_line("copy", known.identity, reading.wall)
        self._store.commit(known, entry, store=here, clocks=clocks)


def settle_restored(directory: Path, machine: str, until: Instant) -> None:
    """Let a restored clock continue after `until`, as a different minter.

    The labels given out since the backup are unknown. So the clock begins a new use when it is opened, and the address
    is asked for the other minter. A clock that is behind `until` refuses to mint.
    """
    directory = _make_directory(directory)
    with closing(DataLock(directory)) as lock:
        lock.acquire()
        here = Store(secrets.token_hex(16), machine, str(directory))
        with closing(TickStore(directory / "mint", here, None)) as ticks, storage_errors(ticks.path, TICKS.damaged):
            known = ticks.begin()
            clocks = {key: later(clock, until) for key, clock in ticks.clocks().items()}
            ticks.restart_home(until)
            entry = None if known.identity is None else known.next_line("copy", known.identity, until)
            here = known.store._replace(instance=here.instance, machine=machine, path=here.path, epoch="")
            ticks.commit(known, entry, store=here, clocks=clocks)
        lock.write_instance(here.instance)


def _make_directory(directory: Path) -> Path:
    with refusals(DiskRefused, directory):
        make_directory(directory / "mint")
        return directory.resolve(strict=True)


def _check_place(known: Known, here: Store, identity: Identity) -> None:
    """Refuse a copy: one from another machine, or one beside its original directory."""
    if known.store.machine != here.machine:
        raise DataDirectoryCopied(path=here.path)
    before, now = Owner(known.store.instance, known.store.path), Owner(here.instance, here.path)
    if before.is_elsewhere(now):
        raise IdentityInUse(prefix=identity.key, path=before.path)


def _nothing_kept(identity: Identity) -> None:
    """Return nothing: there is no store of items."""


def _pass_by(step: str) -> None:
    """Ignore the step: only tests watch steps."""


_OPEN: WeakSet[SqliteTicks] = WeakSet()
_INHERITED: list[SqliteTicks] = []
"""Stores of a parent process. They are never used and never closed, because closing would disturb the parent."""


def _leave_to_the_parent() -> None:
    for ticks in _OPEN:
        ticks._forked = True
        _INHERITED.append(ticks)


os.register_at_fork(after_in_child=_leave_to_the_parent)
