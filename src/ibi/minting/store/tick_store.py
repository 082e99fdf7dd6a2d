"""The database and the mint log as one: each commit is in both, and the log is never behind.

A log line is on disk before the database refers to it. If the log has more lines, after a crash in between or a restore
of the database, they are taken in before anything else. Labels that were not handed out may be lost that way; none is
given out twice. The caller holds the lock of the data directory.

Two tables are written in the transactions that move the clock. `given_out` has the dates that were given out for use
elsewhere, as spans of microseconds; it is derived from the mint log. `home` has, for each minting prefix, the begin and
end of the time for which that record is complete. Outside of this time nothing is certain.

The record lacks labels that were given out before it began, or that were lost in a restore of the data directory. In
the latter case `restart` lets the record begin anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final, NamedTuple

from ibi.minting.model import BatchShare, TickState
from ibi.minting.rules.mint_log import (
    Kind,
    LogBroken,
    LogEntry,
    decode,
    encode,
    given_out_spans,
    microseconds,
    replay_entry,
)
from ibi.minting.store.mint_log_file import MintLogFile, Position
from ibi.minting.store.tick_rows import MIGRATIONS, Store, TickRows
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.label.search import home_prefix, parse_home_prefix
from ibi.storage.connection import TICKS, Connection, DatabaseError, connect, storage_errors, transaction

_FRESH: Final = 1.0
_FINAL: Final = """
    SELECT 1 FROM home WHERE prefix = :prefix AND since < :date AND (until IS NULL OR :date <= until)
    AND NOT EXISTS (
        SELECT 1 FROM (SELECT last FROM given_out WHERE first <= :date ORDER BY first DESC LIMIT 1) WHERE last >= :date
    )
"""


class GivenOutRows:
    """Reads and writes rows; the caller handles the transaction."""

    def __init__(self, connection: Connection) -> None:
        self._execute = connection.execute
        self._execute_many = connection.executemany

    def add(self, entry: LogEntry) -> None:
        """Record the labels that this line of the mint log gave out."""
        rows = [(microseconds(span.first), microseconds(span.last, upwards=True)) for span in given_out_spans(entry)]
        if rows:
            # Two spans within one microsecond share a row.
            self._execute_many(
                "INSERT INTO given_out VALUES (?, ?) ON CONFLICT DO UPDATE SET last = max(last, excluded.last)", rows
            )

    def hold(self, prefixes: Iterable[str], at: Instant, latest: Instant | None) -> bool:
        """Keep the record for exactly these prefixes, and return whether anything changed.

        The record of a new prefix begins `at` that time, but after the `latest` date issued before. The record of a
        prefix that no longer mints ends.
        """
        wanted = {parse_home_prefix(prefix) for prefix in prefixes}
        held = {prefix for (prefix,) in self._execute("SELECT prefix FROM home WHERE until IS NULL").fetchall()}
        if wanted == held:
            return False
        now = microseconds(at, upwards=True)
        since = max(now, now if latest is None else microseconds(latest, upwards=True))
        self._execute_many("UPDATE home SET until = ? WHERE prefix = ?", [(now, prefix) for prefix in held - wanted])
        self._execute_many("REPLACE INTO home VALUES (?, ?, NULL)", [(prefix, since) for prefix in wanted - held])
        return True

    def restart(self, at: Instant) -> None:
        """Let the record of every prefix begin anew `at` that time, if it began earlier."""
        since = microseconds(at, upwards=True)
        self._execute("UPDATE home SET since = max(since, ?)", (since,))
        self._execute("DELETE FROM given_out WHERE last <= (SELECT min(since) FROM home)")

    def is_complete(self) -> bool:
        """Return whether every known line of the mint log went through `add`."""
        row = self._execute("SELECT given_number IS NOT NULL AND given_number = log_number FROM store").fetchone()
        return bool(row and row[0])

    def set_complete(self) -> None:
        self._execute("UPDATE store SET given_number = log_number")


class SqliteGivenOut:
    """Implements the port `GivenOut`. It reads the record beside the minting processes."""

    prompt = True

    def __init__(self, data: Path) -> None:
        """Open the record of a data directory. Its tick store must have been opened before."""
        self._path = data / "mint" / "ticks.sqlite"
        self._connection = connect(self._path, MIGRATIONS)
        self._turn = Lock()
        self._prefixes: frozenset[str] = frozenset()
        self._fresh_until = 0.0

    def is_final(self, label: Label) -> bool:
        """Return whether it is certain that the label was not given out for use elsewhere.

        This holds for future dates as well: a label that is given out later is recorded before it leaves the minter.
        """
        instant, prefix = label.instant, home_prefix(label)
        try:
            with self._turn:
                if not self._is_own(prefix):
                    return False
                row = self._connection.execute(_FINAL, {"prefix": prefix, "date": microseconds(instant)}).fetchone()
        except DatabaseError:
            # The minter works with the same file and reports damage. Here the answer is then uncertain.
            return False
        return row is not None

    def _is_own(self, prefix: str) -> bool:
        """Return whether the prefix is recorded here. Resolvers ask every Archive, so most labels belong to others.

        The cached prefixes may be a second old. For that long a new prefix gets no certain answer, and a former one is
        still looked up.
        """
        if (now := monotonic()) >= self._fresh_until:
            self._prefixes = frozenset(prefix for (prefix,) in self._connection.execute("SELECT prefix FROM home"))
            self._fresh_until = now + _FRESH
        return prefix in self._prefixes

    def close(self) -> None:
        with self._turn, suppress(DatabaseError):
            self._connection.close()


def restart_given_out(data: Path, at: Instant) -> None:
    """Let the record of a data directory begin anew, because part of it was, or may have been, restored from a backup.

    Nothing is done where nothing was minted yet.
    """
    path = data / "mint" / "ticks.sqlite"
    if not path.exists():
        return
    with storage_errors(path), closing(connect(path, MIGRATIONS)) as connection, transaction(connection):
        GivenOutRows(connection).restart(at)


_SHORT_LOG = "PRAGMA wal_autocheckpoint = 128"
"""Pages after which SQLite restarts its log. Every commit changes the same two pages, so a checkpoint copies little. A
file that no longer grows is synced at two thirds of the cost."""


class Known(NamedTuple):
    """The committed state: the row of the store, the frozen identity and its clock."""

    store: Store
    identity: Identity | None
    state: TickState

    def next_line(self, kind: Kind, identity: Identity, at: Instant) -> LogEntry:
        """Return the next log line, for a line that does not mint."""
        return LogEntry(self.store.log.number + 1, kind, identity, at, self.store.log.head)


class TickStore:
    def __init__(self, directory: Path, new: Store, on_step: Callable[[str], None] | None) -> None:
        """A missing database begins with `new`."""
        self.path = directory / "ticks.sqlite"
        self.log = MintLogFile(directory / "mint.log", on_step)
        self._new = new
        self._step = on_step or _pass_by
        self._connection: Connection | None = None
        self._known: Known | None = None

    def begin(self) -> Known:
        """Begin a transaction, take in further lines of the log, and return the committed state."""
        if self._connection is None:
            self._connect()
        known = self._begin()
        if not self.log.is_at(known.store.log, known.store.log_seen):
            self._take_in(known)
            known = self._begin()
            self.log.note_end(known.store.log)
        return known

    def note_seen(self, known: Known) -> Known:
        """Record that the log is whole, so that the next start need not read it. A full disk may prevent this."""
        if self.log.seen == known.store.log_seen:
            return known
        try:
            self._end(known.store, known.identity, {}, known.state)
        except DatabaseError:
            self.disconnect()
        return self.begin()

    def commit(
        self,
        known: Known,
        entry: LogEntry | None = None,
        *,
        clocks: Mapping[str, TickState],
        store: Store | None = None,
        keys: Sequence[tuple[str, BatchShare]] = (),
    ) -> Known:
        """Commit the transaction that returned `known`, with a log line, the moved clocks, and the served keys."""
        store, identity = store or known.store, known.identity
        if entry is not None:
            store = store._replace(log=self.log.append(encode(entry), store.log))
            if entry.kind == "identity":
                identity = entry.identity
            self._rows.save_served(keys, store.log, entry.at.seconds)
            self._given_out.add(entry)
        return self._end(store, identity, clocks, known.state)

    def forget_seen(self, known: Known) -> None:
        """Make every process read the log from its first line before it mints, until the log is whole."""
        self.log.close()
        self._end(known.store, known.identity, {}, known.state)

    def rollback(self) -> None:
        """Roll back a transaction that changed nothing, or failed."""
        try:
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except DatabaseError:
            self.disconnect()

    def disconnect(self) -> None:
        """Drop the connection after a database error; the next transaction opens a new one."""
        if self._connection is not None:
            with suppress(DatabaseError):
                self._connection.close()
        self._connection = self._known = None

    def close(self) -> None:
        self.disconnect()
        self.log.close()

    # The methods below run inside a transaction.

    def clocks(self) -> dict[str, TickState]:
        return self._rows.clocks()

    def keep_keys(self, at: int) -> None:
        """Keep every key for its whole lifetime from now on, after the clock was corrected."""
        self._rows.restamp_served(at)

    def hold_home(self, identity: Identity, at: Instant) -> bool:
        """Record labels given out under the identity's prefixes from now on. Return whether anything changed."""
        return self._given_out.hold(identity.prefixes, at, _latest(self._rows.clocks().values()))

    def restart_home(self, at: Instant) -> None:
        """Let the record begin anew. Earlier labels are uncertain, for example after a restore of the data
        directory."""
        self._given_out.restart(at)

    def settle_home(self, identity: Identity | None, at: Instant) -> None:
        """End the transaction with the record in order: begun if it was missing, and begun anew if it had gaps."""
        is_complete = self._given_out.is_complete()
        if not is_complete:
            self._given_out.restart(at)
            self._given_out.set_complete()
        is_new = identity is not None and self.hold_home(identity, at)
        if is_new or not is_complete:
            assert self._connection is not None
            self._connection.execute("COMMIT")
        else:
            self.rollback()

    def entries(self, end: Position) -> Iterator[LogEntry]:
        for number, line in enumerate(self.log.lines(0, end.size), start=1):
            yield decode(line, number)

    def find_share(self, who: str, key: str) -> BatchShare | None:
        """Return the share that served a key, rebuilt from its log line."""
        served = self._rows.find_served(who, key)
        if served is None:
            return None
        batch = decode(self.log.read(served.line, served.length), served.number).batch()
        return None if batch is None else BatchShare(batch, served.start, served.count, who)

    def _connect(self) -> None:
        self._connection = connect(self.path, MIGRATIONS, kind=TICKS)
        self._connection.execute(_SHORT_LOG)
        self._rows = TickRows(self._connection)
        self._given_out = GivenOutRows(self._connection)
        with transaction(self._connection):
            if self._rows.version() is None:
                self._rows.save_store(self._new)

    def _begin(self) -> Known:
        assert self._connection is not None
        self._connection.execute("BEGIN IMMEDIATE")
        self._step("begun")
        if self._known is None or self._known.store.version != self._rows.version():
            self._known = self._read_known()
        return self._known

    def _read_known(self) -> Known:
        store, identity = self._rows.store(), self._rows.identity()
        return Known(store, identity, TickState() if identity is None else self._rows.clock(identity.key))

    def _end(self, store: Store, identity: Identity | None, clocks: Mapping[str, TickState], state: TickState) -> Known:
        assert self._connection is not None
        assert self._known is not None
        if identity is not None and identity != self._known.identity:
            self._rows.save_identity(identity)
        for name, clock in clocks.items():
            self._rows.save_clock(name, clock)
        key = None if identity is None else identity.key
        store = store._replace(identity=key, revision=store.revision + 1, log_seen=self.log.seen)
        if store.place == self._known.store.place:
            self._rows.save_progress(store)
        else:
            self._rows.save_store(store)
        self._step("rows written")
        self._connection.execute("COMMIT")
        self._step("committed")
        self._known = Known(store, identity, state if key is None else clocks.get(key, state))
        return self._known

    def _take_in(self, known: Known) -> None:
        """Replay the lines that the database does not know."""
        store, identity = known.store, known.identity
        clocks = self._rows.clocks()
        for line, after in self.log.take_in(store.log):
            entry = decode(line, after.number)
            _check_chain(entry, store.log)
            clocks |= replay_entry(entry, clocks, partial(self.entries, store.log))
            self._given_out.add(entry)
            if entry.kind == "identity":
                self._rows.save_identity(entry.identity)
                identity = entry.identity
            store = store._replace(log=after)
        self._end(store, identity, clocks, known.state)
        self._known = None
        self._step("extra lines taken in")


def _check_chain(entry: LogEntry, before: Position) -> None:
    if entry.previous != before.head or entry.number != before.number + 1:
        raise LogBroken(line=before.number + 1, reason="it does not follow from the line before it")


def _latest(clocks: Iterable[TickState]) -> Instant | None:
    """Return the latest date that any of these clocks has issued."""
    issued = (date for clock in clocks for date in (clock.last, *(span.last for span in clock.ahead)))
    return max((date for date in issued if date is not None), default=None)


def _pass_by(step: str) -> None:
    """Ignore the step: only tests watch steps."""
