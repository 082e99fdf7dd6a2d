"""What an Archive can say for certain about labels of its own prefixes, kept in `ticks.sqlite`.

Two tables are written in the transactions that move the clock. `given_out` has the dates that were given out for use
elsewhere, as spans of microseconds; it follows from the mint log. `home` has, for each prefix that was minted with,
from when on and until when that record is complete. Where a date is outside of this, nothing is certain.

Before the record began, labels were given out that it does not have. The same is true of what was lost when a data
directory was put back from a backup: `restart` then lets the record begin anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final

from ibi.instant import Instant
from ibi.label import Label
from ibi.label.home_prefix import home_prefix, parse_home_prefix
from ibi.minting.given_out import given_out_spans, microseconds
from ibi.minting.mint_log import LogEntry
from ibi.storage.sqlite.connection import Connection, DatabaseError, connect, storage_errors, transaction
from ibi.storage.sqlite.tick_rows import MIGRATIONS

_FRESH: Final = 1.0
_FINAL: Final = """
    SELECT 1 FROM home WHERE prefix = :prefix AND since < :date AND (until IS NULL OR :date <= until)
    AND NOT EXISTS (
        SELECT 1 FROM (SELECT last FROM given_out WHERE first <= :date ORDER BY first DESC LIMIT 1) WHERE last >= :date
    )
"""


class GivenOutRows:
    """Reads and writes rows; the caller is in charge of the transaction."""

    def __init__(self, connection: Connection) -> None:
        self._execute = connection.execute
        self._execute_many = connection.executemany

    def add(self, entry: LogEntry) -> None:
        """Record what that line of the mint log gave out."""
        rows = [(microseconds(span.first), microseconds(span.last, upwards=True)) for span in given_out_spans(entry)]
        if rows:
            # Two spans within one microsecond are one row.
            self._execute_many(
                "INSERT INTO given_out VALUES (?, ?) ON CONFLICT DO UPDATE SET last = max(last, excluded.last)", rows
            )

    def hold(self, prefixes: Iterable[str], at: Instant, latest: Instant | None) -> bool:
        """Have the record be that of these prefixes; whether anything changed. That of a new one begins `at` that time,
        but after the `latest` date that was issued before; that of a prefix that is not minted with any more ends."""
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
        """Whether every line of the mint log that the store knows went through `add`."""
        row = self._execute("SELECT given_number IS NOT NULL AND given_number = log_number FROM store").fetchone()
        return bool(row and row[0])

    def set_complete(self) -> None:
        self._execute("UPDATE store SET given_number = log_number")


class SqliteGivenOut:
    """What the record says, read beside the processes that mint. From any thread; a look-up takes microseconds."""

    def __init__(self, data: Path) -> None:
        """Of a data directory whose store of ticks was opened before."""
        self._path = data / "mint" / "ticks.sqlite"
        self._connection = connect(self._path, MIGRATIONS)
        self._turn = Lock()
        self._prefixes: frozenset[str] = frozenset()
        self._fresh_until = 0.0

    def is_final(self, label: Label, now: Instant) -> bool:
        """Whether it is certain that the label was given to no other Archive and to no person for use elsewhere.

        False where that is not known: of another's prefix, dated before the record began, or later than `now`.
        """
        instant, prefix = label.instant, home_prefix(label)
        if instant > now:
            return False
        try:
            with self._turn:
                if not self._is_own(prefix):
                    return False
                row = self._connection.execute(_FINAL, {"prefix": prefix, "date": microseconds(instant)}).fetchone()
        except DatabaseError:
            # Damage is told by the minter, which works with the same file. Here nothing is certain then.
            return False
        return row is not None

    def _is_own(self, prefix: str) -> bool:
        """Resolvers ask every Archive, so that most labels are of others. The prefixes known here may be a second old:
        of a newer one nothing is said for that long, and an older one is looked up all the same."""
        if (now := monotonic()) >= self._fresh_until:
            self._prefixes = frozenset(prefix for (prefix,) in self._connection.execute("SELECT prefix FROM home"))
            self._fresh_until = now + _FRESH
        return prefix in self._prefixes

    def close(self) -> None:
        with self._turn, suppress(DatabaseError):
            self._connection.close()


def restart_given_out(data: Path, at: Instant) -> None:
    """Let the record of a data directory begin anew: something in it was put back from a backup, or may have been.

    Nothing is done where nothing was minted yet.
    """
    path = data / "mint" / "ticks.sqlite"
    if not path.exists():
        return
    with storage_errors(path), closing(connect(path, MIGRATIONS)) as connection, transaction(connection):
        GivenOutRows(connection).restart(at)
