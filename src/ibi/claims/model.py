"""Claims between Archives: received claims, claims made here, and notifications that wait to be sent.

Times are whole seconds since 1970. Labels are stored as they are spelled; all values were validated before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ibi.items.model.related_link import ClaimRelation
from ibi.standard.label import Label, parse
from ibi.standard.messages.identification import LabelForms

SIGNED: Final = "archive "
"""The prefix of the network of a claim that a registered Archive signed: the label of the Archive follows."""


class RemoteClaimState(StrEnum):
    """The state of a claim between two Archives."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    """Withdrawn by its author: the relation was removed, or the item deleted."""


class SenderCheck(StrEnum):
    """The confirmation of a notification by the Archive of the claiming item."""

    WAITING = "waiting"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """It could not be checked so far."""
    CONTRADICTED = "contradicted"
    """It was checked, and does not contain the claim."""


class DeliveryState(StrEnum):
    """The progress of a notification on its way to another inbox."""

    QUEUED = "queued"
    DELIVERED = "delivered"
    REFUSED = "refused"
    """The inbox rejects it."""
    FAILED = "failed"
    """Retries were given up."""


class OutgoingKind(StrEnum):
    OFFER = "offer"
    ANNOUNCE = "announce"
    ACCEPT = "accept"
    REJECT = "reject"
    UNDO = "undo"

    @property
    def is_answer(self) -> bool:
        """True if it is about a received claim, and not about one that is made here."""
        return self in {OutgoingKind.ACCEPT, OutgoingKind.REJECT}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedClaim:
    """A claim of an external resource on an item here."""

    number: int = 0
    """In this Archive's inbox; 0 until it is stored."""
    id: str
    """The URI that the sender gave to its notification."""
    digest: str
    """Of the whole content of the notification, to distinguish another one with the same id from a repeated one."""
    item: str
    """The repository name of the item here."""
    object: str
    """The item here as the sender names it."""
    relation: ClaimRelation
    iri: str | None = None
    """The relation as the sender names it."""
    url: str
    """The address of the resource that makes the claim."""
    claimant: tuple[str, ...] = ()
    """Its labels, as far as they are known; none if it is no item with an IBI."""
    language: str | None = None
    title: str | None = None
    is_offer: bool
    """True if the sender wants an answer; an announcement gets none."""
    origin: str
    origin_inbox: str
    name: str | None = None
    """The sender's own name."""
    network: str
    received: int
    check: SenderCheck = SenderCheck.WAITING
    reason: str | None = None
    """The reason why it is not verified."""
    attempts: int = 0
    due: int | None = None
    """The time of the next check; None: no more checks."""
    inbox: str | None = None
    """The inbox that the page of the claimant announces."""
    state: RemoteClaimState = RemoteClaimState.PENDING
    answered: RemoteClaimState | None = None
    """The last answer to the sender, sent or about to be sent."""
    changed: int | None = None
    """The time of the last change of state."""
    is_withdrawing: bool = False
    """True if the sender has withdrawn it, and the claimant's record does not confirm that yet."""

    @property
    def forms(self) -> LabelForms | None:
        return LabelForms.of(*map(parse, self.claimant)) if self.claimant else None

    def is_made_by(self, label: Label) -> bool:
        return any(parse(each) == label for each in self.claimant)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentClaim:
    """A claim of an item here on an item elsewhere."""

    number: int = 0
    id: str
    """The URI of the offer."""
    claimant: str
    """The repository name of the item here."""
    relation: ClaimRelation
    item: tuple[str, ...]
    """The labels of the item elsewhere, as they are known here."""
    made: int
    state: RemoteClaimState = RemoteClaimState.PENDING
    changed: int | None = None
    summary: str | None = None
    """The comment of the other Archive on its answer."""
    inbox: str | None = None
    """The inbox to which the claim was delivered."""
    delivery: DeliveryState = DeliveryState.QUEUED
    reason: str | None = None
    """The reason why it is not delivered."""
    is_confirmed: bool = False
    """True if the record of the item elsewhere agrees with the answer."""
    attempts: int = 0
    due: int | None = None
    """The time of the next read of the record elsewhere: its language is not known yet, or an answer came."""

    @property
    def forms(self) -> LabelForms:
        return LabelForms.of(*map(parse, self.item))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingNotification:
    """A notification that waits to be sent, or was sent. Each attempt builds it again from its subject, `about`."""

    number: int = 0
    id: str
    kind: OutgoingKind
    about: int
    """The number of the received claim that it answers, or of the claim that it makes."""
    made: int
    attempts: int = 0
    due: int | None
    """The time of the next attempt; None once it is delivered or given up."""
    state: DeliveryState = DeliveryState.QUEUED
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FoundItem:
    """The content of the page of an item elsewhere."""

    url: str
    inbox: str | None = None
    record: bytes | None = None
    """Its record as JSON, if there is one."""
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Unreached:
    """Nothing was found, or delivered."""

    reason: str
    is_final: bool = False
    """True if a retry is useless."""
    retry_after: int | None = None
    """Seconds after which the other server wants to be asked again."""
