"""What all services of claims between Archives share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from ibi.errors import IbiError
from ibi.label import Label, RepositoryName
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item
from ibi.model.notification import (
    FoundItem,
    OutgoingKind,
    OutgoingNotification,
    ReceivedClaim,
    RemoteClaimState,
    Unreached,
)
from ibi.ports.catalog import Catalog
from ibi.ports.notifications import Notifications
from ibi.services.items.deposits import Deposits
from ibi.services.items.item_repository import ItemRepository
from ibi.services.limits import LimitExceeded
from ibi.vocabulary import State

# --- refusals ---------------------------------------------------------------------------------------------------------


class ItemNotClaimable(IbiError):
    """The notification is about {url}, which is not an item whose Original is kept here."""

    code = "item-not-claimable"


class NotificationConflict(IbiError):
    """Another notification with the id {id} was received before: give each one an id of its own."""

    code = "notification-conflict"


class InboxFull(LimitExceeded):
    """Too many notifications wait for an answer here: try again in {retry_after} seconds."""

    code = "inbox-full"


class TooManyNotifications(LimitExceeded):
    """Too many notifications come from your network: wait {retry_after} seconds and try again."""

    code = "too-many-notifications"


class SandboxClaim(IbiError):
    """{url} is an item of a sandbox, whose names are for trying out: they stay on their machine."""

    code = "sandbox-claim"


class LanguageNotKnown(IbiError):
    """The claim of {claimant} on {label} cannot be accepted yet: its language is not known, because its Archive could
    not be asked ({reason}). It is asked again."""

    code = "language-not-known"


class ClaimWithdrawn(IbiError):
    """The claim of {claimant} on {label} was withdrawn, or its item does not say so: there is nothing to answer."""

    code = "claim-withdrawn"


ACTOR: Final = "notifications"
"""Who changes items here because of what another Archive says, for their versions."""


class NotificationGateway(Protocol):
    """Reaches other Archives and services, wherever notifications say that they are. Never raises for what they do, and
    dials nothing that the address guard forbids."""

    async def find_item(self, label: Label) -> FoundItem | Unreached:
        """The page of an item elsewhere, found by its persistent URL: its record, and its inbox."""

    async def read_page(self, url: str) -> str | Unreached:
        """What a Web page says: its links for programs and its text, as far as it is bounded."""

    async def deliver(self, inbox: str, body: bytes) -> Unreached | None:
        """Send a notification; None once it was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimContext:
    """The Archive whose claims are meant, and where they are kept. Calls block, from any thread."""

    store: Notifications
    repository: ItemRepository
    deposits: Deposits
    """With the rights of the Archive itself."""
    now: Callable[[], int]
    new_id: Callable[[], str]
    """A URI for a notification that is not used before."""
    is_sandbox: bool = False

    @property
    def catalog(self) -> Catalog:
        return self.repository.catalog

    def find_original(self, name: str) -> Item | None:
        """The item of that repository name, if its Original is here."""
        item = self.catalog.find(RepositoryName.parse(name))
        return item if item is not None and item.state is State.ORIGINAL else None

    def queue(self, kind: OutgoingKind, about: int, identifier: str | None = None) -> None:
        """Have a notification sent, as soon as the courier comes by."""
        now = self.now()
        self.store.outgoing.add(
            OutgoingNotification(id=identifier or self.new_id(), kind=kind, about=about, made=now, due=now)
        )

    def settle(self, claim: ReceivedClaim, state: RemoteClaimState) -> None:
        """Note what has become of a received claim, and have its sender told if that is new to it."""

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
