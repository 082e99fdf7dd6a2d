"""Goes on with the transfers of an Archive while its server runs: a thread that does what is due, and waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event, Thread
from typing import Final

import structlog

from ibi.errors import IbiError
from ibi.federation.transfer import TransferRefused
from ibi.label import Label, RepositoryName
from ibi.model.item import Item
from ibi.model.transfer import IncomingTransfer, ReceiverStage, SenderStage
from ibi.ports.transfers import PeerRefused, PeerSilent, TransferLedger, TransferPeers
from ibi.services.limits import hold_alone
from ibi.services.transfers.item_chains import ItemChains
from ibi.services.transfers.receiving import Receiving
from ibi.services.transfers.sending import Originals, Sending
from ibi.services.transfers.tracking import Tracking

_IDLE: Final = 1.0
"""Seconds between two looks at what is due."""
_MOST: Final = 100
"""Transfers of each direction that are gone on with in one round."""
_TELL_AGAIN: Final = 60
"""Seconds after which the resolver is told again what it did not confirm."""
_ASK_AGAIN: Final = 3600
"""Seconds after which it is told again what it did not believe: it may know the sender by then."""
_POLL: Final = 600
"""Seconds between two questions to the resolver about the own releases."""
_FORGET: Final = 3600
"""Seconds after which offers that came to nothing are forgotten again."""
_STOP: Final = 5.0


class TransferWorker:
    """The transfers of one Archive. `start` and `stop` are called on the event loop, `wake` from any thread."""

    def __init__(
        self,
        chains: ItemChains,
        ledger: TransferLedger,
        sending: Sending,
        receiving: Receiving,
        tracking: Tracking,
        peers: TransferPeers,
        *,
        resolver: str | None,
        polls: bool = True,
        now: Callable[[], float] = time.time,
        hold: Callable[[], bool] = hold_alone,
    ) -> None:
        """Of several processes that one goes on with transfers for which `hold` is true. `polls` whether the resolver
        is asked from time to time what it knows: not where it is this server itself."""
        self.chains, self.ledger, self.sending, self.receiving, self.tracking = (
            chains,
            ledger,
            sending,
            receiving,
            tracking,
        )
        self._peers, self.resolver, self._polls, self._now = peers, resolver, polls, now
        self._hold, self._log = hold, structlog.get_logger("ibi.transfers")
        self._stopping, self._waking = Event(), Event()
        self._thread: Thread | None = None
        self._tell_at = self._ask_at = 0.0
        self._poll_at = self._forget_at = 0.0
        self._disbelieved: dict[RepositoryName, float] = {}
        """When the resolver is told again what it did not believe."""
        self._doubts = 0

    def ask_for_lost(self, item: Item) -> IncomingTransfer:
        """Take over the Original of a Copy whose Archive is lost. `TransferRefused`, `PeerRefused`, `PeerSilent`."""
        if self.resolver is None:
            raise TransferRefused(label=str(item.rep), reason="this Archive has no resolver, which could decide it")
        return self.receiving.ask_for_lost(item, self.resolver)

    def yield_original(self, item: Item, originals: Originals, token: str | None = None) -> Label:
        """Be a Copy of an item over which a dispute was settled for another Archive; that Archive."""
        if self.resolver is None:
            raise TransferRefused(label=str(item.rep), reason="this Archive has no resolver, which could say so")
        return self.sending.yield_original(item, self.resolver, originals, token)

    def start(self) -> None:
        self._thread = Thread(target=self._run, name="transfers", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        self._stopping.set()
        self._waking.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _STOP)

    def wake(self) -> None:
        self._waking.set()

    def tell_again(self) -> None:
        """The resolver may have lost what it was told: compare soon. From any thread."""
        self._poll_at = self._tell_at = 0.0
        self._disbelieved = {}
        self.wake()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._waking.clear()
            try:
                self.tracking.follow()  # of several processes one asks
                if self._hold():
                    self.step()
            except IbiError as error:
                self._log.warning("transfers cannot be gone on with at the moment", reason=str(error))
            except Exception:  # noqa: BLE001 - the server goes on, and the next round tries again
                self._log.error("a round of transfers failed", exc_info=True)
            self._waking.wait(_IDLE)

    def step(self) -> None:
        """One round: everything that is due. Blocks."""
        now = int(self._now())
        self.tracking.lead()
        self._poll_resolver(now)  # first: what was given away in the place of this Archive is not given again
        if self.tracking.in_doubt and now >= self._ask_at:
            self._ask_at = now + min(1 << min(self._doubts, 6), 60)
            self._doubts += 1
            self.tracking.ask(self.chains, self.receiving)
        for out in self.ledger.due_outgoing(now, _MOST):
            if not self._stopping.is_set():
                self._try(out.rep, self.sending.go_on)
        for come in self.ledger.due_incoming(now, _MOST):
            if not self._stopping.is_set():
                self._try(come.rep, self.receiving.go_on)
        if now >= self._forget_at:
            self._forget_at = now + _FORGET
            self.receiving.forget_offers()
        if self.resolver is not None and now >= self._tell_at:
            self._tell_at = now + self._tell(self.resolver, now)

    def _try(self, rep: RepositoryName, go_on: Callable[[RepositoryName], object]) -> None:
        try:
            go_on(rep)
        except IbiError as error:
            self._log.warning("a transfer cannot be gone on with at the moment", item=str(rep), reason=str(error))

    def _poll_resolver(self, now: int) -> None:
        if self.resolver is None or not self._polls or now < self._poll_at:
            return
        self._poll_at = now + _POLL
        with suppress(PeerSilent, PeerRefused):
            known = self.tracking.hear(self.resolver, self.chains, self.receiving)
            self._note_lost(known)

    def _note_lost(self, known: frozenset[RepositoryName]) -> None:
        """The resolver knows no more than these: it is told again of all others that came here or went from here."""
        after = ""
        while gone := self.ledger.list_outgoing(SenderStage.RELEASED, SenderStage.DONE, after=after):
            self._note_untold(known, (each.rep for each in gone))
            after = str(gone[-1].rep)
        after = ""
        while come := self.ledger.list_incoming(ReceiverStage.TAKEN, after=after):
            self._note_untold(known, (each.rep for each in come))
            after = str(come[-1].rep)

    def _note_untold(self, known: frozenset[RepositoryName], found: Iterable[RepositoryName]) -> None:
        for rep in found:
            if rep not in known:
                self.ledger.note_untold(rep)
                self._tell_at = 0.0

    def _tell(self, resolver: str, now: int) -> float:
        """Tell the resolver the chains that it has not confirmed; after how many seconds to do so again. One that it
        does not believe keeps none of the others from being told."""
        after = ""
        while untold := self.ledger.untold(_MOST, after):
            for rep in untold:
                try:
                    self._tell_one(resolver, rep, now)
                except PeerSilent:
                    return _TELL_AGAIN
            after = str(untold[-1])
        return _TELL_AGAIN if self._disbelieved else _IDLE

    def _tell_one(self, resolver: str, rep: RepositoryName, now: int) -> None:
        if now < self._disbelieved.get(rep, 0.0):
            return
        texts = self.chains.chain(rep).texts
        try:
            if texts:
                self._peers.tell(resolver, texts)
        except PeerRefused as error:
            self._disbelieved[rep] = now + _ASK_AGAIN
            self._log.warning("the resolver does not believe a release", item=str(rep), reason=str(error))
            return
        self._disbelieved.pop(rep, None)
        self.ledger.forget_untold(rep)
