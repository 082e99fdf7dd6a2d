"""Registered Archives in `state`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any, Final

from ibi.membership.model.registration import FailedContact, Inclusion, Registration
from ibi.membership.rules.membership import AlreadyRegistered, PrefixHome, require_free_prefixes
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.values import ip_address
from ibi.standard.networks import network
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import ArchiveProtocol
from ibi.storage.columns import label_key
from ibi.storage.database import DatabaseSession, note_change, read_change_number
from ibi.storage.state import StateStore


def registration_order(registration: Registration) -> tuple[Instant, Label]:
    return registration.registered, registration.labels[0]


def as_kept(registration: Registration, before: Registration | None = None) -> Registration:
    """Return the registration as the register stores it, with times in whole seconds.

    Raise `ValueError` if it lacks a label form that it had `before`, or shares no label with it: that would be another
    Archive.
    """
    if before is not None and not _is_same_archive(registration, before):
        raise ValueError("a registration keeps its labels")
    inclusion, pending = _to_the_second(registration.inclusion), _to_the_second(registration.pending)
    registered, failed = Instant(registration.registered.seconds), registration.failed
    if failed is not None:
        failed = failed._replace(at=Instant(failed.at.seconds))
    kept = replace(registration, inclusion=inclusion, pending=pending, registered=registered, failed=failed)
    return registration if kept == registration else kept


def require_free(
    registration: Registration,
    before: Registration | None,
    find: Callable[[Label], Registration | None],
    every: Callable[[], Iterable[Registration]],
) -> None:
    """Raise `AlreadyRegistered` or `PrefixTaken` if another registration has a label or a prefix that is new in this
    one. Call this where no other process can change the register until this registration is stored."""
    had = () if before is None else before.labels
    for label in registration.labels:
        if label not in had and find(label) is not None:
            raise AlreadyRegistered(label=str(label))

    def others() -> Iterator[PrefixHome]:  # read only if a prefix is new, because most changes concern other fields
        yield from (PrefixHome.of_registration(each) for each in every() if each != before)

    require_free_prefixes(registration, before, others())


def _is_same_archive(after: Registration, before: Registration) -> bool:
    forms = {label.form for label in after.labels}
    return all(label.form in forms for label in before.labels) and not set(after.labels).isdisjoint(before.labels)


def _to_the_second(inclusion: Inclusion | None) -> Inclusion | None:
    if inclusion is None:
        return None
    answered = None if inclusion.answered is None else Instant(inclusion.answered.seconds)
    return replace(inclusion, since=Instant(inclusion.since.seconds), answered=answered)


Row = tuple[Any, ...]
_MOST_READ: Final = 4096
"""Maximum registrations in the cache of parsed rows."""

# Labels are stored as they were registered, and found by their key. Hosts and networks are few short words that are
# always read together, so each list is one text.
MIGRATIONS: Final = (
    """
    CREATE TABLE registrations (
        id {identity},
        service TEXT NOT NULL,
        key_hash TEXT NOT NULL,
        registered BIGINT NOT NULL,
        admin_mail TEXT,
        hosts TEXT NOT NULL,
        networks TEXT NOT NULL,
        prefixes TEXT NOT NULL DEFAULT '',
        shared INTEGER NOT NULL DEFAULT 0 CHECK (shared IN (0, 1)),
        vouched INTEGER NOT NULL DEFAULT 0 CHECK (vouched IN (0, 1)),
        successor TEXT,
        waiting TEXT,
        feed TEXT,
        public_key TEXT,
        former_keys TEXT NOT NULL DEFAULT '',
        signed_at BIGINT NOT NULL DEFAULT 0,
        lost BIGINT,
        last_inclusion TEXT,
        failure TEXT,
        failed_at BIGINT CHECK ((failure IS NULL) = (failed_at IS NULL)),
        address TEXT,
        ip TEXT,
        protocol TEXT CHECK (protocol IN ('HTTP', 'HTTPS')),
        platform_version TEXT,
        included_mail TEXT,
        since BIGINT,
        confirmed INTEGER CHECK (confirmed IN (0, 1)),
        answered BIGINT,
        pending_address TEXT,
        pending_ip TEXT,
        pending_protocol TEXT CHECK (pending_protocol IN ('HTTP', 'HTTPS')),
        pending_platform_version TEXT,
        pending_mail TEXT,
        pending_since BIGINT,
        CHECK ((address IS NULL) = (ip IS NULL) AND (address IS NULL) = (protocol IS NULL)
            AND (address IS NULL) = (platform_version IS NULL) AND (address IS NULL) = (included_mail IS NULL)
            AND (address IS NULL) = (since IS NULL) AND (address IS NULL) = (confirmed IS NULL)),
        CHECK ((pending_address IS NULL) = (pending_ip IS NULL)
            AND (pending_address IS NULL) = (pending_protocol IS NULL)
            AND (pending_address IS NULL) = (pending_platform_version IS NULL)
            AND (pending_address IS NULL) = (pending_mail IS NULL)
            AND (pending_address IS NULL) = (pending_since IS NULL)
            AND (pending_address IS NULL OR address IS NOT NULL))
    );
    CREATE TABLE registered_labels (
        label {bytes} PRIMARY KEY,
        registration BIGINT NOT NULL REFERENCES registrations (id) ON DELETE CASCADE
    );
    CREATE INDEX registered_labels_registration ON registered_labels (registration)
    """,
)

_COLUMNS: Final = (
    "service, key_hash, registered, admin_mail, hosts, networks, prefixes, shared, vouched, successor, waiting,"
    " feed, public_key, former_keys, signed_at, lost, last_inclusion, failure, failed_at,"
    " address, ip, protocol, platform_version, included_mail, since, confirmed, answered,"
    " pending_address, pending_ip, pending_protocol, pending_platform_version, pending_mail, pending_since"
)
_MARKS: Final = ", ".join("?" * (_COLUMNS.count(",") + 1))
ALL: Final = f"SELECT {_COLUMNS} FROM registrations"  # noqa: S608
FIND: Final = f"{ALL} WHERE id = (SELECT registration FROM registered_labels WHERE label = ?)"  # noqa: S608
INSERT: Final = f"INSERT INTO registrations ({_COLUMNS}) VALUES ({_MARKS}) RETURNING id"  # noqa: S608
INSERT_LABEL: Final = "INSERT INTO registered_labels (label, registration) VALUES (?, ?)"

_SWITCHED_OFF: Final = (None,) * 8
_REACHED: Final = (None, None)
_PENDING: Final = 6
"""Number of columns of a pending inclusion: it has not been confirmed, and so has not answered."""


def row_of(registration: Registration) -> Row:
    successor, waiting = registration.successor, registration.waiting
    return (
        str(registration.service),
        registration.key_hash,
        registration.registered.seconds,
        registration.admin_mail,
        " ".join(sorted(registration.hosts)),
        " ".join(map(str, registration.networks)),
        " ".join(sorted(registration.prefixes)),
        int(registration.shared),
        int(registration.vouched),
        None if successor is None else str(successor),
        None if waiting is None else waiting.spelling,
        registration.feed,
        None if registration.key is None else str(registration.key),
        " ".join(map(str, registration.former_keys)),
        registration.signed_at,
        None if registration.lost is None else registration.lost.seconds,
        None if registration.last_inclusion is None else json.dumps(_inclusion_columns(registration.last_inclusion)),
        *(_REACHED if registration.failed is None else (registration.failed.reason, registration.failed.at.seconds)),
        *_inclusion_columns(registration.inclusion),
        *_inclusion_columns(registration.pending)[:_PENDING],
    )


def _inclusion_columns(inclusion: Inclusion | None) -> Row:
    if inclusion is None:
        return _SWITCHED_OFF
    return (
        inclusion.address,
        str(inclusion.ip),
        inclusion.protocol.value,
        inclusion.platform_version,
        inclusion.admin_mail,
        inclusion.since.seconds,
        int(inclusion.confirmed),
        None if inclusion.answered is None else inclusion.answered.seconds,
    )


@lru_cache(_MOST_READ)
def registration_of(row: Row) -> Registration:
    """Parse a row. Equal rows give the same object, so a change of one Archive does not parse all others again."""
    service, key_hash, registered, admin_mail, hosts, networks, *rest = row
    prefixes, shared, vouched, successor, waiting, feed, key, former_keys, signed_at, lost, last, *rest = rest
    failure, failed_at, *inclusions = rest
    return Registration(
        LabelForms.parse(service),
        key_hash,
        Instant(registered),
        admin_mail,
        frozenset(hosts.split()),
        tuple(map(network, networks.split())),
        _inclusion(*inclusions[:-_PENDING]),
        frozenset(prefixes.split()),
        bool(shared),
        bool(vouched),
        None if successor is None else LabelForms.parse(successor),
        _inclusion(*inclusions[-_PENDING:]),
        None if waiting is None else parse(waiting),
        None if failure is None else FailedContact(failure, Instant(failed_at)),
        feed,
        None if key is None else PublicKey.parse(key),
        tuple(map(PublicKey.parse, former_keys.split())),
        signed_at,
        None if lost is None else Instant(lost),
        None if last is None else _inclusion(*json.loads(last)),
    )


def _inclusion(
    address: str | None,
    ip: str,
    protocol: str,
    version: str,
    mail: str,
    since: int,
    confirmed: int = 0,
    answered: int | None = None,
) -> Inclusion | None:
    if address is None:
        return None
    return Inclusion(
        address,
        ip_address(ip),
        ArchiveProtocol(protocol),
        version,
        mail,
        Instant(since),
        confirmed=bool(confirmed),
        answered=None if answered is None else Instant(answered),
    )


_CHANGES: Final = "registry"
_RECENT: Final = 0.01
"""Seconds for which a version counts as recent."""


class SqliteRegistry(StateStore):
    """Implements the port `Registry` on one data directory. Each change is a commit of its own.

    The change number shows every change, including those by this object.
    """

    prompt = True

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._count = count(1)
        self._changes = 0
        """A number that differs after every change by this object."""
        self._seen: tuple[int, float, int] | None = None
        """The last version read: the number of changes before it, the end of its validity, and the version."""

    def find(self, label: Label) -> Registration | None:
        with self._database.read() as session:
            return _find(session, label)

    def all(self) -> tuple[Registration, ...]:
        with self._database.read() as session:
            found = _all(session)
        return tuple(sorted(found, key=registration_order))

    def add(self, registration: Registration) -> None:
        with self._change_register() as session:
            _require_free(session, registration, None)
            _insert(session, registration)

    def put(self, registration: Registration) -> None:
        with self._change_register() as session:
            for label in registration.labels:
                _delete(session, label)
            _insert(session, registration)

    def change(self, label: Label, make: Callable[[Registration], Registration]) -> Registration | None:
        with self._change_register() as session:
            found = _find(session, label)
            if found is None:
                return None
            made = as_kept(make(found), found)
            if made != found:
                _require_free(session, made, found)
                _delete(session, label)
                _insert(session, made)
            return made

    def forget(self, label: Label) -> Registration | None:
        with self._change_register() as session:
            found = _find(session, label)
            if found is not None:
                _delete(session, label)
            return found

    def version(self) -> int:
        with self._database.read() as session:
            return read_change_number(session, _CHANGES)

    def recent_version(self) -> int:
        """Return `version`, at most 10 ms old, but never older than this object's last change."""
        changes, now, seen = self._changes, monotonic(), self._seen
        if seen is None or seen[0] != changes or now >= seen[1]:
            self._seen = seen = changes, now + _RECENT, self.version()
        return seen[2]

    def close(self) -> None:
        super().close()
        self._changes = next(self._count)

    @contextmanager
    def _change_register(self) -> Iterator[DatabaseSession]:
        try:
            with self._database.change(lasting=True) as session:
                yield session
        finally:
            self._changes = next(self._count)


def _find(session: DatabaseSession, label: Label) -> Registration | None:
    row = session.execute(FIND, (label_key(label),)).fetchone()
    return None if row is None else registration_of(row)


def _all(session: DatabaseSession) -> list[Registration]:
    return list(map(registration_of, session.execute(ALL).fetchall()))


def _require_free(session: DatabaseSession, registration: Registration, before: Registration | None) -> None:
    require_free(registration, before, lambda label: _find(session, label), lambda: _all(session))


def _insert(session: DatabaseSession, registration: Registration) -> None:
    (number,) = session.execute(INSERT, row_of(as_kept(registration))).fetchone()
    session.executemany(INSERT_LABEL, [(label_key(label), number) for label in registration.labels])
    note_change(session, _CHANGES)


def _delete(session: DatabaseSession, label: Label) -> None:
    """Delete the registration with this label, and its labels."""
    statement = "DELETE FROM registrations WHERE id = (SELECT registration FROM registered_labels WHERE label = ?)"
    if session.execute(statement, (label_key(label),)).rowcount:
        note_change(session, _CHANGES)
