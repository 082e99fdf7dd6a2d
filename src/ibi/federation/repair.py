"""How an Archive makes chain and state agree again: decisions without I/O.

A backup that is put back is older than the releases that came after it. The chain of an item says who has the Original,
and outlives one backup in other places: the ledger, the resolver, the other Archive, a Copy. Two signatures of an
Archive itself are believed from anyone who shows them:

- its own release: it gave the Original away, and is a Copy from now on, also where the Original came back since:
  the bytes of the backup are older than those that came back;
- its own word that it takes the Original: a countersignature, or the acceptance that a release carries.

So no stranger can take an Original away or push one on an Archive, and no order of crashes makes two of them: the
receiver takes the Original by the same release, and countersigns with the same text, however often it is restored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ibi.errors import InvalidInput
from ibi.federation.doubt import Here, is_key_for, signs_for
from ibi.federation.provenance import (
    NO_CHAIN,
    Chain,
    ChainOrder,
    InvalidProvenance,
    Release,
    check_chain,
    compare_chains,
)
from ibi.federation.transfer import TakeOver
from ibi.federation.transfer_messages import read_acceptance
from ibi.model.item import name_one_item
from ibi.vocabulary import State


@dataclass(frozen=True, slots=True)
class Settled:
    """Chain and state agree, as far as is known here."""


@dataclass(frozen=True, slots=True)
class LearnRelease:
    """Write the chain into the object, which is a Copy from then on: this Archive gave the Original away."""

    chain: Chain


@dataclass(frozen=True, slots=True)
class TellReceiver:
    """Tell the receiver of the release, until it says that it has the Original."""

    chain: Chain
    release: Release


@dataclass(frozen=True, slots=True)
class FetchContent:
    """Fetch the bytes that were released, from any Archive that has them, and keep them with the chain as a Copy."""

    chain: Chain
    release: Release


@dataclass(frozen=True, slots=True)
class AwaitWitnesses:
    """Wait: this Archive may have been put back from a backup, and others were not heard yet."""


RepairStep = Settled | LearnRelease | TellReceiver | FetchContent | TakeOver | AwaitWitnesses


def believe(here: Here, known: Chain, texts: Iterable[str]) -> Chain | None:
    """Return a chain that another has shown, if it goes on from the known one and this Archive signed what is new.

    None if it says nothing new, or nothing that this Archive signed. `InvalidProvenance` for what is no chain, and for
    one that contradicts the known one.
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
    """Whether this Archive signed that it takes the Original of the last release."""
    release = chain.last_release
    if release is None or release.to not in here.service.labels or release.to_key not in here.keys:
        return False
    if not chain.is_under_way:
        return chain.links[-1].signer in here.keys
    return _has_accepted(here, chain, release)


def _has_accepted(here: Here, chain: Chain, release: Release) -> bool:
    """Whether the release carries the acceptance of this Archive, of this very release."""
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
    """Return the chain of the object, or that of the ledger if it goes on from it.

    Of an item that is not the Original, a chain without a signature of this Archive is what another said, and gives
    way to what this Archive remembers.
    """
    if not _is_own(here, remembered):
        return here.chain
    if not here.is_original and not _is_own(here, here.chain):
        return remembered
    return remembered if compare_chains(here.chain.texts, remembered.texts) is ChainOrder.NEWER else here.chain


def _is_own(here: Here, chain: Chain) -> bool:
    return any(signs_for(here, link) for link in chain.links) or has_agreed(here, chain)


def own_chain(here: Here, remembered: Chain) -> Chain:
    """Return the newest chain that this Archive signed; empty if there is none. What others show has to go on from
    it."""
    newest = newest_chain(here, remembered)
    return newest if here.is_original or _is_own(here, newest) else NO_CHAIN


def next_repair(here: Here, known: Chain) -> RepairStep:
    """Return what this Archive does now about an item of which it knows this chain (`newest_chain`)."""
    release = known.last_release
    if release is None or here.state is State.DELETED:
        return Settled()
    if release.to not in here.service.labels:
        return _after_release(here, known, release)
    if here.is_original:  # which came back since the backup, and its bytes with it
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
