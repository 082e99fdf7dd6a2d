"""The tables of `registry.sqlite`, and a registration as a row of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from ibi.instant import Instant
from ibi.label import Label, parse
from ibi.messages.label_forms import LabelForms
from ibi.messages.values import ip_address
from ibi.model.registration import FailedContact, Inclusion, Registration
from ibi.model.visibility import network
from ibi.resolver.membership import AlreadyRegistered, PrefixHome, require_free_prefixes
from ibi.signing import PublicKey
from ibi.vocabulary import ArchiveProtocol


def registration_order(registration: Registration) -> tuple[Instant, Label]:
    return registration.registered, registration.labels[0]


def as_kept(registration: Registration, before: Registration | None = None) -> Registration:
    """As a register keeps it. `ValueError` if it lacks a form that it had `before`, or shares no label with it: that
    would be another Archive."""
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
    """Raise `AlreadyRegistered` or `PrefixTaken` if another registration has a label, or a prefix, that this one did
    not have `before`. To be asked where no other process can change the register until this one is kept."""
    had = () if before is None else before.labels
    for label in registration.labels:
        if label not in had and find(label) is not None:
            raise AlreadyRegistered(label=str(label))
    require_free_prefixes(
        registration, before, (PrefixHome.of_registration(each) for each in every() if each != before)
    )


def _is_same_archive(after: Registration, before: Registration) -> bool:
    forms = {label.form for label in after.labels}
    return all(label.form in forms for label in before.labels) and not set(after.labels).isdisjoint(before.labels)


def _to_the_second(inclusion: Inclusion | None) -> Inclusion | None:
    if inclusion is None:
        return None
    answered = inclusion.answered
    return replace(
        inclusion,
        since=Instant(inclusion.since.seconds),
        answered=None if answered is None else Instant(answered.seconds),
    )


Row = tuple[Any, ...]

# Labels are stored as they were registered, and found by their key. Hosts and networks are few, short words that are
# always read together: words of one text.
MIGRATIONS: Final = (
    """
    CREATE TABLE registrations (
        id INTEGER PRIMARY KEY,
        service TEXT NOT NULL,
        key_hash TEXT NOT NULL,
        registered INTEGER NOT NULL,
        admin_mail TEXT,
        hosts TEXT NOT NULL,
        networks TEXT NOT NULL,
        address TEXT,
        ip TEXT,
        protocol TEXT CHECK (protocol IN ('HTTP', 'HTTPS')),
        platform_version TEXT,
        included_mail TEXT,
        since INTEGER,
        confirmed INTEGER CHECK (confirmed IN (0, 1)),
        CHECK ((address IS NULL) = (ip IS NULL) AND (address IS NULL) = (protocol IS NULL)
            AND (address IS NULL) = (platform_version IS NULL) AND (address IS NULL) = (included_mail IS NULL)
            AND (address IS NULL) = (since IS NULL) AND (address IS NULL) = (confirmed IS NULL))
    );
    CREATE TABLE labels (
        label BLOB PRIMARY KEY,
        registration INTEGER NOT NULL REFERENCES registrations ON DELETE CASCADE
    ) WITHOUT ROWID;
    CREATE INDEX labels_of ON labels (registration)
    """,
    # An address that was confirmed had answered when it was included, if not later.
    """
    ALTER TABLE registrations ADD COLUMN answered INTEGER;
    UPDATE registrations SET answered = since WHERE confirmed = 1;
    ALTER TABLE registrations ADD COLUMN prefixes TEXT NOT NULL DEFAULT '';
    ALTER TABLE registrations ADD COLUMN shared INTEGER NOT NULL DEFAULT 0 CHECK (shared IN (0, 1));
    ALTER TABLE registrations ADD COLUMN vouched INTEGER NOT NULL DEFAULT 0 CHECK (vouched IN (0, 1));
    ALTER TABLE registrations ADD COLUMN successor TEXT;
    ALTER TABLE registrations ADD COLUMN waiting TEXT;
    ALTER TABLE registrations ADD COLUMN pending_address TEXT;
    ALTER TABLE registrations ADD COLUMN pending_ip TEXT;
    ALTER TABLE registrations ADD COLUMN pending_protocol TEXT CHECK (pending_protocol IN ('HTTP', 'HTTPS'));
    ALTER TABLE registrations ADD COLUMN pending_platform_version TEXT;
    ALTER TABLE registrations ADD COLUMN pending_mail TEXT;
    ALTER TABLE registrations ADD COLUMN pending_since INTEGER
        CHECK ((pending_address IS NULL) = (pending_ip IS NULL)
            AND (pending_address IS NULL) = (pending_protocol IS NULL)
            AND (pending_address IS NULL) = (pending_platform_version IS NULL)
            AND (pending_address IS NULL) = (pending_mail IS NULL)
            AND (pending_address IS NULL) = (pending_since IS NULL)
            AND (pending_address IS NULL OR address IS NOT NULL))
    """,
    """
    ALTER TABLE registrations ADD COLUMN failure TEXT;
    ALTER TABLE registrations ADD COLUMN failed_at INTEGER CHECK ((failure IS NULL) = (failed_at IS NULL))
    """,
    "ALTER TABLE registrations ADD COLUMN feed TEXT",
    """
    ALTER TABLE registrations ADD COLUMN public_key TEXT;
    ALTER TABLE registrations ADD COLUMN former_keys TEXT NOT NULL DEFAULT '';
    ALTER TABLE registrations ADD COLUMN signed_at INTEGER NOT NULL DEFAULT 0
    """,
)

_COLUMNS: Final = (
    "service, key_hash, registered, admin_mail, hosts, networks, prefixes, shared, vouched, successor, waiting,"
    " feed, public_key, former_keys, signed_at, failure, failed_at,"
    " address, ip, protocol, platform_version, included_mail, since, confirmed, answered,"
    " pending_address, pending_ip, pending_protocol, pending_platform_version, pending_mail, pending_since"
)
_MARKS: Final = ", ".join("?" * (_COLUMNS.count(",") + 1))
ALL: Final = f"SELECT {_COLUMNS} FROM registrations"  # noqa: S608
FIND: Final = f"{ALL} WHERE id = (SELECT registration FROM labels WHERE label = ?)"  # noqa: S608
INSERT: Final = f"INSERT INTO registrations ({_COLUMNS}) VALUES ({_MARKS})"  # noqa: S608
INSERT_LABEL: Final = "INSERT INTO labels (label, registration) VALUES (?, ?)"

_SWITCHED_OFF: Final = (None,) * 8
_REACHED: Final = (None, None)
_PENDING: Final = 6
"""Columns of a pending inclusion: it has not been confirmed, and so has not answered."""


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


def registration_of(row: Row) -> Registration:
    service, key_hash, registered, admin_mail, hosts, networks, *rest = row
    prefixes, shared, vouched, successor, waiting, feed, key, former_keys, signed_at, *rest = rest
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
