"""Beliefs in SQLite: the file `beliefs.sqlite` of a data directory.

Readers' links cause the writes, so a commit does not wait for the disk: it survives the end of the process, and after
a power cut the last seconds are learned anew from the homes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Any, Final

from ibi.label import Label, parse
from ibi.label.search import home_prefix
from ibi.lru_cache import SharedLruCache
from ibi.messages.holders import CopiesStatement, CopyHolder
from ibi.model.registration import (
    DISPUTED,
    NO_COPIES,
    NO_SUCCESSION,
    ClaimKind,
    Dispute,
    FalseClaim,
    KnownDeletion,
    LabelBeliefs,
    NamedCopies,
    Ruling,
    Succession,
)
from ibi.ports.federation import HOLDER_AGE, MOST_CLAIMS, MOST_HOLDINGS, MOST_SUCCESSIONS
from ibi.storage.sqlite.catalog_rows import label_key
from ibi.storage.sqlite.connection import BELIEFS, Connection, connect, transaction
from ibi.storage.sqlite.guarded import GuardedDatabase, OnDamage, open_or_begin_anew

FILE_NAME: Final = BELIEFS.file_name

_RECENT: Final = 0.01
"""Seconds for which changes by other processes may go unnoticed."""
_MOST_IN_MEMORY: Final = 16_384
"""Labels whose holder, or that they have none, is kept in memory."""


def _counted_table(table: str, columns: str) -> str:
    """A table whose rows have an `owner`, and the number of rows that each owner has."""
    return f"""
    CREATE TABLE {table} (id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, {columns});
    CREATE INDEX {table}_of ON {table} (owner, id);
    CREATE TABLE {table}_counts (owner TEXT PRIMARY KEY, rows INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TRIGGER {table}_added AFTER INSERT ON {table} BEGIN
        INSERT INTO {table}_counts VALUES (new.owner, 1) ON CONFLICT DO UPDATE SET rows = rows + 1; END;
    CREATE TRIGGER {table}_dropped AFTER DELETE ON {table} BEGIN
        UPDATE {table}_counts SET rows = rows - 1 WHERE owner = old.owner; END
    """  # noqa: S608


MIGRATIONS: Final = (
    ";\n".join(
        (
            _counted_table("successions", "label BLOB NOT NULL UNIQUE, chain TEXT NOT NULL, at INTEGER NOT NULL"),
            _counted_table("holdings", "label BLOB NOT NULL UNIQUE, at INTEGER NOT NULL"),
            _counted_table(
                "claims",
                "label BLOB NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, home TEXT NOT NULL,"
                " first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, count INTEGER NOT NULL,"
                " UNIQUE (label, owner, kind)",
            ),
            "CREATE INDEX claims_seen ON claims (last_seen)",
            "CREATE TABLE copies (home TEXT PRIMARY KEY, services TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID",
        )
    ),
    """
    ALTER TABLE claims ADD COLUMN told INTEGER;
    CREATE TABLE rulings (label BLOB PRIMARY KEY, name TEXT NOT NULL, holder TEXT NOT NULL, parties TEXT NOT NULL,
        at INTEGER NOT NULL, ruled_by TEXT NOT NULL) WITHOUT ROWID
    """,
    # Services may have prefixes from here on: words as `CopyHolder` writes them.
    """
    ALTER TABLE copies ADD COLUMN statement TEXT;
    ALTER TABLE copies ADD COLUMN signed_at INTEGER NOT NULL DEFAULT 0
    """,
    """
    ALTER TABLE successions ADD COLUMN signed INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX successions_signed ON successions (owner, signed, id)
    """,
    "ALTER TABLE claims ADD COLUMN proven INTEGER",
    _counted_table("deletions", "label BLOB NOT NULL UNIQUE, by TEXT NOT NULL, deleted INTEGER, at INTEGER NOT NULL"),
)


class SqliteBeliefs(GuardedDatabase):
    """The port `Beliefs` on one data directory.

    Most labels were never given on. Which prefixes have any that were is kept in memory, so that asking about the
    others costs no statement. So are the holders that were asked for last: a statement takes longer than the rest of
    what a resolution asks before it sends its first request.
    """

    prompt = True

    def __init__(self, directory: Path, on_damage: OnDamage | None = None) -> None:
        """With `on_damage`, a file that cannot be used is set aside, and all is learned anew: that is no reason not to
        resolve links. Without it, that raises an error."""
        self._looked, self._version = float("-inf"), -1
        self._passed_on: frozenset[str] = frozenset()
        self._with_deletions: frozenset[str] = frozenset()
        self._copies: dict[str, NamedCopies] = {}
        self._copies_rows: list[Any] = []
        self._rulings: dict[Label, Label] = {}
        """The holders that were named by rulings; there are few."""
        self._holders: SharedLruCache[Label, tuple[Label, int] | tuple[()]] = SharedLruCache(
            _MOST_IN_MEMORY, _MOST_IN_MEMORY, RLock()
        )
        path = directory / FILE_NAME

        def open_file() -> Connection:
            connection = connect(path, MIGRATIONS, kind=BELIEFS)
            connection.execute("PRAGMA synchronous = NORMAL")
            return connection

        super().__init__(path, BELIEFS, lambda: open_or_begin_anew(path, open_file, on_damage))

    # --- successors ---

    def successors(self, label: Label) -> tuple[Label, ...]:
        return self.succession(label).chain

    def succession(self, label: Label) -> Succession:
        self._follow_changes()
        if home_prefix(label) not in self._passed_on:
            return NO_SUCCESSION
        statement = "SELECT chain, signed FROM successions WHERE label = ?"
        with self._open() as connection:
            row = connection.execute(statement, (label_key(label),)).fetchone()
        return NO_SUCCESSION if row is None else Succession(tuple(map(parse, row[0].split())), bool(row[1]))

    def record_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        with self._change() as connection:
            connection.execute("DELETE FROM successions WHERE label = ? AND NOT signed", (label_key(label),))
            signed = (
                "SELECT 1 FROM successions WHERE label = ?"  # found in the same transaction: no release comes between
            )
            if chain and connection.execute(signed, (label_key(label),)).fetchone() is None:
                _add_succession(connection, label, Succession(chain), at)

    def record_signed_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        with self._change() as connection:
            connection.execute("DELETE FROM successions WHERE label = ?", (label_key(label),))
            _add_succession(connection, label, Succession(chain, is_signed=True), at)

    # --- holders of items without a home ---

    def holder(self, label: Label, now: int) -> Label | None:
        self._follow_changes()
        if self._rulings and (ruled := self._rulings.get(label)) is not None:
            return ruled
        known = self._holders.find(label)
        if known is None:
            known = self._read_holder(label)
        return known[0] if known and now < known[1] + HOLDER_AGE else None

    def _read_holder(self, label: Label) -> tuple[Label, int] | tuple[()]:
        with self._open() as connection:
            row = connection.execute("SELECT owner, at FROM holdings WHERE label = ?", (label_key(label),)).fetchone()
            known = () if row is None else (parse(row[0]), row[1])
            self._holders.keep(label, known, 1)  # under the lock, so that no change comes in between
        return known

    def record_holder(self, label: Label, holder: Label, at: int) -> None:
        owner = str(holder)
        with self._change() as connection:
            connection.execute("DELETE FROM holdings WHERE label = ?", (label_key(label),))
            connection.execute(
                "INSERT INTO holdings (owner, label, at) VALUES (?, ?, ?)", (owner, label_key(label), at)
            )
            has_dropped = _drop_oldest(connection, "holdings", owner, MOST_HOLDINGS)
            self._forget_holders(None if has_dropped else label)

    def forget_holder(self, label: Label) -> None:
        with self._change() as connection:
            connection.execute("DELETE FROM holdings WHERE label = ?", (label_key(label),))
            self._forget_holders(label)

    def _forget_holders(self, label: Label | None) -> None:
        """Drop from memory what is changed: one label, or all of them. Called while the lock is held, so that what was
        read before the change is not put back."""
        if label is None:
            self._holders.clear()
        else:
            self._holders.forget(label)

    # --- holders of Copies ---

    def copies(self, home: Label) -> NamedCopies:
        self._follow_changes()
        return self._copies.get(str(home), NO_COPIES)

    def record_copies(self, home: Label, services: frozenset[Label], at: int) -> None:
        self._keep_copies(home, (CopyHolder(service) for service in services), at, None, 0)

    def record_signed_copies(self, home: Label, said: CopiesStatement, statement: str, at: int) -> None:
        self._keep_copies(home, said.holders, at, statement, said.at)

    def _keep_copies(
        self, home: Label, holders: Iterable[CopyHolder], at: int, statement: str | None, signed_at: int
    ) -> None:
        row = str(home), " ".join(sorted(map(str, holders))), at, statement, signed_at
        with self._change() as connection:
            connection.execute("INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?, ?)", row)

    # --- deletions ---

    def deletion(self, label: Label) -> KnownDeletion | None:
        self._follow_changes()
        if home_prefix(label) not in self._with_deletions:
            return None
        with self._open() as connection:
            statement = "SELECT by, deleted FROM deletions WHERE label = ?"
            row = connection.execute(statement, (label_key(label),)).fetchone()
        return None if row is None else KnownDeletion(parse(row[0]), row[1])

    def record_deletion(self, label: Label, known: KnownDeletion, at: int) -> None:
        owner, key = home_prefix(label), label_key(label)
        with self._change() as connection:
            connection.execute("DELETE FROM deletions WHERE label = ?", (key,))
            statement = "INSERT INTO deletions (owner, label, by, deleted, at) VALUES (?, ?, ?, ?, ?)"
            connection.execute(statement, (owner, key, str(known.by), known.when, at))
            _drop_oldest(connection, "deletions", owner, MOST_SUCCESSIONS)

    def forget_deletion(self, label: Label) -> None:
        with self._change() as connection:
            connection.execute("DELETE FROM deletions WHERE label = ?", (label_key(label),))

    # --- false claims ---

    def record_claim(self, label: Label, claimant: Label, home: Label, kind: ClaimKind, at: int) -> bool:
        owner, key = str(claimant), label_key(label)
        with self._change() as connection:
            before = connection.execute(
                "DELETE FROM claims WHERE label = ? AND owner = ? AND kind = ?"
                " RETURNING first_seen, count, told, proven",
                (key, owner, kind.value),
            ).fetchone()
            first, count, told, proven = (at, 0, None, None) if before is None else before
            connection.execute(
                "INSERT INTO claims (owner, label, name, kind, home, first_seen, last_seen, count, told, proven)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (owner, key, str(label), kind.value, str(home), first, at, count + 1, told, proven),
            )
            _drop_oldest(connection, "claims", owner, MOST_CLAIMS)
        return before is None

    def claims(self, most: int = 100) -> tuple[FalseClaim, ...]:
        with self._open() as connection:
            rows = connection.execute(f"{_CLAIMS} ORDER BY last_seen DESC, label, owner LIMIT ?", (most,)).fetchall()
        return tuple(map(_claim, rows))

    # --- disputes ---

    def disputes(self, most: int, label: Label | None = None, *, settled: bool = True) -> tuple[Dispute, ...]:
        wanted, values = ("", ()) if label is None else (" AND claims.label = ?", (label_key(label),))
        wanted += "" if settled else _OPEN
        with self._open() as connection:
            rows = connection.execute(
                f"{_DISPUTES}{wanted} ORDER BY last_seen DESC, claims.label, claims.owner LIMIT ?", (*values, most)
            ).fetchall()
        return tuple(map(_dispute, rows))

    def record_told(self, label: Label, claimant: Label, at: int) -> None:
        with self._change() as connection:
            connection.execute(
                "UPDATE claims SET told = ? WHERE label = ? AND owner = ?", (at, label_key(label), str(claimant))
            )

    def record_proof(self, label: Label, claimant: Label, at: int) -> None:
        with self._change() as connection:
            connection.execute(
                "UPDATE claims SET proven = ? WHERE label = ? AND owner = ?", (at, label_key(label), str(claimant))
            )

    def rule(self, ruling: Ruling) -> None:
        parties = " ".join(sorted(map(str, ruling.parties)))
        row = label_key(ruling.label), str(ruling.label), str(ruling.holder), parties, ruling.at, ruling.by
        with self._open() as connection:
            connection.execute("PRAGMA synchronous = FULL")
            try:
                with transaction(connection):
                    connection.execute("INSERT OR REPLACE INTO rulings VALUES (?, ?, ?, ?, ?, ?)", row)
                    connection.execute("UPDATE successions SET signed = 0 WHERE label = ?", row[:1])
            finally:
                connection.execute("PRAGMA synchronous = NORMAL")
            self._read_into_memory(connection)

    # --- for people ---

    def about(self, label: Label) -> LabelBeliefs:
        key = (label_key(label),)
        with self._open() as connection:
            chain = connection.execute("SELECT chain, at FROM successions WHERE label = ?", key).fetchone()
            holding = connection.execute("SELECT owner, at FROM holdings WHERE label = ?", key).fetchone()
            claims = connection.execute(f"{_CLAIMS} WHERE label = ? ORDER BY last_seen DESC, owner", key).fetchall()
            ruled = connection.execute(
                "SELECT name, holder, parties, at, ruled_by FROM rulings WHERE label = ?", key
            ).fetchone()
        words, named_at = ("", None) if chain is None else chain
        owner, held_at = (None, None) if holding is None else holding
        successors = tuple(map(parse, words.split()))
        holder = None if owner is None else parse(owner)
        ruling = None if ruled is None else _ruling(ruled)
        return LabelBeliefs(successors, named_at, holder, held_at, tuple(map(_claim, claims)), ruling)

    def named_copies(self, home: Label) -> NamedCopies:
        with self._open() as connection:
            row = connection.execute(
                "SELECT services, at, statement, signed_at FROM copies WHERE home = ?", (str(home),)
            ).fetchone()
        return NO_COPIES if row is None else _named_copies(*row)

    def given_on(self, prefix: str) -> int:
        with self._open() as connection:
            row = connection.execute("SELECT rows FROM successions_counts WHERE owner = ?", (prefix,)).fetchone()
            back = "SELECT COUNT(*) FROM successions WHERE owner = ? AND signed = 1 AND chain = ''"
            (returned,) = connection.execute(back, (prefix,)).fetchone()
        return 0 if row is None else int(row[0] - returned)

    # --- several processes ---

    def _follow_changes(self) -> None:
        """Read anew what is kept in memory if another process has changed anything."""
        now = monotonic()
        if now < self._looked:
            return
        with self._open() as connection:
            (version,) = connection.execute("PRAGMA data_version").fetchone()
            if version != self._version:
                self._read_into_memory(connection)
                self._holders.clear()
                self._version = version
        self._looked = now + _RECENT

    def _read_into_memory(self, connection: Connection) -> None:
        owners = connection.execute("SELECT owner FROM successions_counts WHERE rows > 0").fetchall()
        self._passed_on = frozenset(owner for (owner,) in owners)
        owners = connection.execute("SELECT owner FROM deletions_counts WHERE rows > 0").fetchall()
        self._with_deletions = frozenset(owner for (owner,) in owners)
        rows = connection.execute("SELECT home, services, at, NULL, signed_at FROM copies").fetchall()
        if rows != self._copies_rows:  # to read them takes longer than all else that a change does
            self._copies_rows = rows
            self._copies = {home: _named_copies(*rest) for home, *rest in rows}
        ruled = connection.execute("SELECT name, holder FROM rulings").fetchall()
        self._rulings = {parse(name): parse(holder) for name, holder in ruled}

    @contextmanager
    def _change(self) -> Iterator[Connection]:
        with self._open() as connection:
            with transaction(connection):
                yield connection
            self._read_into_memory(connection)


def _named_copies(services: str, at: int, statement: str | None, signed_at: int) -> NamedCopies:
    return NamedCopies(frozenset(map(CopyHolder.parse, services.split())), at, statement, signed_at)


_CLAIMS: Final = "SELECT name, owner, home, kind, first_seen, last_seen, count FROM claims"


_DISPUTES: Final = f"""
    SELECT claims.name, claims.owner, home, kind, first_seen, last_seen, count, told, chain, proven,
        rulings.name, rulings.holder, parties, rulings.at, ruled_by
    FROM claims LEFT JOIN successions USING (label) LEFT JOIN rulings USING (label)
    WHERE kind IN ({", ".join(repr(kind.value) for kind in DISPUTED)})"""  # noqa: S608


# As `Dispute.settled_by` has it: no ruling on the claimant, no proof, and another at the end of the chain.
_OPEN: Final = """
    AND proven IS NULL
    AND instr(' ' || coalesce(parties, '') || ' ', ' ' || claims.owner || ' ') = 0
    AND substr(' ' || coalesce(chain, ''), -length(claims.owner) - 1) != ' ' || claims.owner"""


def _dispute(row: tuple[Any, ...]) -> Dispute:
    claim, (told, chain, proven) = _claim(row[:7]), row[7:10]
    ruling = None if row[10] is None else _ruling(row[10:])
    holder = parse(chain.split()[-1]) if chain else claim.home if ruling is None else ruling.holder
    return Dispute(claim, holder, told, ruling, proven)


def _ruling(row: tuple[Any, ...]) -> Ruling:
    label, holder, parties, at, by = row
    return Ruling(parse(label), parse(holder), frozenset(map(parse, parties.split())), at, by)


def _claim(row: tuple[Any, ...]) -> FalseClaim:
    label, claimant, home, kind, first, last, count = row
    return FalseClaim(parse(label), parse(claimant), parse(home), ClaimKind(kind), first, last, count)


def _add_succession(connection: Connection, label: Label, known: Succession, at: int) -> None:
    owner, words = home_prefix(label), " ".join(map(str, known.chain))
    row = owner, label_key(label), words, at, known.is_signed
    connection.execute("INSERT INTO successions (owner, label, chain, at, signed) VALUES (?, ?, ?, ?, ?)", row)
    _drop_oldest(connection, "successions", owner, MOST_SUCCESSIONS, "signed, id")


def _drop_oldest(connection: Connection, table: str, owner: str, most: int, order: str = "id") -> bool:
    """Drop what the owner had recorded first if it has more than it may. Return whether anything was dropped."""
    (rows,) = connection.execute(f"SELECT rows FROM {table}_counts WHERE owner = ?", (owner,)).fetchone()  # noqa: S608
    if rows > most:
        oldest = f"SELECT id FROM {table} WHERE owner = ? ORDER BY {order} LIMIT ?"  # noqa: S608
        connection.execute(f"DELETE FROM {table} WHERE id IN ({oldest})", (owner, rows - most))  # noqa: S608
    return bool(rows > most)
