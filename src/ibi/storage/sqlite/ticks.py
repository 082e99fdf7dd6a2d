"""The clock's memory on disk, and everybody who must not have a second one like it.

DATA/mint/ticks.sqlite   where every clock stands, which keys were served, up to where the log is known
DATA/mint/mint.log       every batch, in a chain
DATA/mint/lock           held while the clock is moved
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from ibi.minting.errors import IdentityMissing
from ibi.minting.mint_log import GENESIS, LogBroken, hash_of
from ibi.minting.replay import issued_spans, later, mint_entry, resumed_clock
from ibi.model.identity import Identity
from ibi.model.minting import Batch, Reading, Span, TickState
from ibi.ports.clocks import Clocks
from ibi.ports.ticks import Remembered, TickChange
from ibi.storage.data_lock import DataLock
from ibi.storage.disk import make_directory, refusals
from ibi.storage.errors import (
    DataDirectoryCopied,
    DiskRefused,
    IdentityInUse,
    StoreClosed,
    StoreForked,
)
from ibi.storage.lock_directory import LockDirectory
from ibi.storage.machine import MachineClocks
from ibi.storage.mint_log_file import Position
from ibi.storage.prefix_lock import Owner, PrefixLocks
from ibi.storage.sqlite.connection import DatabaseError, storage_errors
from ibi.storage.sqlite.database_kind import TICKS
from ibi.storage.sqlite.tick_rows import Store
from ibi.storage.sqlite.tick_store import Known, TickStore

__all__ = ["STEPS", "SqliteTicks"]

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
"""Where a process may die between opening, a request and its answer: each is tried."""

Change = TypeVar("Change", bound=TickChange)


class SqliteTicks:
    """The port `Ticks` on a data directory."""

    def __init__(
        self,
        directory: Path,
        *,
        machine: str,
        lock_directory: Path | None = None,
        clocks: Clocks | None = None,
        on_step: Callable[[str], None] | None = None,
        confirmed: Reading | None = None,
    ) -> None:
        """Open or begin the clock of `directory`, on the machine of that id.

        Refused: a directory that was used on another machine last (`DataDirectoryCopied`, unless an operator has
        `confirmed`, at that time, that this is its place now), and an identity that another data directory of this
        machine mints as (`IdentityInUse`). `clocks` only date lines of the log; `on_step` is told of each of `STEPS`.
        """
        self._step = on_step or _pass_by
        self._clocks = clocks or MachineClocks()
        self._turn = threading.Lock()
        self._closed = self._forked = False
        self._directory = _made(directory)
        self._step("directory made")
        with ExitStack() as self._opened:
            self._lock = DataLock(self._directory)
            self._opened.callback(self._lock.close)
            self._lock_directory = LockDirectory(lock_directory)
            self._opened.callback(self._lock_directory.close)
            here = Store(secrets.token_hex(16), machine, str(self._directory))
            self._store = TickStore(self._directory / "mint", here, on_step)
            self._opened.callback(self._store.close)
            self._open(here, confirmed)
            self._opened = self._opened.pop_all()
        _OPEN.add(self)

    def identity(self) -> Identity | None:
        return self._look().identity

    def state(self) -> TickState:
        return self._look().state

    def freeze(self, identity: Identity) -> None:
        with self._exclusive():
            known = self._begin()
            if known.identity == identity:
                self._store.rollback()
                return
            high = self._prefixes.hold(identity.prefixes, known.store.log.number, sandbox=identity.sandbox)
            state = later(resumed_clock(identity, self._store.clocks()), high)
            entry = known.next_line("identity", identity, self._clocks.read().wall)
            known = self._store.commit(known, entry, clocks={identity.key: state})
            self._settle(known, identity)

    def advance(self, decide: Callable[[TickState, Remembered], Change]) -> Change:
        with self._exclusive():
            known = self._begin()
            if known.identity is None:
                raise IdentityMissing
            change = decide(known.state, self._store.remembered)
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
            self._prefixes.mark(state.last, known.store.log.number)

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
        """Alone in this process and on this machine. What raises inside has changed nothing."""
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
        """Begin a transaction. If another process has frozen another identity, its prefixes are held first."""
        known = self._store.begin()
        if known.identity is None or self._prefixes.are_just(known.identity.prefixes):
            return known
        return self._held(known, known.identity)

    def _held(self, known: Known, identity: Identity) -> Known:
        """Hold the prefixes of the identity. Its clock goes on after whatever was given out under them."""
        high = self._prefixes.hold(identity.prefixes, known.store.log.number, sandbox=identity.sandbox)
        self._step("prefixes held")
        state = later(known.state, high)
        if state != known.state:
            self._store.commit(known, clocks={identity.key: state})
            known = self._store.begin()
        self._settle(known, identity)
        return known

    def _settle(self, known: Known, identity: Identity) -> None:
        """The prefixes of the identity are held: say how far it has come, and give up others."""
        self._prefixes.keep_just(identity.prefixes)
        self._prefixes.mark(known.state.last, known.store.log.number)

    def _look(self) -> Known:
        with self._exclusive():
            known = self._begin()
            self._store.rollback()
            return known

    def _record(self, known: Known, identity: Identity, batch: Batch, change: TickChange) -> None:
        log = known.store.log
        entry = mint_entry(log.number + 1, log.head, identity, batch, change.outcomes)
        self._store.commit(known, entry, clocks={identity.key: change.state}, keys=change.keys)
        self._prefixes.mark(change.state.last, entry.number)
        self._step("marked")

    def _lines(self, end: Position) -> Iterator[bytes]:
        head = GENESIS
        for line in self._store.log.lines(0, end.size):
            yield line
            head = hash_of(line)
        if head != end.head:
            raise LogBroken(line=end.number, reason="it was changed, or lines are missing")

    # Opening.

    def _open(self, here: Store, confirmed: Reading | None) -> None:
        with self._exclusive():
            known = self._store.begin()
            here = known.store._replace(machine=here.machine, path=here.path)
            if confirmed is not None:
                here = here._replace(instance=secrets.token_hex(16))
            elif known.identity is not None:  # what has minted nothing may be copied
                _check_place(known, here, known.identity)
            self._prefixes = PrefixLocks(self._lock_directory, Owner(here.instance, here.path))
            self._opened.callback(self._prefixes.close)
            known = self._moved_in(known, here, confirmed)
            if known.identity is not None:
                self._held(known, known.identity)
            self._lock.write_instance(here.instance)
            self._store.rollback()

    def _moved_in(self, known: Known, here: Store, confirmed: Reading | None) -> Known:
        """The store says that it lives here; what an operator confirmed goes into the log."""
        if confirmed is not None:
            self._confirm(known, here, confirmed)
        elif here != known.store:
            self._store.commit(known, store=here, clocks={})
        else:
            return known
        return self._store.begin()

    def _confirm(self, known: Known, here: Store, reading: Reading) -> None:
        clocks = {key: later(clock, reading.wall) for key, clock in self._store.clocks().items()}
        entry = None
        if known.identity is not None:
            identity = known.identity
            self._prefixes.hold(identity.prefixes, known.store.log.number, sandbox=identity.sandbox)
            entry = known.next_line("copy", known.identity, reading.wall)
        self._store.commit(known, entry, store=here, clocks=clocks)


def _made(directory: Path) -> Path:
    with refusals(DiskRefused, directory):
        make_directory(directory / "mint")
        return directory.resolve(strict=True)


def _check_place(known: Known, here: Store, identity: Identity) -> None:
    """Refuse a copy: from another machine, or beside the directory it was copied from."""
    if known.store.machine != here.machine:
        raise DataDirectoryCopied(path=here.path)
    before, now = Owner(known.store.instance, known.store.path), Owner(here.instance, here.path)
    if before.is_elsewhere(now):
        raise IdentityInUse(prefix=identity.key, path=before.path)


def _pass_by(step: str) -> None:
    """Nobody watches."""


_OPEN: WeakSet[SqliteTicks] = WeakSet()
_INHERITED: list[SqliteTicks] = []
"""Stores of a parent process: never used, and never closed, since closing them would disturb the parent."""


def _leave_to_the_parent() -> None:
    for ticks in _OPEN:
        ticks._forked = True
        _INHERITED.append(ticks)


os.register_at_fork(after_in_child=_leave_to_the_parent)
