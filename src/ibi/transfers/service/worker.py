"""Asks other servers for this Archive's own releases, after a possible restore from a backup.

It asks before it calls any item its Original again, and from time to time afterwards. It asks the resolver first, which
names the Archives that it knows. Then it asks these Archives, and the Archives of earlier transfers. It believes only
those parts of their chains that it signed itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import Event, Lock
from typing import Final

import structlog

from ibi.items.model.item import Item
from ibi.items.rules.provenance import Chain, ChainOrder, check_chain, compare_chains
from ibi.jobs.limits import hold_alone
from ibi.jobs.runner import Job
from ibi.standard.errors import ErrorKind, IbiError, InvalidInput
from ibi.standard.label import Label, RepositoryName
from ibi.transfers.model import IncomingTransfer, ReceiverStage, SenderStage
from ibi.transfers.ports import PeerRefused, PeerSilent, TransferLedger, TransferPeers
from ibi.transfers.rules.doubt import Doubt, Here, recall
from ibi.transfers.rules.transfer import TransferRefused
from ibi.transfers.service.comparison import ChainComparison
from ibi.transfers.service.item_chains import ItemChains
from ibi.transfers.service.open_items import OpenItems
from ibi.transfers.service.receiving import Receiving
from ibi.transfers.service.sending import Originals, Sending


class StillInDoubt(IbiError):
    """This data directory may have been put back from a backup, and {witnesses} could not be asked whether Originals
    were given away since: nothing is transferred until they answer. If it was not put back, say so with
    `ibi transfers trust`."""

    code = "still-in-doubt"
    kind = ErrorKind.UNAVAILABLE


class ItemInDoubt(IbiError):
    """{label} takes no change at the moment: this Archive may have been put back from a backup, and {witnesses} did not
    say yet whether Originals were given away since. Its server asks; try again later. If none was given away, its
    administrator ends the wait with `ibi transfers trust`."""

    code = "item-in-doubt"
    kind = ErrorKind.UNAVAILABLE
    retry_after = 5


_RECENT: Final = 86_400
"""Seconds after a restore in which other Archives are asked more often about Originals that were given away."""
_LATE_AGAIN: Final = 60
"""Seconds until a silent witness is asked again, if the question failed within `_LATE_SLOW` seconds."""
_LATE_SELDOM: Final = 600
"""Seconds until a silent witness is asked again, if the question took longer to fail."""
_LATE_SLOW: Final = 2.0
_LATE_STEP: Final = 5.0
"""Seconds after which a step asks no further witness, because the same thread also makes the steps of transfers."""


class LateWitnesses:
    """Witnesses of a restore whose answers nothing waits for: Archives that were switched off then, and Archives that
    are followed here. Each is asked for a day, until it has answered once."""

    def __init__(self, peers: TransferPeers, resolver: str | None, url: str) -> None:
        self._peers, self._resolver, self._url = peers, resolver, url
        self._began: float | None = None
        self._is_new = False
        self._heard: set[str] = set()
        self._again: dict[str, float] = {}
        """The time of the next question to each silent Archive."""
        self._look_at = 0.0
        self._places: frozenset[str] = frozenset()

    def begin(self) -> None:
        self._is_new = True
        self._heard, self._again, self._look_at = set(), {}, 0.0

    def is_recent(self, now: float) -> bool:
        if self._is_new:
            self._is_new, self._began = False, now
        return self._began is not None and now < self._began + _RECENT

    def due(self, now: float, sources: Iterable[str]) -> Iterator[str]:
        """Yield the Archives to ask now."""
        if not self.is_recent(now):
            return
        if now >= self._look_at:
            self._look_at, self._places = now + _LATE_AGAIN, self._find_places()
        began = time.monotonic()
        for place in sorted((self._places | {each.rstrip("/") for each in sources}) - self._heard - {self._url}):
            if self._again.get(place, 0.0) <= now and time.monotonic() < began + _LATE_STEP:
                yield place

    def _find_places(self) -> frozenset[str]:
        if self._resolver is None:
            return self._places
        try:
            found = {**self._peers.away(self._resolver), **self._peers.archives(self._resolver)}
        except (PeerSilent, PeerRefused):
            return self._places
        return self._places | frozenset(found.values())

    def note_heard(self, witness: str) -> None:
        self._heard.add(witness)

    def note_silent(self, witness: str, now: float, took: float) -> None:
        self._again[witness] = now + (_LATE_SELDOM if took > _LATE_SLOW else _LATE_AGAIN)


class Tracking:
    """Tracks whether one Archive knows which Originals it gave away. Calls block, from any thread, except `in_doubt`
    and `is_silent`."""

    def __init__(
        self,
        ledger: TransferLedger,
        peers: TransferPeers,
        *,
        url: str,
        resolver: str | None,
        is_alone: Callable[[], bool] = lambda: False,
    ) -> None:
        """`url` is the address of this Archive, `resolver` the address of its resolver. If both are the same server,
        `is_alone` returns whether its register has no other Archive."""
        self._ledger, self._peers, self._url, self._resolver = ledger, peers, url, resolver
        self._is_alone = is_alone
        self._doubt: Doubt | None = None
        self._asks = self._asked_elsewhere = False
        self._unheard_elsewhere = frozenset[str]()
        self.open_items = OpenItems(ledger)
        """As of a second ago."""
        self._lock = Lock()
        self._log = structlog.get_logger("ibi.transfers")
        self.sources: Callable[[], Iterable[str]] = tuple
        """Returns the Archives that are followed here. They may know of Originals that were given to this Archive."""
        self._late = LateWitnesses(peers, resolver, url)
        self.comparison: ChainComparison | None = None
        """Repairs the consequences of restores with the chains of other Archives. Set before the first question."""

    @property
    def in_doubt(self) -> bool:
        """True if this Archive must neither release nor take over an Original."""
        return self._doubt is not None

    @property
    def is_silent(self) -> bool:
        """True if this Archive must not call any item Original."""
        doubt = self._doubt
        return doubt is not None and doubt.is_grave and not self._asked_elsewhere

    @property
    def unheard(self) -> tuple[str, ...]:
        """Servers that have not answered yet; empty if there is no doubt. Another process may do the asking."""
        doubt = self._doubt
        if doubt is None:
            return ()
        return tuple(sorted((not self._asks and self._unheard_elsewhere) or doubt.unheard))

    def is_awaited(self, labels: Iterable[Label], given_to: Label | None) -> bool:
        """Return the same as `OpenItems.is_awaited`: whether an Original that is missing here belongs here."""
        return self.open_items.is_awaited(labels, given_to)

    def begin(self, *, lost: bool = False, is_new: bool = False) -> None:
        """Check whether this is the directory that was used last. `lost` is True if another source denies that; all
        processes then learn of it. `is_new` is True if the Archive was begun a moment ago, and has nothing to lose."""
        if is_new:
            self.trust()
            return
        if lost:
            self._ledger.lose_track()
        self.follow()

    def follow(self) -> None:
        """Read from the ledger whether there is doubt. Only one process asks the witnesses, and perhaps only one
        noticed the restore, but all processes need the result. So each process calls this again and again."""
        self.open_items.follow()
        if not self._ledger.has_lost_track():
            self._doubt, self._asked_elsewhere = None, False
            return
        if self._doubt is None:
            self._begin_doubt()
        if self._doubt is not None and not self._asks:
            self._asked_elsewhere = self._ledger.were_asked()
            self._unheard_elsewhere = self._ledger.unheard()

    def lead(self) -> None:
        """Become the process that asks. The other processes use its notes, and not the notes of an earlier process or
        of a command."""
        self._asks, self._asked_elsewhere, doubt = True, False, self._doubt
        if doubt is not None:
            self._ledger.note_asked(asked=not doubt.is_grave)
            self._ledger.note_unheard(doubt.unheard)

    def _begin_doubt(self) -> None:
        doubt = self._find_doubt()
        self._late.begin()
        if not doubt.witnesses:
            self.trust()
            return
        self._doubt = doubt
        self._log.warning(
            "this data directory may have been put back from a backup: others are asked what was given away since",
            asked=sorted(doubt.witnesses),
        )

    def _find_doubt(self) -> Doubt:
        peers = self._ledger.peers() - {self._url}
        if self._resolver != self._url:
            return Doubt(self._resolver, peers)
        if self._is_alone():
            return Doubt(None, peers)
        with suppress(PeerSilent):
            peers |= set(self._peers.archives(self._url).values()) - {self._url}
        return Doubt(self._resolver, peers)

    def trust(self) -> None:
        """End the doubt: this directory knows of every Original that was given away."""
        self._ledger.keep_track()
        self._doubt, self._asked_elsewhere = None, False

    def keep_track(self) -> None:
        """Renew the track before an Original is given away or taken over. If another process has noticed a restore
        since the last look, there is doubt in this process as well."""
        if not self._ledger.renew_track():
            self.follow()

    def is_recent(self, now: float) -> bool:
        """Return whether the directory may have been restored a short time ago. Then other Archives are asked more
        often."""
        return self._late.is_recent(now)

    def ask_late(self, now: float, chains: ItemChains, receiving: Receiving) -> None:
        """Ask the Archives that were away when the doubt ended, and the followed Archives. Nothing waits for their
        answers."""
        for witness in self._late.due(now, self.sources()):
            began = time.monotonic()
            if self.listen(witness, chains, receiving):
                self._late.note_heard(witness)
            else:
                self._late.note_silent(witness, now, time.monotonic() - began)

    def require_sure(self) -> None:
        if self.in_doubt:
            raise StillInDoubt(witnesses=", ".join(self.unheard)[:300])

    def require_changeable(self, name: str) -> None:
        """Raise `ItemInDoubt` if this Archive may have given the Original away without knowing it any more."""
        if self.is_silent:
            raise ItemInDoubt(label=name, witnesses=", ".join(self.unheard)[:300])

    def ask(self, chains: ItemChains, receiving: Receiving) -> bool:
        """Ask the witnesses that have not answered yet. Return whether there is still doubt."""
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

    def ask_own_resolver(self, chains: ItemChains, receiving: Receiving) -> None:
        """Ask before the server serves anything, if its own resolver is the only witness. That answer comes from
        files."""
        doubt = self._doubt
        if doubt is not None and doubt.witnesses == {self._url}:
            self.ask(chains, receiving)

    def _ask_witness(self, witness: str, chains: ItemChains, receiving: Receiving) -> None:
        doubt = self._doubt
        if doubt is None:
            return
        heard = self.listen(witness, chains, receiving)
        if heard:
            self._late.note_heard(witness)
        doubt = doubt.after(witness, heard=heard)
        if heard and witness == doubt.resolver:
            with suppress(PeerSilent, PeerRefused):
                doubt = doubt.with_receivers(set(self._peers.archives(witness).values()) - {self._url, witness})
        if doubt.is_over:
            self._log.info("all were asked what was given away")
            self.trust()
        else:
            self._doubt = doubt

    def listen(self, witness: str, chains: ItemChains, receiving: Receiving) -> bool:
        """Ask one server for the chains of this Archive, and believe the parts that this Archive signed. Return whether
        the server answered."""
        try:
            self.hear(witness, chains, receiving)
        except PeerRefused:
            return True  # a server without this question knows no releases
        except PeerSilent:
            return False
        return True

    def hear(self, witness: str, chains: ItemChains, receiving: Receiving) -> frozenset[RepositoryName]:
        """Ask one server as `listen` does. Return the items of which the server knows the whole chain that is known
        here. Raise `PeerSilent` or `PeerRefused` without an answer."""
        found = self._peers.releases(witness, chains.service.labels[0])
        known = (self._learn(name, texts, witness, chains, receiving) for name, texts in found)
        return frozenset(rep for rep in known if rep is not None)

    def _learn(
        self, name: str, texts: tuple[str, ...], witness: str, chains: ItemChains, receiving: Receiving
    ) -> RepositoryName | None:
        """Take in a chain. Return its item, or None if a longer chain is known here."""
        try:
            rep = RepositoryName.parse(name)
            here = chains.here(rep)
            self._take_in(rep, here, texts, witness, chains)
            if witness == self._resolver:
                self._go_on_with_lost(texts, here, receiving, witness)
        except InvalidInput as error:
            self._log.warning("a chain of this Archive is not believed", item=name, told_by=witness, reason=str(error))
            return None
        return None if compare_chains(here.chain.texts, texts) is ChainOrder.OLDER else rep

    def _take_in(
        self, rep: RepositoryName, here: Here, texts: tuple[str, ...], told_by: str, chains: ItemChains
    ) -> bool:
        """Take in the parts of a chain that this Archive signed. Return whether any part was new."""
        chain = recall(here, texts)
        is_kept = chain is not None and chains.keep_chain(rep, chain, "transfer")
        if is_kept:
            self._ledger.note_untold(rep)
            self._log.warning("a release of this Archive was not known here any more", item=str(rep), told_by=told_by)
        is_learned = self.comparison is not None and self.comparison.learn(rep, texts)
        if (is_kept or is_learned) and self.comparison is not None:
            is_archive = told_by.startswith("http") and told_by != self._resolver
            look = self.comparison.note if is_learned else self.comparison.look_again
            look(rep, told_by if is_archive else "")
        return is_kept or is_learned

    def take_told(self, texts: tuple[str, ...], chains: ItemChains) -> bool:
        """Take in a chain from any sender. Return whether it had a new part, signed by this Archive."""
        try:
            chain = check_chain(texts, lambda _who, _key: True)
            release, ours = chain.first_release, chains.service.labels
            if release is None or release.labels.rep is None or not any(_is_in(each, chain) for each in ours):
                return False
            rep = release.labels.rep
            return self._take_in(rep, chains.here(rep), texts, "an Archive", chains)
        except InvalidInput:
            return False  # the resolver gives the reason
        except IbiError as error:
            self._log.warning("a chain that was told cannot be taken in", reason=str(error))
            return False

    def _go_on_with_lost(self, texts: tuple[str, ...], here: Here, receiving: Receiving, resolver: str) -> None:
        """Take over an Original that the resolver released in the place of a lost Archive. This Archive asked for the
        Original before it was stopped (E97)."""
        release = check_chain(texts, lambda *_: True).last_release
        if release is None or release.by is None or release.to not in here.service.labels or len(texts) % 2 == 0:
            return
        try:
            receiving.take_lost(release.labels, texts, resolver)
        except TransferRefused as error:
            item = str(release.labels.labels[0])
            self._log.warning("what the resolver gives cannot be taken over", item=item, reason=str(error))


def _is_in(service: Label, chain: Chain) -> bool:
    """Return whether the Archive gave or took the Original in one of the releases."""
    release = chain.first_release
    return service in chain.successors or (release is not None and service == release.giver)


_IDLE: Final = 1.0
"""Seconds between two rounds of work."""
_MOST: Final = 100
"""Maximum transfers of each direction that one round resumes."""
_TELL_AGAIN: Final = 60
"""Seconds until an unconfirmed chain is sent to the resolver again."""
_ASK_AGAIN: Final = 3600
"""Seconds until a chain that the resolver did not believe is sent again. The resolver may know the sender by then."""
_POLL: Final = 600
"""Seconds between two questions to the resolver about the releases of this Archive."""
_POLL_RECENT: Final = 60
"""The same on the day after a restore. Archives that were away may then tell the resolver chains that are unknown
here."""
_LOOK: Final = 15
"""Seconds between two checks whether the resolver was restarted."""
_FORGET: Final = 3600
"""Seconds between two deletions of offers that came to nothing."""


class TransferWorker:
    """The transfers of one Archive. `wake` may be called from any thread."""

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
        now: Callable[[], float] = time.time,
        hold: Callable[[], bool] = hold_alone,
    ) -> None:
        """If there are several processes, only the process for which `hold` returns True resumes transfers."""
        self.chains, self.ledger, self.sending, self.receiving, self.tracking = (
            chains,
            ledger,
            sending,
            receiving,
            tracking,
        )
        self._peers, self.resolver, self._now = peers, resolver, now
        self._hold, self._log = hold, structlog.get_logger("ibi.transfers")
        self._stopping = Event()
        self._job = Job("transfers", self._go_on, _IDLE, stopping=self._stopping)
        self._tell_at = self._ask_at = 0.0
        self._poll_at = self._forget_at = self._look_at = 0.0
        self._run = ""
        self._disbelieved: dict[RepositoryName, float] = {}
        """For each chain that the resolver did not believe, the time of the next attempt."""
        self._doubts = 0

    def ask_for_lost(self, item: Item) -> IncomingTransfer:
        """Take over the Original of a Copy whose Archive is lost. `TransferRefused`, `PeerRefused`, `PeerSilent`."""
        if self.resolver is None:
            raise TransferRefused(label=str(item.rep), reason="this Archive has no resolver, which could decide it")
        return self.receiving.ask_for_lost(item, self.resolver)

    def yield_original(self, item: Item, originals: Originals, token: str | None = None) -> Label:
        """Turn the item into a Copy, because a dispute was settled for another Archive. Return that Archive."""
        if self.resolver is None:
            raise TransferRefused(label=str(item.rep), reason="this Archive has no resolver, which could say so")
        return self.sending.yield_original(item, self.resolver, originals, token)

    def jobs(self) -> tuple[Job, ...]:
        return (self._job,)

    def wake(self) -> None:
        """Make the next round of work begin at once."""
        self._job.wake()

    def tell_again(self) -> None:
        """Compare soon with the resolver, which may have lost chains. May be called from any thread."""
        self._forget_told()
        self.wake()

    def _forget_told(self) -> None:
        self._poll_at = self._tell_at = 0.0
        self._disbelieved = {}

    def take_told(self, texts: tuple[str, ...]) -> None:
        """Take in a chain that the resolver of this server got, if this Archive signed its new part. May be called from
        any thread."""
        if self.tracking.take_told(texts, self.chains):
            self.wake()

    def _go_on(self) -> None:
        self.tracking.follow()  # only one of several processes asks
        if self._hold():
            self.step()

    def step(self) -> None:
        """Do one round of the work that is due. Blocks."""
        now = int(self._now())
        self.tracking.lead()
        self._look_for_restart(now)
        # First: if the resolver gave an Original in the place of this Archive, it must not be given again.
        self._poll_resolver(now)
        if self.tracking.in_doubt and now >= self._ask_at:
            self._ask_at = now + min(1 << min(self._doubts, 6), 60)
            self._doubts += 1
            self.tracking.ask(self.chains, self.receiving)
        elif not self.tracking.in_doubt:
            self.tracking.ask_late(now, self.chains, self.receiving)
        for out in self.ledger.due_outgoing(now, _MOST):
            if not self._stopping.is_set():
                self._try(out.rep, self.sending.go_on)
        for come in self.ledger.due_incoming(now, _MOST):
            if not self._stopping.is_set():
                self._try(come.rep, self.receiving.go_on)
        if self.tracking.comparison is not None:
            self.tracking.comparison.step()
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

    def _look_for_restart(self, now: int) -> None:
        """Plan a comparison with the resolver if it was restarted: it may have been restored from a backup."""
        if self.resolver is None or now < self._look_at:
            return
        try:
            run = self._peers.run_of(self.resolver, self.chains.service.labels[0])
        except (PeerSilent, PeerRefused):
            run = self._run
        # A resolver that makes this Archive wait is asked less often.
        self._look_at = now + _LOOK + 4 * max(0.0, self._now() - now)
        if run != self._run:
            self._run = run
            self._forget_told()

    def _poll_resolver(self, now: int) -> None:
        if self.resolver is None or now < self._poll_at:
            return
        self._poll_at = now + (_POLL_RECENT if self.tracking.is_recent(now) else _POLL)
        with suppress(PeerSilent, PeerRefused):
            known = self.tracking.hear(self.resolver, self.chains, self.receiving)
            self._note_lost(known)

    def _note_lost(self, known: frozenset[RepositoryName]) -> None:
        """Queue the chains of all Originals that came here or went from here, to be told to the resolver. Leave out
        `known` ones."""
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
        """Tell the resolver the unconfirmed chains. Return the seconds until the next time.

        0 stands for the next step. If the resolver does not believe a chain, the other chains are told all the same.
        """
        after = ""
        while untold := self.ledger.untold(_MOST, after):
            for rep in untold:
                try:
                    self._tell_one(resolver, rep, now)
                except PeerSilent:
                    return _TELL_AGAIN
            after = str(untold[-1])
        return _TELL_AGAIN if self._disbelieved else 0.0

    def _tell_one(self, resolver: str, rep: RepositoryName, now: int) -> None:
        if now < self._disbelieved.get(rep, 0.0):
            return
        texts = self.chains.chain(rep).texts or self.ledger.chain(rep)
        try:
            if texts:
                self._peers.tell(resolver, texts)
        except PeerRefused as error:
            self._disbelieved[rep] = now + _ASK_AGAIN
            self._log.warning("the resolver does not believe a release", item=str(rep), reason=str(error))
            return
        self._disbelieved.pop(rep, None)
        self.ledger.forget_untold(rep)
