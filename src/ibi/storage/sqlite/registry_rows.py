"""The tables of `registry.sqlite`, and a registration as a row of them."""

from __future__ import annotations

from typing import Any, Final

from ibi.instant import Instant
from ibi.messages.field import ArchiveProtocol, ip_address
from ibi.messages.label_forms import LabelForms
from ibi.model.registration import Inclusion, Registration
from ibi.model.visibility import network

__all__ = ["ALL", "FIND", "INSERT", "INSERT_LABEL", "MIGRATIONS", "Row", "registration_of", "row_of"]

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
)

_COLUMNS: Final = (
    "service, key_hash, registered, admin_mail, hosts, networks,"
    " address, ip, protocol, platform_version, included_mail, since, confirmed"
)
_MARKS: Final = ", ".join("?" * (_COLUMNS.count(",") + 1))
ALL: Final = f"SELECT {_COLUMNS} FROM registrations"  # noqa: S608
FIND: Final = f"{ALL} WHERE id = (SELECT registration FROM labels WHERE label = ?)"  # noqa: S608
INSERT: Final = f"INSERT INTO registrations ({_COLUMNS}) VALUES ({_MARKS})"  # noqa: S608
INSERT_LABEL: Final = "INSERT INTO labels (label, registration) VALUES (?, ?)"

_SWITCHED_OFF: Final = (None,) * 7


def row_of(registration: Registration) -> Row:
    return (
        str(registration.service),
        registration.key_hash,
        registration.registered.seconds,
        registration.admin_mail,
        " ".join(sorted(registration.hosts)),
        " ".join(map(str, registration.networks)),
        *_inclusion_columns(registration.inclusion),
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
    )


def registration_of(row: Row) -> Registration:
    service, key_hash, registered, admin_mail, hosts, networks, *inclusion = row
    return Registration(
        LabelForms.parse(service),
        key_hash,
        Instant(registered),
        admin_mail,
        frozenset(hosts.split()),
        tuple(map(network, networks.split())),
        _inclusion(*inclusion),
    )


def _inclusion(
    address: str | None, ip: str, protocol: str, version: str, mail: str, since: int, confirmed: int
) -> Inclusion | None:
    if address is None:
        return None
    return Inclusion(
        address, ip_address(ip), ArchiveProtocol(protocol), version, mail, Instant(since), confirmed=bool(confirmed)
    )
