"""The database `subscriptions.sqlite` of a data directory: what is followed elsewhere, and who is told of changes here,
with the table of these webhooks.

It holds secrets that have to be sent, tokens for restricted items and keys of webhooks: the file is for its owner
alone. Several processes use it; the one that works on it holds the lock of a file beside it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from ibi.model.change import ChangeKind
from ibi.model.subscription import Webhook
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import WorkerLock, open_lock
from ibi.storage.machine import refusals
from ibi.storage.sqlite.connection import (
    SUBSCRIPTIONS,
    Connection,
    connect,
    note_begun,
    refuse_lost,
)
from ibi.storage.sqlite.guarded import GuardedDatabase

FILE_NAME: Final = SUBSCRIPTIONS.file_name

MIGRATIONS: Final = (
    """
    CREATE TABLE follows (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        source TEXT NOT NULL,
        by_operator INTEGER NOT NULL,
        token TEXT,
        created INTEGER NOT NULL,
        epoch TEXT NOT NULL DEFAULT '',
        position INTEGER NOT NULL DEFAULT 0,
        end INTEGER NOT NULL DEFAULT 0,
        round INTEGER NOT NULL DEFAULT 0,
        until INTEGER,
        heard INTEGER,
        current INTEGER,
        failing INTEGER,
        reason TEXT,
        UNIQUE (kind, text, source)
    );
    CREATE TABLE followed (
        follow INTEGER NOT NULL REFERENCES follows (row) ON DELETE CASCADE,
        label TEXT NOT NULL,
        state TEXT NOT NULL,
        round INTEGER NOT NULL,
        number INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        version INTEGER NOT NULL,
        held_version INTEGER NOT NULL DEFAULT 0,
        held_at TEXT NOT NULL DEFAULT '',
        due INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        reason TEXT,
        PRIMARY KEY (follow, label)
    ) WITHOUT ROWID;
    CREATE INDEX followed_due ON followed (follow, due) WHERE due IS NOT NULL;
    CREATE TABLE webhooks (
        row INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        url TEXT NOT NULL,
        secret BLOB NOT NULL,
        by_operator INTEGER NOT NULL,
        prefix TEXT,
        kinds TEXT NOT NULL,
        created INTEGER NOT NULL,
        epoch TEXT NOT NULL,
        position INTEGER NOT NULL,
        delivered INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        due INTEGER NOT NULL DEFAULT 0,
        failing INTEGER,
        reason TEXT,
        disabled INTEGER
    )
    """,
    "ALTER TABLE follows ADD COLUMN archive TEXT NOT NULL DEFAULT ''",
)


class SubscriptionDatabase(GuardedDatabase):
    """One connection to the database of a data directory, for one thread at a time."""

    def __init__(self, directory: Path) -> None:
        path = directory / FILE_NAME

        def open_file() -> Connection:
            with refusals(DiskRefused, path):
                refuse_lost(path, SUBSCRIPTIONS)
                # What SQLite makes beside the file has the mode of the file.
                os.close(open_lock(path))
            return connect(path, MIGRATIONS, kind=SUBSCRIPTIONS)

        super().__init__(path, SUBSCRIPTIONS, open_file)
        note_begun(path)

    read, change = GuardedDatabase._open, GuardedDatabase._change


# --- webhooks ---------------------------------------------------------------------------------------------------------

# Webhooks in SQLite: the table `webhooks` of `subscriptions.sqlite`.

_COLUMNS: Final = (
    "id, url, secret, by_operator, prefix, kinds, created,"
    " epoch, position, delivered, attempts, due, failing, reason, disabled"
)
_PROGRESS: Final = ("epoch", "position", "delivered", "attempts", "due", "failing", "reason", "disabled")
_WEBHOOKS: Final = f"SELECT {_COLUMNS} FROM webhooks"  # noqa: S608


class SqliteWebhooks:
    """The port `WebhookStore` on one data directory."""

    def __init__(self, directory: Path) -> None:
        self._database = SubscriptionDatabase(directory)
        self._lock = WorkerLock(directory / "webhooks.lock")
        self.hold, self.release = self._lock.hold, self._lock.release

    def close(self) -> None:
        self.release()
        self._database.close()

    def add(self, webhook: Webhook) -> None:
        kinds = " ".join(sorted(webhook.kinds))
        values = webhook.id, webhook.url, webhook.secret, webhook.is_named_by_operator, webhook.prefix, kinds
        progress = webhook.created, webhook.epoch, webhook.position
        with self._database.change() as connection:
            connection.execute(
                "INSERT INTO webhooks (id, url, secret, by_operator, prefix, kinds, created, epoch, position)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, *progress),
            )

    def remove(self, identity: str) -> Webhook | None:
        with self._database.change() as connection:
            row = connection.execute(f"{_WEBHOOKS} WHERE id = ?", (identity,)).fetchone()
            connection.execute("DELETE FROM webhooks WHERE id = ?", (identity,))
        return None if row is None else _webhook(row)

    def enable(self, identity: str, epoch: str, position: int) -> Webhook | None:
        with self._database.change() as connection:
            connection.execute(
                "UPDATE webhooks SET disabled = NULL, failing = NULL, reason = NULL, attempts = 0, due = 0,"
                " epoch = ?, position = ? WHERE id = ?",
                (epoch, position, identity),
            )
            row = connection.execute(f"{_WEBHOOKS} WHERE id = ?", (identity,)).fetchone()
        return None if row is None else _webhook(row)

    def all(self) -> tuple[Webhook, ...]:
        with self._database.read() as connection:
            return tuple(map(_webhook, connection.execute(f"{_WEBHOOKS} ORDER BY row").fetchall()))

    def advance(self, identity: str, epoch: str, position: int, delivered: int | None) -> None:
        with self._database.change() as connection:
            connection.execute("UPDATE webhooks SET epoch = ?, position = ? WHERE id = ?", (epoch, position, identity))
            if delivered is not None:
                connection.execute(
                    "UPDATE webhooks SET delivered = ?, attempts = 0, due = 0, failing = NULL, reason = NULL"
                    " WHERE id = ?",
                    (delivered, identity),
                )

    def put_off(self, identity: str, due: int, reason: str, now: int) -> None:
        with self._database.change() as connection:
            connection.execute(
                "UPDATE webhooks SET due = ?, reason = ?, failing = coalesce(failing, ?), attempts = attempts + 1"
                " WHERE id = ?",
                (due, reason, now, identity),
            )

    def disable(self, identity: str, reason: str, now: int) -> None:
        with self._database.change() as connection:
            connection.execute("UPDATE webhooks SET disabled = ?, reason = ? WHERE id = ?", (now, reason, identity))


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
