"""Webhooks in SQLite: the table `webhooks` of `subscriptions.sqlite`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ibi.model.change import ChangeKind
from ibi.model.webhook import Webhook
from ibi.storage.sqlite.subscriptions import SubscriptionDatabase, WorkerLock

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
        self._lock = WorkerLock(directory, "webhooks")
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
