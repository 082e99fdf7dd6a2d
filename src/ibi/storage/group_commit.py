"""Writes of several threads in one commit of SQLite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from ibi.standard.errors import IbiError
from ibi.standard.storage_errors import StorageError, StoreDamaged
from ibi.storage.batching import Batcher
from ibi.storage.connection import Connection, storage_errors, transaction
from ibi.storage.errors import StoreClosed
from ibi.storage.locks import FairLock, shared_lock

T = TypeVar("T")
_Change = Callable[[Connection], Any]


def writer_queue(path: Path) -> FairLock:
    """Return the lock that all writers of the database at `path` take in turn, in this process and in others.

    SQLite alone makes waiting writers poll, and then the first to poll is next.
    """
    return shared_lock(path.with_name(f"{path.name}.lock"))


class GroupCommit:
    """The only writer of a file in this process, for any number of threads.

    Threads that arrive during a commit wait. Then one of them makes the changes of all in one transaction.
    """

    def __init__(
        self,
        path: Path,
        connection: Connection,
        before_commit: Callable[[Connection], None] | None = None,
        damaged: type[StoreDamaged] = StoreDamaged,
    ) -> None:
        """`before_commit` is called at the end of each transaction that changed something, inside it. Damage of the
        file is raised as `damaged`."""
        self._path, self._before_commit, self._damaged = path, before_commit, damaged
        self._connection: Connection | None = connection
        self._queue = writer_queue(path)
        self._turn = Lock()
        self._together: Batcher[_Change, Any] = Batcher(self._commit)

    def run(self, change: Callable[[Connection], T]) -> T:
        """Return the result of `change`, once it is durable. An `IbiError` that it raises undoes the whole change.

        `change` may run more than once; the last run counts.
        """
        outcome: T = self._together.run(change)
        return outcome

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._queue.close()

    def _commit(self, changes: Sequence[_Change]) -> list[Any]:
        """Return the outcome of each change. If the common transaction fails, each change gets its own, so that only
        the faulty one fails."""
        try:
            return self._in_one(changes)
        except Exception as error:  # noqa: BLE001 - whatever it is, its own caller is told
            if len(changes) == 1:
                return [error]
        return [outcome for change in changes for outcome in self._commit([change])]

    def _in_one(self, changes: Sequence[_Change]) -> list[Any]:
        with self._turn:
            if self._connection is None:
                raise StoreClosed(path=self._path)
            with self._queue, storage_errors(self._path, self._damaged), transaction(self._connection):
                before = self._connection.total_changes
                if len(changes) == 1:
                    outcomes = [changes[0](self._connection)]
                else:
                    outcomes = [_attempt(change, self._connection) for change in changes]
                if self._before_commit is not None and self._connection.total_changes != before:
                    self._before_commit(self._connection)
                return outcomes


def _attempt(change: _Change, connection: Connection) -> Any:
    """Return the result of the change, or its refusal, which undoes this change alone. An error of SQLite ends the
    whole transaction."""
    connection.execute("SAVEPOINT change")
    try:
        outcome = change(connection)
    except StorageError:
        raise
    except IbiError as refusal:
        outcome = refusal
        connection.execute("ROLLBACK TO change")
    connection.execute("RELEASE change")
    return outcome
