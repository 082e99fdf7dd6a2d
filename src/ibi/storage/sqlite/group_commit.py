"""Changes to an SQLite file by many threads, in few commits.

Whoever comes while a commit is under way waits, and then one of those who wait makes the changes of all of them in one
transaction: a disk is asked once for as many changes as it takes callers to keep it busy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from ibi.errors import IbiError
from ibi.storage.company import Company
from ibi.storage.errors import StoreClosed
from ibi.storage.sqlite.connection import Connection, storage_errors, transaction

__all__ = ["GroupCommit"]

T = TypeVar("T")


class _Wish(Generic[T]):
    """A change that somebody waits for, and what has become of it."""

    __slots__ = ("_change", "_outcome", "_refusal", "is_done")

    def __init__(self, change: Callable[[Connection], T]) -> None:
        self._change = change
        self._refusal: IbiError | None = None
        self.is_done = False

    def attempt(self, connection: Connection) -> None:
        """Make the change. A refusal undoes it alone; what SQLite raises ends the whole transaction."""
        self._refusal = None
        connection.execute("SAVEPOINT wish")
        try:
            self._outcome = self._change(connection)
        except IbiError as refusal:
            self._refusal = refusal
            connection.execute("ROLLBACK TO wish")
        connection.execute("RELEASE wish")

    def outcome(self) -> T:
        if self._refusal is not None:
            raise self._refusal
        return self._outcome


class GroupCommit:
    """The only writer of a file in this process, for any number of threads."""

    def __init__(self, path: Path, connection: Connection) -> None:
        self._path = path
        self._connection: Connection | None = connection
        self.company = Company()
        """For threads that will ask for a change within milliseconds."""
        self._turn = Lock()
        self._waiting: deque[_Wish[Any]] = deque()

    def run(self, change: Callable[[Connection], T]) -> T:
        """What `change` returns, once it is durable. An `IbiError` that it raises leaves nothing of it.

        It may be run more than once, and the last time counts.
        """
        wish = _Wish(change)
        self._waiting.append(wish)
        self.company.arrive()
        with self._turn:
            if not wish.is_done:
                self.company.gather()
                self._serve(wish)
        return wish.outcome()

    def _serve(self, own: _Wish[Any]) -> None:
        """Commit what everybody waits for. If that fails, it has failed for `own`; the others try again themselves."""
        self.company.depart()
        wishes = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            if self._connection is None:
                raise StoreClosed(path=self._path)
            with storage_errors(self._path), transaction(self._connection):
                for wish in wishes:
                    wish.attempt(self._connection)
        except BaseException:
            self._waiting.extendleft(wish for wish in reversed(wishes) if wish is not own)
            raise
        for wish in wishes:
            wish.is_done = True

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
