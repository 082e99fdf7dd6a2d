"""What a transfer between Archives asks of the world: a ledger, the other Archive, and what was told to a resolver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from ibi.errors import IbiError
from ibi.label import Label, RepositoryName
from ibi.model.transfer import IncomingTransfer, OutgoingTransfer, ReceiverStage, SenderStage, ToldChain


class PeerSilent(IbiError):
    """{peer} does not answer: {reason}."""

    code = "peer-silent"


class PeerRefused(IbiError):
    """{peer} refuses: {detail}"""

    code = "peer-refused"


class TokenRefused(PeerRefused):
    """{peer} does not take the token: {detail}"""

    code = "peer-refused-token"


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

    def tell(self, url: str, chain: tuple[str, ...]) -> None:
        """Tell a resolver a chain."""

    def ask_for_lost(self, url: str, acceptance: str, chain: tuple[str, ...]) -> tuple[str, ...]:
        """Ask a resolver for the release of an Original whose Archive is lost (E97), with what this Archive holds of it
        and the chain that it has; the chain with the release, unchecked."""

    def settled_holders(self, url: str, label: Label) -> frozenset[Label]:
        """The Archives that hold the Original of an item by the settled disputes over it, as a resolver says."""

    def archives(self, url: str) -> tuple[str, ...]:
        """The addresses of the Archives that a resolver knows; none if it does not say."""


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
