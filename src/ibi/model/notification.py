"""Claims between Archives: what came to the inbox, what items here claim elsewhere, and what waits to be sent.

Times are whole seconds since 1970. Labels are kept as they are spelled; what is kept here was read strictly before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ibi.errors import InvalidInput
from ibi.label import Label, parse
from ibi.messages import values as wire
from ibi.messages.identification import LabelForms
from ibi.model.errors import InvalidItem

SIGNED: Final = "archive "
"""How the network of a claim begins that a registered Archive signed: the label of the Archive follows."""
LONGEST_NAME: Final = 200
"""Characters of the name that a sender gives itself."""


class ClaimRelation(StrEnum):
    """What is claimed of an item. The first three are fields of `Item`, and become back-links; the others are kept as
    related links."""

    EDITION_OF = "edition_of"
    TRANSLATION_OF = "translation_of"
    DESCRIBES = "describes"
    REVIEW = "review"
    ENDORSEMENT = "endorsement"
    RELATED = "related"

    @property
    def is_backlink(self) -> bool:
        return self in {ClaimRelation.EDITION_OF, ClaimRelation.TRANSLATION_OF, ClaimRelation.DESCRIBES}


class RemoteClaimState(StrEnum):
    """What has become of a claim between two Archives."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    """By who made it: the relation was taken back, or the item deleted."""


class SenderCheck(StrEnum):
    """Whether what a notification says was found at the Archive of the item that makes the claim."""

    WAITING = "waiting"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """It could not be looked at, so far."""
    CONTRADICTED = "contradicted"
    """It was looked at, and says no such thing."""


class DeliveryState(StrEnum):
    """How far a notification has come on its way to another inbox."""

    QUEUED = "queued"
    DELIVERED = "delivered"
    REFUSED = "refused"
    """The inbox does not want it."""
    FAILED = "failed"
    """It was tried for as long as is reasonable."""


class OutgoingKind(StrEnum):
    OFFER = "offer"
    ANNOUNCE = "announce"
    ACCEPT = "accept"
    REJECT = "reject"
    UNDO = "undo"

    @property
    def is_answer(self) -> bool:
        """Whether it is about a claim that was received, and not about one that is made here."""
        return self in {OutgoingKind.ACCEPT, OutgoingKind.REJECT}


@dataclass(frozen=True, slots=True)
class RelatedLink:
    """Something elsewhere about an item, such as a review of it, that was accepted to be shown with it."""

    kind: ClaimRelation
    url: str
    name: str | None = None
    """Who says so, by their own name."""
    relation: str | None = None
    """The IRI of the relation, where the kind does not tell it."""

    def __post_init__(self) -> None:
        if self.kind.is_backlink:
            raise InvalidItem(self.kind.value, 0, "editions, translations and metadata have fields", field="related")
        for url in (self.url, self.relation):
            _check_link(url)
        if self.name is not None and not (0 < len(self.name) <= LONGEST_NAME and self.name.isprintable()):
            reason = "a name has between 1 and {most} characters that can be shown"
            raise InvalidItem(self.name, 0, reason, field="related", most=LONGEST_NAME)


def _check_link(url: str | None) -> None:
    if url is None:
        return
    try:
        wire.url(url)
    except InvalidInput as error:
        raise InvalidItem(url, error.offset, error.reason, field="related", **error.details) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedClaim:
    """A claim of something elsewhere on an item here."""

    number: int = 0
    """Of this Archive's inbox; 0 until it is kept."""
    id: str
    """The URI that the sender gave to its notification."""
    digest: str
    """Of all that the notification says, so that another one of the same id is told from the same one sent twice."""
    item: str
    """The repository name of the item here."""
    object: str
    """The item here as the sender names it."""
    relation: ClaimRelation
    iri: str | None = None
    """The relation as the sender names it."""
    url: str
    """What makes the claim, by its address."""
    claimant: tuple[str, ...] = ()
    """Its labels, as far as they are known; none if it is no item with an IBI."""
    language: str | None = None
    title: str | None = None
    is_offer: bool
    """Whether the sender wants an answer; an announcement gets none."""
    origin: str
    origin_inbox: str
    name: str | None = None
    """Who sends it, by their own name."""
    network: str
    received: int
    check: SenderCheck = SenderCheck.WAITING
    reason: str | None = None
    """Why it is not verified."""
    attempts: int = 0
    due: int | None = None
    """When it is looked at next; None: not again."""
    inbox: str | None = None
    """The inbox that the page of the claimant announces."""
    state: RemoteClaimState = RemoteClaimState.PENDING
    answered: RemoteClaimState | None = None
    """What the sender was last told, or is about to be."""
    changed: int | None = None
    """When the state changed last."""
    is_withdrawing: bool = False
    """Whether the sender has taken it back, which is not yet confirmed by what the claimant says."""

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
    """What the other Archive says of its answer."""
    inbox: str | None = None
    """Where the claim was delivered."""
    delivery: DeliveryState = DeliveryState.QUEUED
    reason: str | None = None
    """Why it is not delivered."""
    is_confirmed: bool = False
    """Whether the record of the item elsewhere says what the answer does."""
    attempts: int = 0
    due: int | None = None
    """When the record of the item elsewhere is read next: its language is not known yet, or an answer came."""

    @property
    def forms(self) -> LabelForms:
        return LabelForms.of(*map(parse, self.item))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingNotification:
    """A notification that waits to be sent, or was. It is written anew from what it is `about` whenever it is sent."""

    number: int = 0
    id: str
    kind: OutgoingKind
    about: int
    """The number of the received claim that it answers, or of the claim that it makes."""
    made: int
    attempts: int = 0
    due: int | None
    """When it is tried next; None once it is delivered or given up."""
    state: DeliveryState = DeliveryState.QUEUED
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FoundItem:
    """What the page of an item elsewhere says of it."""

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
    """Whether trying again is of no use."""
    retry_after: int | None = None
    """Seconds after which the other server wants to be asked again."""
