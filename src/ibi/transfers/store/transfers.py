"""The ledger of transfers in `state`.

A directory cannot see from within that it was restored from a backup. So a mark is stored both in the ledger and in a
file of the machine's lock directory. Both change before anything is given away: first the file gets the old and the new
mark, then the ledger gets the new one, then the file drops the old one. A process killed in between leaves a ledger
with one of the two.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from ibi.standard.label import Label, RepositoryName
from ibi.storage.columns import label_key
from ibi.storage.database import DatabaseSession, upsert
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import LockDirectory
from ibi.storage.machine import refusals
from ibi.storage.state import StateStore, has_state
from ibi.transfers.model import (
    IncomingTransfer,
    OpenItem,
    OutgoingTransfer,
    ReceiverStage,
    SenderStage,
    decode_incoming,
    decode_open,
    decode_outgoing,
    encode_open,
    encode_record,
)

MIGRATIONS: Final = (
    """
    CREATE TABLE transfers (
        direction TEXT NOT NULL, rep TEXT NOT NULL, stage TEXT NOT NULL, is_open INTEGER NOT NULL,
        due BIGINT NOT NULL, peer {bytes}, network TEXT NOT NULL, heard BIGINT NOT NULL,
        is_accepted INTEGER NOT NULL, document {bytes} NOT NULL, PRIMARY KEY (direction, rep));
    CREATE INDEX transfers_due ON transfers (direction, due) WHERE is_open = 1;
    CREATE INDEX transfers_stage ON transfers (direction, stage, rep);
    CREATE INDEX transfers_peer ON transfers (peer, rep);
    CREATE TABLE transfer_peers (url TEXT PRIMARY KEY);
    CREATE TABLE untold_transfers (rep TEXT PRIMARY KEY);
    CREATE TABLE transfer_track (mark TEXT NOT NULL);
    CREATE TABLE unheard_servers (url TEXT PRIMARY KEY);
    CREATE TABLE item_chains (rep TEXT PRIMARY KEY, chain TEXT NOT NULL);
    CREATE TABLE item_chain_services (service {bytes} NOT NULL, rep TEXT NOT NULL, PRIMARY KEY (service, rep));
    CREATE TABLE open_items (rep TEXT PRIMARY KEY, due BIGINT NOT NULL, document {bytes} NOT NULL)
    """,
)
_OUT: Final = "out"
_IN: Final = "in"
_PUT: Final = upsert(
    "transfers",
    "direction, rep, stage, is_open, due, peer, network, heard, is_accepted, document",
    "direction, rep",
)
_PUT_OPEN: Final = upsert("open_items", "rep, due, document", "rep")
_LONGEST: Final = 4096
_OUTSIDE: Final = 256
"""The fixed length of the file in bytes, so that a write replaces the whole old content."""
T = TypeVar("T")


class _Outside(NamedTuple):
    """The content of the file in the machine's lock directory."""

    before: str = ""
    after: str = ""
    asked: str = ""
    """The mark of a ledger with a settled doubt: this doubt no longer keeps items from being called Originals."""


class SqliteTransferLedger(StateStore):
    """Implements the port `TransferLedger` on one data directory."""

    def __init__(self, directory: Path, lock_directory: Path | None = None) -> None:
        super().__init__(directory)
        self._directory, self._outside = directory, lock_directory

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with self._database.read() as session:
            return session.execute(statement, values).fetchall()

    def outgoing(self, rep: RepositoryName) -> OutgoingTransfer | None:
        return self._find(_OUT, rep, decode_outgoing)

    def incoming(self, rep: RepositoryName) -> IncomingTransfer | None:
        return self._find(_IN, rep, decode_incoming)

    def _find(self, direction: str, rep: RepositoryName, decode: Callable[[bytes], T]) -> T | None:
        rows = self._rows("SELECT document FROM transfers WHERE direction = ? AND rep = ?", direction, _key(rep))
        return decode(rows[0][0]) if rows else None

    def change_outgoing(
        self, rep: RepositoryName, make: Callable[[OutgoingTransfer | None], OutgoingTransfer]
    ) -> OutgoingTransfer:
        with self._database.change() as session:
            row = self._row(session, _OUT, rep)
            before = None if row is None else decode_outgoing(row)
            after = make(before)
            if after.stage.is_final:
                after = replace(after, token=None)
            self._put(session, _OUT, after, _receiver(after))
        self._forget_token(before, after)
        return after

    def change_incoming(
        self, rep: RepositoryName, make: Callable[[IncomingTransfer | None], IncomingTransfer]
    ) -> IncomingTransfer:
        with self._database.change() as session:
            row = self._row(session, _IN, rep)
            before = None if row is None else decode_incoming(row)
            after = make(before)
            if after.stage.is_final:
                after = replace(after, token=None)
            self._put(session, _IN, after, label_key(after.giver))
        self._forget_token(before, after)
        return after

    def _forget_token(
        self, before: OutgoingTransfer | IncomingTransfer | None, after: OutgoingTransfer | IncomingTransfer
    ) -> None:
        """Erase a token from the database's log too, once its transfer has ended."""
        if before is not None and before.token is not None and after.token is None:
            self._database.erase()

    @staticmethod
    def _row(session: DatabaseSession, direction: str, rep: RepositoryName) -> bytes | None:
        statement = "SELECT document FROM transfers WHERE direction = ? AND rep = ?"
        row = session.execute(statement, (direction, _key(rep))).fetchone()
        return None if row is None else row[0]

    @staticmethod
    def _put(
        session: DatabaseSession, direction: str, record: OutgoingTransfer | IncomingTransfer, peer: bytes | None
    ) -> None:
        is_open = not record.stage.is_final and record.stage is not ReceiverStage.WAITING
        network = record.network if isinstance(record, IncomingTransfer) else ""
        stands = record.stage.value, int(is_open), record.due, peer, network, max(record.due, record.since)
        is_accepted = int(record.acceptance is not None)
        session.execute(_PUT, (direction, _key(record.rep), *stands, is_accepted, encode_record(record)))

    def list_outgoing(self, *stages: SenderStage, after: str = "", most: int = 1000) -> tuple[OutgoingTransfer, ...]:
        return self._list(_OUT, stages, after, most, decode_outgoing)

    def list_incoming(self, *stages: ReceiverStage, after: str = "", most: int = 1000) -> tuple[IncomingTransfer, ...]:
        return self._list(_IN, stages, after, most, decode_incoming)

    def _list(
        self,
        direction: str,
        stages: tuple[SenderStage | ReceiverStage, ...],
        after: str,
        most: int,
        decode: Callable[[bytes], T],
    ) -> tuple[T, ...]:
        among = f" AND stage IN ({', '.join('?' * len(stages))})" if stages else ""
        rows = self._rows(
            f"SELECT document FROM transfers WHERE direction = ? AND rep > ?{among} ORDER BY rep LIMIT ?",  # noqa: S608
            direction,
            after.lower(),
            *(stage.value for stage in stages),
            most,
        )
        return tuple(decode(row[0]) for row in rows)

    def count_waiting(self, network: str | None = None) -> int:
        statement = "SELECT COUNT(*) FROM transfers WHERE direction = ? AND stage = ?"
        values: tuple[str, ...] = (_IN, ReceiverStage.WAITING.value)
        if network is not None:  # few wait: no index is needed
            statement += " AND network = ?"
            values = (*values, network)
        return int(self._rows(statement, *values)[0][0])

    def forget_offers(self, *, ended: int, waiting: int, most: int) -> int:
        final = "stage IN (?, ?) AND is_accepted = 0"
        stages = ReceiverStage.DECLINED.value, ReceiverStage.ENDED.value
        delete = "DELETE FROM transfers WHERE direction = 'in' AND "
        kept = f"SELECT rep FROM transfers WHERE direction = 'in' AND {final} ORDER BY heard DESC LIMIT ?"  # noqa: S608
        with self._database.change() as session:
            made = (
                session.execute(f"{delete} stage = ? AND heard < ?", (ReceiverStage.WAITING.value, waiting)),
                session.execute(f"{delete} {final} AND heard < ?", (*stages, ended)),
                session.execute(f"{delete} {final} AND rep NOT IN ({kept})", (*stages, *stages, most)),
            )
            return sum(each.rowcount for each in made)

    def due_outgoing(self, now: int, most: int) -> tuple[OutgoingTransfer, ...]:
        return self._due(_OUT, now, most, decode_outgoing)

    def due_incoming(self, now: int, most: int) -> tuple[IncomingTransfer, ...]:
        return self._due(_IN, now, most, decode_incoming)

    def _due(self, direction: str, now: int, most: int, decode: Callable[[bytes], T]) -> tuple[T, ...]:
        statement = (
            "SELECT document FROM transfers WHERE is_open = 1 AND direction = ? AND due <= ? ORDER BY due LIMIT ?"
        )
        return tuple(decode(row[0]) for row in self._rows(statement, direction, now, most))

    def with_peer(self, service: Label, after: str = "", most: int = 1000) -> tuple[RepositoryName, ...]:
        statement = "SELECT DISTINCT rep FROM transfers WHERE peer = ? AND rep > ? ORDER BY rep LIMIT ?"
        rows = self._rows(statement, label_key(service), after.lower(), most)
        return tuple(RepositoryName.parse(row[0]) for row in rows)

    def peers(self) -> frozenset[str]:
        return frozenset(row[0] for row in self._rows("SELECT url FROM transfer_peers"))

    def add_peer(self, url: str) -> None:
        with self._database.change() as session:
            session.execute("INSERT INTO transfer_peers (url) VALUES (?) ON CONFLICT DO NOTHING", (url,))

    def note_untold(self, rep: RepositoryName) -> None:
        with self._database.change() as session:
            session.execute("INSERT INTO untold_transfers (rep) VALUES (?) ON CONFLICT DO NOTHING", (_key(rep),))

    def untold(self, most: int, after: str = "") -> tuple[RepositoryName, ...]:
        rows = self._rows("SELECT rep FROM untold_transfers WHERE rep > ? ORDER BY rep LIMIT ?", after.lower(), most)
        return tuple(RepositoryName.parse(row[0]) for row in rows)

    def forget_untold(self, rep: RepositoryName) -> None:
        with self._database.change() as session:
            session.execute("DELETE FROM untold_transfers WHERE rep = ?", (_key(rep),))

    def chain(self, rep: RepositoryName) -> tuple[str, ...]:
        rows = self._rows("SELECT chain FROM item_chains WHERE rep = ?", _key(rep))
        return tuple(rows[0][0].split()) if rows else ()

    def note_chain(self, rep: RepositoryName, texts: tuple[str, ...], services: Iterable[Label]) -> None:
        if texts == self.chain(rep):
            return
        name = _key(rep)
        with self._database.change() as session:
            session.execute("DELETE FROM item_chains WHERE rep = ?", (name,))
            session.execute("DELETE FROM item_chain_services WHERE rep = ?", (name,))
            if texts:
                session.execute("INSERT INTO item_chains (rep, chain) VALUES (?, ?)", (name, " ".join(texts)))
                among = [(label_key(service), name) for service in services]
                session.executemany(
                    "INSERT INTO item_chain_services (service, rep) VALUES (?, ?) ON CONFLICT DO NOTHING", among
                )

    def chains_of(
        self, service: Label, after: str = "", most: int = 1000
    ) -> tuple[tuple[RepositoryName, tuple[str, ...]], ...]:
        statement = """SELECT rep, chain FROM item_chain_services JOIN item_chains USING (rep)
            WHERE service = ? AND rep > ? ORDER BY rep LIMIT ?"""
        rows = self._rows(statement, label_key(service), after.lower(), most)
        return tuple((RepositoryName.parse(rep), tuple(chain.split())) for rep, chain in rows)

    def open_items(self, after: str = "", most: int = 1000) -> tuple[OpenItem, ...]:
        statement = "SELECT rep, document, due FROM open_items WHERE rep > ? ORDER BY rep LIMIT ?"
        return tuple(decode_open(*row) for row in self._rows(statement, after.lower(), most))

    def due_open(self, now: int, most: int) -> tuple[OpenItem, ...]:
        statement = "SELECT rep, document, due FROM open_items WHERE due <= ? ORDER BY due LIMIT ?"
        return tuple(decode_open(*row) for row in self._rows(statement, now, most))

    def change_open(self, rep: RepositoryName, make: Callable[[OpenItem | None], OpenItem | None]) -> OpenItem | None:
        with self._database.change() as session:
            statement = "SELECT rep, document, due FROM open_items WHERE rep = ?"
            row = session.execute(statement, (_key(rep),)).fetchone()
            before = None if row is None else decode_open(*row)
            after = make(before)
            if after is None:
                session.execute("DELETE FROM open_items WHERE rep = ?", (_key(rep),))
            elif after != before:
                values = _key(rep), after.due, encode_open(after)
                session.execute(_PUT_OPEN, values)
        return after

    def is_begun(self) -> bool:
        """Return whether a server has ever kept track in this directory."""
        return bool(self._mark())

    def has_lost_track(self) -> bool:
        mark, outside = self._mark(), self._read_outside()
        if mark and outside.before == outside.after == mark:
            return False
        with self._database.change() as session:  # another process may be about to keep track at this moment
            return self._look_for_track(session)

    def _look_for_track(self, session: DatabaseSession) -> bool:
        """Return whether track was lost. Called in a transaction, so that no other process changes it."""
        mark, outside = _mark_of(session), self._read_outside()
        if not mark or mark not in (outside.before, outside.after):
            return True
        if outside.before != outside.after:  # a process was killed between the two
            self._write_outside(_Outside(mark, mark))
        return False

    def lose_track(self) -> None:
        with self._database.change() as session:
            _put_mark(session)

    def keep_track(self) -> None:
        with self._database.change() as session:
            self._change_mark(session)
            session.execute("DELETE FROM unheard_servers")
        self._forget_mark_before()

    def renew_track(self) -> bool:
        with self._database.change() as session:
            if self._look_for_track(session):
                return False
            self._change_mark(session)
        self._forget_mark_before()
        return True

    def _change_mark(self, session: DatabaseSession) -> None:
        before, mark = _mark_of(session), secrets.token_hex(16)
        self._write_outside(_Outside(before, mark))
        _put_mark(session, mark)

    def _forget_mark_before(self) -> None:
        """Drop the old mark from the file; from now on it is that of a backup. This runs in a transaction and uses the
        present mark: another process may have kept track meanwhile, and its mark must not be lost."""
        with self._database.change() as session:
            self._look_for_track(session)

    def note_asked(self, *, asked: bool) -> None:
        if asked == self.were_asked():
            return
        with self._database.change() as session:
            mark = _mark_of(session) or _put_mark(session)
            self._write_outside(self._read_outside()._replace(asked=mark if asked else ""))

    def were_asked(self) -> bool:
        mark = self._mark()
        return bool(mark) and self._read_outside().asked == mark

    def note_unheard(self, servers: Iterable[str]) -> None:
        urls = frozenset(servers)
        if urls == self.unheard():
            return
        with self._database.change() as session:
            session.execute("DELETE FROM unheard_servers")
            session.executemany("INSERT INTO unheard_servers (url) VALUES (?)", [(url,) for url in sorted(urls)])

    def unheard(self) -> frozenset[str]:
        return frozenset(row[0] for row in self._rows("SELECT url FROM unheard_servers"))

    def _mark(self) -> str:
        with self._database.read() as session:
            return _mark_of(session)

    def _read_outside(self) -> _Outside:
        with suppress(ValueError, KeyError, TypeError, RecursionError), self._witness() as descriptor:
            found = json.loads(os.pread(descriptor, _LONGEST, 0).rstrip(b"\0\n ") or b"{}")
            return _Outside(str(found["before"]), str(found["after"]), str(found.get("asked", "")))
        return _Outside()

    def _write_outside(self, marks: _Outside) -> None:
        content = json.dumps(marks._asdict()).encode("ascii").ljust(_OUTSIDE) + b"\n"
        with self._witness() as descriptor, refusals(DiskRefused, self._directory):
            os.pwrite(descriptor, content, 0)  # in one piece: it is shorter than a block
            os.fsync(descriptor)

    @contextmanager
    def _witness(self) -> Iterator[int]:
        """Open the file for this directory in the machine's lock directory. Its name includes device and inode, because
        a copy elsewhere is another directory."""
        status = self._directory.stat()
        place = f"{status.st_dev}:{status.st_ino}:{self._directory.absolute()}"
        locks = LockDirectory(self._outside)
        try:
            descriptor = locks.open(f"transfers-{sha256(place.encode()).hexdigest()[:24]}.json")
        finally:
            locks.close()
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def forget_track(directory: Path) -> None:
    """Mark a directory as restored from a backup, whatever the machine remembers of it."""
    if has_state(directory):
        with closing(SqliteTransferLedger(directory)) as ledger:
            ledger.lose_track()


def _mark_of(session: DatabaseSession) -> str:
    row = session.execute("SELECT mark FROM transfer_track").fetchone()
    return "" if row is None else str(row[0])


def _put_mark(session: DatabaseSession, mark: str = "") -> str:
    """Store this mark in the ledger, or a random one. A random mark loses track, and separates this doubt from settled
    earlier ones."""
    mark = mark or secrets.token_hex(16)
    session.execute("DELETE FROM transfer_track")
    session.execute("INSERT INTO transfer_track (mark) VALUES (?)", (mark,))
    return mark


def _key(rep: RepositoryName) -> str:
    return str(rep).lower()


def _receiver(record: OutgoingTransfer) -> bytes | None:
    return None if record.to is None else label_key(record.to)
