"""Compares the chains of items with their states, and repairs disagreements (E102).

Sources of a release, in this order: the item's object, the ledger, the resolver, any Archive with a Copy. `Tracking`
takes in the chains from the last two; this job acts on them. `ibi.transfers.rules.repair` has the rules.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

import structlog

from ibi.copies.ports import SourceCut
from ibi.items.rules.provenance import NO_CHAIN, Chain, Release, check_chain, read_link
from ibi.standard.errors import IbiError, InvalidInput
from ibi.standard.label import Label, RepositoryName
from ibi.transfers.model import IncomingTransfer, OpenItem, OpenProblem, ReceiverStage
from ibi.transfers.ports import PeerRefused, PeerSilent, TransferLedger, TransferPeers
from ibi.transfers.rules.repair import (
    AwaitWitnesses,
    FetchContent,
    LearnRelease,
    RepairStep,
    Settled,
    TellReceiver,
    believe,
    newest_chain,
    next_repair,
    own_chain,
)
from ibi.transfers.rules.transfer import TakeOver
from ibi.transfers.rules.transfer_messages import Offer, read_reply, sign_offer
from ibi.transfers.service.item_chains import ItemChains
from ibi.transfers.service.receiving import BringsCopies

AGAIN: Final = 60
"""Seconds until the next look at an open item."""
_DAY: Final = 86_400
_RECENT: Final = 7 * _DAY
"""Maximum age of a release in seconds. At the start, the receivers of such releases are asked whether they still have
the Original."""
_SELDOM: Final = 600
"""Longest wait in seconds before a silent receiver is asked again. A receiver that comes back asks this Archive by
itself."""
_SLICE: Final = 200
"""Maximum items that one step compares."""
_IDLE: Final = 1.0
_BETWEEN: Final = 0.2
"""Seconds between two slices."""
_END: Final = object()
_MOST: Final = 50
"""Maximum open items that one step looks at."""
_LONGEST_STEP: Final = 10.0
"""Seconds after which a step ends, even if more items are due."""
_FIRST_REST: Final = 5.0
"""Seconds before a silent Archive is asked again."""
_AWAIT: Final = 2
"""Seconds between two looks at an item while the answers of other Archives are awaited. The look itself asks nobody."""
_FIRST_LOOKS: Final = 5
"""Number of first looks at an open item, which follow each other quickly. Other Archives that were restored together
with this one may still be starting."""
_RECEIVER_LOOKS: Final = 20
_RECEIVER_SOON: Final = 8
"""The number of quick first looks while a receiver takes the Original, and the longest wait between them in seconds."""
_MOST_ASKED: Final = 20
"""Maximum Archives that one look asks for the bytes of an item. The next look asks others."""
_MOST_TURNS: Final = 4
_LONGEST_REASON: Final = 300


class ChainComparison:
    """The comparison of one Archive. Calls block; `step` belongs to one thread of one process."""

    def __init__(
        self,
        chains: ItemChains,
        ledger: TransferLedger,
        peers: TransferPeers,
        copies: BringsCopies,
        *,
        url: str,
        resolver: str | None,
        unheard: Callable[[], tuple[str, ...]] = tuple,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`url` is the address of this Archive, `resolver` that of its resolver. `unheard` returns the servers that
        have not yet said which Originals were given away."""
        self._chains, self._ledger, self._peers, self._copies = chains, ledger, peers, copies
        self._url, self._resolver, self._unheard, self._now = url, resolver, unheard, now
        self._walk: Iterator[None] | None = None
        self._walk_at = 0.0
        self._given: dict[Label, dict[RepositoryName, Chain]] = {}
        """Chains of recent transfers by receiver, as found at the start. Each receiver is asked once about its
        chains."""
        self._is_first_walk, self._start, self._given_until = True, 0, 0.0
        self._receivers_at, self._receivers_rest = 0.0, AGAIN
        self._looks: dict[RepositoryName, int] = {}
        self._silent_until: dict[str, float] = {}
        self._places: tuple[float, Mapping[Label, str]] = (float("-inf"), {})
        self._log = structlog.get_logger("ibi.transfers")

    def step(self) -> float:
        """Compare the next part of all items if a comparison is due, and look at due open items. Return the seconds
        until the next step."""
        now = int(self._now())
        self._start = self._start or now
        if now >= self._walk_at and self._walk is None:
            self._walk, self._walk_at = self._compare_all(), now + _DAY
        if self._walk is not None:
            self._go_on_walking(self._walk, now)
        self._ask_receivers(now)
        for item in self._ledger.due_open(now, _MOST):
            if self._now() - now > _LONGEST_STEP:
                break  # the same thread also makes the steps of transfers
            self._try(item, now)
        return _IDLE if self._walk is None else _BETWEEN

    def _go_on_walking(self, walk: Iterator[None], now: int) -> None:
        try:
            if next(walk, _END) is _END:
                self._walk, self._is_first_walk = None, False
        except IbiError:
            self._walk, self._walk_at = None, now + AGAIN
            raise

    def learn(self, rep: RepositoryName, texts: tuple[str, ...]) -> bool:
        """Store a chain from another Archive, if this Archive signed the new part of the chain. Return whether it was
        stored. Raise `InvalidProvenance` if the chain is invalid, or contradicts the own chain."""
        here = self._chains.here(rep)
        chain = believe(here, own_chain(here, self._remembered(rep)), texts)
        if chain is None or chain.links[0].said.labels.rep != rep:
            return False
        self.remember(rep, chain)
        return True

    def remember(self, rep: RepositoryName, chain: Chain) -> None:
        """Store the chain of an item in the ledger. There it outlives the object of the item."""
        first = chain.first_release
        services = () if first is None else (first.giver, *chain.successors)
        self._ledger.note_chain(rep, chain.texts, services)

    def note(self, rep: RepositoryName, hint: str = "") -> None:
        """Make an item open, to be looked at soon. `hint` is the address of an Archive that knows more about the
        item."""

        def open_item(known: OpenItem | None) -> OpenItem:
            if known is None:
                return OpenItem(rep, hint=hint, since=int(self._now()))
            return replace(known, hint=hint or known.hint, due=0)

        self._ledger.change_open(rep, open_item)

    def _remembered(self, rep: RepositoryName) -> Chain:
        return _read_chain(self._ledger.chain(rep))

    def _compare_all(self) -> Iterator[None]:
        """First compare the ledger with the objects, for each chain that names this Archive: an object may be gone, or
        older. Then compare the chain of each object with its state."""
        service, name = self._chains.service.labels[0], ""
        while found := self._ledger.chains_of(service, name, _SLICE):
            for rep, _ in found:
                self._compare(rep)
            name = str(found[-1][0])
            yield
        after: RepositoryName | None = None
        while True:
            moved, after = self._chains.moved(after, _SLICE)
            for item, chain in moved:
                self._remember_object(item.rep, chain)
                self._compare(item.rep)
            if after is None:
                return
            yield

    def _remember_object(self, rep: RepositoryName, chain: Chain) -> None:
        with suppress(IbiError):
            if newest_chain(self._chains.here(rep), self._remembered(rep)).texts == chain.texts:
                self.remember(rep, chain)

    def _compare(self, rep: RepositoryName) -> None:
        try:
            here = self._chains.here(rep)
        except IbiError as error:
            self._log.warning("a chain cannot be compared", item=str(rep), reason=str(error))
            return
        known = newest_chain(here, self._remembered(rep))
        step = next_repair(here, known)
        if isinstance(step, TellReceiver) and not known.is_under_way:
            if self._is_first_walk and step.release.at.seconds >= self._start - _RECENT:
                self._note_given(rep, step)
            return
        if isinstance(step, Settled):
            return
        if isinstance(step, TellReceiver) and self._is_sent(rep):
            return
        self.note(rep)

    def look_again(self, rep: RepositoryName, hint: str = "") -> None:
        """Look at an item after its object got a new release. If the receiver has countersigned the release, only ask
        whether it still has the Original."""
        here = self._chains.here(rep)
        known = newest_chain(here, self._remembered(rep))
        step = next_repair(here, known)
        if isinstance(step, TellReceiver) and not known.is_under_way:
            self._note_given(rep, step)
            self._receivers_at, self._receivers_rest = 0.0, AGAIN
        elif not isinstance(step, Settled):
            self.note(rep, hint)

    def _note_given(self, rep: RepositoryName, step: TellReceiver) -> None:
        self._given.setdefault(step.release.to, {})[rep] = step.chain
        self._given_until = self._now() + _DAY

    def _ask_receivers(self, now: int) -> None:
        """Ask the receivers of recent transfers once after the start. A receiver that was restored while this Archive
        was away gets its chains again."""
        if self._is_first_walk or not self._given or now < self._receivers_at:
            return
        self._receivers_at, self._receivers_rest = now + self._receivers_rest, min(2 * self._receivers_rest, _SELDOM)
        places = self._find_places()
        for receiver, given in list(self._given.items()):
            out = next((out for rep in list(given) if (out := self._ledger.outgoing(rep)) is not None), None)
            place = places.get(receiver) or ("" if out is None else out.receiver)
            if place and self._has_answered(place, dict(given)):
                self._given.pop(receiver, None)
        if now >= self._given_until:
            self._given.clear()

    def _has_answered(self, place: str, given: Mapping[RepositoryName, Chain]) -> bool:
        """Return whether the receiver answered. An item becomes open if the receiver does not know its chain."""
        try:
            told = self._peers.releases(place, self._chains.service.labels[0])
            known = {name.lower(): len(texts) for name, texts in told}
        except PeerRefused:
            return True
        except PeerSilent:
            return False
        for rep, chain in given.items():
            if known.get(str(rep).lower(), 0) < len(chain.links):
                self.note(rep)
        return True

    def _is_sent(self, rep: RepositoryName) -> bool:
        """Return whether a transfer of the item is still under way. Then the transfer tells the receiver."""
        out = self._ledger.outgoing(rep)
        return out is not None and not out.stage.is_final

    def _try(self, item: OpenItem, now: int) -> None:
        try:
            after = self._look(item)
        except IbiError as error:
            after = replace(item, problem=OpenProblem.CONTRADICTED, reason=_shorten(error))
        if after is None:
            self._looks.pop(item.rep, None)
        else:
            after = replace(after, due=now + self._next_look(after))
            if (after.problem, after.reason) != (item.problem, item.reason):
                self._log.warning(
                    "the chain of an item and its state do not agree",
                    item=str(item.rep),
                    problem=after.problem.value,
                    reason=after.reason,
                )
        self._ledger.change_open(item.rep, lambda known: _merge_look(known, item, after))

    def _next_look(self, item: OpenItem) -> int:
        """Return the seconds until the next look at an open item."""
        if item.problem is OpenProblem.IN_DOUBT and self._unheard():
            return _AWAIT
        looks = self._looks[item.rep] = self._looks.get(item.rep, 0) + 1
        if item.problem is OpenProblem.NOT_TAKEN and looks <= _RECEIVER_LOOKS:
            return min(1 << looks, _RECEIVER_SOON)
        return 1 << looks if looks <= _FIRST_LOOKS else AGAIN

    def _is_silent(self, place: str) -> bool:
        """Return whether an Archive was silent a moment ago. Such an Archive is not asked again for each open item."""
        return self._silent_until.get(place, 0.0) > self._now()

    def _note_silent(self, place: str) -> None:
        self._silent_until[place] = self._now() + _FIRST_REST

    def _look(self, item: OpenItem) -> OpenItem | None:
        """Make all steps that are possible now. Return the item if something stays open, or None."""
        self._ask_hint(item)
        for _ in range(_MOST_TURNS):
            here = self._chains.here(item.rep)
            known = newest_chain(here, self._remembered(item.rep))
            left, goes_on = self._do(item, known, next_repair(here, known))
            if not goes_on:
                return left
        return replace(item, reason="it changes while it is looked at")

    def _do(self, item: OpenItem, known: Chain, step: RepairStep) -> tuple[OpenItem | None, bool]:
        """Make one step. Return the item if something stays open, or None; and whether another step is possible now."""
        match step:
            case LearnRelease(chain):
                if not self._chains.keep_chain(item.rep, chain, "transfer"):
                    return self._open(item, known, OpenProblem.CONTRADICTED, "the object here cannot be changed"), False
                self._ledger.note_untold(item.rep)
                return None, True
            case TellReceiver():
                return self._tell(item, step)
            case AwaitWitnesses():
                reason = f"not heard yet: {', '.join(self._unheard())}"
                return self._open(item, known, OpenProblem.IN_DOUBT, reason), False
            case FetchContent() | TakeOver():
                if (blocked := self._find_obstacle(item, known)) is not None:
                    return blocked, False
                return self._fetch(item, step) if isinstance(step, FetchContent) else self._take_over(item, step)
        return None, False

    def _find_obstacle(self, item: OpenItem, known: Chain) -> OpenItem | None:
        """Return the open item with an obstacle, or None. By the chain, this Archive has to take its Original back. It
        must not if a dispute was settled for another Archive (E98)."""
        if self._chains.has_yielded(item.rep):
            return self._open(item, known, OpenProblem.CONTRADICTED, "this Archive yielded the Original in a dispute")
        if self._resolver is None:
            return None
        try:
            settled = self._peers.settled_holders(self._resolver, item.rep)
        except PeerRefused:
            return None  # a resolver without this question has settled no dispute
        except PeerSilent as error:
            return self._open(item, known, OpenProblem.IN_DOUBT, _shorten(error))
        others = settled - frozenset(self._chains.service.labels)
        if not others:
            return None
        reason = f"a dispute over it was settled for {', '.join(map(str, others))}"
        return self._open(item, known, OpenProblem.CONTRADICTED, reason)

    def _fetch(self, item: OpenItem, step: FetchContent) -> tuple[OpenItem | None, bool]:
        asked: list[str] = []
        for place in self._holders(item, step):
            try:
                self._copies.bring_released(item.rep, place, step.chain)
            except IbiError as error:
                if isinstance(error, SourceCut):  # an Archive that lacks this item may have the others
                    self._note_silent(place)
                asked.append(f"{place}: {_shorten(error)}")
                continue
            self._chains.repository.step("released content kept")
            return None, True
        told = tuple(asked) or item.asked
        reason = "no Archive that was asked has the bytes that were released"
        if not told:
            reason = "no Archive could be asked for the bytes that were released: those that are known did not answer"
        return replace(self._open(item, step.chain, OpenProblem.NOT_FETCHED, reason), asked=told), False

    def _holders(self, item: OpenItem, step: FetchContent) -> list[str]:
        """Return the addresses of Archives that may have the bytes: first the giver, the source of the transfer and the
        hint, then Archives that the resolver and the ledger know. Each look returns only some of the last group."""
        places = self._find_places(step.release.giver)
        first = [places.get(step.release.giver, ""), item.hint]
        come = self._ledger.incoming(item.rep)
        if come is not None:
            first.insert(1, come.source)
        wanted = [place for place in dict.fromkeys(first) if place]
        others = sorted({*places.values(), *self._ledger.peers()} - {*wanted, self._url})
        start = self._looks.get(item.rep, 0) * _MOST_ASKED % max(1, len(others))
        found = [*wanted, *(others[start:] + others[:start])[:_MOST_ASKED]]
        return [place for place in found if not self._is_silent(place)]

    def _take_over(self, item: OpenItem, step: TakeOver) -> tuple[OpenItem | None, bool]:
        release = step.chain.last_release
        assert release is not None  # otherwise nothing is taken over
        if not self._chains.take_over(item.rep, step, "transfer"):
            return self._open(item, step.chain, OpenProblem.CONTRADICTED, "the item here has changed meanwhile"), False
        self._ledger.note_untold(item.rep)
        source = self._find_places().get(release.giver, item.hint)
        if source:
            self._ledger.add_peer(source)
        signer, stage = read_link(step.chain.texts[release.number - 1], release.number).signer, ReceiverStage.TAKEN
        taken = IncomingTransfer(release.labels, release.giver, signer, source, release.number, release.manifest, stage)
        self._ledger.change_incoming(item.rep, lambda _known: taken)
        self._log.warning("an Original was taken over again after a restore", item=str(item.rep))
        return None, False

    def _tell(self, item: OpenItem, step: TellReceiver) -> tuple[OpenItem | None, bool]:
        """Tell the receiver about the release. The item stays open until the receiver answers that it has the Original,
        or has given it on."""
        release = step.release
        out = self._ledger.outgoing(item.rep)
        place = self._find_places(release.to).get(release.to) or (out.receiver if out is not None else "")
        if not place:
            reason = f"the address of {release.to} is not known: it is not on the register of the resolver"
            return self._open(item, step.chain, OpenProblem.NOT_TAKEN, reason), False
        if self._is_silent(place):
            return replace(item, problem=OpenProblem.NOT_TAKEN, archive=str(release.to), asked=(place,)), False
        self._ledger.add_peer(place)
        offer = Offer(
            release.labels,
            release.number,
            self._chains.service.labels[0],
            self._url,
            place,
            release.manifest,
            released=True,
            acceptance=release.acceptance,
        )
        try:
            reply = read_reply(self._peers.send_offer(place, sign_offer(offer, self._chains.keys.signing_key())))
        except (PeerSilent, PeerRefused, InvalidInput) as error:
            if isinstance(error, PeerSilent):
                self._note_silent(place)
            reason = _shorten(error)
        else:
            if reply.stage is ReceiverStage.TAKEN and _shows_taken(release, step.chain, reply.chain):
                return None, self.learn(item.rep, reply.chain)
            reason = f"{reply.stage.value}{f': {reply.reason}' if reply.reason else ''}"
        return replace(self._open(item, step.chain, OpenProblem.NOT_TAKEN, reason), asked=(place,)), False

    def _ask_hint(self, item: OpenItem) -> None:
        """Ask for the chain at the hint: the Archive there offered the item as released."""
        if not item.hint or self._is_silent(item.hint):
            return
        try:
            self.learn(item.rep, self._peers.chain(item.hint, item.rep))
        except (PeerSilent, PeerRefused, InvalidInput) as error:
            if isinstance(error, PeerSilent):
                self._note_silent(item.hint)
            self._log.info("a chain was not told", item=str(item.rep), asked=item.hint, reason=_shorten(error))

    def _find_places(self, wanted: Label | None = None) -> Mapping[Label, str]:
        """Return the addresses of all Archives on the register of the resolver. While the resolver is silent, return
        the addresses of its last answer.

        If `wanted` is not among them, the resolver is asked again sooner: that Archive may still be starting.
        """
        rest = AGAIN if wanted is None or wanted in self._places[1] else _FIRST_REST
        if self._resolver is not None and self._now() - self._places[0] >= rest:
            try:
                self._places = self._now(), self._peers.archives(self._resolver)
            except (PeerSilent, PeerRefused) as error:
                self._log.info("the register was not told", reason=_shorten(error))
        return self._places[1]

    def _open(self, item: OpenItem, known: Chain, problem: OpenProblem, reason: str) -> OpenItem:
        release = known.last_release
        if release is None:
            archive = ""
        else:
            is_ours = release.to in self._chains.service.labels
            archive = str(release.giver if is_ours else release.to)
        return replace(item, problem=problem, archive=archive, reason=reason[:_LONGEST_REASON], asked=())


def _read_chain(texts: tuple[str, ...]) -> Chain:
    """Return a chain from the ledger, or an empty chain if it is damaged. Its signers were checked when it came."""
    try:
        return check_chain(texts, lambda _who, _key: True)
    except InvalidInput:
        return NO_CHAIN


def _shows_taken(release: Release, known: Chain, texts: tuple[str, ...]) -> bool:
    """Return whether a chain continues after the release: then the receiver has countersigned it."""
    try:
        chain = check_chain(texts, lambda _who, _key: True, release.labels)
    except InvalidInput:
        return False
    return len(texts) > release.number and chain.texts[: release.number] == known.texts[: release.number]


def _merge_look(known: OpenItem | None, seen: OpenItem, after: OpenItem | None) -> OpenItem | None:
    """Return the item to store after a look. If the item was noted again during the look, another look follows."""
    if known is None or known == seen:
        return after
    return known if after is None else replace(after, hint=known.hint or after.hint, due=known.due)


def _shorten(error: IbiError) -> str:
    return str(error)[:_LONGEST_REASON]
