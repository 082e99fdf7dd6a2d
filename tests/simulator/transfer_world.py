"""Three to five Archives and a resolver between which Originals move, while machines crash, lines are cut and backups
are put back: all from one seed. The decisions are those of `ibi.transfers.rules`; what they act on is in memory.

What an Archive keeps is `Durable`, and a crash leaves it. Requests take two steps, at each of which the line may be cut
and either side may be gone. What is decided and what is kept of it are different steps as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha512
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

from ibi.items.rules.provenance import (
    NO_CHAIN,
    Chain,
    ChainOrder,
    InvalidProvenance,
    Release,
    check_chain,
    compare_chains,
    countersign,
    sign_release,
)
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey, SigningKey
from ibi.standard.vocabulary import State
from ibi.transfers.model import IncomingTransfer, OutgoingTransfer, ReceiverStage
from ibi.transfers.rules.doubt import Doubt, Here, recall
from ibi.transfers.rules.repair import (
    FetchContent,
    LearnRelease,
    Settled,
    TellReceiver,
    believe,
    newest_chain,
    next_repair,
    own_chain,
)
from ibi.transfers.rules.transfer import (
    AskChain,
    BringCopy,
    KeepChain,
    KeepRelease,
    ReceiverStep,
    SenderStep,
    SendOffer,
    TakeOver,
    TransferRefused,
    accept,
    answer_offer,
    decline,
    next_of_receiver,
    next_of_sender,
    receiver_hears_chain,
    receiver_holds,
    sender_hears,
    still_wants,
    withdraw,
)
from ibi.transfers.rules.transfer_messages import Offer, Reply
from ibi.transfers.rules.transfer_offers import receive_offer

RESOLVER = "resolver"


class ModelItem(NamedTuple):
    state: State
    content: int
    chain: Chain = NO_CHAIN


@dataclass
class Durable:
    """What is in a data directory."""

    items: dict[str, ModelItem] = field(default_factory=dict)
    outgoing: dict[str, OutgoingTransfer] = field(default_factory=dict)
    incoming: dict[str, IncomingTransfer] = field(default_factory=dict)
    receivers: set[str] = field(default_factory=set)
    untold: set[str] = field(default_factory=set)
    """Chains that the resolver has not confirmed."""
    follows: dict[str, str] = field(default_factory=dict)
    """Copies that follow their Original, and where that was last."""
    chains: dict[str, Chain] = field(default_factory=dict)
    """The newest chain of each item, as the ledger keeps it beside the object."""
    open: dict[str, str] = field(default_factory=dict)
    """Items whose chain and state do not agree, and the address of an Archive that knows more of it."""


class BackedUpPair(NamedTuple):
    """Giver and receiver of an item as they were before a transfer."""

    rep: str
    links: int
    """Of its chain, at the time."""
    backups: dict[str, Durable]


class Request(NamedTuple):
    source: str
    start: int
    target: str
    ask: Callable[[Any], Any]
    then: Callable[[Any], None]
    answer: Any = None
    is_answered: bool = False


class ModelResolver:
    """Believes what is signed by the home of a label, whose key it has pinned, and by who came after."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.name, self.up, self.start = RESOLVER, True, 0
        self.chains: dict[str, Chain] = {}

    def hear(self, rep: str, texts: tuple[str, ...]) -> bool:
        known = self.chains.get(rep, Chain())
        try:
            chain = check_chain(texts, self._world.is_key_of, LabelForms(RepositoryName.parse(rep)))
        except InvalidProvenance:
            return False
        first = chain.first_release
        if first is None or home_prefix(first.giver) != home_prefix(RepositoryName.parse(rep)):
            return False
        if compare_chains(known.texts, chain.texts) is ChainOrder.NEWER:
            self.chains[rep] = chain
        return True

    def releases_of(self, service: Label) -> dict[str, tuple[str, ...]]:
        return {rep: chain.texts for rep, chain in self.chains.items() if concerns(chain, service)}


def concerns(chain: Chain, service: Label) -> bool:
    return any(isinstance(link.said, Release) and service in (link.said.giver, link.said.to) for link in chain.links)


class ModelArchive:
    def __init__(self, world: World, number: int) -> None:
        self.world, self.name = world, f"http://archive{number}.example"
        self.service = LabelForms(RepositoryName.parse(f"archive{number}.example/ibi/2020/01.01.00.00"))
        self.key = SigningKey(bytes([number]) * 32)
        self.public = self.key.public
        self.kept = Durable()
        self.up, self.start, self.has_lost_track = True, 0, False
        self.doubt: Doubt | None = None
        self.todo: list[Callable[[], None]] = []

    # --- what others see ---

    def here(self, rep: str) -> Here:
        item = self.kept.items.get(rep)
        who = {"service": self.service, "keys": (self.public,), "in_doubt": self.doubt is not None}
        if item is None:
            return Here(**who)  # type: ignore[arg-type]
        return Here(state=item.state, manifest=manifest_of(rep, item.content), chain=item.chain, **who)  # type: ignore[arg-type]

    def says_original(self, rep: str) -> bool:
        item = self.kept.items.get(rep)
        is_silent = not self.up or (self.doubt is not None and self.doubt.is_grave)
        return not is_silent and item is not None and item.state is State.ORIGINAL

    def chain_of(self, rep: str) -> tuple[str, ...]:
        item = self.kept.items.get(rep)
        return self.kept.chains.get(rep, NO_CHAIN).texts if item is None else item.chain.texts

    def object_of(self, rep: str) -> ModelItem | None:
        """What a Copy is made of. An Archive in doubt gives nothing out."""
        return None if self.doubt is not None and self.doubt.is_grave else self.kept.items.get(rep)

    def releases_of(self, service: Label) -> dict[str, tuple[str, ...]]:
        found = {rep: chain.texts for rep, chain in self.kept.chains.items() if concerns(chain, service)}
        for rep, item in self.kept.items.items():
            if concerns(item.chain, service) and len(item.chain.links) > len(found.get(rep, ())):
                found[rep] = item.chain.texts
        return found

    # --- what users do ---

    def deposit(self) -> str:
        rep = self.world.new_name(self)
        self.kept.items[rep] = ModelItem(State.ORIGINAL, self.world.new_content(rep))
        return rep

    def update(self, rep: str) -> None:
        self.kept.items[rep] = self.kept.items[rep]._replace(content=self.world.new_content(rep))

    def delete(self, rep: str) -> None:
        self.kept.items[rep] = self.kept.items[rep]._replace(state=State.DELETED)
        self.world.deleted.add(rep)

    def begin_transfer(self, rep: str, to: ModelArchive) -> None:
        self.kept.receivers.add(to.name)
        self.kept.outgoing[rep] = OutgoingTransfer(forms(rep), to.name, self.name, since=self.world.clock)
        self.work_on_outgoing(rep, agreed=self.world.random.random() < 0.85)

    def withdraw(self, rep: str) -> None:
        with suppress(TransferRefused):
            self.kept.outgoing[rep], offer = withdraw(self.kept.outgoing[rep], self.here(rep))
            self._send_offer(rep, offer, agreed=False)

    # --- the sender ---

    def work_on_outgoing(self, rep: str, *, agreed: bool = False) -> None:
        if rep in self.kept.outgoing:
            kept, step = next_of_sender(self.kept.outgoing[rep], self.here(rep))
            self._as_sender(rep, kept, step, agreed=agreed)

    def _as_sender(self, rep: str, kept: OutgoingTransfer, step: SenderStep, *, agreed: bool = False) -> None:
        self.kept.outgoing[rep] = kept
        match step:
            case SendOffer(offer):
                self._send_offer(rep, offer, agreed=agreed)
            case KeepRelease():
                self.todo.append(lambda: self._keep_release(rep, step))
            case KeepChain(chain):
                self.todo.append(lambda: self._keep_chain(rep, chain))

    def _send_offer(self, rep: str, offer: Offer, *, agreed: bool) -> None:
        def hear(reply: Reply | None) -> None:
            kept = self.kept.outgoing.get(rep)
            if reply is not None and kept is not None and (kept.receiver, kept.since) == (offer.to, offer.begun):
                self._as_sender(rep, *sender_hears(self.kept.outgoing[rep], self.here(rep), reply, 0))

        self.world.send(self, offer.to, lambda other: other.take_offer(offer, self.public, agreed=agreed), hear)

    def _keep_release(self, rep: str, step: KeepRelease) -> None:
        here, item, kept = self.here(rep), self.kept.items.get(rep), self.kept.outgoing.get(rep)
        if item is None or kept is None or not here.is_original or here.in_doubt or not still_wants(kept, step):
            return
        if (here.chain, here.manifest) != (step.chain, step.manifest):
            return
        at = Instant(self.world.clock)
        giver = self.service.labels[0]
        chain = sign_release(
            here.chain,
            kept.labels,
            giver,
            step.to,
            step.to_key,
            step.manifest,
            at,
            self.key,
            acceptance=step.acceptance,
        )
        self.kept.items[rep] = ModelItem(State.COPY, item.content, chain)
        self.kept.chains[rep] = chain
        self.kept.untold.add(rep)

    def _keep_chain(self, rep: str, chain: Chain) -> None:
        item = self.kept.items.get(rep)
        if item is None or compare_chains(item.chain.texts, chain.texts) is not ChainOrder.NEWER:
            return
        release = chain.last_release
        assert release is not None
        is_ours = release.to in self.service.labels and not chain.is_under_way and self.doubt is None
        state = item.state
        if state is State.ORIGINAL:
            state = State.COPY
        elif state is State.COPY and is_ours and manifest_of(rep, item.content) == release.manifest:
            state = State.ORIGINAL
        self.kept.items[rep] = ModelItem(state, item.content, chain)
        self.kept.chains[rep] = chain
        self.world.stale.discard((self.name, rep))

    # --- the receiver ---

    def take_offer(self, offer: Offer, signer: PublicKey, *, agreed: bool) -> Reply | None:
        rep = str(offer.labels.rep)
        try:
            kept = receive_offer(self.kept.incoming.get(rep), offer, signer, self.here(rep), 0, agreed=agreed)
        except TransferRefused:
            return None
        self.kept.incoming[rep] = kept
        reply = answer_offer(kept, self.here(rep))
        if offer.released and reply.stage is not ReceiverStage.TAKEN:
            self.kept.open[rep] = offer.url
        return reply

    def answer_waiting(self, rep: str, *, is_accepted: bool) -> None:
        kept = self.kept.incoming[rep]
        with suppress(TransferRefused):
            self.kept.incoming[rep] = accept(kept, 0) if is_accepted else decline(kept)

    def work_on_incoming(self, rep: str) -> None:
        kept, step = next_of_receiver(self.kept.incoming[rep], self.here(rep))
        self._as_receiver(rep, kept, step)

    def _as_receiver(self, rep: str, kept: IncomingTransfer, step: ReceiverStep) -> None:
        self.kept.incoming[rep] = kept
        match step:
            case BringCopy(source):
                self.bring(rep, source, lambda: self._hold(rep))
            case AskChain(source):
                self.world.send(
                    self, source, lambda other: other.chain_of(rep), lambda texts: self._hear_chain(rep, texts)
                )
            case TakeOver():
                self.todo.append(lambda: self._take_over(rep, step))
            case KeepChain(chain):
                self.todo.append(lambda: self._keep_chain(rep, chain))

    def _hold(self, rep: str) -> None:
        if rep in self.kept.incoming:
            self.kept.incoming[rep] = receiver_holds(self.kept.incoming[rep], self.here(rep), self.key, 0)

    def _hear_chain(self, rep: str, texts: tuple[str, ...] | None) -> None:
        if texts is not None and rep in self.kept.incoming:
            kept, here = self.kept.incoming[rep], self.here(rep)
            self._as_receiver(rep, *receiver_hears_chain(kept, here, texts, self.world.is_key_of, 0))

    def _take_over(self, rep: str, step: TakeOver) -> None:
        here, item = self.here(rep), self.kept.items.get(rep)
        if item is None or here.state is not State.COPY or here.in_doubt or here.manifest != step.manifest:
            return
        order = compare_chains(here.chain.texts[: len(step.chain.links)], step.chain.texts)
        if order is ChainOrder.NEWER or (order is ChainOrder.SAME and here.is_owed):
            chain = countersign(step.chain, self.key) if step.chain.is_under_way else step.chain
            self.kept.items[rep] = ModelItem(State.ORIGINAL, item.content, chain)
            self.kept.chains[rep] = chain
            self.kept.untold.add(rep)
            release = chain.last_release
            assert release is not None
            self.kept.receivers.add(self.world.address_of(release.giver))

    # --- Copies ---

    def bring(self, rep: str, source: str, then: Callable[[], None] = lambda: None) -> None:
        self.world.send(
            self, source, lambda other: other.object_of(rep), lambda found: self._copy(rep, source, found, then)
        )

    def _copy(self, rep: str, source: str, found: ModelItem | None, then: Callable[[], None]) -> None:
        here = self.kept.items.get(rep)
        if found is None or found.state is State.DELETED or (here is not None and here.state is not State.COPY):
            return
        known = Chain() if here is None else here.chain
        order = compare_chains(known.texts, found.chain.texts)
        if order in (ChainOrder.SAME, ChainOrder.NEWER):
            self.kept.items[rep] = ModelItem(State.COPY, found.content, found.chain)
            then()

    def follow(self, rep: str) -> None:
        """One poll: whoever gave the Original on says to whom."""
        self._poll(rep, self.kept.follows[rep], 8)

    def _poll(self, rep: str, source: str, most: int) -> None:
        def hear(found: ModelItem | None) -> None:
            if found is None or rep not in self.kept.follows:
                return
            release = found.chain.last_release
            target = None if release is None else self.world.address_of(release.to)
            own = self.here(rep).chain.last_release
            if target == self.name and own is not None:  # which has given it on since; the resolver says to whom
                target = self.world.address_of(own.to)
            if found.state is not State.ORIGINAL and target not in (None, source, self.name) and most:
                self.kept.follows[rep] = str(target)
                self._poll(rep, str(target), most - 1)
            elif found.state is State.ORIGINAL:
                self._copy(rep, source, found, lambda: None)

        self.world.send(self, source, lambda other: other.object_of(rep), hear)

    # --- the resolver, and doubt ---

    def tell(self) -> None:
        for rep in sorted(self.kept.untold):
            self._tell(rep, self.chain_of(rep))

    def _tell(self, rep: str, texts: tuple[str, ...]) -> None:
        self.world.send(self, RESOLVER, lambda other: other.hear(rep, texts), self._told(rep, texts))

    def _told(self, rep: str, texts: tuple[str, ...]) -> Callable[[Any], None]:
        def hear(answer: bool | None) -> None:
            if answer and self.chain_of(rep) == texts:
                self.kept.untold.discard(rep)

        return hear

    def ask_for_releases(self) -> None:
        """At a start that lost track until all were heard, and with every poll."""
        witnesses = {RESOLVER} if self.doubt is None else self.doubt.unheard
        service = self.service.labels[0]
        for witness in sorted(witnesses):
            self.world.send(self, witness, lambda other: other.releases_of(service), self._hear_releases(witness))

    def _hear_releases(self, witness: str) -> Callable[[Any], None]:
        def hear(found: dict[str, tuple[str, ...]] | None) -> None:
            for rep, texts in (found or {}).items():
                with suppress(InvalidProvenance):
                    chain = recall(self.here(rep), texts)
                    if chain is not None:
                        self._keep_chain(rep, chain)
                        self.kept.open.setdefault(rep, "")
                with suppress(InvalidProvenance):
                    if self.learn(rep, texts):
                        self.kept.open.setdefault(rep, "")
            if self.doubt is not None:
                self.doubt = self.doubt.after(witness, heard=found is not None)
                if witness == RESOLVER and found is not None:
                    self.doubt = self.doubt.with_receivers(
                        each.name for each in self.world.archives if each is not self
                    )
                if self.doubt.is_over:
                    self.doubt, self.has_lost_track = None, False

        return hear

    # --- the repair ---

    def known(self, rep: str) -> tuple[Here, Chain]:
        here = self.here(rep)
        return here, newest_chain(here, self.kept.chains.get(rep, NO_CHAIN))

    def learn(self, rep: str, texts: tuple[str, ...]) -> bool:
        here = self.here(rep)
        chain = believe(here, own_chain(here, self.kept.chains.get(rep, NO_CHAIN)), texts)
        if chain is not None:
            self.kept.chains[rep] = chain
        return chain is not None

    def compare(self) -> None:
        """All chains with all states, as at the start and every day."""
        for rep, item in sorted(self.kept.items.items()):
            if item.chain.links and self.known(rep)[1] == item.chain:
                self.kept.chains[rep] = item.chain
        for rep in sorted(self.kept.items.keys() | self.kept.chains.keys()):
            here, known = self.known(rep)
            step = next_repair(here, known)
            if isinstance(step, TellReceiver) and not known.is_under_way:
                continue
            if not isinstance(step, Settled):
                self.kept.open.setdefault(rep, "")

    def repair(self) -> None:
        for rep, hint in sorted(self.kept.open.items()):
            if hint:
                self._ask_hint(rep, hint)
            self._repair(rep)

    def _ask_hint(self, rep: str, hint: str) -> None:
        def hear(texts: tuple[str, ...] | None) -> None:
            with suppress(InvalidProvenance):
                if texts and self.learn(rep, texts):
                    self._repair(rep)

        self.world.send(self, hint, lambda other: other.chain_of(rep), hear)

    def _repair(self, rep: str) -> None:
        here, known = self.known(rep)
        match next_repair(here, known):
            case Settled():
                self.kept.open.pop(rep, None)
            case LearnRelease(chain):
                self.todo.append(lambda: self._keep_chain(rep, chain))
                self.kept.untold.add(rep)
            case TellReceiver(chain, release):
                self._tell_release(rep, chain, release)
            case FetchContent(chain, release):
                for other in self.world.archives:
                    if other is not self:
                        self.world.send(
                            self, other.name, lambda other: other.object_of(rep), self._fetched(rep, chain, release)
                        )
            case TakeOver() as step:
                self.todo.append(lambda: self._take_over(rep, step))

    def _fetched(self, rep: str, chain: Chain, release: Release) -> Callable[[Any], None]:
        def hear(found: ModelItem | None) -> None:
            here = self.kept.items.get(rep)
            if found is None or found.state is State.DELETED or (here is not None and here.state is not State.COPY):
                return
            if manifest_of(rep, found.content) == release.manifest:
                self.kept.items[rep] = ModelItem(State.COPY, found.content, chain)
                self._repair(rep)

        return hear

    def _tell_release(self, rep: str, chain: Chain, release: Release) -> None:
        to = self.world.address_of(release.to)
        self.kept.receivers.add(to)
        offer = Offer(
            release.labels,
            release.number,
            self.service.labels[0],
            self.name,
            to,
            release.manifest,
            released=True,
            acceptance=release.acceptance,
        )

        def hear(reply: Reply | None) -> None:
            if reply is None or reply.stage is not ReceiverStage.TAKEN or len(reply.chain) <= release.number:
                return
            with suppress(InvalidProvenance):
                if self.learn(rep, reply.chain):
                    self._repair(rep)
                else:
                    self.kept.open.pop(rep, None)

        self.world.send(self, to, lambda other: other.take_offer(offer, self.public, agreed=False), hear)

    # --- the machine ---

    def crash(self) -> None:
        self.up, self.todo, self.start = False, [], self.start + 1

    def begin(self) -> None:
        if not self.up:
            self.up = True
        self.doubt = Doubt(RESOLVER, frozenset(self.kept.receivers)) if self.has_lost_track else None
        self.compare()

    def put_back(self, backup: Durable) -> None:
        self.crash()
        before, self.kept = self.kept, deepcopy(backup)
        self.has_lost_track = True
        for rep in before.items.keys() | self.kept.items.keys():
            if before.items.get(rep) != self.kept.items.get(rep):
                self.world.tainted.add(rep)
            if _is_original(self.kept, rep) and not _is_original(before, rep):
                self.world.stale.add((self.name, rep))


def _is_original(kept: Durable, rep: str) -> bool:
    return rep in kept.items and kept.items[rep].state is State.ORIGINAL


def manifest_of(rep: str, content: int) -> str:
    return sha512(f"{rep} {content}".encode()).hexdigest()


def forms(rep: str) -> LabelForms:
    return LabelForms(RepositoryName.parse(rep))


class World:
    def __init__(self, seed: int) -> None:
        self.random, self.clock, self.count = Random(seed), 1_800_000_000, 0
        self.archives = [ModelArchive(self, number) for number in range(1, self.random.randint(3, 5) + 1)]
        self.resolver = ModelResolver(self)
        self.by_name: dict[str, Any] = {each.name: each for each in self.archives} | {RESOLVER: self.resolver}
        self.cut: set[frozenset[str]] = set()
        self.requests: list[Request] = []
        self.history: dict[str, set[int]] = {}
        self.latest: dict[str, int] = {}
        self.deleted: set[str] = set()
        self.dropped: set[str] = set()
        """Items of which a Copy was dropped: their bytes may be nowhere."""
        self.tainted: set[str] = set()
        """Items of which a backup that was put back may have lost something."""
        self.stale: set[tuple[str, str]] = set()
        """What an Archive may call its Original because no one could be asked who knew better."""
        self.backups: dict[str, Durable] = {}
        self.pairs: list[BackedUpPair] = []
        self.both_restored = 0
        """How often giver and receiver were put back from before a transfer."""
        self.kinds: list[str] = []
        self.archives[0].deposit()

    # --- what Archives ask of it ---

    def new_name(self, archive: ModelArchive) -> str:
        self.count += 1
        return (
            f"{archive.service.rep!s}".rpartition("/2020/")[0]
            + f"/2021/01.01.{self.count // 60:02}.{self.count % 60:02}"
        )

    def new_content(self, rep: str) -> int:
        self.count += 1
        self.history.setdefault(rep, set()).add(self.count)
        self.latest[rep] = self.count
        return self.count

    def is_key_of(self, service: Label, key: PublicKey) -> bool:
        return any(service in each.service.labels and key == each.public for each in self.archives)

    def address_of(self, service: Label) -> str:
        return next(each.name for each in self.archives if service in each.service.labels)

    def send(self, source: ModelArchive, target: str, ask: Callable[[Any], Any], then: Callable[[Any], None]) -> None:
        self.requests.append(Request(source.name, source.start, target, ask, then))

    # --- what happens ---

    def deliver(self, index: int) -> None:
        request = self.requests.pop(index)
        source, target = self.by_name[request.source], self.by_name[request.target]
        if not source.up or source.start != request.start:
            if not request.is_answered and target.up and not self._is_cut(request):
                request.ask(target)  # it had left before its sender crashed
            return
        if self._is_cut(request) or not target.up:
            request.then(None)
        elif request.is_answered:
            request.then(request.answer)
        else:
            self.requests.append(request._replace(answer=request.ask(target), is_answered=True))

    def _is_cut(self, request: Request) -> bool:
        return frozenset({request.source, request.target}) in self.cut

    def act(self) -> None:
        self.clock += 1
        names = list(ACTS)
        kind = self.random.choices(names, [ACTS[name] for name in names])[0]
        self.kinds.append(kind)
        getattr(self, f"_{kind}")()

    def _chosen(self, *, up: bool = True) -> ModelArchive | None:
        able = [each for each in self.archives if each.up is up]
        return self.random.choice(able) if able else None

    def _original(self) -> tuple[ModelArchive, str] | None:
        found = [(each, rep) for each in self.archives for rep in sorted(each.kept.items) if each.says_original(rep)]
        return self.random.choice(found) if found else None

    def _deposit(self) -> None:
        if archive := self._chosen():
            archive.deposit()

    def _update(self) -> None:
        if found := self._original():
            found[0].update(found[1])

    def _delete(self) -> None:
        if (found := self._original()) and self.random.random() < 0.1:
            found[0].delete(found[1])

    def _copy(self) -> None:
        if found := self._original():
            self.random.choice(self.archives).bring(found[1], found[0].name)

    def _follow(self) -> None:
        other = self._chosen()
        if (found := self._original()) and other is not None and other is not found[0]:
            other.kept.follows.setdefault(found[1], found[0].name)
            other.follow(found[1])

    def _poll(self) -> None:
        if archive := self._chosen():
            self.poll(archive)

    def _transfer(self) -> None:
        if found := self._original():
            to = self.random.choice([each for each in self.archives if each is not found[0]])
            current = found[0].kept.outgoing.get(found[1])
            if current is None or current.stage.is_final:
                if self.random.random() < _BACKED_UP:
                    self._back_up_pair(found[1], found[0], to)
                found[0].begin_transfer(found[1], to)

    def _withdraw(self) -> None:
        if (archive := self._chosen()) and archive.kept.outgoing:
            archive.withdraw(self.random.choice(sorted(archive.kept.outgoing)))

    def _answer(self) -> None:
        if (archive := self._chosen()) and archive.kept.incoming:
            rep = self.random.choice(sorted(archive.kept.incoming))
            archive.answer_waiting(rep, is_accepted=self.random.random() < 0.7)

    def _work(self) -> None:
        if archive := self._chosen():
            self.work(archive)

    def _message(self) -> None:
        for _ in range(self.random.randint(1, 16)):
            if self.requests:
                self.deliver(self.random.randrange(len(self.requests)))

    def _step(self) -> None:
        if (archive := self._chosen()) and archive.todo:
            archive.todo.pop(self.random.randrange(len(archive.todo)))()

    def _crash(self) -> None:
        if archive := self._chosen():
            archive.crash()

    def _begin(self) -> None:
        if archive := self._chosen(up=False):
            archive.begin()

    def _partition(self) -> None:
        one, other = self.random.sample([*self.by_name], 2)
        self.cut.add(frozenset({one, other}))

    def _heal(self) -> None:
        self.cut.clear()

    def _back_up(self) -> None:
        archive = self.random.choice(self.archives)
        self.backups[archive.name] = deepcopy(archive.kept)

    def _restore(self) -> None:
        if self.backups and self.random.random() < 0.5:
            name = self.random.choice(sorted(self.backups))
            self.by_name[name].put_back(self.backups[name])

    def _restore_both(self) -> None:
        """Put back giver and receiver of an item, or one of them, from backups of before its transfer, if it was
        released since. If no transfer was backed up, one is now."""
        able = [each for each in self.pairs if self._was_released_since(each)] or self._give_backed_up()
        if not able:
            return
        pair = self.random.choice(able)
        self.pairs.remove(pair)
        restored = [*pair.backups]
        if self.random.random() < _ONE_ALONE:
            restored.pop(self.random.randrange(2))
        else:
            self.both_restored += 1
        for name in restored:
            self.by_name[name].put_back(pair.backups[name])

    def _give_backed_up(self) -> list[BackedUpPair]:
        """Back up both sides of a transfer and go on with it, as far as lines and machines allow, until it is
        released, or until it came back changed."""
        up = [each for each in self.archives if each.up]
        free = [
            (each, rep)
            for each in up
            for rep in sorted(each.kept.items)
            if each.says_original(rep) and ((out := each.kept.outgoing.get(rep)) is None or out.stage.is_final)
        ]
        sure = [each for each in up if each.doubt is None]
        if len(up) < 2 or not (free or sure):
            return []
        giver, rep = self.random.choice(free or [(each, each.deposit()) for each in sure[:1]])
        to = self.random.choice([each for each in up if each is not giver])
        self._back_up_pair(rep, giver, to)
        pair = self.pairs[-1]
        giver.begin_transfer(rep, to)
        if not self._go_on(giver, to, lambda: self._was_released_since(pair)):
            return []
        if self.random.random() < _COMES_BACK and self._go_on(giver, to, lambda: to.says_original(rep)):
            to.update(rep)
            to.begin_transfer(rep, giver)
            self._go_on(giver, to, lambda: giver.says_original(rep))
        return [pair]

    def _go_on(self, giver: ModelArchive, to: ModelArchive, is_reached: Callable[[], bool]) -> bool:
        for _ in range(_MOST_GIVING):
            self._message()
            for archive in (giver, to):
                self.work(archive)
                while archive.todo:
                    archive.todo.pop(0)()
            if is_reached():
                return True
        return False

    def _back_up_pair(self, rep: str, *archives: ModelArchive) -> None:
        backups = {each.name: deepcopy(each.kept) for each in archives}
        self.pairs = [*self.pairs, BackedUpPair(rep, self._longest_chain(rep), backups)][-_MOST_PAIRS:]

    def _longest_chain(self, rep: str) -> int:
        return max(len(each.known(rep)[1].links) for each in self.archives)

    def _was_released_since(self, pair: BackedUpPair) -> bool:
        return self._longest_chain(pair.rep) > pair.links

    def _lose_ledger(self) -> None:
        """The database of transfers is gone; the directory does not know what it gave away."""
        if (archive := self._chosen()) and self.random.random() < 0.3:
            kept = archive.kept
            archive.crash()
            archive.kept = Durable(kept.items, follows=kept.follows)
            archive.has_lost_track = True
            self.tainted |= kept.outgoing.keys() | kept.incoming.keys()

    def _drop(self) -> None:
        """A Copy is dropped, also that of an Original that was given away."""
        if (archive := self._chosen()) and self.random.random() < 0.3:
            copies = sorted(rep for rep, item in archive.kept.items.items() if item.state is State.COPY)
            if copies:
                rep = self.random.choice(copies)
                del archive.kept.items[rep]
                archive.kept.follows.pop(rep, None)
                self.dropped.add(rep)

    def _forget(self) -> None:
        """A resolver that has just started."""
        if self.random.random() < 0.3:
            self.resolver.chains.clear()
            for archive in self.archives:
                archive.kept.untold |= {rep for rep, item in archive.kept.items.items() if item.chain.links}

    # --- rounds ---

    def work(self, archive: ModelArchive) -> None:
        for rep in sorted(archive.kept.outgoing):
            archive.work_on_outgoing(rep)
        for rep in sorted(archive.kept.incoming):
            archive.work_on_incoming(rep)
        archive.repair()

    def poll(self, archive: ModelArchive) -> None:
        archive.tell()
        archive.ask_for_releases()
        for rep in sorted(archive.kept.follows):
            archive.follow(rep)

    def settle(self) -> None:
        """All lines are whole and all machines run: each Archive goes through its work, and polls once a round."""
        self.cut.clear()
        for archive in self.archives:
            if not archive.up:
                archive.begin()
        for _ in range(ROUNDS):
            for archive in self.archives:
                self.poll(archive)
                archive.compare()
                self.work(archive)
            self._drain()

    def _drain(self) -> None:
        most = 10_000
        while self.requests or any(each.todo for each in self.archives):
            while self.requests:
                most -= 1
                assert most, "they never stop talking"
                self.deliver(0)
            for archive in self.archives:
                while archive.todo:
                    archive.todo.pop(0)()

    # --- what has to hold ---

    def problems(self) -> Iterator[str]:
        """At every moment."""
        for rep in self.history:
            saying = [each for each in self.archives if each.says_original(rep)]
            firm = [each for each in saying if (each.name, rep) not in self.stale or len(saying) == 1]
            if len(firm) > 1:
                yield f"{rep} has {len(saying)} Originals"
            held = [each.kept.items[rep] for each in self.archives if rep in each.kept.items]
            if any(item.content not in self.history[rep] for item in held):
                yield f"a Copy of {rep} is none"
            for item in held:
                release = item.chain.last_release
                if release is None or item.state is not State.ORIGINAL:
                    continue
                if item.content < self._released_content(rep, release.manifest):
                    yield f"the Original of {rep} is older than its release"
            for one, other in combinations(held, 2):
                if compare_chains(one.chain.texts, other.chain.texts) is ChainOrder.FORKED:
                    yield f"{rep} was released twice"

    def _released_content(self, rep: str, manifest: str) -> int:
        return next(content for content in self.history[rep] if manifest_of(rep, content) == manifest)

    def problems_at_rest(self) -> Iterator[str]:
        """When all is healed and was polled."""
        yield from self.problems()
        for rep in self.history:
            held = [(each, each.kept.items[rep]) for each in self.archives if rep in each.kept.items]
            originals = [each for each, item in held if item.state is State.ORIGINAL]
            if len(originals) > 1:
                yield f"{rep} has {len(originals)} Originals at rest"
            if rep in self.deleted:
                continue
            if rep in self.tainted or rep in self.dropped:
                yield from self._missing(rep, originals)
                continue
            if len(originals) != 1:
                yield f"{rep} has {len(originals)} Originals at rest, and nothing was lost"
                continue
            if originals[0].kept.items[rep].content != self.latest[rep]:
                yield f"{rep} has lost an update"
            for each, item in held:
                if rep in each.kept.follows and item.content != self.latest[rep]:
                    yield f"{each.name} follows {rep}, and is behind"
        for archive in self.archives:
            if archive.doubt is not None:
                yield f"{archive.name} is in doubt still: {archive.doubt}"
            yield from self._unfinished(archive)

    def _missing(self, rep: str, originals: list[ModelArchive]) -> Iterator[str]:
        """What a backup may have lost of an item is no Original that some chain names, while its bytes are anywhere."""
        if originals:
            return
        chains = [chain for each in self.archives if (chain := each.known(rep)[1]).links]
        if not chains:
            return  # no Archive knows it any more, or it only has Copies of what was never released
        newest = max(chains, key=lambda chain: len(chain.links))
        release = newest.last_release
        assert release is not None
        held = [item for each in self.archives if (item := each.kept.items.get(rep)) is not None]
        if any(manifest_of(rep, item.content) == release.manifest for item in held):
            yield f"{rep} has no Original at rest, and its bytes are there"

    def _unfinished(self, archive: ModelArchive) -> Iterator[str]:
        for rep, out in archive.kept.outgoing.items():
            waits = out.remote in (ReceiverStage.WAITING, None)
            if not out.stage.is_final and not waits and rep not in self.tainted:
                yield f"{rep} is {out.stage} by {archive.name} still: {out.remote}, {out.reason}"


ROUNDS = 10
_BACKED_UP = 0.5
"""Transfers before which both sides are backed up."""
_MOST_PAIRS = 5
_ONE_ALONE = 0.25
"""Pairs of which only one side is put back."""
_COMES_BACK = 0.4
"""Items that come back, changed, before both sides are put back."""
_MOST_GIVING = 12
"""Rounds in which a transfer that was backed up may be released before its sides are put back."""
ACTS: dict[str, float] = {
    "deposit": 1,
    "update": 3,
    "delete": 1,
    "copy": 1,
    "follow": 2,
    "poll": 2,
    "transfer": 14,
    "withdraw": 1,
    "answer": 4,
    "work": 22,
    "message": 40,
    "step": 24,
    "crash": 2,
    "begin": 6,
    "partition": 2,
    "heal": 3,
    "back_up": 2,
    "restore": 1,
    "restore_both": 2,
    "lose_ledger": 0.5,
    "drop": 0.5,
    "forget": 1,
}
