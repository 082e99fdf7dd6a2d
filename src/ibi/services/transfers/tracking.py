"""What an Archive does that may have been put back from a backup: it asks others for its own releases before it calls
anything its Original again, and from time to time afterwards.

The resolver is asked first, and names the Archives that it knows; then these, and the Archives with which there was a
transfer. What they show is signed by this Archive itself.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock

import structlog

from ibi.errors import IbiError, InvalidInput
from ibi.federation.doubt import Doubt, Here, recall
from ibi.federation.provenance import Chain, ChainOrder, Release, check_chain, compare_chains
from ibi.federation.transfer import TransferRefused
from ibi.label import RepositoryName
from ibi.model.transfer import IncomingTransfer, ReceiverStage
from ibi.ports.transfers import PeerRefused, PeerSilent, TransferLedger, TransferPeers
from ibi.services.transfers.item_chains import ItemChains
from ibi.services.transfers.receiving import Receiving
from ibi.vocabulary import State


class StillInDoubt(IbiError):
    """This data directory may have been put back from a backup, and {witnesses} could not be asked whether Originals
    were given away since: nothing is transferred until they answer. If it was not put back, say so with
    `ibi transfers trust`."""

    code = "still-in-doubt"


class ItemInDoubt(IbiError):
    """{label} takes no change at the moment: this Archive may have been put back from a backup, and {witnesses} did not
    say yet whether Originals were given away since. Its server asks; try again later. If none was given away, its
    administrator ends the wait with `ibi transfers trust`."""

    code = "item-in-doubt"
    retry_after = 5


class Tracking:
    """Whether one Archive knows what it gave away. Calls block, from any thread, but for `in_doubt` and `is_silent`."""

    def __init__(self, ledger: TransferLedger, peers: TransferPeers, *, url: str, resolver: str | None) -> None:
        """`url` is the address of this Archive, `resolver` that of its resolver, if it is another server."""
        self._ledger, self._peers, self._url, self._resolver = ledger, peers, url, resolver
        self._doubt: Doubt | None = None
        self._asks = self._asked_elsewhere = False
        self._unheard_elsewhere = frozenset[str]()
        self._lock = Lock()
        self._log = structlog.get_logger("ibi.transfers")

    @property
    def in_doubt(self) -> bool:
        """Whether nothing may be released or taken over."""
        return self._doubt is not None

    @property
    def is_silent(self) -> bool:
        """Whether nothing may be called Original."""
        doubt = self._doubt
        return doubt is not None and doubt.is_grave and not self._asked_elsewhere

    @property
    def unheard(self) -> tuple[str, ...]:
        """Servers that did not answer yet; empty without doubt. Another process may be the one that asks."""
        doubt = self._doubt
        if doubt is None:
            return ()
        return tuple(sorted((not self._asks and self._unheard_elsewhere) or doubt.unheard))

    def begin(self, *, lost: bool = False, is_new: bool = False) -> None:
        """Look whether this is the directory that was used last. `lost` if something else says that it is not, which
        all processes know from then on; `is_new` if the Archive was begun a moment ago, and has nothing to have
        lost."""
        if is_new:
            self.trust()
            return
        if lost:
            self._ledger.lose_track()
        self.follow()

    def follow(self) -> None:
        """Be in doubt as long as the ledger says so: of several processes one asks, and all have to know the end of it;
        and one of them may have noticed alone that the directory was put back. To be called every moment."""
        if not self._ledger.has_lost_track():
            self._doubt, self._asked_elsewhere = None, False
            return
        if self._doubt is None:
            self._begin_doubt()
        if self._doubt is not None and not self._asks:
            self._asked_elsewhere = self._ledger.were_asked()
            self._unheard_elsewhere = self._ledger.unheard()

    def lead(self) -> None:
        """Be the process that asks, and by which all others go: not by what one before it, or a command, has noted."""
        self._asks, self._asked_elsewhere, doubt = True, False, self._doubt
        if doubt is not None:
            self._ledger.note_asked(asked=not doubt.is_grave)
            self._ledger.note_unheard(doubt.unheard)

    def _begin_doubt(self) -> None:
        doubt = Doubt(self._resolver, self._ledger.peers() - {self._url})
        if not doubt.witnesses:
            self.trust()
            return
        self._doubt = doubt
        self._log.warning(
            "this data directory may have been put back from a backup: others are asked what was given away since",
            asked=sorted(doubt.witnesses),
        )

    def trust(self) -> None:
        """Be sure that nothing was given away that is not known here."""
        self._ledger.keep_track()
        self._doubt, self._asked_elsewhere = None, False

    def keep_track(self) -> None:
        """To be called before anything is given away or taken over: another process may have noticed since the last
        look that the directory was put back, which puts it in doubt here as well."""
        if not self._ledger.renew_track():
            self.follow()

    def require_sure(self) -> None:
        if self.in_doubt:
            raise StillInDoubt(witnesses=", ".join(self.unheard)[:300])

    def require_changeable(self, name: str) -> None:
        """`ItemInDoubt` as long as the Original of an item may have been given away unknown to this Archive."""
        if self.is_silent:
            raise ItemInDoubt(label=name, witnesses=", ".join(self.unheard)[:300])

    def ask(self, chains: ItemChains, receiving: Receiving) -> bool:
        """Ask all who were not heard yet; whether there is doubt still."""
        with self._lock:
            while (doubt := self._doubt) is not None:
                for witness in sorted(doubt.unheard, key=lambda each: each != doubt.resolver):
                    self._ask_witness(witness, chains, receiving)
                if self._doubt is None or self._doubt.witnesses == doubt.witnesses:
                    break
            if doubt is not None and not self.is_silent:
                self._ledger.note_asked(asked=True)
            if self._doubt is not None:
                self._ledger.note_unheard(self._doubt.unheard)
            return self.in_doubt

    def _ask_witness(self, witness: str, chains: ItemChains, receiving: Receiving) -> None:
        doubt = self._doubt
        if doubt is None:
            return
        heard = self.listen(witness, chains, receiving)
        doubt = doubt.after(witness, heard=heard)
        if heard and witness == doubt.resolver:
            with suppress(PeerSilent, PeerRefused):
                doubt = doubt.with_receivers(set(self._peers.archives(witness)) - {self._url, witness})
        if doubt.is_over:
            self._log.info("all were asked what was given away")
            self.trust()
        else:
            self._doubt = doubt

    def listen(self, witness: str, chains: ItemChains, receiving: Receiving) -> bool:
        """Ask one server for the chains of this Archive, and believe what it signed itself; whether it answered."""
        try:
            self.hear(witness, chains, receiving)
        except PeerRefused:
            return True  # one that does not know the question knows no releases
        except PeerSilent:
            return False
        return True

    def hear(self, witness: str, chains: ItemChains, receiving: Receiving) -> frozenset[RepositoryName]:
        """The same; the items of whose chains the server knows as much as this Archive. `PeerSilent`, `PeerRefused`."""
        found = self._peers.releases(witness, chains.service.labels[0])
        known = (self._learn(name, texts, witness, chains, receiving) for name, texts in found)
        return frozenset(rep for rep in known if rep is not None)

    def _learn(
        self, name: str, texts: tuple[str, ...], witness: str, chains: ItemChains, receiving: Receiving
    ) -> RepositoryName | None:
        """Take in a chain; the item, unless more of its chain is known here."""
        try:
            rep = RepositoryName.parse(name)
            here = chains.here(rep)
            chain = recall(here, texts)
            if chain is not None and chains.keep_chain(rep, chain, "transfer"):
                self._ledger.note_untold(rep)
                self._log.warning("a release of this Archive was not known here any more", item=name, told_by=witness)
            if witness == self._resolver:
                self._go_on_with_lost(texts, here, receiving, witness)
            else:
                self._claim_back(check_chain(texts, lambda *_: True), here.state, chains, receiving, witness)
        except InvalidInput as error:
            self._log.warning("a chain of this Archive is not believed", item=name, told_by=witness, reason=str(error))
            return None
        return None if compare_chains(here.chain.texts, texts) is ChainOrder.OLDER else rep

    def _go_on_with_lost(self, texts: tuple[str, ...], here: Here, receiving: Receiving, resolver: str) -> None:
        """What the resolver released to this Archive in the place of a lost one, which it had asked for before it was
        stopped (E97)."""
        release = check_chain(texts, lambda *_: True).last_release
        if release is None or release.by is None or release.to not in here.service.labels or len(texts) % 2 == 0:
            return
        try:
            receiving.take_lost(release.labels, texts, resolver)
        except TransferRefused as error:
            item = str(release.labels.labels[0])
            self._log.warning("what the resolver gives cannot be taken over", item=item, reason=str(error))

    @staticmethod
    def _claim_back(chain: Chain, state: State | None, chains: ItemChains, receiving: Receiving, witness: str) -> None:
        """What this Archive had taken over, countersigned, and lost with the backup is brought again."""
        release = chain.last_release
        if chain.is_under_way or release is None or state not in (None, State.COPY):
            return
        keys = chains.here(release.labels.labels[0]).keys
        given = next(link for link in reversed(chain.links) if isinstance(link.said, Release))
        if release.to not in chains.service.labels or chain.links[-1].signer not in keys:
            return
        receiving.restart(
            IncomingTransfer(
                release.labels,
                release.giver,
                given.signer,
                witness,
                release.number,
                release.manifest,
                ReceiverStage.ACCEPTED,
            )
        )
