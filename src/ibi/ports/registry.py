"""What a resolver keeps: its register of Archives, and what it believes of items."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Protocol

from ibi.label import Label
from ibi.messages.copy_holders import CopiesStatement
from ibi.model.registration import (
    ClaimKind,
    Dispute,
    FalseClaim,
    KnownDeletion,
    LabelBeliefs,
    NamedCopies,
    Registration,
    Ruling,
    Succession,
)


class Registry(Protocol):
    """The registrations of one data directory, each found by any of its labels. Calls come from any thread.

    No label belongs to two registrations, and no prefix unless one of them is `shared`. Dates are kept to the second.
    What one process has changed, durably, every other sees with its next call.
    """

    prompt: bool
    """Whether `find` and `all` take so little time that an event loop may make them; changes may not."""

    def find(self, label: Label) -> Registration | None:
        """The registration that has this label, in this form; None if there is none. Quick."""

    def all(self) -> tuple[Registration, ...]:
        """Every registration, included or not, by date of registration and then by label."""

    def add(self, registration: Registration) -> None:
        """Keep a new one. Nothing changes if one of its labels is taken (`ibi.resolver.membership.AlreadyRegistered`)
        or one of its prefixes (`PrefixTaken`)."""

    def put(self, registration: Registration) -> None:
        """Keep one in place of whatever has any of its labels. Its prefixes are not compared with those of others."""

    def change(self, label: Label, make: Callable[[Registration], Registration]) -> Registration | None:
        """Put what `make` makes of the registration with this label in its place, and give it back; None if there is
        none. No other process changes the register in between. `make` keeps the forms of the label, and one label at
        least; a form that is added or replaced must be free (`AlreadyRegistered`), and so must a prefix that is gained
        (`PrefixTaken`): else nothing changes. If it gives back an equal one, nothing is written and `version`
        stays."""

    def forget(self, label: Label) -> Registration | None:
        """Remove the registration that has this label: what it was, None if there was none."""

    def version(self) -> Hashable:
        """Another value after any process's change, and the same while nothing changes."""

    def recent_version(self) -> Hashable:
        """`version`, but a change by another process may be seen some milliseconds late. Never waits, whatever
        `prompt` says: asked on the event loop at every resolution."""

    def close(self) -> None: ...


HOLDER_AGE: Final = 86_400
"""Seconds for which the holder of an item without a home is believed."""
MOST_SUCCESSIONS: Final = 100_000
"""Labels of one home prefix whose successors are kept; of more, those recorded first are forgotten."""
MOST_HOLDINGS: Final = 100_000
"""Labels without a home that one Archive is believed to hold; of more, those recorded first are forgotten."""
MOST_CLAIMS: Final = 1_000
"""False claims of one Archive that are kept; of more, those seen last longest ago are forgotten."""


class Beliefs(Protocol):
    """The beliefs of one data directory. Calls come from any thread; times are POSIX seconds.

    Every change is on the disk when the call returns as far as the end of the process is concerned: it is there after
    SIGKILL, and every other process sees it with its next call, within some milliseconds. The bounds hold per home and
    per Archive: what one of them causes to be recorded pushes out nothing that others have.
    """

    prompt: bool
    """Whether every call takes tens of microseconds at most, so that an event loop may make it."""

    def successors(self, label: Label) -> tuple[Label, ...]:
        """The chain of service labels through which the home gave the Original on; empty if it did not."""

    def succession(self, label: Label) -> Succession:
        """`successors`, and whether they come from signed releases."""

    def record_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        """Keep the chain that was said without a signature, or forget it if it is empty. It does not age. Nothing
        changes where a signed one is known."""

    def record_signed_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
        """Keep the chain of signed releases, also an empty one, in the place of any other. Those that are not signed
        are forgotten before it where a home has too many."""

    def holder(self, label: Label, now: int) -> Label | None:
        """The service label of who held the Original of an item without a home less than `HOLDER_AGE` ago."""

    def record_holder(self, label: Label, holder: Label, at: int) -> None: ...

    def forget_holder(self, label: Label) -> None: ...

    def copies(self, home: Label) -> NamedCopies:
        """Whom the Archive `home` named as holders of Copies of its items, without the text of its statement. Asked by
        every resolution: from memory."""

    def record_copies(self, home: Label, services: frozenset[Label], at: int) -> None:
        """Keep what the home said without signing it."""

    def record_signed_copies(self, home: Label, said: CopiesStatement, statement: str, at: int) -> None:
        """Keep what the home signed. It stands until the home signs something else."""

    def deletion(self, label: Label) -> KnownDeletion | None:
        """What is known of the deletion of an item. Asked by every resolution."""

    def record_deletion(self, label: Label, known: KnownDeletion, at: int) -> None:
        """Keep it. Of one home prefix at most `MOST_SUCCESSIONS` are kept, those recorded last."""

    def forget_deletion(self, label: Label) -> None:
        """It is there again, says the Archive that decides: put back from a backup."""

    def record_claim(self, label: Label, claimant: Label, home: Label, kind: ClaimKind, at: int) -> bool:
        """Count a false claim; whether it is the first of its kind by this Archive about this label."""

    def claims(self, most: int = 100) -> tuple[FalseClaim, ...]:
        """The false claims, those seen last first."""

    def disputes(self, most: int, label: Label | None = None, *, settled: bool = True) -> tuple[Dispute, ...]:
        """The false claims to an Original, those seen last first; of one label, if it is given. Without `settled` only
        those that are open."""

    def record_told(self, label: Label, claimant: Label, at: int) -> None:
        """Both administrators were told of the claim."""

    def record_proof(self, label: Label, claimant: Label, at: int) -> None:
        """Signed releases contradict the claim: the dispute is settled."""

    def rule(self, ruling: Ruling) -> None:
        """Keep the word of the administrator, in place of an earlier one on the label. On the disk when the call
        returns: nothing else tells it again. It names the holder of an item without a home for good. Of another item
        the successors count from then on as not signed, until more is signed."""

    def about(self, label: Label) -> LabelBeliefs:
        """All that is kept of the label, for people."""

    def named_copies(self, home: Label) -> NamedCopies:
        """`copies`, with the text of the statement."""

    def given_on(self, prefix: str) -> int:
        """How many labels of this home prefix have successors on record."""

    def close(self) -> None: ...
