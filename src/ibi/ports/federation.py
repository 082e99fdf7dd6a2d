"""The stores of a resolver: its register of Archives, and its beliefs about items."""

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
from ibi.model.transfer import ToldChain
from ibi.model.transfer_ledger import IncomingTransfer, OpenItem, OutgoingTransfer, ReceiverStage, SenderStage


class Registry(Protocol):
    """The registrations of one data directory, each found by any of its labels. Calls come from any thread.

    No label belongs to two registrations, and no prefix unless one of them is `shared`. Dates are kept to the second.
    Durable changes by one process are visible to every other with its next call.
    """

    prompt: bool
    """True if `find` and `all` are fast enough for an event loop; changes are not."""

    def find(self, label: Label) -> Registration | None:
        """Return the registration that has this label, in this form; None if there is none. Fast."""

    def all(self) -> tuple[Registration, ...]:
        """Return every registration, included or not, by date of registration and then by label."""

    def add(self, registration: Registration) -> None:
        """Add a new registration.

        If one of its labels is taken (`ibi.resolver.membership.AlreadyRegistered`) or one of its prefixes
        (`PrefixTaken`), raise the error and change nothing.
        """

    def put(self, registration: Registration) -> None:
        """Store a registration in place of every one with any of its labels. Its prefixes are not compared."""

    def change(self, label: Label, make: Callable[[Registration], Registration]) -> Registration | None:
        """Replace the registration with this label by the result of `make`, and return it; None if there is none.

        No other process changes the register in between. `make` keeps the forms of the label, and at least one label.
        An added or replaced form must be free (`AlreadyRegistered`), and so must a gained prefix (`PrefixTaken`): else
        nothing changes. If the result is equal, nothing is written and `version` stays.
        """

    def forget(self, label: Label) -> Registration | None:
        """Delete and return the registration that has this label; None if there was none."""

    def version(self) -> Hashable:
        """Return a value that differs after a change by any process, and stays the same otherwise."""

    def recent_version(self) -> Hashable:
        """Return `version`, but possibly some milliseconds late for changes by another process.

        It never waits, whatever `prompt` says: the event loop calls it at every resolution.
        """

    def close(self) -> None: ...


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

    Changes are on disk when a call returns. For each item there is one record in each direction.
    """

    def outgoing(self, rep: RepositoryName) -> OutgoingTransfer | None: ...

    def incoming(self, rep: RepositoryName) -> IncomingTransfer | None: ...

    def change_outgoing(
        self, rep: RepositoryName, make: Callable[[OutgoingTransfer | None], OutgoingTransfer]
    ) -> OutgoingTransfer:
        """Store the result of `make` for the record. No other process changes it in between.

        If `make` raises, nothing changes.
        """

    def change_incoming(
        self, rep: RepositoryName, make: Callable[[IncomingTransfer | None], IncomingTransfer]
    ) -> IncomingTransfer: ...

    def list_outgoing(self, *stages: SenderStage, after: str = "", most: int = 1000) -> tuple[OutgoingTransfer, ...]:
        """Return the transfers at one of the stages, or all, in the order of repository names."""

    def list_incoming(
        self, *stages: ReceiverStage, after: str = "", most: int = 1000
    ) -> tuple[IncomingTransfer, ...]: ...

    def count_waiting(self, network: str | None = None) -> int:
        """Return how many incoming offers wait for a librarian: all, or those from one network."""

    def forget_offers(self, *, ended: int, waiting: int, most: int) -> int:
        """Delete incoming offers that came to nothing and were last heard of before these times; return their number.

        `ended` is for offers that ended without this Archive having said that it holds a Copy, `waiting` for those that
        wait. At most `most` of the former are kept.
        """

    def due_outgoing(self, now: int, most: int) -> tuple[OutgoingTransfer, ...]:
        """Return due transfers that have not ended, the earliest due first."""

    def due_incoming(self, now: int, most: int) -> tuple[IncomingTransfer, ...]:
        """Return the same, without those that wait for a librarian."""

    def with_peer(self, service: Label, after: str = "", most: int = 1000) -> tuple[RepositoryName, ...]:
        """Return the items that came from the Archive with this service or went there, in the order of their names."""

    def peers(self) -> frozenset[str]:
        """Return the addresses of all Archives with which there was a transfer."""

    def add_peer(self, url: str) -> None: ...

    def note_untold(self, rep: RepositoryName) -> None:
        """Record that the resolver must be told the chain of this item."""

    def untold(self, most: int, after: str = "") -> tuple[RepositoryName, ...]:
        """Return the items to report, in the order of their names."""

    def forget_untold(self, rep: RepositoryName) -> None: ...

    def chain(self, rep: RepositoryName) -> tuple[str, ...]:
        """Return the newest chain of an item that is known here, even if its object is gone; empty if there is none."""

    def note_chain(self, rep: RepositoryName, texts: tuple[str, ...], services: Iterable[Label]) -> None:
        """Store the chain of an item in place of another, indexed by services of Archives; delete an empty one."""

    def chains_of(
        self, service: Label, after: str = "", most: int = 1000
    ) -> tuple[tuple[RepositoryName, tuple[str, ...]], ...]:
        """Return the chains that contain the Archive with this service, in the order of the items' names."""

    def open_items(self, after: str = "", most: int = 1000) -> tuple[OpenItem, ...]:
        """Return the items with a chain and a state that disagree, in the order of their names."""

    def due_open(self, now: int, most: int) -> tuple[OpenItem, ...]:
        """Return those that are due, the earliest due first."""

    def change_open(self, rep: RepositoryName, make: Callable[[OpenItem | None], OpenItem | None]) -> OpenItem | None:
        """Store the result of `make` for the record; delete the record for None."""

    def has_lost_track(self) -> bool:
        """Return whether the directory may not be the one last used on this machine.

        It may have been restored from a backup, copied, or used before the machine was restarted.
        """

    def keep_track(self) -> None:
        """Record, in the directory and outside it, that this is the current one, whatever was the case before."""

    def renew_track(self) -> bool:
        """Renew the record, as happens before anything is given away or taken over.

        Return False, and record nothing, if track was lost.
        """

    def lose_track(self) -> None:
        """Mark track as lost, for all processes and after a restart, until it is kept again."""

    def note_asked(self, *, asked: bool) -> None:
        """Record, for all processes of this machine, whether the other Archives were asked about items given away.

        They must be asked, as far as necessary, before anything is called Original again. Valid while track is lost.
        """

    def were_asked(self) -> bool: ...

    def note_unheard(self, servers: Iterable[str]) -> None:
        """Record, for all processes, the servers that did not answer yet. Valid while track is lost."""

    def unheard(self) -> frozenset[str]: ...

    def close(self) -> None: ...


class TransferPeers(Protocol):
    """Other Archives and the resolver. Calls block.

    Raise `PeerSilent` if there is no answer that can be parsed, which does not say whether the request arrived. Raise
    `PeerRefused` if the answer is no.
    """

    def send_offer(self, url: str, offer: str, token: str | None = None) -> dict[str, object]:
        """Return the answer of the receiver to an offer."""

    def chain(self, url: str, label: Label) -> tuple[str, ...]:
        """Return the chain of an item, unchecked."""

    def releases(self, url: str, service: Label) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the chains in which the Archive with this service gave or took an item, by name, unchecked."""

    def run_of(self, url: str, service: Label) -> str:
        """Return the run of a resolver: a text that differs after each of its starts; empty if it does not say.

        An Archive passes the label of its own service.
        """

    def tell(self, url: str, chain: tuple[str, ...]) -> None:
        """Report a chain to a resolver."""

    def ask_for_lost(self, url: str, acceptance: str, chain: tuple[str, ...]) -> tuple[str, ...]:
        """Ask a resolver for the release of an Original of a lost Archive (E97).

        The request has this Archive's `acceptance` and its chain of the item. Return the chain with the release,
        unchecked.
        """

    def settled_holders(self, url: str, label: Label) -> frozenset[Label]:
        """Return the Archives that hold the Original of an item by settled disputes, according to a resolver."""

    def archives(self, url: str) -> Mapping[Label, str]:
        """Return the addresses of the Archives that a resolver knows, by the labels of their services."""

    def away(self, url: str) -> Mapping[Label, str]:
        """Return the last addresses of the Archives that are switched off now, and are not lost."""


class ChainStore(Protocol):
    """The chains that were reported to a resolver, each checked before. Calls block, from any thread and process."""

    prompt: bool
    """True if `chain` is fast enough for an event loop."""

    def chain(self, label: Label) -> tuple[str, ...]:
        """Return the chain of the item with this label; empty if it never moved, as far as is known."""

    def change(self, label: Label, make: Callable[[tuple[str, ...]], ToldChain | None]) -> tuple[str, ...]:
        """Store the result of `make` for the chain of the item with this label, or leave the chain if that is None.

        Return the chain as it is then. No other process changes it in between; if `make` raises, nothing changes.
        """

    def with_service(
        self, service: Label, after: str = "", most: int = 1000
    ) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the chains that contain this Archive, by repository name and in that order."""

    def close(self) -> None: ...


# --- notifications ----------------------------------------------------------------------------------------------------


Row = TypeVar("Row", ReceivedClaim, SentClaim, OutgoingNotification)


class Rows(Protocol[Row]):
    """Rows of one kind, numbered from 1 in the order in which they were added.

    Calls wait for the disk, from any thread. Changes are durable when a call returns, or with the transaction around
    it.
    """

    def add(self, row: Row) -> Row:
        """Add a new row, and return it with its number."""

    def find(self, number: int) -> Row | None: ...

    def find_id(self, identifier: str) -> Row | None:
        """Return the row of the notification with that URI."""

    def about(self, name: str) -> tuple[Row, ...]:
        """Return the claims on or by the item here with that repository name, in order."""

    def list(self, states: Collection[str], after: int = 0, most: int = 1000) -> tuple[Row, ...]:
        """Return rows in one of these states, in order, from the first one after a number."""

    def due(self, now: int, most: int) -> tuple[Row, ...]:
        """Return due rows, the longest waiting first."""

    def change(self, number: int, into: Callable[[Row], Row]) -> Row | None:
        """Replace the row by the result of `into`, and return it; None if there is none."""

    def remove(self, number: int) -> None: ...


class Notifications(Protocol):
    """The notifications about claims between one Archive and others.

    Several processes use it concurrently. Commits survive a crash.
    """

    @property
    def received(self) -> Rows[ReceivedClaim]: ...

    @property
    def sent(self) -> Rows[SentClaim]: ...

    @property
    def outgoing(self) -> Rows[OutgoingNotification]: ...

    def together(self) -> AbstractContextManager[None]:
        """Make all changes within the `with` atomic; no other process changes anything meanwhile."""

    def waiting(self, network: str) -> tuple[int, int]:
        """Return how many received claims wait for an answer: in all, and from that network.

        Claims that registered Archives signed (`SIGNED`) count only for their network.
        """

    def pending(self, network: str | None = None) -> tuple[ReceivedClaim, ...]:
        """Return the received claims that wait for an answer, the oldest first.

        They are those of that network; or without one, all that no registered Archive signed.
        """

    def forget(self, before: int) -> int:
        """Delete claims and notifications that were settled before that second. Return their number."""

    def position(self) -> tuple[str, int]:
        """Return the last processed entry in this Archive's feed of changes: the epoch, empty at first, and the
        number."""

    def note_position(self, epoch: str, number: int) -> None: ...

    def hold(self) -> bool:
        """Try to become the one process that sends. Return whether this process is it now.

        Repeated calls are allowed. The lock ends with `close` or with the process.
        """

    def close(self) -> None:
        """Release its storage. Closing again does nothing."""
