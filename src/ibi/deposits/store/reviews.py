"""Reviews of drafts in `state`. The database itself prevents changes of a review's entries."""

from __future__ import annotations

from typing import Any, Final

from ibi.deposits.model import Review, ReviewAct, ReviewEntry, ReviewState
from ibi.deposits.ports import ReviewChange
from ibi.storage.database import SQLITE, DatabaseSession, Dialect, run_migration, upsert
from ibi.storage.state import StateStore


def _refuse_changes(session: DatabaseSession, dialect: Dialect) -> None:
    """Create the trigger or rule with which the database prevents changes of an entry."""
    if dialect is SQLITE:
        session.execute(
            "CREATE TRIGGER review_entries_stay BEFORE UPDATE ON review_entries"
            " BEGIN SELECT RAISE(ABORT, 'entries of reviews are never changed'); END"
        )
    else:
        session.execute("CREATE RULE review_entries_stay AS ON UPDATE TO review_entries DO INSTEAD NOTHING")


_TABLES: Final = """
    CREATE TABLE reviews (
        draft TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        depositor TEXT NOT NULL,
        title TEXT NOT NULL,
        state TEXT NOT NULL,
        submitted BIGINT NOT NULL,
        changed BIGINT NOT NULL,
        seal TEXT NOT NULL,
        key TEXT,
        label TEXT,
        turn BIGINT NOT NULL UNIQUE,
        deletes INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX reviews_state ON reviews (state, turn);
    CREATE INDEX reviews_key ON reviews (owner, key) WHERE key IS NOT NULL;
    CREATE TABLE review_entries (
        number {identity},
        draft TEXT NOT NULL,
        act TEXT NOT NULL,
        at BIGINT NOT NULL,
        account TEXT,
        name TEXT NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX review_entries_draft ON review_entries (draft, number)
"""


def _make_tables(session: DatabaseSession, dialect: Dialect) -> None:
    run_migration(session, _TABLES, dialect)
    _refuse_changes(session, dialect)


MIGRATIONS: Final = (_make_tables,)
_COLUMNS: Final = "draft, owner, depositor, title, state, submitted, changed, seal, key, label, turn, deletes"
_PUT: Final = upsert("reviews", _COLUMNS, "draft")
_REVIEW: Final = f"SELECT {_COLUMNS} FROM reviews"  # noqa: S608


class SqliteReviews(StateStore):
    """Implements the port `ReviewStore` on one data directory."""

    def change(self, draft: str, into: ReviewChange) -> Review:
        with self._database.change() as connection:
            before = _find(connection, draft)
            review, entry = into(before)
            turn = review.turn
            if before is None or entry.act is ReviewAct.SUBMITTED:
                (turn,) = connection.execute("SELECT coalesce(max(turn), 0) + 1 FROM reviews").fetchone()
            values = (
                *(review.draft, review.owner, review.depositor, review.title, review.state, review.submitted),
                *(review.changed, review.seal, review.key, review.label, turn, int(review.deletes)),
            )
            connection.execute(_PUT, values)
            connection.execute(
                "INSERT INTO review_entries (draft, act, at, account, name, text) VALUES (?, ?, ?, ?, ?, ?)",
                (draft, entry.act, entry.at, entry.account, entry.name, entry.text),
            )
            found = _find(connection, draft)
        assert found is not None  # just written
        return found

    def has_any(self) -> bool:
        """Return whether there is a review of any draft."""
        with self._database.read() as connection:
            return connection.execute("SELECT 1 FROM reviews LIMIT 1").fetchone() is not None

    def find(self, draft: str) -> Review | None:
        with self._database.read() as connection:
            return _find(connection, draft)

    def find_key(self, owner: str, key: str) -> Review | None:
        with self._database.read() as connection:
            statement = f"{_REVIEW} WHERE owner = ? AND key = ? ORDER BY turn DESC LIMIT 1"
            row = connection.execute(statement, (owner, key)).fetchone()
        return None if row is None else _review(row)

    def is_waiting(self, draft: str) -> bool:
        statement = "SELECT 1 FROM reviews WHERE draft = ? AND state = ?"
        with self._database.read() as connection:
            return connection.execute(statement, (draft, ReviewState.SUBMITTED)).fetchone() is not None

    def entries(self, draft: str) -> tuple[ReviewEntry, ...]:
        statement = "SELECT act, at, account, name, text, number FROM review_entries WHERE draft = ? ORDER BY number"
        with self._database.read() as connection:
            rows = connection.execute(statement, (draft,)).fetchall()
        return tuple(ReviewEntry(ReviewAct(act), *rest) for act, *rest in rows)

    def list(self, state: ReviewState, after: int, most: int) -> tuple[Review, ...]:
        statement = f"{_REVIEW} WHERE state = ? AND turn > ? ORDER BY turn LIMIT ?"
        with self._database.read() as connection:
            rows = connection.execute(statement, (state, after, most)).fetchall()
        return tuple(map(_review, rows))

    def count_waiting(self) -> int:
        with self._database.read() as connection:
            statement = "SELECT count(*) FROM reviews WHERE state = ?"
            return int(connection.execute(statement, (ReviewState.SUBMITTED,)).fetchone()[0])

    def forget(self, draft: str) -> None:
        with self._database.change() as connection:
            for table in ("review_entries", "reviews"):
                connection.execute(f"DELETE FROM {table} WHERE draft = ?", (draft,))  # noqa: S608 - names of ours


def _find(connection: DatabaseSession, draft: str) -> Review | None:
    row = connection.execute(f"{_REVIEW} WHERE draft = ?", (draft,)).fetchone()
    return None if row is None else _review(row)


def _review(row: tuple[Any, ...]) -> Review:
    draft, owner, depositor, title, state, submitted, changed, seal, key, label, turn, deletes = row
    return Review(
        draft=draft,
        owner=owner,
        depositor=depositor,
        title=title,
        state=ReviewState(state),
        submitted=submitted,
        changed=changed,
        seal=seal,
        key=key,
        label=label,
        turn=turn,
        deletes=bool(deletes),
    )
