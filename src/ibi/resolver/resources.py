"""What a resolver believes of a label or a prefix, claims that were contradicted, and disputes over Originals."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from ibi.membership.model import registration as model
from ibi.membership.model.registration import DISPUTED, ClaimKind, Settlement
from ibi.standard.label import Label
from ibi.standard.resource import Answer, Request, Time, one_of, time_text


class FalseClaimResource(Answer, frozen=True):
    label: str
    claimant: Annotated[str, Meta(description="The service of the Archive that claims it.")]
    home: Annotated[str, Meta(description="The service of the Archive that contradicts it.")]
    claim: Annotated[str, one_of(ClaimKind)]
    first_seen: Time
    last_seen: Time
    times: int

    @classmethod
    def of(cls, claim: model.FalseClaim) -> FalseClaimResource:
        return cls(
            label=claim.label.spelling,
            claimant=claim.claimant.spelling,
            home=claim.home.spelling,
            claim=claim.kind.value,
            first_seen=time_text(claim.first_seen),
            last_seen=time_text(claim.last_seen),
            times=claim.times,
        )


class FalseClaims(Answer, frozen=True):
    claims: list[FalseClaimResource]


class DisputeRuling(Request, frozen=True):
    holder: Annotated[str, Meta(description="The service of the Archive that holds the Original.")]


class DisputeResource(Answer, frozen=True):
    label: str
    holder: Annotated[str, Meta(description="The service of the Archive that is believed to hold the Original.")]
    claimant: Annotated[str, Meta(description="The service of the Archive that claims it, too.")]
    claim: Annotated[str, one_of(DISPUTED)]
    first_seen: Time
    last_seen: Time
    times: int
    told: Annotated[Time | None, Meta(description="When the administrators of both were last told by e-mail.")]
    settled: Annotated[Annotated[str, one_of(Settlement)] | None, Meta(description="Null while it is open.")]
    settled_at: Time | None

    @classmethod
    def of(cls, dispute: model.Dispute) -> DisputeResource:
        claim, ruling, settled = dispute.claim, dispute.ruling, dispute.settled_by
        return cls(
            label=claim.label.spelling,
            holder=dispute.holder.spelling,
            claimant=claim.claimant.spelling,
            claim=claim.kind.value,
            first_seen=time_text(claim.first_seen),
            last_seen=time_text(claim.last_seen),
            times=claim.times,
            told=time_text(dispute.told),
            settled=None if settled is None else settled.value,
            settled_at=None if ruling is None or settled is None else time_text(ruling.at),
        )


class DisputesResource(Answer, frozen=True):
    disputes: list[DisputeResource]


class BeliefReason(StrEnum):
    """Why one Archive is believed about an item before all others."""

    HOME = "home"
    """It is the home of the label: the Archive registered for its prefix."""
    SUCCESSOR = "successor"
    """The home named it, or one whom the home had named, as the new holder of the Original (E63)."""
    HOLDER = "holder"
    """The label has no home, and it held the Original when the item was last resolved (E55)."""
    RULING = "ruling"
    """The administrator of the resolver said so when two Archives claimed the Original (E93)."""
    NONE = "none"
    """No one is: the label has no home, and who holds the Original is not known."""


class BelievedHome(Answer, frozen=True):
    archive: str
    own: Annotated[bool, Meta(description="Whether it is the Archive of this server.")]
    included: bool
    address: str | None
    registered: Time | None
    shared: bool
    successor: Annotated[str | None, Meta(description="The Archive that the administrator named to speak for it.")]
    copies_at: Annotated[
        list[str],
        Meta(
            description="Archives that it names as holders of Copies of its items: `LABEL`, or `LABEL=PREFIX,PREFIX`"
            " for items of these prefixes."
        ),
    ]
    copies_named: Time | None
    copies_signed: Annotated[bool, Meta(description="Whether it has signed that.")]

    @classmethod
    def of(cls, registration: model.Registration, copies: model.NamedCopies) -> BelievedHome:
        inclusion, successor = registration.inclusion, registration.successor
        return cls(
            archive=registration.labels[0].spelling,
            own=False,
            included=inclusion is not None,
            address=None if inclusion is None else inclusion.address,
            registered=str(registration.registered),
            shared=registration.shared,
            successor=None if successor is None else successor.labels[0].spelling,
            copies_at=sorted(map(str, copies.holders)),
            copies_named=time_text(copies.at),
            copies_signed=copies.is_signed,
        )

    @classmethod
    def of_own(cls, service: Label, address: str, copies: model.NamedCopies) -> BelievedHome:
        """Return the Archive of the same server, which is not registered."""
        return cls(
            archive=service.spelling,
            own=True,
            included=True,
            address=address,
            registered=None,
            shared=False,
            successor=None,
            copies_at=sorted(map(str, copies.holders)),
            copies_named=time_text(copies.at),
            copies_signed=copies.is_signed,
        )


class BelievedHolder(Answer, frozen=True):
    why: Annotated[str, one_of(BeliefReason)]
    archive: str | None
    since: Time | None

    @classmethod
    def of(cls, why: BeliefReason, archive: str | None, since: int | None) -> BelievedHolder:
        return cls(why=why.value, archive=archive, since=time_text(since))


class BelievedDeletion(Answer, frozen=True):
    archive: str
    when: Annotated[Time | None, Meta(description="Null if only its feed of changes has told of it.")]


class BeliefsResource(Answer, frozen=True):
    label: Annotated[str | None, Meta(description="Null if a prefix was asked about.")]
    prefix: str
    homes: Annotated[
        list[BelievedHome],
        Meta(description="The Archives registered for the prefix, those that share it in order of seniority."),
    ]
    vouched: Annotated[
        list[str],
        Meta(description="Archives that are followed while a home is silent, by the administrator's word."),
    ]
    believed: Annotated[BelievedHolder | None, Meta(description="Of a label: who is believed before all others.")]
    successors: Annotated[list[str], Meta(description="Of a label: through whom the home gave the Original on.")]
    given_on: Annotated[int | None, Meta(description="Of a prefix: how many Originals were given on.")]
    deleted: Annotated[
        BelievedDeletion | None,
        Meta(
            description="Of a label: that the item was deleted, as the Archive said that decided about it. It is"
            " believed while that one is silent."
        ),
    ]
    claims: Annotated[
        list[FalseClaimResource],
        Meta(description="What others claim against the word of who decides; a hundred at most."),
    ]
