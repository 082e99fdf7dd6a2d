"""A lost register, recovered from the signed registers that Archives keep (E94). Calls block: for a command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from ibi.membership.model.registration import Registration
from ibi.membership.ports.archive_state import PublishedStatement
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.membership import AlreadyRegistered, PrefixHome, PrefixTaken, require_free_prefixes
from ibi.membership.rules.register_recovery import (
    ChosenRegister,
    LostArchive,
    choose_register,
    recovered_registrations,
)
from ibi.membership.rules.signed_register import ListedArchive, OfferedRegister, SignedRegister, read_register
from ibi.people.model.account import AuditEntry
from ibi.people.ports import AuditLog
from ibi.resolver.ports import Beliefs
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import InvalidStatement, PublicKey


class RegisterSource(Protocol):
    """Asks an Archive, by its URL, for the register that it keeps. Never raises for an error of the Archive."""

    def __call__(self, url: str) -> OfferedRegister: ...


class EntryOutcome(StrEnum):
    """The result for an Archive of the register."""

    RECOVERED = "recovered"
    """It is registered again, and brings its registration key with its next inclusion."""
    NEEDS_MAIL = "needs-mail"
    """It is asked again. Since it has no public key, its mail has to be read again before it can be included."""
    KNOWN = "known"
    """It is registered already: nothing of it was changed."""
    REFUSED = "refused"


class RecoveredEntry(NamedTuple):
    labels: tuple[Label, ...]
    outcome: EntryOutcome
    reason: str = ""


class Recovery(NamedTuple):
    """The chosen register of a recovery, and the result of each entry."""

    chosen: ChosenRegister
    entries: tuple[RecoveredEntry, ...]


class RegisterRecovery:
    """Recovers the register of one data directory. Present registrations stay as they are."""

    def __init__(
        self,
        registry: Registry,
        beliefs: Beliefs,
        published: PublishedStatement,
        audit: AuditLog,
        *,
        own: LabelForms | None = None,
        own_keys: Sequence[PublicKey] = (),
        own_changes: Sequence[str] = (),
    ) -> None:
        """`own` is the service of the Archive in the same directory. `own_keys` are the keys of its resolver, past and
        present. `own_changes` are the statements in which past keys named their successors."""
        self._registry, self._beliefs, self._published, self._audit = registry, beliefs, published, audit
        self._own, self._own_keys, self._own_changes = own, tuple(own_keys), tuple(own_changes)

    def recover(
        self, urls: Iterable[str], ask: RegisterSource, key: PublicKey | None, now: Instant, *, dry_run: bool = False
    ) -> Recovery:
        """Take the newest register that the Archives at these `urls` keep. `RegisterKeyUnknown`, `NoRegisterFound` or
        `RegistersContradict` if none can be believed. With `dry_run` nothing is changed."""
        offers = [ask(url) for url in dict.fromkeys(each.rstrip("/") for each in urls)]
        chosen = choose_register(offers, key, self._own_keys, self._own_changes)
        registrations = recovered_registrations(chosen.register, now, chosen.lost)
        entered = (self._enter(each, dry_run=dry_run) for each in registrations)
        entries = tuple(_explain_lost(each, chosen.lost) for each in entered)
        if not dry_run:
            self._note_refused(registrations, entries, now)
            listed = [*chosen.register.archives, *(each.listed for each in chosen.lost)]
            self._record_copies(listed, entries, now)
            self._publish_later_than(chosen.register)
            detail = f"{chosen.register.signer} of {Instant(chosen.register.issued)}"
            self._audit.append([AuditEntry(Instant(now.seconds), "recover register", "register", detail=detail)])
        return Recovery(chosen, entries)

    def _note_refused(
        self, registrations: Sequence[Registration], entries: Iterable[RecoveredEntry], now: Instant
    ) -> None:
        """Publish the removal of Archives that cannot be registered again, or Archives would refuse the list."""
        for registration, entry in zip(registrations, entries, strict=True):
            if entry.outcome is EntryOutcome.REFUSED:
                self._published.note_removed(registration.service, now.seconds)

    def _enter(self, registration: Registration, *, dry_run: bool) -> RecoveredEntry:
        labels, own = registration.labels, self._own
        if own is not None and not set(own.labels).isdisjoint(labels):
            return RecoveredEntry(labels, EntryOutcome.KNOWN, "the Archive of this server")
        if any(self._registry.find(label) is not None for label in labels):
            return RecoveredEntry(labels, EntryOutcome.KNOWN)
        try:
            if own is not None:
                require_free_prefixes(registration, None, [PrefixHome.of_service(own)])
            if not dry_run:
                self._registry.add(registration)
        except (AlreadyRegistered, PrefixTaken) as error:
            return RecoveredEntry(labels, EntryOutcome.REFUSED, str(error))
        signs = registration.key is not None
        return RecoveredEntry(labels, EntryOutcome.RECOVERED if signs else EntryOutcome.NEEDS_MAIL)

    def _record_copies(self, listed: Iterable[ListedArchive], entries: Iterable[RecoveredEntry], now: Instant) -> None:
        """Record the holders of Copies that the homes named, until the homes name them again."""
        entered = {label for each in entries if each.outcome is not EntryOutcome.KNOWN for label in each.labels}
        for each in listed:
            holders = frozenset(holder.service for holder in each.home.copies if not holder.prefixes)
            labels = each.home.service.labels
            if holders and not entered.isdisjoint(labels) and not self._beliefs.copies(labels[0]).holders:
                self._beliefs.record_copies(labels[0], holders, now.seconds)

    def _publish_later_than(self, register: SignedRegister) -> None:
        """Date the next list of this resolver after the recovered one: Archives take no older one."""

        def newest(before: str | None) -> str:
            return register.text if before is None or _issued(before) < register.issued else before

        self._published.change(newest)


def _explain_lost(entry: RecoveredEntry, lost: Iterable[LostArchive]) -> RecoveredEntry:
    """Return the entry, with a reason if the newest register lacks it."""
    issued = next((each.issued for each in lost if each.listed.home.service.labels == entry.labels), None)
    if issued is None or entry.reason:
        return entry
    return entry._replace(reason=f"the newest register lacks it, and that of {Instant(issued)} lists it")


def _issued(statement: str) -> int:
    try:
        return read_register(statement).issued
    except InvalidStatement:
        return 0
