"""People in `state`, with their sessions and other means to sign in, as hashes of secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ibi.people.model.account import (
    Invitation,
    LinkUse,
    Person,
    Role,
    SecondFactor,
    Session,
    SignInLink,
    person_account,
)
from ibi.people.rules.errors import LastAdmin, MailTaken, PersonExists, UnknownPerson
from ibi.people.rules.names import fold_name
from ibi.standard.instant import Instant
from ibi.storage.database import DatabaseSession
from ibi.storage.state import StateStore

MIGRATIONS: Final = (
    """
    CREATE TABLE people (
        name TEXT PRIMARY KEY,
        folded TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL CHECK (role IN ('reader', 'depositor', 'librarian', 'admin')),
        created BIGINT NOT NULL,
        password_hash TEXT,
        disabled BIGINT,
        shown TEXT NOT NULL DEFAULT '',
        mail TEXT,
        folded_mail TEXT UNIQUE,
        language TEXT
    );
    CREATE TABLE sessions (
        digest {bytes} PRIMARY KEY CHECK (length(digest) = 32),
        person TEXT NOT NULL REFERENCES people (name),
        created BIGINT NOT NULL,
        expires BIGINT NOT NULL,
        network TEXT NOT NULL DEFAULT '',
        browser TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX sessions_person ON sessions (person);
    CREATE TABLE sign_in_links (
        digest {bytes} PRIMARY KEY CHECK (length(digest) = 32),
        person TEXT NOT NULL REFERENCES people (name),
        expires BIGINT NOT NULL,
        use TEXT NOT NULL DEFAULT 'sign-in'
    );
    CREATE TABLE invitations (
        digest {bytes} PRIMARY KEY CHECK (length(digest) = 32),
        mail TEXT NOT NULL,
        folded_mail TEXT NOT NULL UNIQUE,
        role TEXT NOT NULL CHECK (role IN ('reader', 'depositor', 'librarian', 'admin')),
        created BIGINT NOT NULL,
        expires BIGINT NOT NULL,
        invited_by TEXT,
        shown TEXT NOT NULL
    );
    CREATE TABLE identities (
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        person TEXT NOT NULL REFERENCES people (name),
        PRIMARY KEY (issuer, subject)
    );
    CREATE TABLE second_factors (
        person TEXT PRIMARY KEY REFERENCES people (name),
        secret {bytes} NOT NULL,
        confirmed BIGINT,
        last_step BIGINT NOT NULL,
        recovery {bytes} NOT NULL CHECK (length(recovery) % 32 = 0)
    )
    """,
)
_ROLES = {role.value: role for role in Role}
_USES = {use.value: use for use in LinkUse}
_PERSON_COLUMNS = "name, role, created, password_hash, disabled, shown, mail, language"
_PERSON = f"SELECT {_PERSON_COLUMNS} FROM people"  # noqa: S608
_LET_IN = (
    "EXISTS (SELECT 1 FROM people WHERE name = ? AND password_hash IS NOT DISTINCT FROM ?"
    " AND mail IS NOT DISTINCT FROM ? AND disabled IS NOT DISTINCT FROM ?)"
)
_SESSION = "SELECT digest, person, created, expires, network, browser FROM sessions"
_LINK = "SELECT digest, person, expires, use FROM sign_in_links WHERE digest = ?"
_INVITED = "SELECT digest, mail, role, created, expires, invited_by, shown FROM invitations"


class SqlitePeople(StateStore):
    """Implements the ports `People` and `SignInMeans` on one data directory. Each change is a commit of its own, and
    each read is fresh."""

    prompt = True

    def add(self, person: Person) -> None:
        with self._database.change(lasting=True) as connection:
            _add_person(connection, person)

    def change(self, name: str, make: Callable[[Person], Person], *, keep_admin: bool = False) -> Person:
        with self._database.change(lasting=True) as connection:
            row = connection.execute(f"{_PERSON} WHERE folded = ?", (fold_name(name),)).fetchone()
            if row is None:
                raise UnknownPerson(name=name)
            before = _person(row)
            person = make(before)
            _refuse_taken_mail(connection, person)
            if keep_admin and before.administers and not person.administers:
                _refuse_last_admin(connection, before)
            _end_what_depends(connection, before, person)
            connection.execute(
                "UPDATE people SET role = ?, password_hash = ?, disabled = ?, shown = ?, mail = ?, folded_mail = ?,"
                " language = ? WHERE name = ?",
                (*_changing(person), row[0]),
            )
        return person

    def find(self, name: str) -> Person | None:
        return self._find("folded", fold_name(name))

    def find_by_mail(self, mail: str) -> Person | None:
        return self._find("folded_mail", fold_name(mail))

    def _find(self, column: str, folded: str) -> Person | None:
        with self._database.read() as connection:
            row = connection.execute(f"{_PERSON} WHERE {column} = ?", (folded,)).fetchone()
        return None if row is None else _person(row)

    def list(self) -> tuple[Person, ...]:
        with self._database.read() as connection:
            return tuple(map(_person, connection.execute(f"{_PERSON} ORDER BY folded").fetchall()))

    def open_session(self, session: Session, person: Person) -> bool:
        times = session.created.seconds, session.expires.seconds
        with self._database.change(lasting=True) as connection:
            added = connection.execute(
                "INSERT INTO sessions (digest, person, created, expires, network, browser)"
                f" SELECT ?, ?, ?, ?, ?, ? WHERE {_LET_IN}",
                (session.digest, session.person, *times, session.network, session.browser, *_let_in(person)),
            )
            return bool(added.rowcount)

    def find_session(self, digest: bytes) -> Session | None:
        with self._database.read() as connection:
            row = connection.execute(f"{_SESSION} WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else _session(row)

    def sessions_of(self, name: str) -> tuple[Session, ...]:
        with self._database.read() as connection:
            rows = connection.execute(f"{_SESSION} WHERE person = ? ORDER BY created DESC, digest", (name,)).fetchall()
        return tuple(map(_session, rows))

    def end_session(self, digest: bytes) -> None:
        with self._database.change(lasting=True) as connection:
            connection.execute("DELETE FROM sessions WHERE digest = ?", (digest,))

    def add_link(self, link: SignInLink, person: Person) -> bool:
        with self._database.change(lasting=True) as connection:
            added = connection.execute(
                f"INSERT INTO sign_in_links (digest, person, expires, use) SELECT ?, ?, ?, ? WHERE {_LET_IN}",
                (link.digest, link.person, link.expires.seconds, link.use.value, *_let_in(person)),
            )
            return bool(added.rowcount)

    def find_link(self, digest: bytes) -> SignInLink | None:
        with self._database.read() as connection:
            row = connection.execute(_LINK, (digest,)).fetchone()
        return None if row is None else _link(row)

    def take_link(self, digest: bytes) -> SignInLink | None:
        with self._database.change(lasting=True) as connection:
            row = connection.execute(_LINK, (digest,)).fetchone()
            connection.execute("DELETE FROM sign_in_links WHERE digest = ?", (digest,))
        return None if row is None else _link(row)

    def invite(self, invitation: Invitation) -> None:
        one, folded = invitation, fold_name(invitation.mail)
        times = one.created.seconds, one.expires.seconds
        with self._database.change(lasting=True) as connection:
            connection.execute("DELETE FROM invitations WHERE folded_mail = ?", (folded,))
            connection.execute(
                "INSERT INTO invitations (digest, mail, folded_mail, role, created, expires, invited_by, shown)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (one.digest, one.mail, folded, one.role.value, *times, one.invited_by, one.shown),
            )

    def find_invitation(self, digest: bytes) -> Invitation | None:
        with self._database.read() as connection:
            row = connection.execute(f"{_INVITED} WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else _invitation(row)

    def invitations(self) -> tuple[Invitation, ...]:
        with self._database.read() as connection:
            return tuple(map(_invitation, connection.execute(f"{_INVITED} ORDER BY created, digest").fetchall()))

    def accept(self, digest: bytes, person: Person) -> bool:
        with self._database.change(lasting=True) as connection:
            if not connection.execute("DELETE FROM invitations WHERE digest = ?", (digest,)).rowcount:
                return False
            _add_person(connection, person)
        return True

    def withdraw(self, digest: bytes) -> bool:
        with self._database.change(lasting=True) as connection:
            return bool(connection.execute("DELETE FROM invitations WHERE digest = ?", (digest,)).rowcount)

    def sweep(self, now: Instant) -> None:
        with self._database.change(lasting=True) as connection:
            for table in ("sessions", "sign_in_links", "invitations"):
                connection.execute(f"DELETE FROM {table} WHERE expires <= ?", (now.seconds,))  # noqa: S608

    def find_identity(self, issuer: str, subject: str) -> str | None:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT person FROM identities WHERE issuer = ? AND subject = ?", (issuer, subject)
            ).fetchone()
        return None if row is None else str(row[0])

    def identities_of(self, name: str) -> tuple[tuple[str, str], ...]:
        with self._database.read() as connection:
            return tuple(
                connection.execute(
                    "SELECT issuer, subject FROM identities WHERE person = ? ORDER BY issuer, subject", (name,)
                ).fetchall()
            )

    def add_identity(self, issuer: str, subject: str, name: str) -> bool:
        with self._database.change(lasting=True) as connection:
            connection.execute(
                "INSERT INTO identities (issuer, subject, person) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (issuer, subject, name),
            )
        return self.find_identity(issuer, subject) == name

    def drop_identity(self, issuer: str, subject: str, name: str) -> None:
        with self._database.change(lasting=True) as connection:
            connection.execute(
                "DELETE FROM identities WHERE issuer = ? AND subject = ? AND person = ?", (issuer, subject, name)
            )

    def find_factor(self, name: str) -> SecondFactor | None:
        with self._database.read() as connection:
            return _find_factor(connection, name)

    def change_factor(self, name: str, make: Callable[[SecondFactor | None], SecondFactor | None]) -> None:
        with self._database.change(lasting=True) as connection:
            made = make(_find_factor(connection, name))
            connection.execute("DELETE FROM second_factors WHERE person = ?", (name,))
            if made is not None:
                confirmed = None if made.confirmed is None else made.confirmed.seconds
                connection.execute(
                    "INSERT INTO second_factors (person, secret, confirmed, last_step, recovery) VALUES (?,?,?,?,?)",
                    (name, made.secret, confirmed, made.last_step, b"".join(sorted(made.recovery))),
                )


def _add_person(connection: DatabaseSession, person: Person) -> None:
    folded = fold_name(person.name)
    taken = connection.execute("SELECT 1 FROM people WHERE ? IN (folded, folded_mail)", (folded,)).fetchone()
    if taken is not None or _is_invited(connection, folded, person):
        raise PersonExists(name=person.name)
    _refuse_taken_mail(connection, person)
    connection.execute(
        "INSERT INTO people (name, folded, created, role, password_hash, disabled, shown, mail, folded_mail, language)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (person.name, folded, person.created.seconds, *_changing(person)),
    )


def _is_invited(connection: DatabaseSession, folded: str, person: Person) -> bool:
    """Return whether the name is another person's invited address. That person then could not create an account."""
    if person.mail is not None and fold_name(person.mail) == folded:
        return False
    waiting = "SELECT 1 FROM invitations WHERE folded_mail = ? AND expires > ?"
    return connection.execute(waiting, (folded, person.created.seconds)).fetchone() is not None


def _refuse_last_admin(connection: DatabaseSession, person: Person) -> None:
    other = connection.execute(
        "SELECT 1 FROM people WHERE role = 'admin' AND disabled IS NULL AND name <> ?"
        " AND (password_hash IS NOT NULL OR name IN (SELECT person FROM identities))",
        (person.name,),
    ).fetchone()
    if other is None:
        raise LastAdmin(name=person.name)


def _end_what_depends(connection: DatabaseSession, before: Person, after: Person) -> None:
    """End sessions, links and invitations that depend on a changed password, address or role."""
    name = before.name
    if after.ends_sessions_of(before):
        connection.execute("DELETE FROM sessions WHERE person = ?", (name,))
        connection.execute("DELETE FROM sign_in_links WHERE person = ?", (name,))
    if after.mail != before.mail:
        connection.execute("DELETE FROM sign_in_links WHERE person = ? AND use = ?", (name, LinkUse.PASSWORD.value))
    if before.administers and not after.administers:
        connection.execute("DELETE FROM invitations WHERE invited_by = ?", (person_account(name),))


def _let_in(person: Person) -> tuple[object, ...]:
    disabled = None if person.disabled is None else person.disabled.seconds
    return person.name, person.password_hash, person.mail, disabled


def _refuse_taken_mail(connection: DatabaseSession, person: Person) -> None:
    """Raise `MailTaken` if the address belongs to another person, or is the name of one."""
    if person.mail is None:
        return
    folded = fold_name(person.mail)
    taken = connection.execute(
        "SELECT 1 FROM people WHERE ? IN (folded, folded_mail) AND name <> ?", (folded, person.name)
    ).fetchone()
    if taken is not None:
        raise MailTaken(mail=person.mail)


def _changing(person: Person) -> tuple[object, ...]:
    """Return the mutable columns of a person."""
    disabled = None if person.disabled is None else person.disabled.seconds
    folded_mail = None if person.mail is None else fold_name(person.mail)
    return person.role.value, person.password_hash, disabled, person.shown, person.mail, folded_mail, person.language


def _person(row: tuple[Any, ...]) -> Person:
    name, role, created, password_hash, disabled, shown, mail, language = row
    until = None if disabled is None else Instant(disabled)
    return Person(name, _ROLES[role], Instant(created), password_hash, until, shown, mail, language)


def _session(row: tuple[Any, ...]) -> Session:
    digest, person, created, expires, network, browser = row
    return Session(digest, person, Instant(created), Instant(expires), network, browser)


def _link(row: tuple[Any, ...]) -> SignInLink:
    digest, person, expires, use = row
    return SignInLink(digest, person, Instant(expires), _USES[use])


def _invitation(row: tuple[Any, ...]) -> Invitation:
    digest, mail, role, created, expires, invited_by, shown = row
    return Invitation(digest, mail, _ROLES[role], Instant(created), Instant(expires), invited_by, shown)


def _find_factor(connection: DatabaseSession, name: str) -> SecondFactor | None:
    row = connection.execute(
        "SELECT secret, confirmed, last_step, recovery FROM second_factors WHERE person = ?", (name,)
    ).fetchone()
    if row is None:
        return None
    secret, confirmed, last_step, recovery = row
    left = frozenset(recovery[place : place + 32] for place in range(0, len(recovery), 32))
    return SecondFactor(secret, None if confirmed is None else Instant(confirmed), last_step, left)
