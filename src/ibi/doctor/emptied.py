"""Checks for databases that SQLite finds sound, but that have lost their rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from ibi.doctor.databases import path_of
from ibi.doctor.diagnosis import Diagnosis, ExaminedDirectory, from_error
from ibi.people.store.audit_log import FileAuditLog
from ibi.standard.errors import IbiError
from ibi.storage.connection import STATE, TICKS, DatabaseKind, is_blank
from ibi.storage.unchanged import opened_unchanged


class _Witness(NamedTuple):
    """The audit log's evidence that a table has rows."""

    part: str
    table: str
    subject: str
    """The beginning of the subject in its lines."""
    begins: str
    """The act in the log that adds a row."""
    ends: str = ""
    """The act in the log that removes a row, if there is one."""


_WITNESSES: Final = (
    _Witness("tokens", "tokens", "token:", "create token"),
    _Witness("people", "people", "person:", "create person"),
    _Witness("registry", "registrations", "archive:", "register archive", "forget archive"),
    _Witness("collections", "collections", "collection:", "create collection", "remove collection"),
    _Witness("subscriptions", "follows", "follow:", "follow", "unfollow"),
    _Witness("subscriptions", "webhooks", "webhook:", "create", "remove"),
)
_OPTIONS: Final = {"tokens": "accounts"}
"""Parts with another name in `ibi rebuild --empty`."""
_AGAIN: Final = 1.0
"""Seconds after which a change under way has reached the table and the log."""


def check_emptied(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    """Yield empty tables that have rows by the audit log or the mint log."""
    yield from _check_ticks(directory)
    found = _find_emptied(directory)
    if found and directory.is_served:
        time.sleep(_AGAIN)
        found = _find_emptied(directory)
    for each in found:
        what = f"its table {each.table} is empty, and the audit log tells what was in it"
        remedy = (
            "Put the newest copy from state-copies/ or from a backup in its place, while no server runs; to begin"
            f" without these rows, `ibi rebuild --empty {_OPTIONS.get(each.part, each.part)}`."
        )
        yield Diagnosis("database-emptied", str(path_of(directory, STATE)), what, remedy)


def _check_ticks(directory: ExaminedDirectory) -> Iterator[Diagnosis]:
    path, log = path_of(directory, TICKS), directory.data / "mint" / "mint.log"
    if _count_rows(directory, TICKS, "store") == 0 and log.is_file() and log.stat().st_size:
        reason = "its rows are gone, and mint.log beside it tells what was minted"
        yield _tell_emptied(path, TICKS, reason)


def _tell_emptied(path: Path, kind: DatabaseKind, reason: str) -> Diagnosis:
    """Return the diagnosis with the remedy for a damaged database of its kind."""
    damaged = from_error("database-emptied", str(path), kind.damaged(path=path, reason=reason))
    return replace(damaged, what=reason)


def _find_emptied(directory: ExaminedDirectory) -> list[_Witness]:
    empty = [each for each in _WITNESSES if _count_rows(directory, STATE, each.table) == 0]
    witnessed = _read_witnesses(directory) if empty else set()
    return [each for each in empty if each in witnessed]


def _count_rows(directory: ExaminedDirectory, kind: DatabaseKind, table: str) -> int | None:
    """Return 0 if the table is empty, 1 if it has rows. None if it cannot be read; `check_databases` reports that."""
    path = path_of(directory, kind)
    try:
        if not path.exists() or is_blank(path):
            return None
        with opened_unchanged(path, is_in_use=directory.is_served) as connection:
            return len(connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall())  # noqa: S608 - names of ours
    except (IbiError, OSError):
        return None


def _read_witnesses(directory: ExaminedDirectory) -> set[_Witness]:
    """Return the tables that have rows by the audit log.

    Lines from before a part was begun do not count: `ibi rebuild --empty` begins the part again and keeps the log.
    """
    log, alive = FileAuditLog(directory.data), {each: set[str]() for each in _WITNESSES}
    if log.size() > directory.most_read:
        return set()
    begun = _read_begun(directory)
    try:
        for entry in log.entries():
            for each in _WITNESSES:
                if entry.subject.startswith(each.subject) and str(entry.at) >= begun.get(each.part, ""):
                    if entry.act == each.begins:
                        alive[each].add(entry.subject)
                    elif entry.act == each.ends:
                        alive[each].discard(entry.subject)
    except IbiError:
        pass  # reported by `check_audit`; the lines before the break count
    return {each for each, subjects in alive.items() if subjects}


def _read_begun(directory: ExaminedDirectory) -> dict[str, str]:
    """Return the begin of each part of the state."""
    with opened_unchanged(path_of(directory, STATE), is_in_use=directory.is_served) as connection:
        return dict(connection.execute("SELECT name, begun FROM parts").fetchall())
