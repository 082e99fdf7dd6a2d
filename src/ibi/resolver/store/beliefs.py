"""The beliefs of a resolver, in `state`.

Most changes come from readers' links. They are cached in memory, where this process sees them at once, and written in
groups: at most one short transaction a second. A killed process loses the last second, which is learned again from the
homes. Decisions of people and signed statements are written at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from time import monotonic, perf_counter
from typing import Any, Final

from ibi.membership.model.registration import (
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
from ibi.resolver.ports import HOLDER_AGE, MOST_CLAIMS, MOST_HOLDINGS, MOST_SUCCESSIONS
from ibi.standard.label import Label, parse
from ibi.standard.label.search import home_prefix
from ibi.standard.lru_cache import SharedLruCache
from ibi.standard.messages.holders import CopiesStatement, CopyHolder
from ibi.storage.columns import label_key
from ibi.storage.database import DatabaseSession, note_change, read_change_number, upsert
from ibi.storage.state import StateStore

_RECENT: Final = 0.01
"""Seconds for which changes by other processes may go unnoticed."""
_MOST_IN_MEMORY: Final = 16_384
"""Maximum labels with a cached holder, or a cached absence of one."""
_MOST_WAITING: Final = 16_384
"""Maximum changes that wait to be written. Beyond that the oldest are dropped, and learned again."""
_LONGEST_WRITE: Final = 0.004
"""Seconds after which a group ends; the rest waits for the next one."""
_CHANGES: Final = "beliefs"

SUCCESSIONS: Final = "believed_successions"
HOLDINGS: Final = "believed_holdings"
CLAIMS: Final = "false_claims"
DELETIONS: Final = "believed_deletions"


def _define_counted(table: str, columns: str) -> str:
    """Return the definition of a table with an `owner` per row; `belief_counts` has the number of rows of each
    owner."""
    return f"""
    CREATE TABLE {table} (id {{identity}}, owner TEXT NOT NULL, {columns});
    CREATE INDEX {table}_owner ON {table} (owner, id)
    """


MIGRATIONS: Final = (
    ";\n".join(
        (
            "CREATE TABLE belief_counts"
            " (name TEXT NOT NULL, owner TEXT NOT NULL, rows BIGINT NOT NULL, PRIMARY KEY (name, owner))",
            _define_counted(
                SUCCESSIONS,
                "label {bytes} NOT NULL UNIQUE, chain TEXT NOT NULL, at BIGINT NOT NULL,"
                " signed INTEGER NOT NULL DEFAULT 0",
            ),
            f"CREATE INDEX {SUCCESSIONS}_signed ON {SUCCESSIONS} (owner, signed, id)",
            _define_counted(HOLDINGS, "label {bytes} NOT NULL UNIQUE, at BIGINT NOT NULL"),
            _define_counted(
                CLAIMS,
                "label {bytes} NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, home TEXT NOT NULL,"
                " first_seen BIGINT NOT NULL, last_seen BIGINT NOT NULL, count BIGINT NOT NULL,"
                " told BIGINT, proven BIGINT, UNIQUE (label, owner, kind)",
            ),
            f"CREATE INDEX {CLAIMS}_seen ON {CLAIMS} (last_seen)",
            _define_counted(
                DELETIONS, "label {bytes} NOT NULL UNIQUE, by TEXT NOT NULL, deleted BIGINT, at BIGINT NOT NULL"
            ),
            "CREATE TABLE named_copies (home TEXT PRIMARY KEY, services TEXT NOT NULL, at BIGINT NOT NULL,"
            " statement TEXT, signed_at BIGINT NOT NULL DEFAULT 0)",
            "CREATE TABLE rulings (label {bytes} PRIMARY KEY, name TEXT NOT NULL, holder TEXT NOT NULL,"
            " parties TEXT NOT NULL, at BIGINT NOT NULL, ruled_by TEXT NOT NULL)",
        )
    ),
)
_KEEP_COPIES: Final = upsert("named_copies", "home, services, at, statement, signed_at", "home")
_KEEP_RULING: Final = upsert("rulings", "label, name, holder, parties, at, ruled_by", "label")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A change in memory that is not written yet."""

    value: Any
    """The value for readers meanwhile."""
    write: Callable[[DatabaseSession], object]


def _ignore_change() -> None:
    """Do nothing: nobody waits for changes to write."""


class SqliteBeliefs(StateStore):
    """Implements the port `Beliefs` on one data directory.

    Most labels were never passed on. The prefixes with labels that were are cached, so that questions about others need
    no statement. The last used holders are cached as well: one statement takes longer than the other look-ups of a
    resolution before its first request.
    """

    prompt = True

    def __init__(self, directory: Path) -> None:
        self._lock = RLock()
        self._looked, self._version = float("-inf"), -1
        self._waiting: dict[tuple[str, Hashable], _Waiting] = {}
        self._tell: Callable[[], object] = _ignore_change
        self._passed_on: frozenset[str] = frozenset()
        self._with_deletions: frozenset[str] = frozenset()
        self._copies: dict[str, NamedCopies] = {}
        self._copies_rows: list[Any] = []
        self._rulings: dict[Label, Label] = {}
        """Holders by ruling; there are few."""
        self._holders: SharedLruCache[Label, tuple[Label, int] | tuple[()]] = SharedLruCache(
            _MOST_IN_MEMORY, _MOST_IN_MEMORY, self._lock
        )
        super().__init__(directory)

    def watch(self, tell: Callable[[], object]) -> None:
        self._tell = tell

    def flush(self) -> None:
        while self._write_group():
            pass

    def write_group(self) -> None:
        """Write one group. If changes are left, schedule the job again."""
        if self._write_group():
            self._tell()

    def close(self) -> None:
        self.flush()
        super().close()

    def _write_group(self) -> bool:
        """Write waiting changes, for some milliseconds at most. Return whether more wait."""
        with self._lock:
            waiting = list(self._waiting.items())
        if not waiting:
            return False
        written = []
        with self._database.change() as session:
            ends = perf_counter() + _LONGEST_WRITE
            for key, change in waiting:
                change.write(session)
                written.append((key, change))
                if perf_counter() > ends:
                    break
            note_change(session, _CHANGES)
        with self._lock:
            self._read_again()
            for key, change in written:
                if self._waiting.get(key) is change:
                    del self._waiting[key]
            return bool(self._waiting)

    def _keep_waiting(
        self, kind: str, key: Hashable, value: object, write: Callable[[DatabaseSession], object]
    ) -> None:
        with self._lock:
            is_first = not self._waiting
            self._waiting.pop((kind, key), None)
            self._waiting[kind, key] = _Waiting(value, write)
            if len(self._waiting) > _MOST_WAITING:
                del self._waiting[next(iter(self._waiting))]
        if is_first:
            self._tell()

    def _find_waiting(self, kind: str, key: Hashable) -> _Waiting | None:
        return self._waiting.get((kind, key)) if self._waiting else None

    def successors(self, label: Label) -> tuple[Label, ...]:
        return self.succession(label).chain

    def succession(self, label: Label) -> Succession:
        if (waiting := self._find_waiting(SUCCESSIONS, label)) is not None:
            found: Succession = waiting.value
            return found
        self._follow_changes()
        if home_prefix(label) not in self._passed_on:
            return NO_SUCCESSION
        statement = f"SELECT chain, signed FROM {SUCCESSIONS} WHERE label = ?"  # noqa: S608
        with self._database.read() as session:
            row = session.execute(statement, (label_key(label),)).fetchone()
        return NO_SUCCESSION if row is None else Succession(tuple(map(parse, row[0].split())), bool(row[1]))

    def record_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        known = self.succession(label)
        if not (known.is_signed or known.chain == chain):
            said = Succession(chain)
            self._keep_waiting(SUCCESSIONS, label, said, lambda session: _keep_succession(session, label, said, at))

    def record_signed_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        said = Succession(chain, is_signed=True)
        with self._lock, self._database.change() as session:
            self._waiting.pop((SUCCESSIONS, label), None)
            _keep_succession(session, label, said, at)
            note_change(session, _CHANGES)
        self._read_again()

    def holder(self, label: Label, now: int) -> Label | None:
        self._follow_changes()
        if self._rulings and (ruled := self._rulings.get(label)) is not None:
            return ruled
        known = self._find_holder(label)
        return known[0] if known and now < known[1] + HOLDER_AGE else None

    def _find_holder(self, label: Label) -> tuple[Label, int] | tuple[()]:
        if (waiting := self._find_waiting(HOLDINGS, label)) is not None:
            found: tuple[Label, int] | tuple[()] = waiting.value
            return found
        known = self._holders.find(label)
        return self._read_holder(label) if known is None else known

    def _read_holder(self, label: Label) -> tuple[Label, int] | tuple[()]:
        statement = f"SELECT owner, at FROM {HOLDINGS} WHERE label = ?"  # noqa: S608
        with self._lock, self._database.read() as session:
            row = session.execute(statement, (label_key(label),)).fetchone()
            known = () if row is None else (parse(row[0]), row[1])
            self._holders.keep(label, known, 1)  # under the lock, so that no change comes in between
        return known

    def record_holder(self, label: Label, holder: Label, at: int) -> None:
        known, key, owner = (holder, at), label_key(label), str(holder)

        def write(session: DatabaseSession) -> None:
            _drop(session, HOLDINGS, key)
            _insert(session, HOLDINGS, "owner, label, at", (owner, key, at))
            self._forget_holders(None if _drop_oldest(session, HOLDINGS, owner, MOST_HOLDINGS) else label)

        self._keep_waiting(HOLDINGS, label, known, write)

    def forget_holder(self, label: Label) -> None:
        def write(session: DatabaseSession) -> None:
            _drop(session, HOLDINGS, label_key(label))
            self._forget_holders(label)

        if self._find_holder(label):
            self._keep_waiting(HOLDINGS, label, (), write)

    def _forget_holders(self, label: Label | None) -> None:
        """Drop a changed label from the cache, or all labels."""
        if label is None:
            self._holders.clear()
        else:
            self._holders.forget(label)

    def copies(self, home: Label) -> NamedCopies:
        if (waiting := self._find_waiting("copies", str(home))) is not None:
            found: NamedCopies = waiting.value
            return found._replace(statement=None)
        self._follow_changes()
        return self._copies.get(str(home), NO_COPIES)

    def record_copies(self, home: Label, services: frozenset[Label], at: int) -> None:
        self._keep_copies(home, frozenset(map(CopyHolder, services)), at, None, 0)

    def record_signed_copies(self, home: Label, said: CopiesStatement, statement: str, at: int) -> None:
        self._keep_copies(home, frozenset(said.holders), at, statement, said.at)

    def _keep_copies(
        self, home: Label, holders: frozenset[CopyHolder], at: int, statement: str | None, signed_at: int
    ) -> None:
        row = str(home), " ".join(sorted(map(str, holders))), at, statement, signed_at
        named = NamedCopies(holders, at, statement, signed_at)
        self._keep_waiting("copies", str(home), named, lambda session: session.execute(_KEEP_COPIES, row))

    def deletion(self, label: Label) -> KnownDeletion | None:
        if (waiting := self._find_waiting(DELETIONS, label)) is not None:
            found: KnownDeletion | None = waiting.value
            return found
        self._follow_changes()
        if home_prefix(label) not in self._with_deletions:
            return None
        with self._database.read() as session:
            statement = f"SELECT by, deleted FROM {DELETIONS} WHERE label = ?"  # noqa: S608
            row = session.execute(statement, (label_key(label),)).fetchone()
        return None if row is None else KnownDeletion(parse(row[0]), row[1])

    def record_deletion(self, label: Label, known: KnownDeletion, at: int) -> None:
        owner, key = home_prefix(label), label_key(label)

        def write(session: DatabaseSession) -> None:
            _drop(session, DELETIONS, key)
            row = owner, key, str(known.by), known.when, at
            _insert(session, DELETIONS, "owner, label, by, deleted, at", row)
            _drop_oldest(session, DELETIONS, owner, MOST_SUCCESSIONS)

        self._keep_waiting(DELETIONS, label, known, write)

    def forget_deletion(self, label: Label) -> None:
        if self.deletion(label) is not None:
            self._keep_waiting(DELETIONS, label, None, lambda session: _drop(session, DELETIONS, label_key(label)))

    def record_claim(self, label: Label, claimant: Label, home: Label, kind: ClaimKind, at: int) -> bool:
        key = label, claimant, kind
        with self._lock:
            waiting = self._find_waiting(CLAIMS, key)
            is_first = waiting is None and not self._is_claim_known(label, claimant, kind)
            seen = (1, at) if waiting is None else (waiting.value[0] + 1, waiting.value[1])
            claim = FalseClaim(label, claimant, home, kind, seen[1], at, seen[0])
            self._keep_waiting(CLAIMS, key, seen, lambda session: _keep_claim(session, claim))
        return is_first

    def _is_claim_known(self, label: Label, claimant: Label, kind: ClaimKind) -> bool:
        statement = f"SELECT 1 FROM {CLAIMS} WHERE label = ? AND owner = ? AND kind = ?"  # noqa: S608
        with self._database.read() as session:
            row = session.execute(statement, (label_key(label), str(claimant), kind.value)).fetchone()
        return row is not None

    def claims(self, most: int = 100) -> tuple[FalseClaim, ...]:
        self.flush()
        with self._database.read() as session:
            rows = session.execute(f"{_CLAIMS} ORDER BY last_seen DESC, label, owner LIMIT ?", (most,)).fetchall()
        return tuple(map(_claim, rows))

    def disputes(self, most: int, label: Label | None = None, *, settled: bool = True) -> tuple[Dispute, ...]:
        self.flush()
        wanted, values = ("", ()) if label is None else (f" AND {CLAIMS}.label = ?", (label_key(label),))
        wanted += "" if settled else _OPEN
        order = f"ORDER BY last_seen DESC, {CLAIMS}.label, {CLAIMS}.owner LIMIT ?"
        with self._database.read() as session:
            rows = session.execute(f"{_DISPUTES}{wanted} {order}", (*values, most)).fetchall()
        return tuple(map(_dispute, rows))

    def record_told(self, label: Label, claimant: Label, at: int) -> None:
        self._mark_claim("told", label, claimant, at)

    def record_proof(self, label: Label, claimant: Label, at: int) -> None:
        self._mark_claim("proven", label, claimant, at)

    def _mark_claim(self, column: str, label: Label, claimant: Label, at: int) -> None:
        self.flush()
        statement = f"UPDATE {CLAIMS} SET {column} = ? WHERE label = ? AND owner = ?"  # noqa: S608 - names of ours
        with self._database.change() as session:
            session.execute(statement, (at, label_key(label), str(claimant)))

    def rule(self, ruling: Ruling) -> None:
        parties = " ".join(sorted(map(str, ruling.parties)))
        row = label_key(ruling.label), str(ruling.label), str(ruling.holder), parties, ruling.at, ruling.by
        self.flush()
        with self._database.change(lasting=True) as session:
            session.execute(_KEEP_RULING, row)
            session.execute(f"UPDATE {SUCCESSIONS} SET signed = 0 WHERE label = ?", row[:1])  # noqa: S608
            note_change(session, _CHANGES)
        self._read_again()

    def about(self, label: Label) -> LabelBeliefs:
        key = (label_key(label),)
        self.flush()
        with self._database.read() as session:
            chain = session.execute(f"SELECT chain, at FROM {SUCCESSIONS} WHERE label = ?", key).fetchone()  # noqa: S608
            holding = session.execute(f"SELECT owner, at FROM {HOLDINGS} WHERE label = ?", key).fetchone()  # noqa: S608
            claims = session.execute(f"{_CLAIMS} WHERE label = ? ORDER BY last_seen DESC, owner", key).fetchall()
            ruled = session.execute(
                "SELECT name, holder, parties, at, ruled_by FROM rulings WHERE label = ?", key
            ).fetchone()
        words, named_at = ("", None) if chain is None else chain
        owner, held_at = (None, None) if holding is None else holding
        successors = tuple(map(parse, words.split()))
        holder = None if owner is None else parse(owner)
        ruling = None if ruled is None else _ruling(ruled)
        return LabelBeliefs(successors, named_at, holder, held_at, tuple(map(_claim, claims)), ruling)

    def named_copies(self, home: Label) -> NamedCopies:
        self.flush()
        with self._database.read() as session:
            row = session.execute(
                "SELECT services, at, statement, signed_at FROM named_copies WHERE home = ?", (str(home),)
            ).fetchone()
        return NO_COPIES if row is None else _named_copies(*row)

    def given_on(self, prefix: str) -> int:
        self.flush()
        with self._database.read() as session:
            counted = "SELECT rows FROM belief_counts WHERE name = ? AND owner = ?"
            row = session.execute(counted, (SUCCESSIONS, prefix)).fetchone()
            back = f"SELECT COUNT(*) FROM {SUCCESSIONS} WHERE owner = ? AND signed = 1 AND chain = ''"  # noqa: S608
            (returned,) = session.execute(back, (prefix,)).fetchone()
        return 0 if row is None else int(row[0] - returned)

    def _follow_changes(self) -> None:
        """Reload the cached values if another process has changed anything."""
        now = monotonic()
        if now < self._looked:
            return
        with self._lock, self._database.read() as session:
            if read_change_number(session, _CHANGES) != self._version:
                self._read_into_memory(session)
                self._holders.clear()
        self._looked = now + _RECENT

    def _read_again(self) -> None:
        """Reload the cached values after a write of this process."""
        with self._lock, self._database.read() as session:
            self._read_into_memory(session)

    def _read_into_memory(self, session: DatabaseSession) -> None:
        self._version = read_change_number(session, _CHANGES)
        owners = session.execute("SELECT name, owner FROM belief_counts WHERE rows > 0").fetchall()
        self._passed_on = frozenset(owner for name, owner in owners if name == SUCCESSIONS)
        self._with_deletions = frozenset(owner for name, owner in owners if name == DELETIONS)
        rows = session.execute("SELECT home, services, at, NULL, signed_at FROM named_copies").fetchall()
        if rows != self._copies_rows:  # to read them takes longer than the rest of a change
            self._copies_rows = rows
            self._copies = {home: _named_copies(*rest) for home, *rest in rows}
        ruled = session.execute("SELECT name, holder FROM rulings").fetchall()
        self._rulings = {parse(name): parse(holder) for name, holder in ruled}


def _named_copies(services: str, at: int, statement: str | None, signed_at: int) -> NamedCopies:
    return NamedCopies(frozenset(map(CopyHolder.parse, services.split())), at, statement, signed_at)


_CLAIMS: Final = "SELECT name, owner, home, kind, first_seen, last_seen, count FROM false_claims"


_DISPUTES: Final = f"""
    SELECT {CLAIMS}.name, {CLAIMS}.owner, home, kind, first_seen, last_seen, count, told, chain, proven,
        rulings.name, rulings.holder, parties, rulings.at, ruled_by
    FROM {CLAIMS} LEFT JOIN {SUCCESSIONS} ON {SUCCESSIONS}.label = {CLAIMS}.label
    LEFT JOIN rulings ON rulings.label = {CLAIMS}.label
    WHERE kind IN ({", ".join(repr(kind.value) for kind in DISPUTED)})"""  # noqa: S608


# The condition of `Dispute.settled_by` in SQL: no ruling on the claimant, no proof, and another Archive at the end of
# the chain. It uses `replace` and `substr`, so wildcards of `LIKE` in labels play no role.
_OPEN: Final = f"""
    AND proven IS NULL
    AND (parties IS NULL OR replace(' ' || parties || ' ', ' ' || {CLAIMS}.owner || ' ', '') = ' ' || parties || ' ')
    AND (chain IS NULL OR substr(' ' || chain, length(chain) + 1 - length({CLAIMS}.owner)) != ' ' || {CLAIMS}.owner)"""


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


def _keep_succession(session: DatabaseSession, label: Label, known: Succession, at: int) -> None:
    """Replace the succession of the label, but never a signed one by an unsigned one."""
    owner, key = home_prefix(label), label_key(label)
    if not known.is_signed:
        signed = f"SELECT 1 FROM {SUCCESSIONS} WHERE label = ? AND signed = 1"  # noqa: S608
        if session.execute(signed, (key,)).fetchone() is not None:
            return
    _drop(session, SUCCESSIONS, key)
    if known.is_signed or known.chain:
        row = owner, key, " ".join(map(str, known.chain)), at, int(known.is_signed)
        _insert(session, SUCCESSIONS, "owner, label, chain, at, signed", row)
        _drop_oldest(session, SUCCESSIONS, owner, MOST_SUCCESSIONS, "signed, id")


def _keep_claim(session: DatabaseSession, claim: FalseClaim) -> None:
    """Add the new counts to the stored claim."""
    owner, key = str(claim.claimant), label_key(claim.label)
    dropped = session.execute(
        f"DELETE FROM {CLAIMS} WHERE label = ? AND owner = ? AND kind = ?"  # noqa: S608
        " RETURNING first_seen, count, told, proven",
        (key, owner, claim.kind.value),
    ).fetchall()
    _count(session, CLAIMS, owner, -len(dropped))
    first, count, told, proven = dropped[0] if dropped else (claim.first_seen, 0, None, None)
    named = str(claim.label), claim.kind.value, str(claim.home)
    row = owner, key, *named, first, claim.last_seen, count + claim.times, told, proven
    columns = "owner, label, name, kind, home, first_seen, last_seen, count, told, proven"
    _insert(session, CLAIMS, columns, row)
    _drop_oldest(session, CLAIMS, owner, MOST_CLAIMS)


def _insert(session: DatabaseSession, table: str, columns: str, row: tuple[Any, ...]) -> None:
    """Insert a row; its first value is its owner."""
    marks = ", ".join("?" * len(row))
    session.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", row)  # noqa: S608 - names of ours
    _count(session, table, row[0], 1)


def _drop(session: DatabaseSession, table: str, key: bytes) -> None:
    """Delete the row of a label."""
    statement = f"DELETE FROM {table} WHERE label = ? RETURNING owner"  # noqa: S608 - names of ours
    for (owner,) in session.execute(statement, (key,)).fetchall():
        _count(session, table, owner, -1)


def _count(session: DatabaseSession, table: str, owner: str, rows: int) -> None:
    if rows:
        session.execute(
            "INSERT INTO belief_counts (name, owner, rows) VALUES (?, ?, ?)"
            " ON CONFLICT (name, owner) DO UPDATE SET rows = belief_counts.rows + excluded.rows",
            (table, owner, rows),
        )


def _drop_oldest(session: DatabaseSession, table: str, owner: str, most: int, order: str = "id") -> bool:
    """Delete the oldest rows of an owner that exceeds its limit. Return whether anything was deleted."""
    counted = "SELECT rows FROM belief_counts WHERE name = ? AND owner = ?"
    (rows,) = session.execute(counted, (table, owner)).fetchone()
    if rows > most:
        oldest = f"SELECT id FROM {table} WHERE owner = ? ORDER BY {order} LIMIT ?"  # noqa: S608
        session.execute(f"DELETE FROM {table} WHERE id IN ({oldest})", (owner, rows - most))  # noqa: S608
        _count(session, table, owner, most - rows)
    return bool(rows > most)
