"""Gives Originals to other Archives: offers them, stores the release when the other holds a complete Copy, and tells
it.

A command begins transfers and takes them as far as it can. The server of the Archive resumes them, for as long as it
takes. Both may run at a time: the decisions fall under the lock of the item.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from ibi.copies.model import ItemObjectRecord
from ibi.items.model.item import Item
from ibi.items.rules import life_cycle
from ibi.items.rules.errors import NotAllowedNow, UntransferableItem
from ibi.items.rules.provenance import check_files
from ibi.items.rules.rights import Belonging, ItemAct, require_right
from ibi.people.model.account import COMMAND, Actor
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError, InvalidInput
from ibi.standard.label import Label, RepositoryName
from ibi.standard.translatable import message
from ibi.transfers.model import OutgoingTransfer, SenderStage
from ibi.transfers.ports import (
    NoTransferService,
    PeerRefused,
    PeerSilent,
    TokenRefused,
    TransferLedger,
    TransferPeers,
)
from ibi.transfers.rules.transfer import (
    KeepChain,
    KeepRelease,
    Rest,
    SenderStep,
    SendOffer,
    TransferRefused,
    give_up,
    next_of_sender,
    sender_hears,
    still_wants,
    withdraw,
)
from ibi.transfers.rules.transfer_messages import Offer, read_reply, sign_offer
from ibi.transfers.service.item_chains import ItemChains

_MOST_TURNS = 8
"""Steps of one transfer at a time. An Original that changes faster than it is copied waits for the next round."""


class Originals(Protocol):
    """Originals of other Archives (`ibi.copies.service`)."""

    def find_original(self, label: Label, token: str | None = None) -> tuple[str, ItemObjectRecord]:
        """Return the address of the Archive that has the Original, by the resolver, and its record of the item."""

    def bring(self, label: Label, source: str | None = None, token: str | None = None) -> object: ...


def _pass(_: str) -> None:
    """Do nothing: by default steps are not watched."""


class Sending:
    """The transfers of one Archive to others. Calls block, from any thread."""

    def __init__(
        self,
        chains: ItemChains,
        ledger: TransferLedger,
        peers: TransferPeers,
        clocks: Clocks,
        *,
        url: str,
        on_step: Callable[[str], None] = _pass,
    ) -> None:
        """`url` is the address of this Archive, at which receivers ask it."""
        self._chains, self._ledger, self._peers, self._clocks = chains, ledger, peers, clocks
        self._url, self._step = url, on_step

    def check(self, item: Item, receiver: str, actor: Actor = COMMAND) -> None:
        """Refuse an item that cannot be given away, or not by this actor."""
        now = self._clocks.read().wall
        require_right(actor, ItemAct.DELETE, Belonging.of(item, self._chains.service, now))
        life_cycle.require(item, life_cycle.Act.SEND_AWAY)
        life_cycle.check_not_service(item, self._chains.service)
        if not item.transferable:
            raise UntransferableItem(label=str(item.rep))
        if receiver.rstrip("/") == self._url:
            act = life_cycle.Act.SEND_AWAY.value
            raise NotAllowedNow(
                label=str(item.rep), act=act, reason=message("{to} is this Archive itself"), to=receiver
            )

    def begin(
        self, item: Item, receiver: str, token: str | None = None, *, copy_token: str | None = None
    ) -> OutgoingTransfer:
        """Offer the Original of a checked item to the Archive at that address, and go on as far as possible.

        `token` is one of the receiver's own, by which it agrees. With `copy_token`, of this Archive, the receiver reads
        restricted files. A transfer that was begun before is resumed.
        """
        receiver = receiver.rstrip("/")
        self._ledger.add_peer(receiver)
        now = self._now()

        def start(known: OutgoingTransfer | None) -> OutgoingTransfer:
            if known is None or known.stage in (SenderStage.DECLINED, SenderStage.WITHDRAWN, SenderStage.DONE):
                since = now if known is None else max(now, known.since + 1)
                return OutgoingTransfer(item.labels, receiver, self._url, token=copy_token, since=since)
            if known.receiver != receiver and known.stage is SenderStage.OFFERED:
                raise TransferRefused(
                    label=str(item.rep),
                    reason=f"it is offered to {known.receiver}; withdraw that first (`ibi transfers withdraw`)",
                )
            return replace(known, token=copy_token or known.token, due=0, attempts=0)

        self._ledger.change_outgoing(item.rep, start)
        self._step("offer noted")
        return self.go_on(item.rep, token)

    def go_on(self, rep: RepositoryName, token: str | None = None) -> OutgoingTransfer:
        """Make the steps of one transfer that are possible now. Return the transfer."""
        kept = self._ledger.outgoing(rep)
        if kept is None:
            raise TransferRefused(label=str(rep), reason="no transfer of it was begun")
        kept, step = next_of_sender(kept, self._chains.here(rep))
        for _ in range(_MOST_TURNS):
            kept = self._save(kept)
            if kept.stage.is_final:
                break
            following = self._do(kept, step, token)
            if following is None:
                break
            kept, step = following
        return self._save(kept)

    def abandon(self, kept: OutgoingTransfer) -> OutgoingTransfer:
        """Give up an offer to a server that has never answered, and keep the Original. Return the transfer. If the
        offer did arrive, that server asks again, and is told."""
        if kept.stage is not SenderStage.OFFERED or kept.remote is not None or not kept.attempts:
            return kept
        return self._save(give_up(kept, self._now(), kept.reason)[0])

    def withdraw(self, label: Label, reason: str = "") -> OutgoingTransfer:
        """Withdraw an offer, and keep the Original. `TransferRefused` once it is released."""
        rep = self._chains.repository.find(label).rep
        name = str(rep)
        offers: list[Offer] = []

        def end(known: OutgoingTransfer | None) -> OutgoingTransfer:
            if known is None:
                raise TransferRefused(label=name, reason="no transfer of it was begun")
            after, offer = withdraw(known, self._chains.here(rep), reason)
            offers.append(offer)
            return after

        with self._chains.repository.locks.hold(name):  # the lock under which a release is stored
            ended = self._ledger.change_outgoing(rep, end)
        with suppress(PeerSilent, PeerRefused):  # it asks again, and is told then
            self._peers.send_offer(ended.receiver, sign_offer(offers[0], self._chains.keys.signing_key()))
        return ended

    def yield_original(self, item: Item, resolver: str, originals: Originals, token: str | None = None) -> Label:
        """Become a Copy of the Original at another Archive, for which a dispute was settled (E98). Return that Archive.

        It has to have the Original, so that there is one. The content of this Archive stays among the versions of the
        object. `TransferRefused`, `PeerSilent`, `PeerRefused`, and the errors of `originals`.
        """
        life_cycle.require(item, life_cycle.Act.YIELD)
        settled = self._peers.settled_holders(resolver, item.rep) - frozenset(self._chains.service.labels)
        if not settled:
            reason = (
                "no dispute over it was settled for another Archive (`ibi resolver disputes --all` at the resolver)"
            )
            raise TransferRefused(label=str(item.rep), reason=reason)
        source, record = originals.find_original(item.rep, token)
        holder = next((each for each in record.service.labels if each in settled), None)
        if holder is None:
            names = ", ".join(map(str, settled))
            raise TransferRefused(label=str(item.rep), reason=f"{source} is not {names}, which has the Original")
        if not self._chains.yield_to(item.rep, holder, source, check_files(record.others, item.labels), "transfer"):
            raise TransferRefused(label=str(item.rep), reason="it is not the Original here any more")
        self._step("yielded")
        originals.bring(item.rep, source, token)
        return holder

    def _do(
        self, kept: OutgoingTransfer, step: SenderStep, token: str | None
    ) -> tuple[OutgoingTransfer, SenderStep] | None:
        rep = kept.rep
        match step:
            case SendOffer(offer):
                return self._send(kept, offer, token)
            case KeepRelease():
                if self._chains.keep_release(
                    rep, step, "transfer", lambda: still_wants(self._ledger.outgoing(rep), step)
                ):
                    self._ledger.note_untold(rep)
                    self._step("release noted")
                    return next_of_sender(kept, self._chains.here(rep))
                return next_of_sender(self._ledger.outgoing(rep) or kept, self._chains.here(rep))
            case KeepChain(chain):
                self._chains.keep_chain(rep, chain, "transfer")
                return next_of_sender(kept, self._chains.here(rep))
        return None

    def _send(self, kept: OutgoingTransfer, offer: Offer, token: str | None) -> tuple[OutgoingTransfer, SenderStep]:
        try:
            answer = self._peers.send_offer(kept.receiver, sign_offer(offer, self._chains.keys.signing_key()), token)
            self._step("offer answered")
            reply = read_reply(answer)
        except TokenRefused as error:
            kept, step = self._send(kept, offer, None)  # as an offer that a librarian has to accept
            return (kept if kept.stage.is_final else replace(kept, reason=_describe_error(error))), step
        except NoTransferService as error:
            return give_up(kept, self._now(), _describe_error(error))
        except InvalidInput as error:
            told = NoTransferService(peer=kept.receiver, detail=f"what it answers is no answer to an offer: {error}")
            return give_up(kept, self._now(), _describe_error(told))
        except (PeerSilent, PeerRefused) as error:
            return kept.delayed(self._now(), _describe_error(error)), Rest()
        return sender_hears(kept, self._chains.here(kept.rep), reply, self._now())

    def _save(self, kept: OutgoingTransfer) -> OutgoingTransfer:
        """Store the record, unless the transfer was ended meanwhile, or another begun in its place."""

        def keep(known: OutgoingTransfer | None) -> OutgoingTransfer:
            if known is None or (known.receiver, known.since) != (kept.receiver, kept.since):
                return known or kept
            return known if known.stage.is_final and not kept.stage.is_final else kept

        return self._ledger.change_outgoing(kept.rep, keep)

    def _now(self) -> int:
        return self._clocks.read().wall.seconds


def _describe_error(error: IbiError) -> str:
    return str(error)[:500]
