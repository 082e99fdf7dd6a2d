"""People in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from ibi.people.model.account import Invitation, LinkUse, Person, SecondFactor, Session, SignInLink, person_account
from ibi.people.rules.errors import LastAdmin, MailTaken, PersonExists, UnknownPerson
from ibi.people.rules.names import fold_name
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant

__all__ = ["MemoryPeople"]


class MemoryPeople:
    """The ports `People` and `SignInMeans` without a disk."""

    prompt = True

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}
        self._sessions: dict[bytes, Session] = {}
        self._links: dict[bytes, SignInLink] = {}
        self._invitations: dict[bytes, Invitation] = {}
        self._identities: dict[tuple[str, str], str] = {}
        self._factors: dict[str, SecondFactor] = {}
        self._lock = Lock()

    def add(self, person: Person) -> None:
        with self._lock:
            self._add(person)

    def _add(self, person: Person) -> None:
        folded = fold_name(person.name)
        taken = {fold_name(each.mail or "") for each in self._people.values()}
        taken |= {fold_name(each.mail) for each in self._invitations.values() if each.expires > person.created}
        if folded in self._people or folded in taken - {fold_name(person.mail or "")}:
            raise PersonExists(name=person.name)
        self._refuse_taken_mail(person)
        self._people[folded] = person

    def _refuse_taken_mail(self, person: Person) -> None:
        folded = fold_name(person.mail or "")
        for each in self._people.values():
            if folded and each.name != person.name and folded in {fold_name(each.name), fold_name(each.mail or "")}:
                raise MailTaken(mail=person.mail)

    def change(self, name: str, make: Callable[[Person], Person], *, keep_admin: bool = False) -> Person:
        with self._lock:
            before = self._people.get(fold_name(name))
            if before is None:
                raise UnknownPerson(name=name)
            after = replace(make(before), name=before.name)
            self._refuse_taken_mail(after)
            if keep_admin and before.administers and not after.administers:
                self._refuse_last_admin(before)
            self._end_what_depends(before, after)
            self._people[fold_name(name)] = after
        return after

    def _refuse_last_admin(self, person: Person) -> None:
        others = (each for each in self._people.values() if each.administers and each.name != person.name)
        if not any(each.password_hash or each.name in self._identities.values() for each in others):
            raise LastAdmin(name=person.name)

    def _end_what_depends(self, before: Person, after: Person) -> None:
        name, all_end = before.name, after.ends_sessions_of(before)
        for digest, session in list(self._sessions.items()):
            if all_end and session.person == name:
                del self._sessions[digest]
        for digest, link in list(self._links.items()):
            is_over = all_end or (link.use is LinkUse.PASSWORD and after.mail != before.mail)
            if link.person == name and is_over:
                del self._links[digest]
        if before.administers and not after.administers:
            theirs = person_account(name)
            self._invitations = {key: each for key, each in self._invitations.items() if each.invited_by != theirs}

    def find(self, name: str) -> Person | None:
        return self._people.get(fold_name(name))

    def find_by_mail(self, mail: str) -> Person | None:
        folded = fold_name(mail)
        return next((each for each in self._people.values() if each.mail and fold_name(each.mail) == folded), None)

    def list(self) -> tuple[Person, ...]:
        with self._lock:
            return tuple(sorted(self._people.values(), key=lambda person: fold_name(person.name)))

    def open_session(self, session: Session, person: Person) -> bool:
        with self._lock:
            if not self._is_let_in(person):
                return False
            self._sessions[session.digest] = session
            return True

    def _is_let_in(self, person: Person) -> bool:
        found = self._people.get(fold_name(person.name))
        return found is not None and found.is_let_in_as(person)

    def find_session(self, digest: bytes) -> Session | None:
        return self._sessions.get(digest)

    def sessions_of(self, name: str) -> tuple[Session, ...]:
        with self._lock:
            found = [each for each in self._sessions.values() if each.person == name]
        return tuple(sorted(found, key=lambda each: (-each.created.seconds, each.digest)))

    def end_session(self, digest: bytes) -> None:
        self._sessions.pop(digest, None)

    def add_link(self, link: SignInLink, person: Person) -> bool:
        with self._lock:
            if not self._is_let_in(person):
                return False
            self._links[link.digest] = link
            return True

    def find_link(self, digest: bytes) -> SignInLink | None:
        return self._links.get(digest)

    def take_link(self, digest: bytes) -> SignInLink | None:
        return self._links.pop(digest, None)

    def invite(self, invitation: Invitation) -> None:
        with self._lock:
            folded = fold_name(invitation.mail)
            others = {key: each for key, each in self._invitations.items() if fold_name(each.mail) != folded}
            self._invitations = {**others, invitation.digest: invitation}

    def find_invitation(self, digest: bytes) -> Invitation | None:
        return self._invitations.get(digest)

    def invitations(self) -> tuple[Invitation, ...]:
        with self._lock:
            return tuple(sorted(self._invitations.values(), key=lambda each: (each.created, each.digest)))

    def accept(self, digest: bytes, person: Person) -> bool:
        with self._lock:
            invitation = self._invitations.pop(digest, None)
            if invitation is None:
                return False
            try:
                self._add(person)
            except IbiError:
                self._invitations[digest] = invitation
                raise
            return True

    def withdraw(self, digest: bytes) -> bool:
        return self._invitations.pop(digest, None) is not None

    def sweep(self, now: Instant) -> None:
        with self._lock:
            self._sessions = {key: each for key, each in self._sessions.items() if each.expires > now}
            self._links = {key: each for key, each in self._links.items() if each.expires > now}
            self._invitations = {key: each for key, each in self._invitations.items() if each.expires > now}

    def find_identity(self, issuer: str, subject: str) -> str | None:
        return self._identities.get((issuer, subject))

    def identities_of(self, name: str) -> tuple[tuple[str, str], ...]:
        with self._lock:
            return tuple(sorted(key for key, person in self._identities.items() if person == name))

    def add_identity(self, issuer: str, subject: str, name: str) -> bool:
        with self._lock:
            return self._identities.setdefault((issuer, subject), name) == name

    def drop_identity(self, issuer: str, subject: str, name: str) -> None:
        with self._lock:
            if self._identities.get((issuer, subject)) == name:
                del self._identities[issuer, subject]

    def find_factor(self, name: str) -> SecondFactor | None:
        return self._factors.get(name)

    def change_factor(self, name: str, make: Callable[[SecondFactor | None], SecondFactor | None]) -> None:
        with self._lock:
            made = make(self._factors.get(name))
            if made is None:
                self._factors.pop(name, None)
            else:
                self._factors[name] = made

    def close(self) -> None:
        """Nothing to let go of."""
