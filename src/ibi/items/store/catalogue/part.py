"""Connections to the tables that share the catalogue's file: texts, previews, integrity.

They are not part of the catalogue's state: writes change neither its count of changes nor its version. A power failure
may undo the last commits, because all of it can be derived again.

Deposits wait for these writers, so each transaction is short: large work is split into several calls of `_change`. A
checkpoint takes longer than that, and runs while no lock is held.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import ClassVar, Final

from ibi.storage.connection import CATALOGUE, Connection, checkpoint, connect
from ibi.storage.errors import StoreForked
from ibi.storage.group_commit import writer_queue
from ibi.storage.guarded import GuardedDatabase

MOST_ROWS: Final = 200
"""Small rows in one transaction: about 3 ms."""
MOST_BYTES: Final = 256 << 10
"""Bytes of large values in one transaction: about 1 ms."""
CHECKPOINT: Final = 32
"""Transactions between checkpoints, which copy the log into the file."""
_LONGEST_REST: Final = 0.05


def connect_part(path: Path, patience: float = 10.0) -> Connection:
    """Connect to the catalogue at `path`; create it if it is missing."""
    from ibi.items.store.catalogue.migrations import MIGRATIONS  # which joins those of the parts

    connection = connect(path, MIGRATIONS, patience=patience, kind=CATALOGUE, begin=not path.exists())
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


class CatalogPart(GuardedDatabase):
    """Some tables of the catalogue's file, on one connection. Calls may come from any thread of the process."""

    rest: ClassVar[float] = 0.0
    """Pause of a writer after a transaction, as a multiple of the transaction's duration. A writer that runs for
    minutes, such as the extraction of a large collection, leaves most of the time to deposits."""

    def __init__(self, data: Path) -> None:
        """Open the catalogue of the data directory; create it if it is missing."""
        path = data / CATALOGUE.file_name
        self._queue, self._written = writer_queue(path), 0
        super().__init__(path, CATALOGUE, lambda: connect_part(path))

    @contextmanager
    def _change(self) -> Iterator[Connection]:
        """Open one short transaction. Writers of the catalogue take turns, so that none has to poll."""
        if self._process != os.getpid():  # before the lock, which a child shares with its parent
            raise StoreForked(path=self._path)
        with self._queue:
            began = monotonic()
            with super()._change() as connection:
                yield connection
            took = monotonic() - began
        if self.rest:
            sleep(min(self.rest * took, _LONGEST_REST))
        self._written += 1
        if self._written % CHECKPOINT == 0:
            with self._open() as connection:
                checkpoint(connection)
