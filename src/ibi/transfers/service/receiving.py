"""Takes Originals over from other Archives: brings a complete Copy, waits for the release, countersigns it.

This Archive asks the sender for the release until it comes. Once this Archive has said that it holds the Copy, it may
be the only one that can have the Original.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Final, Protocol

import structlog

from ibi.items.model.item import Item
from ibi.items.rules.provenance import Chain, ChainOrder, IsKeyOf, check_chain, compare_chains, read_link
from ibi.jobs.limits import LimitExceeded, LimitRows, LimitScope, RateLimiter
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey
from ibi.transfers.model import IncomingTransfer, ReceiverStage
from ibi.transfers.ports import PeerRefused, PeerSilent, TransferLedger, TransferPeers
from ibi.transfers.rules.doubt import Here
from ibi.transfers.rules.standing import SenderStanding, SenderVerdict
from ibi.transfers.rules.transfer import (
    AskChain,
    BringCopy,
    KeepChain,
    ReceiverStep,
    TakeOver,
    TransferRefused,
    accept,
    accept_lost,
    answer_offer,
    decline,
    hear_lost,
    next_of_receiver,
    receiver_hears_chain,
    receiver_holds,
)
from ibi.transfers.rules.transfer_messages import Offer, Reply, read_offer
from ibi.transfers.rules.transfer_offers import is_another, receive_offer, was_accepted
from ibi.transfers.service.item_chains import ItemChains
from ibi.transfers.service.senders import WITHOUT_REGISTER, Senders, explain_standing, require_standing

_MOST_TURNS: Final = 8
MOST_WAITING: Final = 1000
MOST_OF_NETWORK: Final = 100
"""Maximum offers that wait for a librarian, in all and from one network (/24, /48). Further offers are refused, since
any server can send offers."""
A_MINUTE: Final = 60
A_MINUTE_OF_NETWORK: Final = 20
"""Maximum offers without a token per minute, in all and from one network. Questions about the progress of a known offer
do not count."""
_DAY: Final = 86400
_ENDED: Final = 7 * _DAY
_WAITING: Final = 30 * _DAY
"""Seconds for which an offer is stored: if it ended before this Archive agreed, and if it waits and its sender no
longer asks."""
MOST_ENDED: Final = 10_000
"""Maximum stored offers that ended before this Archive agreed."""
_FULL: Final = 3600
"""Seconds until a retry makes sense: people answer."""


class BringsCopies(Protocol):
    """Makes Copies, each whole or not at all (`ibi.copies.service`)."""

    def bring(self, label: Label, source: str | None = None, token: str | None = None) -> object: ...

    def bring_released(self, label: Label, source: str, chain: Chain) -> object:
        """Make a Copy with this chain. The bytes of the last release may come from any Archive that has them."""


class TooManyOffers(LimitExceeded):
    """Too many offers of other Archives come, or wait for an answer, here: try again in {retry_after} seconds, or send
    a token of this Archive."""

    code = "too-many-offers"
    kind = ErrorKind.TOO_MANY


def _pass(_: str) -> None:
    """Do nothing: by default steps are not watched."""


class Receiving:
    """The transfers of other Archives to this one. Calls block, from any thread."""

    def __init__(
        self,
        chains: ItemChains,
        ledger: TransferLedger,
        peers: TransferPeers,
        copies: BringsCopies,
        clocks: Clocks,
        *,
        url: str,
        is_key_of: IsKeyOf,
        check_source: Callable[[Label, str], None] = lambda _label, _source: None,
        senders: Senders = WITHOUT_REGISTER,
        on_step: Callable[[str], None] = _pass,
        offers: LimitRows | None = None,
        hear_released: Callable[[RepositoryName, str], None] = lambda _rep, _source: None,
    ) -> None:
        """`url` is the address of this Archive. `is_key_of` knows the keys of other Archives. `check_source` refuses an
        item that must not come from an address, such as an item of a sandbox. `senders` judges the sender of an offer
        by the register. `offers` counts the offers of all processes. `hear_released` is called with an item and the
        address of a sender that claims to have released it."""
        self._hear_released = hear_released
        self.senders, self._log = senders, structlog.get_logger("ibi.transfers")
        self._is_home: Callable[[Offer, PublicKey], bool] = senders.is_home
        self._chains, self._ledger, self._peers, self._copies, self._clocks = chains, ledger, peers, copies, clocks
        self._url, self._is_key_of, self._check_source, self._step = url, is_key_of, check_source, on_step
        self._rate, self._turn = RateLimiter(A_MINUTE, A_MINUTE_OF_NETWORK, TooManyOffers, rows=offers), Lock()

    def take_offer(self, text: str, *, agreed: bool, network: str = "unknown") -> Reply:
        """Return the answer to an offer. `agreed` is True if the offer came with a token that may accept it; `network`
        is the network of the sender. Raise `InvalidStatement`, `TransferRefused` or `TooManyOffers`."""
        offer, signer = read_offer(text)
        rep, here, now = offer.labels.rep, self._chains.here(offer.labels.labels[0]), self._now()
        assert rep is not None  # an offer without a repository name is not read
        if offer.to.rstrip("/") != self._url:
            raise TransferRefused(label=str(rep), reason=f"it was offered to {offer.to}, and this is {self._url}")
        self._check_source(rep, offer.url)
        standing = self._judge(rep, offer, signer, here)
        agreed = agreed and standing.verdict is not SenderVerdict.OPEN
        with self._turn:
            if not agreed and not was_accepted(offer, signer, here):
                self._check_room(rep, offer, signer, network)
            kept = self._ledger.change_incoming(
                rep,
                lambda known: _explain_wait(
                    receive_offer(
                        known, offer, signer, here, now, agreed=agreed, network=network, is_home=self._is_home
                    ),
                    standing,
                ),
            )
        self._step("offer kept")
        reply = answer_offer(kept, here)
        if offer.released and reply.stage is not ReceiverStage.TAKEN:
            self._hear_released(rep, offer.url)
        return reply

    def _judge(self, rep: RepositoryName, offer: Offer, signer: PublicKey, here: Here) -> SenderStanding:
        """Return the standing of the sender. Raise `TransferRefused` if the register contradicts it. An offer with a
        signed acceptance of this Archive was judged before, and a withdrawal is harmless."""
        if offer.withdrawn or was_accepted(offer, signer, here):
            return SenderStanding.REGISTERED
        standing = self.senders.judge_offer(offer, signer)
        require_standing(rep, standing)
        return standing

    def _check_room(self, rep: RepositoryName, offer: Offer, signer: PublicKey, network: str) -> None:
        """Refuse offers of a stranger that come too fast, or are too many. The home of an item is let in even if
        strangers have filled the room."""
        if not is_another(self._ledger.incoming(rep), offer, signer):
            return
        try:
            self._take_room(network)
        except TooManyOffers:
            if not self._is_home(offer, signer):
                raise

    def _take_room(self, network: str) -> None:
        self._rate.count(network)
        if self._ledger.count_waiting(network) >= MOST_OF_NETWORK:
            raise TooManyOffers(bound=LimitScope.NETWORK, retry_after=_FULL)
        if self._ledger.count_waiting() >= MOST_WAITING:
            raise TooManyOffers(bound=LimitScope.SERVER, retry_after=_FULL)

    def forget_offers(self) -> None:
        """Delete offers that came to nothing, since any server can send offers. These are ended offers, and waiting
        offers whose sender no longer asks."""
        now = self._now()
        forgotten = self._ledger.forget_offers(ended=now - _ENDED, waiting=now - _WAITING, most=MOST_ENDED)
        if forgotten:
            self._log.info("offers that came to nothing are forgotten", offers=forgotten)

    def accept(self, rep: RepositoryName) -> IncomingTransfer:
        """Agree to an offer, and go on as far as possible."""
        self.agree(rep)
        return self.go_on(rep)

    def agree(self, rep: RepositoryName, key: str | None = None) -> IncomingTransfer:
        """Agree to an offer; the server does the rest. With `key`, agree only to an offer of the Archive with that key.
        Raise `TransferRefused` if the register contradicts the sender."""

        def agree(known: IncomingTransfer | None) -> IncomingTransfer:
            waiting = _require_known(rep, known)
            if waiting.stage is ReceiverStage.WAITING:
                require_standing(rep, self.senders.judge_kept(waiting))
            return accept(waiting, self._now(), key)

        return self._ledger.change_incoming(rep, agree)

    def decline(self, rep: RepositoryName, reason: str = "") -> IncomingTransfer:
        return self._ledger.change_incoming(rep, lambda known: decline(_require_known(rep, known), reason))

    def go_on(self, rep: RepositoryName) -> IncomingTransfer:
        """Make the steps of one transfer that are possible now. Return the transfer."""
        kept = _require_known(rep, self._ledger.incoming(rep))
        kept, step = next_of_receiver(kept, self._chains.here(kept.rep))
        for _ in range(_MOST_TURNS):
            kept = self._save(kept)
            if kept.stage.is_final:
                break
            following = self._do(kept, step)
            if following is None:
                return _require_known(rep, self._ledger.incoming(rep))
            kept, step = following
        return self._save(kept)

    def _do(self, kept: IncomingTransfer, step: ReceiverStep) -> tuple[IncomingTransfer, ReceiverStep] | None:
        match step:
            case BringCopy(source):
                return self._bring(kept, source)
            case AskChain(source):
                return self._ask(kept, source)
            case TakeOver():
                self._ledger.add_peer(kept.source)
                if self._chains.take_over(kept.rep, step, "transfer"):
                    self._ledger.note_untold(kept.rep)
                    self._step("take-over noted")
                return next_of_receiver(kept, self._chains.here(kept.rep))
            case KeepChain(chain):
                self._chains.keep_chain(kept.rep, chain, "transfer")
                return next_of_receiver(kept, self._chains.here(kept.rep))
        return None

    def _bring(self, kept: IncomingTransfer, source: str) -> tuple[IncomingTransfer, ReceiverStep] | None:
        released_manifest = kept.manifest
        if kept.stage is ReceiverStage.ACCEPTED and (doubted := self._doubt_sender(kept)) is not None:
            self._save(doubted)
            return None
        try:
            self._copies.bring(kept.rep, source, kept.token)
        except IbiError as error:
            self._save(kept.delayed(self._now(), str(error)[:500]))
            return None
        self._step("copy brought")
        here, key = self._chains.here(kept.rep), self._chains.keys.signing_key()
        if kept.stage is ReceiverStage.ACCEPTED and not here.is_owed:
            kept = self._judge_way(kept, here.chain.texts) or kept  # another chain may have come with the Copy
        kept = self._save(receiver_holds(kept, here, key, self._now()))
        self._step("acceptance kept")
        if kept.stage is not ReceiverStage.HELD:
            return None
        if here.manifest != released_manifest:
            self._delay(kept, "what the sender has is not what it released")
            return None
        return next_of_receiver(kept, here)

    def _doubt_sender(self, kept: IncomingTransfer) -> IncomingTransfer | None:
        """Return None if the sender may give the Original. Return the transfer in its new state if the sender may not,
        or if nobody can know now. Called before a new Copy replaces the Copy here."""
        if kept.number == 1:
            return None
        try:
            texts = self._peers.chain(kept.source, kept.rep)
        except (PeerSilent, PeerRefused) as error:
            return kept.delayed(self._now(), str(error)[:500])
        return self._judge_way(kept, texts)

    def _judge_way(self, kept: IncomingTransfer, texts: tuple[str, ...]) -> IncomingTransfer | None:
        own = self._chains.here(kept.rep).keys
        standing, cause = self.senders.judge_chain(kept, texts, own)
        if standing.verdict is SenderVerdict.REFUSED:
            return replace(kept, stage=ReceiverStage.DECLINED, reason=explain_standing(standing, cause))
        if standing.verdict is SenderVerdict.OPEN and not kept.vouched:
            return replace(kept, stage=ReceiverStage.WAITING, reason=explain_standing(standing, cause))
        return None

    def _delay(self, kept: IncomingTransfer, reason: str) -> None:
        def delay(known: IncomingTransfer | None) -> IncomingTransfer:
            found = _require_known(kept.rep, known)
            return found.delayed(self._now(), reason) if found.stage is kept.stage else found

        self._ledger.change_incoming(kept.rep, delay)

    def _ask(self, kept: IncomingTransfer, source: str) -> tuple[IncomingTransfer, ReceiverStep] | None:
        try:
            texts = self._peers.chain(source, kept.rep)
        except (PeerSilent, PeerRefused) as error:
            self._save(kept.delayed(self._now(), str(error)[:500]))
            return None
        self._step("release fetched")
        here = self._chains.here(kept.rep)
        if len(texts) >= kept.number and (doubted := self._judge_way(kept, texts)) is not None:
            # Not declined: this Archive has said that it holds the Copy.
            self._save(kept.delayed(self._now(), doubted.reason))
            return None
        kept, step = receiver_hears_chain(kept, here, texts, self._is_key_of, self._now())
        return self._save(kept), step

    def _save(self, kept: IncomingTransfer) -> IncomingTransfer:
        """Store the record, unless the sender has offered something else meanwhile."""

        def keep(known: IncomingTransfer | None) -> IncomingTransfer:
            if known is None or (known.giver_key, known.number, known.manifest) == _what(kept):
                return kept
            return known if not kept.stage.is_final else kept

        return self._ledger.change_incoming(kept.rep, keep)

    def ask_for_lost(self, item: Item, resolver: str) -> IncomingTransfer:
        """Take over the Original of a Copy from a lost Archive, as the administrator of the resolver has decided. Raise
        `TransferRefused`, `PeerRefused` or `PeerSilent`. A repeated call is harmless."""
        if item.original_tombstone is not None:
            raise TransferRefused(label=str(item.rep), reason="it was deleted, and an IBI that is gone never returns")
        here, key = self._chains.here(item.rep), self._chains.keys.signing_key()
        texts = self._peers.ask_for_lost(resolver, accept_lost(here, item.labels, key), here.chain.texts)
        if compare_chains(here.chain.texts, texts) is ChainOrder.NEWER and not _gives_to(here, texts):
            texts = self._peers.ask_for_lost(resolver, accept_lost(here, item.labels, key, texts), texts)
        self._step("lost release fetched")
        return self.take_lost(item.labels, texts, resolver)

    def take_lost(self, labels: LabelForms, texts: tuple[str, ...], resolver: str) -> IncomingTransfer:
        """Take over an Original by a release that the resolver signed in the place of a lost Archive. This Archive
        asked for it."""
        rep, here = _repository_name(labels), self._chains.here(labels.labels[0])
        step = hear_lost(here, texts, labels)
        if step is not None and not self._chains.take_over(rep, step, "transfer"):
            raise TransferRefused(label=str(rep), reason="the Copy here has changed meanwhile: ask again")
        said = check_chain(texts, lambda *_: True).last_release
        assert said is not None  # otherwise nothing was given
        signer, stage = read_link(texts[said.number - 1], said.number).signer, ReceiverStage.TAKEN
        taken = IncomingTransfer(labels, said.giver, signer, resolver, said.number, said.manifest, stage)
        self._ledger.note_untold(rep)
        return self._ledger.change_incoming(rep, lambda _known: taken)

    def _now(self) -> int:
        return self._clocks.read().wall.seconds


def _what(kept: IncomingTransfer) -> tuple[object, int, str]:
    return kept.giver_key, kept.number, kept.manifest


def _explain_wait(kept: IncomingTransfer, standing: SenderStanding) -> IncomingTransfer:
    """Return the transfer. If it waits because the standing of its sender is open, add that reason for the sender."""
    if kept.stage is not ReceiverStage.WAITING or standing.verdict is not SenderVerdict.OPEN:
        return kept
    return replace(kept, reason=f"{explain_standing(standing)}; a librarian has to accept it")


def _gives_to(here: Here, texts: tuple[str, ...]) -> bool:
    release = check_chain(texts, lambda *_: True).last_release
    return release is not None and release.to in here.service.labels


def _repository_name(labels: LabelForms) -> RepositoryName:
    if labels.rep is None:
        raise TransferRefused(label=str(labels.labels[0]), reason="it has no repository name")
    return labels.rep


def _require_known(rep: RepositoryName, known: IncomingTransfer | None) -> IncomingTransfer:
    if known is None:
        raise TransferRefused(label=str(rep), reason="no Archive has offered it")
    return known
