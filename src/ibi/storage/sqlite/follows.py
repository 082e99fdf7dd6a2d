"""Follows in SQLite: the tables `follows` and `followed` of `subscriptions.sqlite`."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ibi.model.change import ChangeKind
from ibi.model.subscription import (
    FeedEntry,
    Follow,
    FollowCounts,
    FollowedState,
    FollowKind,
    FollowTarget,
    SourceAddress,
    WantedItem,
)
from ibi.ports.copies import Advance
from ibi.storage.locks import WorkerLock
from ibi.storage.sqlite.connection import Connection
from ibi.storage.sqlite.subscriptions import SubscriptionDatabase

_COLUMNS: Final = (
    "id, kind, text, source, by_operator, token, created,"
    " epoch, position, end, round, until, heard, current, failing, reason, archive"
)
_PROGRESS: Final = ("epoch", "position", "end", "round", "until", "heard", "current", "failing", "reason", "archive")
_FOLLOWS: Final = f"SELECT {_COLUMNS} FROM follows"  # noqa: S608
_ITEM: Final = "WHERE follow = (SELECT row FROM follows WHERE id = ?) AND label = ?"

# Of a version that was brought before, nothing is to be done again: its round is noted, so that it counts as seen.
_TAKE_IN: Final = """
    INSERT INTO followed (follow, label, state, round, number, kind, at, version, due)
    VALUES (:follow, :label, 'waiting', :round, :number, :kind, :at, :version, :now)
    ON CONFLICT DO UPDATE SET
        round = :round, number = :number, kind = :kind, at = :at, version = :version,
        due = CASE
            WHEN due IS NULL AND state IN ('copy', 'deleted', 'purged') AND held_at = :at AND held_version = :version
                THEN NULL
            WHEN state = 'dropped' THEN NULL
            ELSE :now END,
        attempts = 0
"""
# Of what never was an item of the follow, nothing is to be done when it goes.
_TAKE_IN_LOSS: Final = """
    UPDATE followed SET
        round = :round, number = :number, kind = :kind, at = :at, version = :version,
        due = CASE
            WHEN due IS NULL AND state IN ('deleted', 'purged') AND held_at = :at AND held_version = :version THEN NULL
            WHEN state = 'dropped' THEN NULL
            ELSE :now END,
        attempts = 0
    WHERE follow = :follow AND label = :label
"""
_UNSEEN: Final = """
    UPDATE followed SET due = 0, attempts = 0, round = :round
    WHERE follow = :follow AND round < :round AND state IN ('waiting', 'copy') AND due IS NULL
"""
_DUE: Final = """
    SELECT follows.id, number, label, followed.kind, at, version, attempts, state
    FROM followed JOIN follows ON follows.row = followed.follow
    WHERE followed.follow IN ({rows}) AND due <= ? ORDER BY due, number LIMIT ?
"""
_CURRENT: Final = """
    UPDATE follows SET current = ? WHERE row = ? AND position >= end
    AND NOT EXISTS (SELECT 1 FROM followed WHERE follow = follows.row AND due IS NOT NULL)
"""
_HELD_AMONG: Final = """
    SELECT label FROM followed
    WHERE follow = (SELECT row FROM follows WHERE id = ?) AND label IN (SELECT value FROM json_each(?))
"""
_IS_BROUGHT: Final = """
    SELECT 1 FROM follows AS own JOIN follows AS other ON other.source = own.source AND other.row != own.row
    JOIN followed ON followed.follow = other.row AND label = ?
    WHERE state = 'copy' AND due IS NULL AND held_at = ? AND held_version = ? AND own.id = ?
"""
_HOLD: Final = f"UPDATE followed SET state = ?, held_version = ?, held_at = ? {_ITEM}"  # noqa: S608
_SETTLE: Final = f"UPDATE followed SET due = NULL, attempts = 0, reason = NULL {_ITEM} AND number = ?"  # noqa: S608
_PUT_OFF: Final = f"UPDATE followed SET due = ?, attempts = attempts + 1, reason = ? {_ITEM} AND number = ?"  # noqa: S608
_FORGET: Final = f"DELETE FROM followed {_ITEM} AND number = ?"  # noqa: S608
_HOLD_COPY: Final = "UPDATE followed SET state = 'copy' WHERE follow = ? AND label = ? AND state = 'waiting'"
_RETRY: Final = "UPDATE followed SET due = ? WHERE follow = ? AND due > ?"
_COUNTS: Final = """
    SELECT follows.id, state, count(*), count(due), count(CASE WHEN due IS NOT NULL AND attempts > 0 THEN 1 END)
    FROM followed JOIN follows ON follows.row = followed.follow GROUP BY follows.id, state
"""
_LAST_REASON: Final = """
    SELECT reason FROM followed WHERE follow = (SELECT row FROM follows WHERE id = ?)
    AND due IS NOT NULL AND attempts > 0 ORDER BY due DESC LIMIT 1
"""


class SqliteFollows:
    """The port `FollowStore` on one data directory."""

    def __init__(self, directory: Path) -> None:
        self._database = SubscriptionDatabase(directory)
        self._lock = WorkerLock(directory / "follows.lock")
        self.hold, self.release = self._lock.hold, self._lock.release

    def close(self) -> None:
        self.release()
        self._database.close()

    def add(self, follow: Follow) -> bool:
        target = follow.target.kind.value, follow.target.text, follow.source.url
        with self._database.change() as connection:
            known = connection.execute(
                "SELECT row FROM follows WHERE kind = ? AND text = ? AND source = ?", target
            ).fetchone()
            if known is None:
                members = follow.source.is_named_by_operator, follow.id, follow.token, follow.created
                connection.execute(
                    "INSERT INTO follows (kind, text, source, by_operator, id, token, created, end)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*target, *members, follow.end),
                )
                return True
            connection.execute("UPDATE follows SET token = ? WHERE row = ?", (follow.token, known[0]))
            connection.execute(
                "UPDATE followed SET due = ?, attempts = 0, state = 'waiting' WHERE follow = ? AND state = 'dropped'",
                (follow.created, known[0]),
            )
            # With another token, what was refused may not be any more.
            connection.execute(_RETRY, (follow.created, known[0], follow.created))
            return False

    def remove(self, identity: str) -> Follow | None:
        with self._database.change() as connection:
            row = connection.execute(f"{_FOLLOWS} WHERE id = ?", (identity,)).fetchone()
            connection.execute("DELETE FROM follows WHERE id = ?", (identity,))
        return None if row is None else _follow(row)

    def all(self) -> tuple[Follow, ...]:
        with self._database.read() as connection:
            return tuple(map(_follow, connection.execute(f"{_FOLLOWS} ORDER BY row").fetchall()))

    def counts(self) -> Mapping[str, FollowCounts]:
        states: defaultdict[str, Counter[FollowedState]] = defaultdict(Counter)
        waiting: Counter[str] = Counter()
        refused: Counter[str] = Counter()
        with self._database.read() as connection:
            for identity, state, number, due, tried in connection.execute(_COUNTS).fetchall():
                states[identity][FollowedState(state)] = number
                waiting[identity] += due
                refused[identity] += tried
            reasons = {each: connection.execute(_LAST_REASON, (each,)).fetchone() for each in states if refused[each]}
        return {
            each: FollowCounts(dict(found), waiting[each], refused[each], (reasons.get(each) or (None,))[0])
            for each, found in states.items()
        }

    def held_among(self, follow: str, labels: Collection[str]) -> frozenset[str]:
        with self._database.read() as connection:
            found = connection.execute(_HELD_AMONG, (follow, json.dumps(sorted(labels)))).fetchall()
        return frozenset(label for (label,) in found)

    def is_brought(self, item: WantedItem) -> bool:
        entry = item.entry
        with self._database.read() as connection:
            found = connection.execute(_IS_BROUGHT, (entry.label, entry.at, entry.version, item.follow)).fetchone()
        return found is not None

    # --- what the feed tells ---

    def expect(self, follows: Sequence[str], end: int) -> None:
        with self._database.change() as connection:
            for row in _rows(connection, follows):
                connection.execute("UPDATE follows SET epoch = '', position = 0, end = ? WHERE row = ?", (end, row))

    def note_end(self, source: str, epoch: str, end: int) -> None:
        with self._database.change() as connection:
            connection.execute(
                "UPDATE follows SET end = ?1 WHERE source = ?2 AND epoch = ?3 AND end < ?1", (end, source, epoch)
            )

    def begin(self, identity: str, epoch: str, position: int, until: int, seeds: Sequence[FeedEntry]) -> None:
        with self._database.change() as connection:
            found = connection.execute("SELECT row, round FROM follows WHERE id = ?", (identity,)).fetchone()
            if found is None:  # removed meanwhile
                return
            row, number = found[0], found[1] + 1
            connection.execute(
                "UPDATE follows SET epoch = ?, position = ?, end = ?, until = ?, round = ? WHERE row = ?",
                (epoch, position, until, until, number, row),
            )
            _take_in(connection, row, number, seeds, 0)

    def advance(self, advances: Sequence[Advance], now: int) -> None:
        with self._database.change() as connection:
            for each in advances:
                found = connection.execute(
                    "SELECT row, round, failing FROM follows WHERE id = ? AND epoch = ?", (each.follow, each.epoch)
                ).fetchone()
                if found is None:  # removed, or begun again, meanwhile
                    continue
                row, number, failing = found
                if failing is not None:  # the source answers again: all that waits is tried at once
                    connection.execute(_RETRY, (now, row, now))
                _take_in(connection, row, number, each.entries, now)
                connection.execute(
                    "UPDATE follows SET position = max(position, ?), end = max(end, ?), heard = ?, failing = NULL,"
                    " reason = NULL, archive = coalesce(nullif(?, ''), archive) WHERE row = ?",
                    (each.position, each.end, now, each.archive, row),
                )
                connection.execute(_CURRENT, (now, row))

    def end_round(self, identity: str) -> int:
        with self._database.change() as connection:
            found = connection.execute("SELECT row, round FROM follows WHERE id = ?", (identity,)).fetchone()
            if found is None:
                return 0
            row, number = found
            unseen = connection.execute(_UNSEEN, {"follow": row, "round": number}).rowcount
            connection.execute("UPDATE follows SET until = NULL WHERE row = ?", (row,))
        return int(unseen)

    # --- what is to be done ---

    def due(self, follows: Sequence[str], now: int, most: int) -> tuple[WantedItem, ...]:
        with self._database.read() as connection:
            rows = ",".join(map(str, _rows(connection, follows)))
            found = connection.execute(_DUE.format(rows=rows), (now, most)).fetchall()
        return tuple(
            WantedItem(follow, FeedEntry(number, label, ChangeKind(kind), at, version), attempts, FollowedState(state))
            for follow, number, label, kind, at, version, attempts, state in found
        )

    def next_due(self, follows: Sequence[str]) -> int | None:
        with self._database.read() as connection:
            rows = ",".join(map(str, _rows(connection, follows)))
            statement = f"SELECT min(due) FROM followed WHERE due IS NOT NULL AND follow IN ({rows})"  # noqa: S608
            (due,) = connection.execute(statement).fetchone()
        return None if due is None else int(due)

    def finish(self, item: WantedItem, state: FollowedState, version: int, at: str) -> None:
        key = item.follow, item.entry.label
        with self._database.change() as connection:
            connection.execute(
                _HOLD,
                (state.value, version, at, *key),
            )
            connection.execute(
                _SETTLE,
                (*key, item.entry.number),
            )

    def forget(self, item: WantedItem) -> None:
        with self._database.change() as connection:
            connection.execute(_FORGET, (item.follow, item.entry.label, item.entry.number))

    def move(self, item: WantedItem, follow: Follow) -> None:
        self.add(follow)
        target = follow.target.kind.value, follow.target.text, follow.source.url
        with self._database.change() as connection:
            row, number = connection.execute(
                "SELECT row, round FROM follows WHERE kind = ? AND text = ? AND source = ?", target
            ).fetchone()
            entry = item.entry._replace(number=0, kind=ChangeKind.PUT, at="", version=0)
            _take_in(connection, row, number, [entry], follow.created)
            connection.execute(_HOLD_COPY, (row, entry.label))
        self.finish(item, FollowedState.MOVED, 0, "")

    def relocate(self, identity: str, source: SourceAddress, *, keeps_token: bool) -> None:
        with self._database.change() as connection:
            # What was added at the new address already goes on there, and this one has nothing to do any more.
            connection.execute(
                "DELETE FROM follows WHERE id = ?1 AND EXISTS (SELECT 1 FROM follows AS other WHERE other.source = ?2"
                " AND (other.kind, other.text) = (follows.kind, follows.text))",
                (identity, source.url),
            )
            connection.execute(
                "UPDATE follows SET source = ?, by_operator = ?, token = CASE WHEN ? THEN token END,"
                " failing = NULL, reason = NULL WHERE id = ?",
                (source.url, source.is_named_by_operator, keeps_token, identity),
            )

    def put_off(self, item: WantedItem, due: int, reason: str) -> None:
        with self._database.change() as connection:
            connection.execute(
                _PUT_OFF,
                (due, reason, item.follow, item.entry.label, item.entry.number),
            )

    def note_failure(self, follows: Sequence[str], reason: str, now: int) -> None:
        with self._database.change() as connection:
            for row in _rows(connection, follows):
                connection.execute(
                    "UPDATE follows SET failing = coalesce(failing, ?), reason = ? WHERE row = ?", (now, reason, row)
                )


def _rows(connection: Connection, follows: Sequence[str]) -> list[int]:
    found = (connection.execute("SELECT row FROM follows WHERE id = ?", (each,)).fetchone() for each in follows)
    return [int(row[0]) for row in found if row is not None]


def _take_in(connection: Connection, row: int, number: int, entries: Sequence[FeedEntry], now: int) -> None:
    for entry in entries:
        connection.execute(
            _TAKE_IN if entry.kind is ChangeKind.PUT else _TAKE_IN_LOSS,
            {
                "follow": row,
                "round": number,
                "label": entry.label,
                "number": entry.number,
                "kind": entry.kind.value,
                "at": entry.at,
                "version": entry.version,
                "now": now,
            },
        )


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
