"""What Archives and a resolver know and tell of each other: the register, transfers, and claims.

What a resolver keeps: its register of Archives, and what it believes of items.

What a transfer between Archives asks of the world: a ledger, the other Archive, and what was told to a resolver.

Where claims between Archives are kept, with what waits to be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Final, Protocol, TypeVar

from ibi.errors import ErrorKind, IbiError
from ibi.label import Label, RepositoryName
from ibi.messages.holders import CopiesStatement
from ibi.model.notification import OutgoingNotification, ReceivedClaim, SentClaim
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
from ibi.model.transfer import (
    IncomingTransfer,
    OpenItem,
    OutgoingTransfer,
    ReceiverStage,
    SenderStage,
    ToldChain,
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

    This process sees a change at once. What readers' links cause is written in groups: other processes see it with the
    next group, and a process that is killed loses what was not written. What is signed, and what a person decides, is
    on the disk when the call returns. The bounds hold per home and per Archive: what one of them causes to be recorded
    pushes out nothing that others have.
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

    def flush(self) -> None:
        """Write all that waits. Blocks."""

    def close(self) -> None: ...


# --- transfers --------------------------------------------------------------------------------------------------------


class PeerSilent(IbiError):
    """{peer} does not answer: {reason}."""

    code = "peer-silent"
    kind = ErrorKind.UPSTREAM_FAILED


class PeerRefused(IbiError):
    """{peer} refuses: {detail}"""

    code = "peer-refused"
    kind = ErrorKind.UPSTREAM_FAILED


class TokenRefused(PeerRefused):
    """{peer} does not take the token: {detail}"""

    code = "peer-refused-token"


class NoTransferService(PeerRefused):
    """{peer} takes no transfers: {detail} It is no Archive of this make, or its address is wrong."""

    code = "no-transfer-service"


class TransferLedger(Protocol):
    """The transfers of one Archive, in both directions. Calls block, from any thread and process.

    What a call has changed is on the disk when it returns. For each item there is one record in each direction.
    """

    def outgoing(self, rep: RepositoryName) -> OutgoingTransfer | None: ...

    def incoming(self, rep: RepositoryName) -> IncomingTransfer | None: ...

    def change_outgoing(
        self, rep: RepositoryName, make: Callable[[OutgoingTransfer | None], OutgoingTransfer]
    ) -> OutgoingTransfer:
        """Keep what `make` makes of the record. No other process changes it in between; if `make` raises, nothing is
        changed."""

    def change_incoming(
        self, rep: RepositoryName, make: Callable[[IncomingTransfer | None], IncomingTransfer]
    ) -> IncomingTransfer: ...

    def list_outgoing(self, *stages: SenderStage, after: str = "", most: int = 1000) -> tuple[OutgoingTransfer, ...]:
        """Those at one of the stages, or all, in the order of repository names."""

    def list_incoming(
        self, *stages: ReceiverStage, after: str = "", most: int = 1000
    ) -> tuple[IncomingTransfer, ...]: ...

    def count_waiting(self, network: str | None = None) -> int:
        """How many offers of others wait for a librarian: all, or those that came from one network."""

    def forget_offers(self, *, ended: int, waiting: int, most: int) -> int:
        """Forget the offers of others that came to nothing and were last heard of before these times: those that ended
        without this Archive having said that it holds a Copy, and those that wait. Of the former, no more than `most`
        are kept. How many were forgotten."""

    def due_outgoing(self, now: int, most: int) -> tuple[OutgoingTransfer, ...]:
        """Those that are not at an end, and are due; those due first come first."""

    def due_incoming(self, now: int, most: int) -> tuple[IncomingTransfer, ...]:
        """The same, without those that wait for a librarian."""

    def with_peer(self, service: Label, after: str = "", most: int = 1000) -> tuple[RepositoryName, ...]:
        """The items that came from the Archive with this service, or were given to it, in the order of their names."""

    def peers(self) -> frozenset[str]:
        """The addresses of all Archives with which there was a transfer."""

    def add_peer(self, url: str) -> None: ...

    def note_untold(self, rep: RepositoryName) -> None:
        """Remember that the resolver is to be told of the chain of this item."""

    def untold(self, most: int, after: str = "") -> tuple[RepositoryName, ...]:
        """Those to be told, in the order of their names."""

    def forget_untold(self, rep: RepositoryName) -> None: ...

    def chain(self, rep: RepositoryName) -> tuple[str, ...]:
        """The newest chain of an item that is known here, also of one whose object is gone; empty if there is none."""

    def note_chain(self, rep: RepositoryName, texts: tuple[str, ...], services: Iterable[Label]) -> None:
        """Keep the chain of an item in place of another, and under which services of Archives it is found; forget it
        if it is empty."""

    def chains_of(
        self, service: Label, after: str = "", most: int = 1000
    ) -> tuple[tuple[RepositoryName, tuple[str, ...]], ...]:
        """The chains that the Archive with this service is in, in the order of the items' names."""

    def open_items(self, after: str = "", most: int = 1000) -> tuple[OpenItem, ...]:
        """The items whose chain and state do not agree, in the order of their names."""

    def due_open(self, now: int, most: int) -> tuple[OpenItem, ...]:
        """Those that are due, those due first come first."""

    def change_open(self, rep: RepositoryName, make: Callable[[OpenItem | None], OpenItem | None]) -> OpenItem | None:
        """Keep what `make` makes of the record, or forget it for None."""

    def has_lost_track(self) -> bool:
        """Whether the directory may not be the one that was used last on this machine: put back from a backup, copied,
        or used before the machine was started anew."""

    def keep_track(self) -> None:
        """Note, in the directory and outside it, that this is the one, whatever was the case before."""

    def renew_track(self) -> bool:
        """Note it anew, as is done before anything is given away or taken over. False, and nothing is noted, if track
        was lost."""

    def lose_track(self) -> None:
        """Have track be lost, for all processes and after a restart, until it is kept again."""

    def note_asked(self, *, asked: bool) -> None:
        """Note, for all processes of this machine, whether those were asked who might know what was given away, as far
        as they have to be before anything is called Original again. Good for as long as track is lost."""

    def were_asked(self) -> bool: ...

    def note_unheard(self, servers: Iterable[str]) -> None:
        """Note, for all processes, which servers did not answer yet. Good for as long as track is lost."""

    def unheard(self) -> frozenset[str]: ...

    def close(self) -> None: ...


class TransferPeers(Protocol):
    """Other Archives and the resolver. Calls block. `PeerSilent` if there is no answer that can be understood, which
    says nothing about whether the request came; `PeerRefused` if the answer is no."""

    def send_offer(self, url: str, offer: str, token: str | None = None) -> dict[str, object]:
        """What the receiver answers to an offer."""

    def chain(self, url: str, label: Label) -> tuple[str, ...]:
        """The chain of an item, unchecked."""

    def releases(self, url: str, service: Label) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The chains in which the Archive with this service gave or took something, by repository name, unchecked."""

    def run_of(self, url: str, service: Label) -> str:
        """The run of a resolver: another text after each of its starts; empty if it does not say. An Archive asks
        with the label of its own service."""

    def tell(self, url: str, chain: tuple[str, ...]) -> None:
        """Tell a resolver a chain."""

    def ask_for_lost(self, url: str, acceptance: str, chain: tuple[str, ...]) -> tuple[str, ...]:
        """Ask a resolver for the release of an Original whose Archive is lost (E97), with what this Archive holds of it
        and the chain that it has; the chain with the release, unchecked."""

    def settled_holders(self, url: str, label: Label) -> frozenset[Label]:
        """The Archives that hold the Original of an item by the settled disputes over it, as a resolver says."""

    def archives(self, url: str) -> Mapping[Label, str]:
        """The addresses of the Archives that a resolver knows, by the labels of their services."""

    def away(self, url: str) -> Mapping[Label, str]:
        """The last addresses of those that are switched off at the moment, and are not lost."""


class ChainStore(Protocol):
    """The chains that a resolver was told, each checked before. Calls block, from any thread and process."""

    prompt: bool
    """Whether `chain` takes so little time that an event loop may call it."""

    def chain(self, label: Label) -> tuple[str, ...]:
        """The chain of the item that bears this label; none if it never moved, as far as is known."""

    def change(self, label: Label, make: Callable[[tuple[str, ...]], ToldChain | None]) -> tuple[str, ...]:
        """Keep what `make` makes of the chain of the item that bears this label, or leave it if that is None; the chain
        as it is then. No other process changes it in between; if `make` raises, nothing is changed."""

    def with_service(
        self, service: Label, after: str = "", most: int = 1000
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The chains in which this Archive is, by repository name and in that order."""

    def close(self) -> None: ...


# --- notifications ----------------------------------------------------------------------------------------------------


Row = TypeVar("Row", ReceivedClaim, SentClaim, OutgoingNotification)


class Rows(Protocol[Row]):
    """Rows of one kind, numbered from 1 in the order in which they were added. Calls wait for the disk, from any
    thread; what a call has changed is durable when it returns, or with the transaction that it is in."""

    def add(self, row: Row) -> Row:
        """Keep a new row; given is the row with its number."""

    def find(self, number: int) -> Row | None: ...

    def find_id(self, identifier: str) -> Row | None:
        """The row whose notification has that URI."""

    def about(self, name: str) -> tuple[Row, ...]:
        """Of claims, those on or by the item here of that repository name, in their order."""

    def list(self, states: Collection[str], after: int = 0, most: int = 1000) -> tuple[Row, ...]:
        """Rows in one of these states, in their order, from the first one after a number."""

    def due(self, now: int, most: int) -> tuple[Row, ...]:
        """Rows whose time has come, those first that wait longest."""

    def change(self, number: int, into: Callable[[Row], Row]) -> Row | None:
        """The row as `into` makes it of what it is now; None if there is none."""

    def remove(self, number: int) -> None: ...


class Notifications(Protocol):
    """What one Archive and others have told each other of claims.

    Processes work side by side on it. What was committed survives a crash.
    """

    @property
    def received(self) -> Rows[ReceivedClaim]: ...

    @property
    def sent(self) -> Rows[SentClaim]: ...

    @property
    def outgoing(self) -> Rows[OutgoingNotification]: ...

    def together(self) -> AbstractContextManager[None]:
        """Make all changes within the `with` at once, or none of them; no other process changes anything meanwhile."""

    def waiting(self, network: str) -> tuple[int, int]:
        """How many received claims wait for an answer: in all, and of those that came from that network. Those that
        registered Archives signed (`SIGNED`) count for their network alone."""

    def pending(self, network: str | None = None) -> tuple[ReceivedClaim, ...]:
        """The received claims that wait for an answer, the oldest first: those of that network, or without one all that
        no registered Archive signed."""

    def forget(self, before: int) -> int:
        """Drop what was settled before that second, claims and notifications; how many."""

    def position(self) -> tuple[str, int]:
        """Up to which entry the feed of changes of this Archive was looked through: its epoch, empty at first, and the
        number."""

    def note_position(self, epoch: str, number: int) -> None: ...

    def hold(self) -> bool:
        """Be the one process that sends, if no other is. To be it already is fine. Ends with `close` or with the
        process."""

    def close(self) -> None:
        """Let go of what it is kept in. To close again does nothing."""
