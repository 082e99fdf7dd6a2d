"""The parts that all work on claims between Archives shares, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Protocol

from ibi.claims.model import (
    SIGNED,
    FoundItem,
    OutgoingKind,
    OutgoingNotification,
    ReceivedClaim,
    RemoteClaimState,
    SenderCheck,
    Unreached,
)
from ibi.claims.ports import Notifications
from ibi.items.model.item import Item
from ibi.items.ports.catalog import Catalog
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_repository import ItemRepository
from ibi.jobs.limits import LimitExceeded
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State


class ItemNotClaimable(IbiError):
    """The notification is about {url}, which is not an item whose Original is kept here."""

    code = "item-not-claimable"
    kind = ErrorKind.NOT_FOUND
    request_field = "body"


class NotificationConflict(IbiError):
    """Another notification with the id {id} was received before: give each one an id of its own."""

    code = "notification-conflict"
    kind = ErrorKind.CONFLICT
    request_field = "id"


class InboxFull(LimitExceeded):
    """Too many notifications wait for an answer here: try again in {retry_after} seconds."""

    code = "inbox-full"
    kind = ErrorKind.TOO_MANY


class TooManyNotifications(LimitExceeded):
    """Too many notifications come: wait {retry_after} seconds and try again."""

    code = "too-many-notifications"
    kind = ErrorKind.TOO_MANY


class SandboxClaim(IbiError):
    """{url} is an item of a sandbox, whose names are for trying out: they stay on their machine."""

    code = "sandbox-claim"
    kind = ErrorKind.FORBIDDEN
    request_field = "body"


class LanguageNotKnown(IbiError):
    """The claim of {claimant} on {label} cannot be accepted yet: its language is not known, because its Archive could
    not be asked ({reason}). It is asked again."""

    code = "language-not-known"
    kind = ErrorKind.CONFLICT
    request_field = "claimant"


class ClaimWithdrawn(IbiError):
    """The claim of {claimant} on {label} was withdrawn, or its item does not say so: there is nothing to answer."""

    code = "claim-withdrawn"
    kind = ErrorKind.CONFLICT
    request_field = "claimant"


UNVERIFIED_FOR: Final = 3 * 86_400
"""Seconds after which an unverified claim of a stranger expires."""
ACTOR: Final = "notifications"
"""The author of versions that record another Archive's word."""


class NotificationGateway(Protocol):
    """Reaches other Archives and services at the addresses in notifications. Never raises for their errors, and dials
    no address that the address guard forbids."""

    async def find_item(self, label: Label) -> FoundItem | Unreached:
        """Return the page of an item elsewhere, found by its persistent URL: its record, and its inbox."""

    async def read_page(self, url: str) -> str | Unreached:
        """Return the content of a Web page: its links for programs and its text, within a bound."""

    async def deliver(self, inbox: str, body: bytes) -> Unreached | None:
        """Send a notification. Return None once it was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimContext:
    """The Archive of the claims, with its stores. Calls block, from any thread."""

    store: Notifications
    repository: ItemRepository
    deposits: Deposits
    """With the rights of the Archive itself."""
    now: Callable[[], int]
    new_id: Callable[[], str]
    """Returns an unused URI for a notification."""
    is_sandbox: bool = False

    @property
    def catalog(self) -> Catalog:
        return self.repository.catalog

    def find_original(self, name: str) -> Item | None:
        """Return the item of that repository name, if its Original is here."""
        item = self.catalog.find(RepositoryName.parse(name))
        return item if item is not None and item.state is State.ORIGINAL else None

    def queue(self, kind: OutgoingKind, about: int, identifier: str | None = None) -> None:
        """Queue a notification. The courier sends it at its next look."""
        now = self.now()
        self.store.outgoing.add(
            OutgoingNotification(id=identifier or self.new_id(), kind=kind, about=about, made=now, due=now)
        )

    def expire(self, network: str | None = None) -> int:
        """Drop claims that waited for `UNVERIFIED_FOR` seconds without verification, and return their number. Take the
        claims of that network, or without one those of all but registered Archives."""
        before = self.now() - UNVERIFIED_FOR
        with self.store.together():
            gone = [each for each in self._unverified(network) if each.received <= before]
            for claim in gone:
                self.store.received.remove(claim.number)
        return len(gone)

    def time_to_expiry(self, network: str | None = None) -> int | None:
        """Return the seconds until the next of these claims expires; None if none does."""
        first = next(self._unverified(network), None)
        return None if first is None else first.received + UNVERIFIED_FOR - self.now()

    def _unverified(self, network: str | None) -> Iterator[ReceivedClaim]:
        waiting = self.store.pending(network)
        return (
            each for each in waiting if each.check is not SenderCheck.VERIFIED and not each.network.startswith(SIGNED)
        )

    def settle(self, claim: ReceivedClaim, state: RemoteClaimState) -> None:
        """Note the state of a received claim, and tell its sender if that is new to it."""

        def settled(row: ReceivedClaim) -> ReceivedClaim:
            return _with_state(row, state, self.now())

        with self.store.together():
            before = self.store.received.find(claim.number)
            after = self.store.received.change(claim.number, settled)
            if before is None or after is None or not after.is_offer or before.answered == after.answered:
                return
            accepted = after.answered is RemoteClaimState.ACCEPTED
            self.queue(OutgoingKind.ACCEPT if accepted else OutgoingKind.REJECT, after.number)


def _with_state(row: ReceivedClaim, state: RemoteClaimState, now: int) -> ReceivedClaim:
    told = state if state in {RemoteClaimState.ACCEPTED, RemoteClaimState.DECLINED} else row.answered
    changed = row.changed if row.state is state else now
    due = row.due if state is RemoteClaimState.PENDING or row.is_withdrawing else None
    return replace(row, state=state, answered=told, changed=changed, due=due)


def forms_words(forms: LabelForms) -> tuple[str, ...]:
    return tuple(label.spelling for label in forms.labels)
