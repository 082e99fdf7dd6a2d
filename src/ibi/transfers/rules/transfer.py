"""The transfer of an Original from one Archive to another: the decisions of both sides, without I/O.

    sender     offered ──────────────▶ released ──────▶ done                declined, withdrawn
    receiver   waiting ──▶ accepted ──▶ held ──▶ taken                      declined, ended

The sender offers the Original. The receiver agrees and brings a complete Copy. Then the sender stores the release and
its new state Copy, in one version of its object. That is the commit point: before it the sender has the Original. After
it no Archive has the Original, until the receiver has fetched the release. The receiver stores the release, its
countersignature and its new state Original in one version. Either side may stop at any moment and resume: the object
and the ledger hold all that matters. Every message may come twice, late or never.

Rules that make two Originals impossible:

- Only the holder of the Original stores a release. It stores it on top of the whole chain, never on another release.
- The release names the receiver by its key, and the receiver has signed that it holds the released content.
- A receiver that has signed so no longer declines: only the sender knows whether it has released.
- The receiver takes over only by a release that extends its own chain.
- An Archive that may have been restored from a backup does neither until it has asked for its own releases.

Each function takes the stored state and the received message, and returns the new state and the next step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from ibi.items.model.item import name_one_item
from ibi.items.rules.provenance import (
    Chain,
    ChainOrder,
    InvalidProvenance,
    IsKeyOf,
    Release,
    check_chain,
    compare_chains,
)
from ibi.standard.errors import ErrorKind, IbiError, InvalidInput
from ibi.standard.label import Label
from ibi.standard.messages.answers import resolver_service
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey, SigningKey
from ibi.standard.vocabulary import State
from ibi.transfers.model import IncomingTransfer, OutgoingTransfer, ReceiverStage, SenderStage
from ibi.transfers.rules.doubt import Here, recall
from ibi.transfers.rules.transfer_messages import Offer, Reply, TransferAcceptance, read_acceptance, sign_acceptance


class TransferRefused(IbiError):
    """{label} cannot be transferred: {reason}."""

    code = "transfer-refused"
    kind = ErrorKind.CONFLICT


_NOT_OFFERED: Final = "what the sender has is not what it offered"
_MOST_MISSED: Final = 10
"""Times that the Copy may differ from the offer: about eight minutes. A running sender repeats its offer by then."""


@dataclass(frozen=True, slots=True)
class SendOffer:
    offer: Offer


@dataclass(frozen=True, slots=True)
class KeepRelease:
    """Store the release and become a Copy, in one version.

    This applies only if the item is still the Original with this manifest and this chain. Otherwise ask again for the
    next step.
    """

    to: Label
    to_key: PublicKey
    manifest: str
    chain: Chain
    acceptance: str | None = None


@dataclass(frozen=True, slots=True)
class KeepChain:
    """Store a chain that others have. In it this Archive gave the Original away, so the item is a Copy here."""

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
    """Store the chain and become the Original, in one version. Countersign first, unless this Archive did so before.

    This applies only if the item is still the Copy with this manifest, and the chain extends the item's chain.
    Otherwise ask again for the next step.
    """

    chain: Chain
    manifest: str


@dataclass(frozen=True, slots=True)
class Rest:
    """Do nothing until the transfer is due."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The transfer needs no further step."""


SenderStep = SendOffer | KeepRelease | KeepChain | Rest | Finish
ReceiverStep = BringCopy | AskChain | TakeOver | KeepChain | Rest | Finish


def next_of_sender(kept: OutgoingTransfer, here: Here) -> tuple[OutgoingTransfer, SenderStep]:
    """Return the next step of the sender."""
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
    """Return the step after the Original is released: repeat the release to this receiver until it has the Original. If
    another receiver got the Original, end the transfer."""
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
    """Return whether the transfer still wants the release in `step`. The transfer may have been withdrawn, and another
    begun. Call this under the lock of the item, when the release is stored."""
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
    assert manifest is not None  # every item here has a manifest
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
    """Return the withdrawn transfer, and the offer that tells the receiver, if it can be reached. The sender keeps its
    Original. Raise `TransferRefused` once the release is stored."""
    if kept.stage is not SenderStage.OFFERED or not here.is_original:
        raise TransferRefused(label=str(kept.rep), reason="it cannot be withdrawn any more: the Original was released")
    offer = replace(_offer(kept, here), withdrawn=True)
    return replace(kept, stage=SenderStage.WITHDRAWN, reason=reason or "withdrawn"), offer


def give_up(kept: OutgoingTransfer, now: int, reason: str) -> tuple[OutgoingTransfer, SenderStep]:
    """Return the step after the other server knows no transfers: the sender keeps its Original. If that server has
    taken part before, it may do so again, so the sender waits."""
    if kept.stage is SenderStage.OFFERED and kept.remote is None:
        return replace(kept, stage=SenderStage.WITHDRAWN, reason=reason), Finish()
    return kept.delayed(now, reason), Rest()


def sender_hears(kept: OutgoingTransfer, here: Here, reply: Reply, now: int) -> tuple[OutgoingTransfer, SenderStep]:
    """Return the step of the sender after an answer of the receiver."""
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
    if here.is_original and reply.stage is ReceiverStage.ENDED:  # a restore lost the withdrawal here
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
    if said.manifest != here.manifest:  # the Original has changed: the receiver refreshes its Copy
        return kept, SendOffer(_offer(kept, here))
    return kept, KeepRelease(said.to, signer, said.manifest, here.chain, reply.acceptance)


def _hear_taken(kept: OutgoingTransfer, here: Here, reply: Reply, now: int) -> tuple[OutgoingTransfer, SenderStep]:
    """Return the step after the receiver says that it has the Original. If this Archive knows of no release, it lost
    the release, and learns the chain."""
    chain = recall(here, reply.chain)
    if chain is None:
        if here.is_original or here.chain.is_under_way:
            return kept.delayed(now, "it says that it has the Original, and proves nothing"), Rest()
        return replace(kept, stage=SenderStage.DONE, reason=""), Finish()
    return kept, KeepChain(chain)


def accept(kept: IncomingTransfer, now: int, key: str | None = None) -> IncomingTransfer:
    """Return the transfer that the librarian accepted. If `key` is given, accept only an offer with that key, and raise
    `TransferRefused` if another Archive offers it by now. From then on the transfer belongs to this key alone."""
    if key is not None and key != str(kept.giver_key):
        raise TransferRefused(label=str(kept.rep), reason=f"another Archive offers it, with the key {kept.giver_key}")
    if kept.stage is not ReceiverStage.WAITING:
        return kept
    return replace(kept, stage=ReceiverStage.ACCEPTED, due=now, attempts=0, reason="", vouched=True)


def decline(kept: IncomingTransfer, reason: str = "") -> IncomingTransfer:
    """Return the transfer that the librarian declined. Raise `TransferRefused` once this Archive has signed that it
    holds the Copy: the Original may be released already, and no Archive would have it."""
    if kept.stage in (ReceiverStage.HELD, ReceiverStage.TAKEN):
        why = "this Archive has agreed, and the Original may be on its way: ask the sender to withdraw it"
        raise TransferRefused(label=str(kept.rep), reason=why)
    if kept.stage.is_final:
        return kept
    return replace(kept, stage=ReceiverStage.DECLINED, reason=reason or "declined")


def answer_offer(kept: IncomingTransfer, here: Here) -> Reply:
    """Return the receiver's reply to the sender."""
    if here.knows_release(kept.number, kept.giver_key) and not here.is_owed:
        return Reply(ReceiverStage.TAKEN, chain=here.chain.texts)
    if kept.stage is ReceiverStage.HELD:
        return Reply(ReceiverStage.HELD, kept.acceptance, reason=kept.reason)
    return Reply(kept.stage, reason=kept.reason)


def next_of_receiver(kept: IncomingTransfer, here: Here) -> tuple[IncomingTransfer, ReceiverStep]:
    """Return the next step of the receiver."""
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
    """Return the transfer after the Copy was brought. The receiver signs its content, and cannot take that back."""
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
    """Return the delayed transfer: the Copy differs from the offer, or the release cannot be believed.

    If the sender's item has changed, the sender offers it anew. If the sender has released it, it says so and the
    transfer resumes. After `_MOST_MISSED` misses the transfer ends.
    """
    missed = (kept if kept.reason == reason else replace(kept, attempts=0)).delayed(now, reason)
    return missed if missed.attempts < _MOST_MISSED else replace(missed, stage=ReceiverStage.ENDED)


def accept_lost(here: Here, labels: LabelForms, key: SigningKey, told: tuple[str, ...] = ()) -> str:
    """Return the signed acceptance of an Original that a lost Archive had (E97). It tells the resolver that this
    Archive has a Copy and wants the Original. `told` is the resolver's chain, where it is longer than the one with the
    Copy."""
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
    """Return the take-over of an Original that the resolver released in place of a lost Archive (E97).

    Return None if it was taken over before. Raise `InvalidProvenance` or `TransferRefused` if there is no such release,
    or if it is not of the Copy here.
    """
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
    """Return the step of the receiver after the sender sent the chain of the item. `is_key_of` is asked about earlier
    Archives; the sender's key is that of its offer."""
    if kept.stage is not ReceiverStage.HELD:
        return kept, Rest()
    texts = tuple(texts)
    if len(texts) < kept.number:
        return kept.delayed(now), Rest()  # not released yet, which is no failure
    try:
        chain = check_chain(texts, lambda who, key: _is_signer(kept, is_key_of, who, key), kept.labels)
    except InvalidProvenance as error:
        return _miss(kept, now, f"the release is not believed: {error.reason.format(**error.details)}"), Rest()
    return _judge_chain(kept, here, chain, now)


def _is_signer(kept: IncomingTransfer, is_key_of: IsKeyOf, who: Label, key: PublicKey) -> bool:
    return key == kept.giver_key if who == kept.giver else is_key_of(who, key)


def _judge_chain(kept: IncomingTransfer, here: Here, chain: Chain, now: int) -> tuple[IncomingTransfer, ReceiverStep]:
    """Return the step of the receiver after the sender sent a chain whose links follow from each other."""
    link = chain.links[kept.number - 1]
    said = link.said
    if not isinstance(said, Release) or said.giver != kept.giver or link.signer != kept.giver_key:
        return _miss(kept, now, "the release is not believed: it is signed by another Archive"), Rest()
    if said.to not in here.service.labels or said.to_key not in here.keys:
        return replace(kept, stage=ReceiverStage.ENDED, reason="the Original was given to another Archive"), Finish()
    known = compare_chains(here.chain.texts[: kept.number], chain.texts[: kept.number])
    if known is ChainOrder.FORKED and here.state is State.COPY and not here.has_signed:
        return kept, BringCopy(kept.source)  # meanwhile the Copy was refreshed from an Archive without the Original
    try:
        ours = recall(here, chain.texts)
    except InvalidProvenance as error:
        return _miss(kept, now, f"the release is not believed: {error.reason.format(**error.details)}"), Rest()
    if ours is not None and ours.next_number > kept.number + 2:  # this Archive has given it on since
        return replace(kept, stage=ReceiverStage.TAKEN), KeepChain(ours)
    given = Chain(chain.links[: kept.number])  # the rest is the countersignature of this Archive itself
    return _take_over(kept, here, given, said, now)


def _take_over(
    kept: IncomingTransfer, here: Here, chain: Chain, release: Release, now: int
) -> tuple[IncomingTransfer, ReceiverStep]:
    """Return the step of the receiver after a release to it that it believes. `chain` ends with the release."""
    order = compare_chains(here.chain.texts[: kept.number], chain.texts)
    if order is not ChainOrder.NEWER and not (order is ChainOrder.SAME and here.is_owed):
        return _miss(kept, now, "the release does not go on from what is known of the item here"), Rest()
    if here.in_doubt:
        return kept.delayed(now, "this Archive may have been put back from a backup"), Rest()
    if here.state is not State.COPY or here.manifest != release.manifest:
        return replace(kept, manifest=release.manifest), BringCopy(kept.source)
    return kept, TakeOver(chain, release.manifest)
