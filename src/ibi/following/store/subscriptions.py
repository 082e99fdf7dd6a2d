"""Webhooks in `state`, and the tables for follows of other Archives.

Both hold secrets in plain text, because they have to be sent: tokens for restricted items, and keys of webhooks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ibi.following.model.webhook import Webhook
from ibi.items.model.change import ChangeKind
from ibi.storage.locks import WorkerLock
from ibi.storage.state import StateStore

MIGRATIONS: Final = (
    """
    CREATE TABLE follows (
        row {identity},
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        source TEXT NOT NULL,
        by_operator INTEGER NOT NULL,
        token TEXT,
        created BIGINT NOT NULL,
        epoch TEXT NOT NULL DEFAULT '',
        position BIGINT NOT NULL DEFAULT 0,
        last BIGINT NOT NULL DEFAULT 0,
        round BIGINT NOT NULL DEFAULT 0,
        until BIGINT,
        heard BIGINT,
        current BIGINT,
        failing BIGINT,
        reason TEXT,
        archive TEXT NOT NULL DEFAULT '',
        UNIQUE (kind, text, source)
    );
    CREATE TABLE followed_items (
        follow BIGINT NOT NULL REFERENCES follows (row) ON DELETE CASCADE,
        label TEXT NOT NULL,
        state TEXT NOT NULL,
        round BIGINT NOT NULL,
        number BIGINT NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        version BIGINT NOT NULL,
        held_version BIGINT NOT NULL DEFAULT 0,
        held_at TEXT NOT NULL DEFAULT '',
        due BIGINT,
        attempts INTEGER NOT NULL DEFAULT 0,
        reason TEXT,
        PRIMARY KEY (follow, label)
    );
    CREATE INDEX followed_items_due ON followed_items (follow, due) WHERE due IS NOT NULL;
    CREATE TABLE webhooks (
        row {identity},
        id TEXT NOT NULL UNIQUE,
        url TEXT NOT NULL,
        secret {bytes} NOT NULL,
        by_operator INTEGER NOT NULL,
        prefix TEXT,
        kinds TEXT NOT NULL,
        created BIGINT NOT NULL,
        epoch TEXT NOT NULL,
        position BIGINT NOT NULL,
        delivered BIGINT,
        attempts INTEGER NOT NULL DEFAULT 0,
        due BIGINT NOT NULL DEFAULT 0,
        failing BIGINT,
        reason TEXT,
        disabled BIGINT
    )
    """,
)


_COLUMNS: Final = (
    "id, url, secret, by_operator, prefix, kinds, created,"
    " epoch, position, delivered, attempts, due, failing, reason, disabled"
)
_PROGRESS: Final = ("epoch", "position", "delivered", "attempts", "due", "failing", "reason", "disabled")
_WEBHOOKS: Final = f"SELECT {_COLUMNS} FROM webhooks"  # noqa: S608


class SqliteWebhooks(StateStore):
    """Implements the port `WebhookStore` on one data directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._lock = WorkerLock(directory / "webhooks.lock")
        self.hold, self.release = self._lock.hold, self._lock.release

    def close(self) -> None:
        self.release()
        super().close()

    def add(self, webhook: Webhook) -> None:
        kinds = " ".join(sorted(webhook.kinds))
        values = webhook.id, webhook.url, webhook.secret, int(webhook.is_named_by_operator), webhook.prefix, kinds
        progress = webhook.created, webhook.epoch, webhook.position
        with self._database.change() as session:
            session.execute(
                "INSERT INTO webhooks (id, url, secret, by_operator, prefix, kinds, created, epoch, position)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, *progress),
            )

    def remove(self, identity: str) -> Webhook | None:
        with self._database.change() as session:
            row = session.execute(f"{_WEBHOOKS} WHERE id = ?", (identity,)).fetchone()
            session.execute("DELETE FROM webhooks WHERE id = ?", (identity,))
        return None if row is None else _webhook(row)

    def enable(self, identity: str, epoch: str, position: int) -> Webhook | None:
        with self._database.change() as session:
            session.execute(
                "UPDATE webhooks SET disabled = NULL, failing = NULL, reason = NULL, attempts = 0, due = 0,"
                " epoch = ?, position = ? WHERE id = ?",
                (epoch, position, identity),
            )
            row = session.execute(f"{_WEBHOOKS} WHERE id = ?", (identity,)).fetchone()
        return None if row is None else _webhook(row)

    def all(self) -> tuple[Webhook, ...]:
        with self._database.read() as session:
            return tuple(map(_webhook, session.execute(f"{_WEBHOOKS} ORDER BY row").fetchall()))

    def advance(self, identity: str, epoch: str, position: int, delivered: int | None) -> None:
        with self._database.change() as session:
            session.execute("UPDATE webhooks SET epoch = ?, position = ? WHERE id = ?", (epoch, position, identity))
            if delivered is not None:
                session.execute(
                    "UPDATE webhooks SET delivered = ?, attempts = 0, due = 0, failing = NULL, reason = NULL"
                    " WHERE id = ?",
                    (delivered, identity),
                )

    def put_off(self, identity: str, due: int, reason: str, now: int) -> None:
        with self._database.change() as session:
            session.execute(
                "UPDATE webhooks SET due = ?, reason = ?, failing = coalesce(failing, ?), attempts = attempts + 1"
                " WHERE id = ?",
                (due, reason, now, identity),
            )

    def disable(self, identity: str, reason: str, now: int) -> None:
        with self._database.change() as session:
            session.execute("UPDATE webhooks SET disabled = ?, reason = ? WHERE id = ?", (now, reason, identity))


def _webhook(row: tuple[Any, ...]) -> Webhook:
    identity, url, secret, by_operator, prefix, kinds, created, *progress = row
    return Webhook(
        id=identity,
        url=url,
        secret=secret,
        is_named_by_operator=bool(by_operator),
        prefix=prefix,
        kinds=frozenset(map(ChangeKind, kinds.split())),
        created=created,
        **dict(zip(_PROGRESS, progress, strict=True)),
    )
