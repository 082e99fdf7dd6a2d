"""Changes to an SQLite file by many threads, in few commits.

A thread that comes while a commit is under way waits; then one of those that wait makes the changes of all of them in
one transaction: a disk is asked once for as many changes as it takes callers to keep it busy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from ibi.errors import IbiError
from ibi.ports.errors import StorageError, StoreDamaged
from ibi.storage.batching import Batcher
from ibi.storage.errors import StoreClosed
from ibi.storage.sqlite.connection import Connection, storage_errors, transaction

T = TypeVar("T")
_Change = Callable[[Connection], Any]


class GroupCommit:
    """The only writer of a file in this process, for any number of threads."""

    def __init__(
        self,
        path: Path,
        connection: Connection,
        before_commit: Callable[[Connection], None] | None = None,
        damaged: type[StoreDamaged] = StoreDamaged,
    ) -> None:
        """`before_commit` is called inside each transaction that has changed something, at its end. Damage of the file
        is raised as `damaged`."""
        self._path, self._before_commit, self._damaged = path, before_commit, damaged
        self._connection: Connection | None = connection
        self._turn = Lock()
        self._together: Batcher[_Change, Any] = Batcher(self._commit)

    def run(self, change: Callable[[Connection], T]) -> T:
        """What `change` returns, once it is durable. An `IbiError` that it raises leaves nothing of it.

        It may be run more than once, and the last time counts.
        """
        outcome: T = self._together.run(change)
        return outcome

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _commit(self, changes: Sequence[_Change]) -> list[Any]:
        """What became of each. If the transaction of all fails, each gets its own: whose fault it is fails alone."""
        try:
            return self._in_one(changes)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to whom it belongs
            if len(changes) == 1:
                return [error]
        return [outcome for change in changes for outcome in self._commit([change])]

    def _in_one(self, changes: Sequence[_Change]) -> list[Any]:
        with self._turn:
            if self._connection is None:
                raise StoreClosed(path=self._path)
            with storage_errors(self._path, self._damaged), transaction(self._connection):
                before = self._connection.total_changes
                if len(changes) == 1:
                    outcomes = [changes[0](self._connection)]
                else:
                    outcomes = [_attempt(change, self._connection) for change in changes]
                if self._before_commit is not None and self._connection.total_changes != before:
                    self._before_commit(self._connection)
                return outcomes


def _attempt(change: _Change, connection: Connection) -> Any:
    """What the change returns, or its refusal, which undoes it alone; what SQLite raises ends the whole transaction."""
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
