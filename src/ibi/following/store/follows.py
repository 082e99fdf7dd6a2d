"""Follows of other Archives in `state`, and their items."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ibi.following.model.subscription import (
    FeedEntry,
    Follow,
    FollowCounts,
    FollowedState,
    FollowKind,
    FollowTarget,
    SourceAddress,
    WantedItem,
)
from ibi.following.ports.subscriptions import Advance
from ibi.items.model.change import ChangeKind
from ibi.storage.database import DatabaseSession
from ibi.storage.locks import WorkerLock
from ibi.storage.state import StateStore

_COLUMNS: Final = (
    "id, kind, text, source, by_operator, token, created,"
    " epoch, position, last, round, until, heard, current, failing, reason, archive"
)
_PROGRESS: Final = ("epoch", "position", "end", "round", "until", "heard", "current", "failing", "reason", "archive")
_FOLLOWS: Final = f"SELECT {_COLUMNS} FROM follows"  # noqa: S608
_ITEM: Final = "WHERE follow = (SELECT row FROM follows WHERE id = ?) AND label = ?"

# A version that was copied before needs no work: only its round is recorded, so that it counts as seen.
_TAKE_IN: Final = """
    INSERT INTO followed_items (follow, label, state, round, number, kind, at, version, due)
    VALUES (?, ?, 'waiting', ?, ?, ?, ?, ?, ?)
    ON CONFLICT (follow, label) DO UPDATE SET
        round = excluded.round, number = excluded.number, kind = excluded.kind, at = excluded.at,
        version = excluded.version,
        due = CASE
            WHEN followed_items.due IS NULL AND followed_items.state IN ('copy', 'deleted', 'purged')
                AND followed_items.held_at = excluded.at AND followed_items.held_version = excluded.version THEN NULL
            WHEN followed_items.state = 'dropped' THEN NULL
            ELSE excluded.due END,
        attempts = 0
"""
# An UPDATE, because an item that never belonged to the follow needs no work when it is removed.
_TAKE_IN_LOSS: Final = """
    UPDATE followed_items SET
        round = ?, number = ?, kind = ?, at = ?, version = ?,
        due = CASE
            WHEN due IS NULL AND state IN ('deleted', 'purged') AND held_at = ? AND held_version = ? THEN NULL
            WHEN state = 'dropped' THEN NULL
            ELSE CAST(? AS BIGINT) END,
        attempts = 0
    WHERE follow = ? AND label = ?
"""
_UNSEEN: Final = """
    UPDATE followed_items SET due = 0, attempts = 0, round = ?
    WHERE follow = ? AND round < ? AND state IN ('waiting', 'copy') AND due IS NULL
"""
_DUE: Final = """
    SELECT follows.id, number, label, followed_items.kind, at, version, attempts, state
    FROM followed_items JOIN follows ON follows.row = followed_items.follow
    WHERE followed_items.follow IN ({rows}) AND due <= ? ORDER BY due, number LIMIT ?
"""
_CURRENT: Final = """
    UPDATE follows SET current = ? WHERE row = ? AND position >= last
    AND NOT EXISTS (SELECT 1 FROM followed_items WHERE follow = follows.row AND due IS NOT NULL)
"""
_HELD_AMONG: Final = """
    SELECT label FROM followed_items
    WHERE follow = (SELECT row FROM follows WHERE id = ?) AND label IN ({marks})
"""
_IS_BROUGHT: Final = """
    SELECT 1 FROM follows AS own JOIN follows AS other ON other.source = own.source AND other.row != own.row
    JOIN followed_items ON followed_items.follow = other.row AND label = ?
    WHERE state = 'copy' AND due IS NULL AND held_at = ? AND held_version = ? AND own.id = ?
"""
_HOLD: Final = f"UPDATE followed_items SET state = ?, held_version = ?, held_at = ? {_ITEM}"  # noqa: S608
_SETTLE: Final = f"UPDATE followed_items SET due = NULL, attempts = 0, reason = NULL {_ITEM} AND number = ?"  # noqa: S608
_PUT_OFF: Final = f"UPDATE followed_items SET due = ?, attempts = attempts + 1, reason = ? {_ITEM} AND number = ?"  # noqa: S608
_FORGET: Final = f"DELETE FROM followed_items {_ITEM} AND number = ?"  # noqa: S608
_HOLD_COPY: Final = "UPDATE followed_items SET state = 'copy' WHERE follow = ? AND label = ? AND state = 'waiting'"
_RETRY: Final = "UPDATE followed_items SET due = ? WHERE follow = ? AND due > ?"
_COUNTS: Final = """
    SELECT follows.id, state, count(*), count(due), count(CASE WHEN due IS NOT NULL AND attempts > 0 THEN 1 END)
    FROM followed_items JOIN follows ON follows.row = followed_items.follow GROUP BY follows.id, state
"""
_LAST_REASON: Final = """
    SELECT reason FROM followed_items WHERE follow = (SELECT row FROM follows WHERE id = ?)
    AND due IS NOT NULL AND attempts > 0 ORDER BY due DESC LIMIT 1
"""


class SqliteFollows(StateStore):
    """Implements the port `FollowStore` on one data directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._lock = WorkerLock(directory / "follows.lock")
        self.hold, self.release = self._lock.hold, self._lock.release

    def close(self) -> None:
        self.release()
        super().close()

    def add(self, follow: Follow) -> bool:
        target = follow.target.kind.value, follow.target.text, follow.source.url
        with self._database.change() as session:
            known = session.execute(
                "SELECT row FROM follows WHERE kind = ? AND text = ? AND source = ?", target
            ).fetchone()
            if known is None:
                members = int(follow.source.is_named_by_operator), follow.id, follow.token, follow.created
                session.execute(
                    "INSERT INTO follows (kind, text, source, by_operator, id, token, created, last)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*target, *members, follow.end),
                )
                return True
            session.execute("UPDATE follows SET token = ? WHERE row = ?", (follow.token, known[0]))
            session.execute(
                "UPDATE followed_items SET due = ?, attempts = 0, state = 'waiting'"
                " WHERE follow = ? AND state = 'dropped'",
                (follow.created, known[0]),
            )
            # A refused item may be allowed with another token.
            session.execute(_RETRY, (follow.created, known[0], follow.created))
            return False

    def remove(self, identity: str) -> Follow | None:
        with self._database.change() as session:
            row = session.execute(f"{_FOLLOWS} WHERE id = ?", (identity,)).fetchone()
            session.execute("DELETE FROM follows WHERE id = ?", (identity,))
        return None if row is None else _follow(row)

    def all(self) -> tuple[Follow, ...]:
        with self._database.read() as session:
            return tuple(map(_follow, session.execute(f"{_FOLLOWS} ORDER BY row").fetchall()))

    def counts(self) -> Mapping[str, FollowCounts]:
        states: defaultdict[str, Counter[FollowedState]] = defaultdict(Counter)
        waiting: Counter[str] = Counter()
        refused: Counter[str] = Counter()
        with self._database.read() as session:
            for identity, state, number, due, tried in session.execute(_COUNTS).fetchall():
                states[identity][FollowedState(state)] = number
                waiting[identity] += due
                refused[identity] += tried
            reasons = {each: session.execute(_LAST_REASON, (each,)).fetchone() for each in states if refused[each]}
        return {
            each: FollowCounts(dict(found), waiting[each], refused[each], (reasons.get(each) or (None,))[0])
            for each, found in states.items()
        }

    def held_among(self, follow: str, labels: Collection[str]) -> frozenset[str]:
        with self._database.read() as session:
            marks = ", ".join("?" * len(labels)) or "NULL"
            found = session.execute(_HELD_AMONG.format(marks=marks), (follow, *sorted(labels))).fetchall()
        return frozenset(label for (label,) in found)

    def is_brought(self, item: WantedItem) -> bool:
        entry = item.entry
        with self._database.read() as session:
            found = session.execute(_IS_BROUGHT, (entry.label, entry.at, entry.version, item.follow)).fetchone()
        return found is not None

    def expect(self, follows: Sequence[str], end: int) -> None:
        with self._database.change() as session:
            for row in _rows(session, follows):
                session.execute("UPDATE follows SET epoch = '', position = 0, last = ? WHERE row = ?", (end, row))

    def note_end(self, source: str, epoch: str, end: int) -> None:
        with self._database.change() as session:
            statement = "UPDATE follows SET last = ? WHERE source = ? AND epoch = ? AND last < ?"
            session.execute(statement, (end, source, epoch, end))

    def begin(self, identity: str, epoch: str, position: int, until: int, seeds: Sequence[FeedEntry]) -> None:
        with self._database.change() as session:
            found = session.execute("SELECT row, round FROM follows WHERE id = ?", (identity,)).fetchone()
            if found is None:  # removed meanwhile
                return
            row, number = found[0], found[1] + 1
            session.execute(
                "UPDATE follows SET epoch = ?, position = ?, last = ?, until = ?, round = ? WHERE row = ?",
                (epoch, position, until, until, number, row),
            )
            _take_in(session, row, number, seeds, 0)

    def advance(self, advances: Sequence[Advance], now: int) -> None:
        with self._database.change() as session:
            for each in advances:
                found = session.execute(
                    "SELECT row, round, failing FROM follows WHERE id = ? AND epoch = ?", (each.follow, each.epoch)
                ).fetchone()
                if found is None:  # removed, or begun again, meanwhile
                    continue
                row, number, failing = found
                if failing is not None:  # the source answers again: try all waiting items at once
                    session.execute(_RETRY, (now, row, now))
                _take_in(session, row, number, each.entries, now)
                session.execute(
                    "UPDATE follows SET position = CASE WHEN position < ? THEN ? ELSE position END,"
                    " last = CASE WHEN last < ? THEN ? ELSE last END, heard = ?, failing = NULL,"
                    " reason = NULL, archive = coalesce(nullif(?, ''), archive) WHERE row = ?",
                    (each.position, each.position, each.end, each.end, now, each.archive, row),
                )
                session.execute(_CURRENT, (now, row))

    def end_round(self, identity: str) -> int:
        with self._database.change() as session:
            found = session.execute("SELECT row, round FROM follows WHERE id = ?", (identity,)).fetchone()
            if found is None:
                return 0
            row, number = found
            unseen = session.execute(_UNSEEN, (number, row, number)).rowcount
            session.execute("UPDATE follows SET until = NULL WHERE row = ?", (row,))
        return int(unseen)

    def due(self, follows: Sequence[str], now: int, most: int) -> tuple[WantedItem, ...]:
        with self._database.read() as session:
            rows = ",".join(map(str, _rows(session, follows)))
            found = session.execute(_DUE.format(rows=rows), (now, most)).fetchall()
        return tuple(
            WantedItem(follow, FeedEntry(number, label, ChangeKind(kind), at, version), attempts, FollowedState(state))
            for follow, number, label, kind, at, version, attempts, state in found
        )

    def next_due(self, follows: Sequence[str]) -> int | None:
        with self._database.read() as session:
            rows = ",".join(map(str, _rows(session, follows)))
            statement = f"SELECT min(due) FROM followed_items WHERE due IS NOT NULL AND follow IN ({rows})"  # noqa: S608
            (due,) = session.execute(statement).fetchone()
        return None if due is None else int(due)

    def finish(self, item: WantedItem, state: FollowedState, version: int, at: str) -> None:
        key = item.follow, item.entry.label
        with self._database.change() as session:
            session.execute(
                _HOLD,
                (state.value, version, at, *key),
            )
            session.execute(
                _SETTLE,
                (*key, item.entry.number),
            )

    def forget(self, item: WantedItem) -> None:
        with self._database.change() as session:
            session.execute(_FORGET, (item.follow, item.entry.label, item.entry.number))

    def move(self, item: WantedItem, follow: Follow) -> None:
        self.add(follow)
        target = follow.target.kind.value, follow.target.text, follow.source.url
        with self._database.change() as session:
            row, number = session.execute(
                "SELECT row, round FROM follows WHERE kind = ? AND text = ? AND source = ?", target
            ).fetchone()
            entry = item.entry._replace(number=0, kind=ChangeKind.PUT, at="", version=0)
            _take_in(session, row, number, [entry], follow.created)
            session.execute(_HOLD_COPY, (row, entry.label))
        self.finish(item, FollowedState.MOVED, 0, "")

    def relocate(self, identity: str, source: SourceAddress, *, keeps_token: bool) -> None:
        with self._database.change() as session:
            # If the new address has the same follow already, that one continues, and this one has nothing left to do.
            session.execute(
                "DELETE FROM follows WHERE id = ? AND EXISTS (SELECT 1 FROM follows AS other WHERE other.source = ?"
                " AND other.kind = follows.kind AND other.text = follows.text)",
                (identity, source.url),
            )
            session.execute(
                "UPDATE follows SET source = ?, by_operator = ?, token = CASE WHEN ? = 1 THEN token END,"
                " failing = NULL, reason = NULL WHERE id = ?",
                (source.url, int(source.is_named_by_operator), int(keeps_token), identity),
            )

    def put_off(self, item: WantedItem, due: int, reason: str) -> None:
        with self._database.change() as session:
            session.execute(
                _PUT_OFF,
                (due, reason, item.follow, item.entry.label, item.entry.number),
            )

    def note_failure(self, follows: Sequence[str], reason: str, now: int) -> None:
        with self._database.change() as session:
            for row in _rows(session, follows):
                session.execute(
                    "UPDATE follows SET failing = coalesce(failing, ?), reason = ? WHERE row = ?", (now, reason, row)
                )


def _rows(session: DatabaseSession, follows: Sequence[str]) -> list[int]:
    found = (session.execute("SELECT row FROM follows WHERE id = ?", (each,)).fetchone() for each in follows)
    return [int(row[0]) for row in found if row is not None]


def _take_in(session: DatabaseSession, row: int, number: int, entries: Sequence[FeedEntry], now: int) -> None:
    for entry in entries:
        held = entry.at, entry.version
        told = number, entry.number, entry.kind.value, *held
        if entry.kind is ChangeKind.PUT:
            session.execute(_TAKE_IN, (row, entry.label, *told, now))
        else:
            session.execute(_TAKE_IN_LOSS, (*told, *held, now, row, entry.label))


def _follow(row: tuple[Any, ...]) -> Follow:
    identity, kind, text, source, by_operator, token, created, *progress = row
    return Follow(
        id=identity,
        target=FollowTarget(FollowKind(kind), text),
        source=SourceAddress(source, bool(by_operator)),
        token=token,
        created=created,
        **dict(zip(_PROGRESS, progress, strict=True)),
    )
