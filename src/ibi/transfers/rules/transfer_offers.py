"""The treatment of offers by a receiver.

Any server can send offers. No stranger can replace the offer of another Archive. An accepted transfer belongs to one
key and one address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ibi.items.model.item import name_one_item
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import State
from ibi.transfers.model import IncomingTransfer, ReceiverStage
from ibi.transfers.rules.doubt import Here
from ibi.transfers.rules.transfer import TransferRefused
from ibi.transfers.rules.transfer_messages import Offer, read_acceptance


def receive_offer(
    kept: IncomingTransfer | None,
    offer: Offer,
    signer: PublicKey,
    here: Here,
    now: int,
    *,
    agreed: bool,
    network: str = "",
    is_home: Callable[[Offer, PublicKey], bool] = lambda _offer, _signer: False,
) -> IncomingTransfer:
    """Return the transfer that the receiver stores for an offer.

    `agreed` says whether the offer came with a token of this Archive. `network` is its source network. `is_home` tells
    whether the signer is the home of the label in the resolver's register. Raise `TransferRefused` if the item cannot
    be taken over.
    """
    _check_offer(kept, offer, signer, here)
    is_accepted = agreed or was_accepted(offer, signer, here)
    if kept is not None and kept.giver_key != signer:
        goes_first = is_accepted or is_home(offer, signer)
        _check_free(kept, offer, signer, here, goes_first=goes_first)
    if kept is None or is_another(kept, offer, signer):
        stage = ReceiverStage.ACCEPTED if is_accepted else ReceiverStage.WAITING
        return _begin_transfer(offer, signer, stage, now, network)
    if kept.stage.is_final:
        return kept
    if offer.withdrawn:
        return _withdraw(kept, offer)
    # Once a transfer is accepted, the Copy comes from the address that the librarian saw.
    source = offer.url if agreed or kept.stage is ReceiverStage.WAITING else kept.source
    return _renew(replace(kept, source=source, due=now), offer, is_accepted=is_accepted)


def _begin_transfer(offer: Offer, signer: PublicKey, stage: ReceiverStage, now: int, network: str) -> IncomingTransfer:
    return IncomingTransfer(
        offer.labels,
        offer.giver,
        signer,
        offer.url,
        offer.number,
        offer.manifest,
        stage,
        begun=offer.begun,
        token=offer.token,
        since=now,
        network=network,
    )


def _withdraw(kept: IncomingTransfer, offer: Offer) -> IncomingTransfer:
    if offer.begun < kept.begun:
        return kept  # an offer of an earlier transfer came late, or another server sent it again
    return replace(kept, stage=ReceiverStage.ENDED, reason="the sender has withdrawn it")


def _renew(kept: IncomingTransfer, offer: Offer, *, is_accepted: bool) -> IncomingTransfer:
    """Return the transfer after the sender sent the offer again. Where the item has changed since, the receiver
    refreshes its Copy."""
    kept = replace(kept, token=offer.token or kept.token, begun=max(kept.begun, offer.begun))
    if kept.stage is ReceiverStage.WAITING:
        stage = ReceiverStage.ACCEPTED if is_accepted else ReceiverStage.WAITING
        return replace(kept, manifest=offer.manifest, stage=stage)
    if offer.manifest != kept.manifest:
        return replace(kept, manifest=offer.manifest, stage=ReceiverStage.ACCEPTED, attempts=0)
    return kept


def _check_free(kept: IncomingTransfer, offer: Offer, signer: PublicKey, here: Here, *, goes_first: bool) -> None:
    """Raise `TransferRefused` if another Archive's offer blocks this one.

    Only the home of the label may replace an offer that still waits. An accepted transfer belongs to its one key.
    """
    if kept.stage is ReceiverStage.HELD:
        raise _make_refusal(offer, f"a transfer from {kept.source} is under way")
    if kept.stage is ReceiverStage.ACCEPTED or (kept.stage is ReceiverStage.WAITING and not goes_first):
        raise _make_refusal(offer, "another Archive offers it: decline that offer first")
    links = here.chain.links
    if (
        len(links) > offer.number
        and links[offer.number].signer in here.keys
        and links[offer.number - 1].signer != signer
    ):
        raise _make_refusal(offer, "there is no such transfer here")


def is_another(kept: IncomingTransfer | None, offer: Offer, signer: PublicKey) -> bool:
    """Return whether the offer begins a transfer. Otherwise it asks for the progress of a known one."""
    return kept is None or kept.giver_key != signer or _is_new(kept, offer)


def was_accepted(offer: Offer, signer: PublicKey, here: Here) -> bool:
    """Return whether the offer proves that this Archive agreed to take the Original."""
    return offer.acceptance is not None and _has_accepted(offer, signer, here)


def _is_new(kept: IncomingTransfer, offer: Offer) -> bool:
    """Return whether the offer is new, and not the one that ended. If the sender released an ended offer because it had
    not heard, the offer is taken up again."""
    if offer.number > kept.number:
        return True
    has_ended = kept.stage in (ReceiverStage.DECLINED, ReceiverStage.ENDED)
    return has_ended and (offer.begun > kept.begun or offer.released)


def _check_offer(kept: IncomingTransfer | None, offer: Offer, signer: PublicKey, here: Here) -> None:
    if offer.giver in here.service.labels:
        raise _make_refusal(offer, "the sender calls itself by the name of this Archive")
    if here.is_original and not here.knows_release(offer.number, signer):
        raise _make_refusal(offer, "the Original is here")
    if here.state is State.DELETED:
        raise _make_refusal(offer, "it was deleted here, and an IBI that is gone never returns")
    if offer.withdrawn and (kept is None or kept.giver_key != signer):
        raise _make_refusal(offer, "there is no such transfer here")


def _has_accepted(offer: Offer, signer: PublicKey, here: Here) -> bool:
    """Return whether this Archive signed the acceptance in the offer."""
    assert offer.acceptance is not None
    said, accepter = read_acceptance(offer.acceptance)
    return (
        accepter in here.keys
        and said.to in here.service.labels
        and said.giver_key == signer
        and said.number == offer.number
        and name_one_item(said.labels, offer.labels)
    )


def _make_refusal(offer: Offer, reason: str) -> TransferRefused:
    return TransferRefused(label=str(offer.labels.labels[0]), reason=reason)
