"""How an Original moves from one Archive to another: the decisions of both sides, without I/O.

    sender     offered ──────────────▶ released ──────▶ done                declined, withdrawn
    receiver   waiting ──▶ accepted ──▶ held ──▶ taken                      declined, ended

The sender offers; the receiver's side agrees, and brings a complete Copy; then the sender keeps the release, in one
version of its object together with the word that it is a Copy from now on. That is the commit point: before it the
sender has the Original, after it no one, until the receiver has fetched the release and keeps it together with its
countersignature and the word that it is the Original. Either side may stop at any moment and be asked again: all that
matters is in its object and in its ledger, and every message may come twice, late or never.

Rules that make two Originals impossible:
- a release is kept only by who has the Original, on top of the whole chain, and never on top of another release;
- it names the receiver by its key, and the receiver has said, signed, that it holds what is released;
- a receiver that has said so does not decline any more: only the sender knows whether it has released;
- the receiver takes over only by a release that goes on from the chain that it has itself;
- an Archive that may have been put back from a backup does neither until it has asked for its own releases.

Every function takes what is kept and what was heard, and gives what is to be kept and what is to be done next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from ibi.errors import ErrorKind, IbiError, InvalidInput
from ibi.federation.doubt import Here, recall
from ibi.federation.provenance import (
    Chain,
    ChainOrder,
    InvalidProvenance,
    IsKeyOf,
    Release,
    check_chain,
    compare_chains,
)
from ibi.federation.transfer_messages import Offer, Reply, TransferAcceptance, read_acceptance, sign_acceptance
from ibi.label import Label
from ibi.messages.answers import resolver_service
from ibi.messages.identification import LabelForms
from ibi.model.item import name_one_item
from ibi.model.transfer import IncomingTransfer, OutgoingTransfer, ReceiverStage, SenderStage
from ibi.signing import PublicKey, SigningKey
from ibi.vocabulary import State


class TransferRefused(IbiError):
    """{label} cannot be transferred: {reason}."""

    code = "transfer-refused"
    kind = ErrorKind.CONFLICT


_NOT_OFFERED: Final = "what the sender has is not what it offered"
_MOST_MISSED: Final = 10
"""Times that the Copy may be another than the one offered: about eight minutes, in which a sender that lives has
offered it again."""


# --- what is to be done ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SendOffer:
    offer: Offer


@dataclass(frozen=True, slots=True)
class KeepRelease:
    """Keep the release and be a Copy, in one version, if the item is still the Original with this manifest and this
    chain; else ask again what to do."""

    to: Label
    to_key: PublicKey
    manifest: str
    chain: Chain
    acceptance: str | None = None


@dataclass(frozen=True, slots=True)
class KeepChain:
    """Keep a chain that others have, in which this Archive gave the Original away: it is a Copy, whatever it says."""

    chain: Chain


@dataclass(frozen=True, slots=True)
class BringCopy:
    """Bring the Copy, or refresh it."""

    source: str


@dataclass(frozen=True, slots=True)
class AskChain:
    """Ask the sender for the chain of the item."""

    source: str


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Countersign unless this Archive did so before, keep the chain and be the Original, in one version, if the item is
    still the Copy with this manifest, whose chain this one goes on from; else ask again what to do."""

    chain: Chain
    manifest: str


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing before it is due."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing more."""


SenderStep = SendOffer | KeepRelease | KeepChain | Rest | Finish
ReceiverStep = BringCopy | AskChain | TakeOver | KeepChain | Rest | Finish


# --- the sender ------------------------------------------------------------------------------------------------------


def next_of_sender(kept: OutgoingTransfer, here: Here) -> tuple[OutgoingTransfer, SenderStep]:
    """What the sender does now."""
    if kept.stage.is_final:
        return kept, Finish()
    release = here.chain.last_release
    if not here.is_original and release is not None and release.giver in here.service.labels:
        return _told_of_release(kept, here)
    if here.in_doubt:
        return replace(kept, reason="this Archive may have been put back from a backup"), Rest()
    refusal = _sender_refusal(here)
    if refusal is not None:
        return replace(kept, stage=SenderStage.WITHDRAWN, reason=refusal), Finish()
    return kept, SendOffer(_offer(kept, here))


def _told_of_release(kept: OutgoingTransfer, here: Here) -> tuple[OutgoingTransfer, SenderStep]:
    """The Original is released: to this receiver, who is told until it has it, or to another."""
    release, accepted = here.chain.last_release, _accepted_by(kept)
    assert release is not None
    if accepted is not None and (release.to, release.to_key) != accepted:
        return replace(kept, stage=SenderStage.WITHDRAWN, reason=f"it was given to {release.to}"), Finish()
    if not here.chain.is_under_way:
        return replace(kept, stage=SenderStage.DONE, reason=""), Finish()
    kept = replace(kept, stage=SenderStage.RELEASED, reason="")
    number = here.chain.next_number - 1
    offer = replace(_offer(kept, here), number=number, manifest=release.manifest, released=True)
    return kept, SendOffer(offer)


def still_wants(kept: OutgoingTransfer | None, step: KeepRelease) -> bool:
    """Whether the transfer that a release was decided for is still the one that is wanted: it may have been withdrawn,
    and another begun. To be asked when the release is kept, under the lock of the item."""
    return kept is not None and kept.stage is SenderStage.OFFERED and _accepted_by(kept) == (step.to, step.to_key)


def _accepted_by(kept: OutgoingTransfer) -> tuple[Label, PublicKey] | None:
    if kept.acceptance is None:
        return None
    said, signer = read_acceptance(kept.acceptance)
    return said.to, signer


def _sender_refusal(here: Here) -> str | None:
    if here.state is None:
        return "it is not here"
    if not here.is_original:
        return f"it is {here.state.value} here, and only an Original can be given away"
    if not here.transferable:
        return "it is marked as not transferable"
    return None


def _offer(kept: OutgoingTransfer, here: Here) -> Offer:
    service, manifest = here.service.labels[0], here.manifest
    assert manifest is not None  # whatever is here has one
    number = here.chain.next_number
    return Offer(
        kept.labels,
        number,
        service,
        kept.url,
        kept.receiver,
        manifest,
        kept.since,
        token=kept.token,
        acceptance=kept.acceptance,
    )


def withdraw(kept: OutgoingTransfer, here: Here, reason: str = "") -> tuple[OutgoingTransfer, Offer]:
    """The sender keeps its Original after all; the receiver is told, if it can be. `TransferRefused` once the release
    is kept."""
    if kept.stage is not SenderStage.OFFERED or not here.is_original:
        raise TransferRefused(label=str(kept.rep), reason="it cannot be withdrawn any more: the Original was released")
    offer = replace(_offer(kept, here), withdrawn=True)
    return replace(kept, stage=SenderStage.WITHDRAWN, reason=reason or "withdrawn"), offer


def give_up(kept: OutgoingTransfer, now: int, reason: str) -> tuple[OutgoingTransfer, SenderStep]:
    """What the sender does when the other server knows no transfers: it keeps its Original, unless that server has
    taken part before and may do so again."""
    if kept.stage is SenderStage.OFFERED and kept.remote is None:
        return replace(kept, stage=SenderStage.WITHDRAWN, reason=reason), Finish()
    return kept.delayed(now, reason), Rest()


def sender_hears(kept: OutgoingTransfer, here: Here, reply: Reply, now: int) -> tuple[OutgoingTransfer, SenderStep]:
    """What the sender does when the receiver has answered."""
    if kept.stage.is_final:
        return kept, Finish()
    kept = replace(kept, remote=reply.stage, reason=reply.reason)
    try:
        if reply.stage is ReceiverStage.TAKEN:
            return _hear_taken(kept, here, reply, now)
        if here.is_original and reply.stage is ReceiverStage.HELD and not here.in_doubt:
            return _hear_held(kept, here, reply, now)
    except InvalidInput as error:
        return kept.delayed(now, f"its answer is not understood: {error.reason.format(**error.details)}"), Rest()
    if here.is_original and reply.stage is ReceiverStage.DECLINED:
        return replace(kept, stage=SenderStage.DECLINED), Finish()
    if here.is_original and reply.stage is ReceiverStage.ENDED:  # a withdrawal that was lost here, with a backup
        return replace(kept, stage=SenderStage.WITHDRAWN), Finish()
    return kept.delayed(now, reply.reason), Rest()


def _hear_held(kept: OutgoingTransfer, here: Here, reply: Reply, now: int) -> tuple[OutgoingTransfer, SenderStep]:
    if reply.acceptance is None:
        return kept.delayed(now, "it does not say what it holds"), Rest()
    said, signer = read_acceptance(reply.acceptance)
    is_ours = said.giver_key == here.keys[0] and name_one_item(said.labels, kept.labels)
    if not is_ours or said.number != here.chain.next_number or said.to in here.service.labels:
        return kept.delayed(now, "it accepts something else"), Rest()
    kept = replace(kept, acceptance=reply.acceptance, to=said.to, attempts=0, due=now)
    if said.manifest != here.manifest:  # the Original has changed since: the receiver refreshes its Copy
        return kept, SendOffer(_offer(kept, here))
    return kept, KeepRelease(said.to, signer, said.manifest, here.chain, reply.acceptance)


def _hear_taken(kept: OutgoingTransfer, here: Here, reply: Reply, now: int) -> tuple[OutgoingTransfer, SenderStep]:
    """The receiver says that it has the Original. If this Archive knows of no release, it has lost it, and is told."""
    chain = recall(here, reply.chain)
    if chain is None:
        if here.is_original or here.chain.is_under_way:
            return kept.delayed(now, "it says that it has the Original, and proves nothing"), Rest()
        return replace(kept, stage=SenderStage.DONE, reason=""), Finish()
    return kept, KeepChain(chain)


# --- the receiver ----------------------------------------------------------------------------------------------------


def accept(kept: IncomingTransfer, now: int, key: str | None = None) -> IncomingTransfer:
    """The librarian agrees; to what the Archive with this `key` offers, if one is named: from then on the transfer is
    that of this key alone. `TransferRefused` if another offers it by now."""
    if key is not None and key != str(kept.giver_key):
        raise TransferRefused(label=str(kept.rep), reason=f"another Archive offers it, with the key {kept.giver_key}")
    if kept.stage is not ReceiverStage.WAITING:
        return kept
    return replace(kept, stage=ReceiverStage.ACCEPTED, due=now, attempts=0, reason="", vouched=True)


def decline(kept: IncomingTransfer, reason: str = "") -> IncomingTransfer:
    """The librarian does not. `TransferRefused` once this Archive has said that it holds the Copy: the Original may
    have been released already, and would be nowhere."""
    if kept.stage in (ReceiverStage.HELD, ReceiverStage.TAKEN):
        why = "this Archive has agreed, and the Original may be on its way: ask the sender to withdraw it"
        raise TransferRefused(label=str(kept.rep), reason=why)
    if kept.stage.is_final:
        return kept
    return replace(kept, stage=ReceiverStage.DECLINED, reason=reason or "declined")


def answer_offer(kept: IncomingTransfer, here: Here) -> Reply:
    """What the receiver says to the sender."""
    if here.knows_release(kept.number, kept.giver_key) and not here.is_owed:
        return Reply(ReceiverStage.TAKEN, chain=here.chain.texts)
    if kept.stage is ReceiverStage.HELD:
        return Reply(ReceiverStage.HELD, kept.acceptance, reason=kept.reason)
    return Reply(kept.stage, reason=kept.reason)


def next_of_receiver(kept: IncomingTransfer, here: Here) -> tuple[IncomingTransfer, ReceiverStep]:
    """What the receiver does now."""
    if kept.stage.is_final:
        return kept, Finish()
    if here.knows_release(kept.number, kept.giver_key) and not here.is_owed:
        return replace(kept, stage=ReceiverStage.TAKEN, reason=""), Finish()
    if kept.stage is ReceiverStage.WAITING:
        return kept, Rest()
    if kept.stage is ReceiverStage.ACCEPTED or here.state is None:
        return kept, BringCopy(kept.source)
    return kept, AskChain(kept.source)


def receiver_holds(kept: IncomingTransfer, here: Here, key: SigningKey, now: int) -> IncomingTransfer:
    """The Copy was brought: what is held is said, signed, and from then on not taken back."""
    if kept.stage is not ReceiverStage.ACCEPTED:
        return kept
    if here.state is not State.COPY or here.manifest is None:
        return kept.delayed(now, "there is no Copy here")
    if here.manifest != kept.manifest:
        return _miss(kept, now, _NOT_OFFERED)
    said = TransferAcceptance(kept.labels, kept.number, kept.giver_key, here.service.labels[0], here.manifest)
    return replace(
        kept,
        stage=ReceiverStage.HELD,
        acceptance=sign_acceptance(said, key),
        attempts=0,
        due=now,
        reason="",
    )


def _miss(kept: IncomingTransfer, now: int, reason: str) -> IncomingTransfer:
    """The Copy is not what was offered, or the release not one that can be believed. A sender whose item has changed
    meanwhile offers it anew, as it is then; one that has released it says so, and it is taken up again; any other will
    not mend it."""
    missed = (kept if kept.reason == reason else replace(kept, attempts=0)).delayed(now, reason)
    return missed if missed.attempts < _MOST_MISSED else replace(missed, stage=ReceiverStage.ENDED)


# --- of an Archive that is lost (E97) --------------------------------------------------------------------------------


def accept_lost(here: Here, labels: LabelForms, key: SigningKey, told: tuple[str, ...] = ()) -> str:
    """What an Archive says to the resolver that has a Copy and wants the Original of it, whose Archive is lost. `told`
    is the chain that the resolver knows, where that is more than came with the Copy."""
    name = str(labels.labels[0])
    if not here.resolver_keys:
        reason = (
            "the key of the resolver is not known here: the Archive has to be included first (`ibi archive status`)"
        )
        raise TransferRefused(label=name, reason=reason)
    if here.state is not State.COPY or here.manifest is None:
        raise TransferRefused(label=name, reason="there is no Copy of it here")
    if here.in_doubt:
        raise TransferRefused(label=name, reason="this Archive may have been put back from a backup")
    number, to = max(here.chain.next_number, len(told) + 1), here.service.labels[0]
    return sign_acceptance(TransferAcceptance(labels, number, here.resolver_keys[0], to, here.manifest), key)


def hear_lost(here: Here, texts: Iterable[str], labels: LabelForms) -> TakeOver | None:
    """The take-over of what the resolver released in the place of a lost Archive; None if it was taken over before.
    `InvalidProvenance` and `TransferRefused` for what is no such release, or not of the Copy here."""
    chain = check_chain(texts, lambda who, key: who != resolver_service() or key in here.resolver_keys, labels)
    release = chain.last_release
    if (
        release is None
        or release.by is None
        or release.to not in here.service.labels
        or release.to_key not in here.keys
    ):
        raise TransferRefused(label=str(labels.labels[0]), reason="the resolver gives nothing to this Archive")
    taken = Chain(chain.links[: release.number])
    if compare_chains(here.chain.texts, taken.texts) is ChainOrder.OLDER and here.has_signed:
        return None
    if here.manifest != release.manifest:
        reason = "the Copy here is another than the one that the resolver released"
        raise TransferRefused(label=str(labels.labels[0]), reason=reason)
    return TakeOver(taken, release.manifest)


def receiver_hears_chain(
    kept: IncomingTransfer, here: Here, texts: Iterable[str], is_key_of: IsKeyOf, now: int
) -> tuple[IncomingTransfer, ReceiverStep]:
    """What the receiver does when the sender has told the chain of the item. `is_key_of` is asked about Archives before
    the sender; the sender's key is that of its offer."""
    if kept.stage is not ReceiverStage.HELD:
        return kept, Rest()
    texts = tuple(texts)
    if len(texts) < kept.number:
        return kept.delayed(now), Rest()  # not yet released, which is no failure
    try:
        chain = check_chain(texts, lambda who, key: _is_signer(kept, is_key_of, who, key), kept.labels)
    except InvalidProvenance as error:
        return _miss(kept, now, f"the release is not believed: {error.reason.format(**error.details)}"), Rest()
    return _judge_chain(kept, here, chain, now)


def _is_signer(kept: IncomingTransfer, is_key_of: IsKeyOf, who: Label, key: PublicKey) -> bool:
    return key == kept.giver_key if who == kept.giver else is_key_of(who, key)


def _judge_chain(kept: IncomingTransfer, here: Here, chain: Chain, now: int) -> tuple[IncomingTransfer, ReceiverStep]:
    link = chain.links[kept.number - 1]
    said = link.said
    if not isinstance(said, Release) or said.giver != kept.giver or link.signer != kept.giver_key:
        return _miss(kept, now, "the release is not believed: it is signed by another Archive"), Rest()
    if said.to not in here.service.labels or said.to_key not in here.keys:
        return replace(kept, stage=ReceiverStage.ENDED, reason="the Original was given to another Archive"), Finish()
    known = compare_chains(here.chain.texts[: kept.number], chain.texts[: kept.number])
    if known is ChainOrder.FORKED and here.state is State.COPY and not here.has_signed:
        return kept, BringCopy(kept.source)  # the Copy was refreshed meanwhile from where the Original is not
    try:
        ours = recall(here, chain.texts)
    except InvalidProvenance as error:
        return _miss(kept, now, f"the release is not believed: {error.reason.format(**error.details)}"), Rest()
    if ours is not None and ours.next_number > kept.number + 2:  # this Archive has given it on since
        return replace(kept, stage=ReceiverStage.TAKEN), KeepChain(ours)
    chain = Chain(chain.links[: kept.number])  # what comes after is the countersignature of this Archive itself
    order = compare_chains(here.chain.texts[: kept.number], chain.texts)
    if order is not ChainOrder.NEWER and not (order is ChainOrder.SAME and here.is_owed):
        return _miss(kept, now, "the release does not go on from what is known of the item here"), Rest()
    if here.in_doubt:
        return kept.delayed(now, "this Archive may have been put back from a backup"), Rest()
    if here.state is not State.COPY or here.manifest != said.manifest:
        return replace(kept, manifest=said.manifest), BringCopy(kept.source)
    return kept, TakeOver(chain, said.manifest)
