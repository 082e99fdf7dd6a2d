"""The stores of a resolver: its register of Archives, and its beliefs about items."""

from __future__ import annotations

from typing import Final, Protocol

from ibi.membership.model.registration import (
    ClaimKind,
    Dispute,
    FalseClaim,
    KnownDeletion,
    LabelBeliefs,
    NamedCopies,
    Ruling,
    Succession,
)
from ibi.standard.label import Label
from ibi.standard.messages.holders import CopiesStatement

HOLDER_AGE: Final = 86_400
"""Seconds for which the holder of an item without a home is believed."""
MOST_SUCCESSIONS: Final = 100_000
"""Most labels of one home prefix with stored successors; the oldest records are evicted."""
MOST_HOLDINGS: Final = 100_000
"""Most labels without a home that one Archive is believed to hold; the oldest records are evicted."""
MOST_CLAIMS: Final = 1_000
"""Most stored false claims of one Archive; the claims with the oldest last sighting are evicted."""


class Beliefs(Protocol):
    """The beliefs of one data directory. Calls come from any thread; times are POSIX seconds.

    This process sees a change at once. Changes caused by readers' links are written in groups. Other processes see them
    with the next group, and a killed process loses those not written. Signed facts and decisions of people are on disk
    when the call returns. The bounds hold per home and per Archive: records that one of them causes never evict records
    of others.
    """

    prompt: bool
    """True if every call takes at most tens of microseconds, so that an event loop may make it."""

    def successors(self, label: Label) -> tuple[Label, ...]:
        """Return the chain of service labels through which the home gave the Original on; empty if it did not."""

    def succession(self, label: Label) -> Succession:
        """Return `successors`, and whether they come from signed releases."""

    def record_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        """Record an unsigned chain, or delete it if it is empty. It does not expire.

        Nothing changes if a signed chain is known.
        """

    def record_signed_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        """Record the chain of signed releases, also an empty one, in place of any other.

        If a home has too many, unsigned chains are evicted first.
        """

    def holder(self, label: Label, now: int) -> Label | None:
        """Return the service label of the holder of an item without a home, if recorded less than `HOLDER_AGE` ago."""

    def record_holder(self, label: Label, holder: Label, at: int) -> None: ...

    def forget_holder(self, label: Label) -> None: ...

    def copies(self, home: Label) -> NamedCopies:
        """Return the Archives that `home` named as holders of Copies of its items, without the text of its statement.

        Every resolution calls it; it reads from memory.
        """

    def record_copies(self, home: Label, services: frozenset[Label], at: int) -> None:
        """Record an unsigned statement of the home."""

    def record_signed_copies(self, home: Label, said: CopiesStatement, statement: str, at: int) -> None:
        """Record a signed statement of the home. It stands until the home signs another."""

    def deletion(self, label: Label) -> KnownDeletion | None:
        """Return the known deletion of an item. Every resolution calls it."""

    def record_deletion(self, label: Label, known: KnownDeletion, at: int) -> None:
        """Record a deletion. Per home prefix, only the last `MOST_SUCCESSIONS` records are kept."""

    def forget_deletion(self, label: Label) -> None:
        """Delete the record: the Archive that decides says that the item exists again, restored from a backup."""

    def record_claim(self, label: Label, claimant: Label, home: Label, kind: ClaimKind, at: int) -> bool:
        """Count a false claim. Return whether it is the first of its kind by this Archive about this label."""

    def claims(self, most: int = 100) -> tuple[FalseClaim, ...]:
        """Return the false claims, the most recently seen first."""

    def disputes(self, most: int, label: Label | None = None, *, settled: bool = True) -> tuple[Dispute, ...]:
        """Return the false claims to an Original, the most recently seen first; of one label, if it is given.

        Without `settled`, return only open ones.
        """

    def record_told(self, label: Label, claimant: Label, at: int) -> None:
        """Record that both administrators were told of the claim."""

    def record_proof(self, label: Label, claimant: Label, at: int) -> None:
        """Record that signed releases contradict the claim: the dispute is settled."""

    def rule(self, ruling: Ruling) -> None:
        """Record the decision of the administrator, in place of an earlier one on the label.

        It is on disk when the call returns, because it has no other source. For an item without a home, it names the
        holder permanently. For another item, the successors then count as unsigned, until more is signed.
        """

    def about(self, label: Label) -> LabelBeliefs:
        """Return all records about the label, for people."""

    def named_copies(self, home: Label) -> NamedCopies:
        """Return `copies`, with the text of the statement."""

    def given_on(self, prefix: str) -> int:
        """Return how many labels of this home prefix have recorded successors."""

    def flush(self) -> None:
        """Write all pending changes. This call blocks."""

    def close(self) -> None: ...
