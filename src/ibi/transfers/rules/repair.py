"""Decisions that make chain and state agree again, without I/O.

A restored backup is older than the releases made after it. The chain of an item says which Archive has the Original. It
survives a lost backup in other places: the ledger, the resolver, the other Archive, a Copy. An Archive believes two of
its own signatures from anyone who shows them:

- Its own release. The Archive gave the Original away and is a Copy from now on. That holds even if the Original came
  back later, because the bytes of the backup are older than those that came back.
- Its own agreement to take the Original: a countersignature, or the acceptance in a release.

So no stranger can take an Original away or push one on an Archive. No order of crashes makes two Originals: after any
restore, the receiver takes the Original by the same release and countersigns with the same text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ibi.items.model.item import name_one_item
from ibi.items.rules.provenance import (
    NO_CHAIN,
    Chain,
    ChainOrder,
    InvalidProvenance,
    Release,
    check_chain,
    compare_chains,
)
from ibi.standard.errors import InvalidInput
from ibi.standard.vocabulary import State
from ibi.transfers.rules.doubt import Here, is_key_for, signs_for
from ibi.transfers.rules.transfer import TakeOver
from ibi.transfers.rules.transfer_messages import read_acceptance


@dataclass(frozen=True, slots=True)
class Settled:
    """Chain and state agree, as far as this Archive knows."""


@dataclass(frozen=True, slots=True)
class LearnRelease:
    """Write the chain into the object: this Archive gave the Original away. The object is a Copy from then on."""

    chain: Chain


@dataclass(frozen=True, slots=True)
class TellReceiver:
    """Tell the receiver about the release until it says that it has the Original."""

    chain: Chain
    release: Release


@dataclass(frozen=True, slots=True)
class FetchContent:
    """Fetch the released bytes from any Archive that has them, and store them with the chain as a Copy."""

    chain: Chain
    release: Release


@dataclass(frozen=True, slots=True)
class AwaitWitnesses:
    """Wait: this Archive may have been restored from a backup, and some witnesses have not answered yet."""


RepairStep = Settled | LearnRelease | TellReceiver | FetchContent | TakeOver | AwaitWitnesses


def believe(here: Here, known: Chain, texts: Iterable[str]) -> Chain | None:
    """Return a chain that another Archive showed, if it extends the known one and this Archive signed a new link.

    A chain that completes a release under way, or shows the agreement of this Archive, is returned too. Otherwise, and
    if it adds nothing, return None. Raise `InvalidProvenance` if the texts are no chain, or contradict the known one.
    """
    texts = tuple(texts)
    order = compare_chains(known.texts, texts)
    if order in (ChainOrder.SAME, ChainOrder.OLDER):
        return None
    chain = check_chain(texts, is_key_for(here), known=known.texts)
    if order is ChainOrder.FORKED:
        raise InvalidProvenance(texts[-1] if texts else "", 0, "it contradicts the chain that is here")
    is_ours = any(signs_for(here, link) for link in chain.links[len(known.links) :])
    return chain if is_ours or known.is_under_way or has_agreed(here, chain) else None


def has_agreed(here: Here, chain: Chain) -> bool:
    """Return whether this Archive signed that it takes the Original of the last release."""
    release = chain.last_release
    if release is None or release.to not in here.service.labels or release.to_key not in here.keys:
        return False
    if not chain.is_under_way:
        return chain.links[-1].signer in here.keys
    return _has_accepted(here, chain, release)


def _has_accepted(here: Here, chain: Chain, release: Release) -> bool:
    """Return whether the release carries this Archive's acceptance of this very release."""
    if release.acceptance is None:
        return False
    try:
        said, accepter = read_acceptance(release.acceptance)
    except InvalidInput:
        return False
    return (
        accepter in here.keys
        and said.to in here.service.labels
        and (said.number, said.manifest, said.giver_key) == (release.number, release.manifest, chain.links[-1].signer)
        and name_one_item(said.labels, release.labels)
    )


def newest_chain(here: Here, remembered: Chain) -> Chain:
    """Return the chain of the object, or the chain of the ledger if it extends it.

    If the item is not the Original and this Archive signed no link of the object's chain, others supplied that chain.
    Then the remembered chain is preferred.
    """
    if not _is_own(here, remembered):
        return here.chain
    if not here.is_original and not _is_own(here, here.chain):
        return remembered
    return remembered if compare_chains(here.chain.texts, remembered.texts) is ChainOrder.NEWER else here.chain


def _is_own(here: Here, chain: Chain) -> bool:
    return any(signs_for(here, link) for link in chain.links) or has_agreed(here, chain)


def own_chain(here: Here, remembered: Chain) -> Chain:
    """Return the newest chain that this Archive signed, else an empty one. A chain that others show must extend it."""
    newest = newest_chain(here, remembered)
    return newest if here.is_original or _is_own(here, newest) else NO_CHAIN


def next_repair(here: Here, known: Chain) -> RepairStep:
    """Return the next step of this Archive for an item with this known chain (`newest_chain`)."""
    release = known.last_release
    if release is None or here.state is State.DELETED:
        return Settled()
    if release.to not in here.service.labels:
        return _after_release(here, known, release)
    if here.is_original:  # the Original, and its bytes, came back after the backup
        is_behind = compare_chains(here.chain.texts, known.texts) is ChainOrder.NEWER
        return LearnRelease(known) if is_behind else Settled()
    if not has_agreed(here, known):
        return Settled()
    if here.in_doubt:
        return AwaitWitnesses()
    goes_on = compare_chains(here.chain.texts, known.texts) in (ChainOrder.SAME, ChainOrder.NEWER)
    if here.state is State.COPY and here.manifest == release.manifest and goes_on:
        return TakeOver(known, release.manifest)
    return FetchContent(known, release)


def _after_release(here: Here, known: Chain, release: Release) -> RepairStep:
    is_behind = compare_chains(here.chain.texts, known.texts) is ChainOrder.NEWER
    if here.state is not None and is_behind and any(signs_for(here, link) for link in known.links):
        return LearnRelease(known)
    return TellReceiver(known, release) if release.giver in here.service.labels else Settled()
