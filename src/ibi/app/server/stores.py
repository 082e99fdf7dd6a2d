"""Opens the stores that every server has: the state, accounts, and the clock state of its labels."""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

from ibi.minting.opening import open_ticks
from ibi.minting.store.ticks import SqliteTicks
from ibi.people.service.secret_hasher import HASHES_AT_ONCE, SecretHasher
from ibi.people.store.audit_log import FileAuditLog
from ibi.people.store.people import SqlitePeople
from ibi.people.store.tokens import SqliteTokens
from ibi.server.worker_state import WorkerShare
from ibi.settings import Settings
from ibi.storage.machine import MachineClocks
from ibi.storage.state import SqliteDatabase, open_state


class Stores(NamedTuple):
    """The stores that every server has."""

    ticks: SqliteTicks | None
    """None if nothing is minted."""
    state: SqliteDatabase
    tokens: SqliteTokens
    people: SqlitePeople
    hasher: SecretHasher
    audit: FileAuditLog


def open_stores(settings: Settings, clocks: MachineClocks, share: WorkerShare, opened: ExitStack) -> Stores:
    """Return the stores, closed with `opened`. A damaged state is refused."""
    ticks = open_ticks(settings, clocks) if settings.has_archive else None
    if ticks is not None:
        opened.callback(ticks.close)
    state = open_state(settings.data)
    opened.callback(state.close)
    state.examine()
    tokens = SqliteTokens(settings.data)
    opened.callback(tokens.close)
    people, hasher = SqlitePeople(settings.data), SecretHasher(at_once=share.divide(HASHES_AT_ONCE))
    opened.callback(people.close)
    opened.callback(hasher.close)
    audit = FileAuditLog(settings.data)
    opened.callback(audit.close)
    return Stores(ticks, state, tokens, people, hasher, audit)
