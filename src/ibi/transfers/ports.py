"""Ports of transfers: the ledger of both sides, and the requests between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from ibi.items.model.transfer_record import ToldChain
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.label import Label, RepositoryName
from ibi.transfers.model import IncomingTransfer, OpenItem, OutgoingTransfer, ReceiverStage, SenderStage


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
