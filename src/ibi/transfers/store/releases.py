"""The releases of Originals that a resolver knows, in `state`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ibi.items.model.transfer_record import ToldChain
from ibi.standard.label import Label, RepositoryName
from ibi.storage.columns import label_key
from ibi.storage.database import DatabaseSession, upsert
from ibi.storage.state import StateStore

MIGRATIONS: Final = (
    """
    CREATE TABLE told_chains (rep TEXT PRIMARY KEY, chain TEXT NOT NULL);
    CREATE TABLE told_chain_names (label {bytes} PRIMARY KEY, rep TEXT NOT NULL);
    CREATE TABLE told_chain_services (service {bytes} NOT NULL, rep TEXT NOT NULL, PRIMARY KEY (service, rep))
    """,
)
_KEEP_CHAIN: Final = upsert("told_chains", "rep, chain", "rep")
_KEEP_NAME: Final = upsert("told_chain_names", "label, rep", "label")
_KEEP_SERVICE: Final = upsert("told_chain_services", "service, rep", "service, rep")


class SqliteChainStore(StateStore):
    """Implements the port `ChainStore` on one data directory."""

    prompt = True

    def chain(self, label: Label) -> tuple[str, ...]:
        with self._database.read() as session:
            return _find_chain(session, label)

    def change(self, label: Label, make: Callable[[tuple[str, ...]], ToldChain | None]) -> tuple[str, ...]:
        with self._database.change() as session:
            known = _find_chain(session, label)
            told = make(known)
            if told is None:
                return known
            rep = next(_key(label) for label in told.labels if isinstance(label, RepositoryName))
            session.execute(_KEEP_CHAIN, (rep, " ".join(told.texts)))
            rows = [(label_key(label), rep) for label in told.labels]
            session.executemany(_KEEP_NAME, rows)
            among = [(label_key(service), rep) for service in told.services]
            session.executemany(_KEEP_SERVICE, among)
        return told.texts

    def with_service(
        self, service: Label, after: str = "", most: int = 1000
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        statement = """SELECT rep, chain FROM told_chain_services JOIN told_chains USING (rep)
            WHERE service = ? AND rep > ? ORDER BY rep LIMIT ?"""
        with self._database.read() as session:
            rows = session.execute(statement, (label_key(service), after.lower(), most)).fetchall()
        return tuple((rep, tuple(chain.split())) for rep, chain in rows)


def _find_chain(session: DatabaseSession, label: Label) -> tuple[str, ...]:
    statement = "SELECT chain FROM told_chain_names JOIN told_chains USING (rep) WHERE label = ?"
    row = session.execute(statement, (label_key(label),)).fetchone()
    return () if row is None else tuple(row[0].split())


def _key(rep: RepositoryName) -> str:
    return str(rep).lower()
