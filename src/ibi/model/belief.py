"""What a resolver believes of items beyond one resolution, what it does not believe, and what is in dispute.

Archives are named by the labels of their services; times are POSIX seconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from ibi.label import Label
from ibi.messages.copy_holders import CopyHolder


class ClaimKind(StrEnum):
    """What an Archive claimed of an item against the word of the item's home."""

    ORIGINAL = "Original"
    DELETED = "Deleted"
    NEXT_EDITION = "next edition"


class FalseClaim(NamedTuple):
    """A claim that the home of a label contradicts, or the successor that the home named.

    `claimant` and `home` are service labels. Times are POSIX seconds.
    """

    label: Label
    claimant: Label
    home: Label
    kind: ClaimKind
    first_seen: int
    last_seen: int
    times: int = 1


class Ruling(NamedTuple):
    """The word of the resolver's administrator on who holds the Original of an item (E93)."""

    label: Label
    holder: Label
    parties: frozenset[Label]
    """The Archives whose claims it settles. One that claims the item later opens another dispute."""
    at: int
    by: str
    """Who gave it, for people."""


class Settlement(StrEnum):
    """How a dispute ended."""

    ADMINISTRATOR = "administrator"
    TRANSFER = "transfer"
    """The holder gave the Original to who claimed it."""
    PROOF = "proof"
    """Signed releases say that another Archive has the Original."""


class Dispute(NamedTuple):
    """A second claim to the Original of an item, or to have deleted it. The known holder stays until it is settled."""

    claim: FalseClaim
    holder: Label
    """Who is believed to hold the Original now."""
    told: int | None = None
    """When the administrators of both Archives were last told."""
    ruling: Ruling | None = None
    proven: int | None = None
    """When signed releases were found to contradict the claim."""

    @property
    def settled_by(self) -> Settlement | None:
        """None while it is open."""
        if self.ruling is not None and self.claim.claimant in self.ruling.parties:
            return Settlement.ADMINISTRATOR
        if self.claim.claimant == self.holder:
            return Settlement.TRANSFER
        return None if self.proven is None else Settlement.PROOF


DISPUTED: Final = (ClaimKind.ORIGINAL, ClaimKind.DELETED)
"""Claims that only one Archive can make: R 5.2 has one Original, and Deleted is said of what was the Original here."""


class Succession(NamedTuple):
    """The chain of service labels through which a home gave an Original on."""

    chain: tuple[Label, ...] = ()
    is_signed: bool = False
    """Whether it comes from signed releases (E88), so that an answer of a home, which is not signed, does not change
    it. A chain that is signed and empty says that the home has the Original again."""


NO_SUCCESSION: Final = Succession()


class LabelBeliefs(NamedTuple):
    """All that is believed of one label, with the times since when: for people, not for a resolution."""

    successors: tuple[Label, ...] = ()
    """The chain through which the home gave the Original on."""
    named_at: int | None = None
    """When the chain was last named otherwise than before."""
    holder: Label | None = None
    """Who held the Original of an item without a home, however long ago."""
    held_at: int | None = None
    claims: tuple[FalseClaim, ...] = ()
    """What others claim, and those who decide contradict; seen last first."""
    ruling: Ruling | None = None
    """What the administrator said of a dispute over it."""


class NamedCopies(NamedTuple):
    """Whom a home named as holders of Copies of its items, and when."""

    holders: frozenset[CopyHolder] = frozenset()
    at: int | None = None
    statement: str | None = None
    """What it signed (`ibi.messages.copy_holders`), byte for byte, for others to check; None if it only said so."""
    signed_at: int = 0
    """When it signed that, in milliseconds since 1970."""

    @property
    def is_signed(self) -> bool:
        return self.signed_at > 0

    @property
    def services(self) -> frozenset[Label]:
        return frozenset(holder.service for holder in self.holders)

    def of_prefix(self, prefix: str) -> frozenset[Label]:
        """Those that hold Copies of items whose labels have that prefix."""
        return frozenset(holder.service for holder in self.holders if holder.has_copies_of(prefix))


NO_COPIES: Final = NamedCopies()
