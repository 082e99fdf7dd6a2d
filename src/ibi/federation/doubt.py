"""What an Archive does that may have been put back from a backup: ask others for its own releases.

A directory that is put back does not know what was given away since. Those know who were told: the resolver, and the
Archives that received something. What they show is signed by this Archive itself, and so is believed from any of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ibi.federation.provenance import (
    NO_CHAIN,
    Chain,
    ChainOrder,
    InvalidProvenance,
    IsKeyOf,
    ProvenanceLink,
    Release,
    check_chain,
    compare_chains,
)
from ibi.label import Label
from ibi.messages.answers import resolver_service
from ibi.messages.identification import LabelForms
from ibi.signing import PublicKey
from ibi.vocabulary import State


@dataclass(frozen=True, slots=True)
class Here:
    """One item as this Archive has it, and who this Archive is."""

    service: LabelForms
    keys: tuple[PublicKey, ...]
    """The present key, and those before it."""
    state: State | None = None
    manifest: str | None = None
    chain: Chain = NO_CHAIN
    transferable: bool = True
    resolver_keys: tuple[PublicKey, ...] = ()
    """The key by which the resolver of this Archive is known here, and those before it: what they sign in the place of
    this Archive, which it took for lost, counts as signed by it (E97)."""
    in_doubt: bool = False
    """Whether the directory may have been put back from a backup, and not all were heard who might know (`Doubt`)."""

    @property
    def is_original(self) -> bool:
        return self.state is State.ORIGINAL

    @property
    def is_owed(self) -> bool:
        """Whether the chain gives the Original to this Archive, which has no more than a Copy yet: it was put back from
        a backup, or its Copy was refreshed after the release."""
        release = self.chain.last_release
        if self.is_original or release is None:
            return False
        return release.to in self.service.labels and release.to_key in self.keys

    def knows_release(self, number: int, giver: PublicKey) -> bool:
        """Whether the chain goes on from the release of that number, and this Archive or the `giver` itself has signed
        that: a chain that came along with a Copy proves nothing else."""
        links = self.chain.links
        return len(links) > number > 0 and (links[number - 1].signer == giver or links[number].signer in self.keys)

    @property
    def has_signed(self) -> bool:
        """Whether a link of the chain is of this Archive."""
        return any(link.signer in self.keys for link in self.chain.links)


def recall(here: Here, texts: Iterable[str]) -> Chain | None:
    """The chain, if it goes on from what is known here by a release of this Archive; None if it says nothing new.

    It is believed because this Archive signed it itself, or its resolver in its place: of what others signed, before
    and after, only the order is checked. `InvalidProvenance` for what is no chain, and for one that contradicts that
    which is here.
    """
    texts = tuple(texts)
    order = compare_chains(here.chain.texts, texts)
    if order in (ChainOrder.SAME, ChainOrder.OLDER):
        return None
    chain = check_chain(texts, is_key_for(here), known=here.chain.texts)
    if order is ChainOrder.FORKED:
        raise InvalidProvenance(texts[-1] if texts else "", 0, "it contradicts the chain that is here")
    ours = any(_is_release_of(here, link) for link in chain.links[len(here.chain.links) :])
    return chain if ours or here.chain.is_under_way else None


def signs_for(here: Here, link: ProvenanceLink) -> bool:
    """Whether this Archive signed the link, or its resolver in its place."""
    return link.signer in here.keys or _is_release_of(here, link)


def _is_release_of(here: Here, link: ProvenanceLink) -> bool:
    if not isinstance(link.said, Release) or link.said.giver not in here.service.labels:
        return False
    return link.signer in here.keys if link.said.by is None else link.signer in here.resolver_keys


def is_key_for(here: Here) -> IsKeyOf:
    """Of this Archive the own keys, of the resolver those that are known; of those before this Archive and after it,
    whatever they sign with."""

    def is_key_of(who: Label, key: PublicKey) -> bool:
        if who == resolver_service():
            return key in here.resolver_keys
        return who not in here.service.labels or key in here.keys

    return is_key_of


@dataclass(frozen=True, slots=True)
class Doubt:
    """What an Archive does not know that may have been put back from a backup: whether it gave Originals away since.

    Others know: the resolver, to which every chain is told, and the Archives that received something. Until the
    resolver was heard and all known receivers were tried, no item is called Original. Until all were heard, nothing is
    released and nothing taken over: a second release of one Original could not be settled by itself.
    """

    resolver: str | None
    receivers: frozenset[str] = frozenset()
    heard: frozenset[str] = frozenset()
    tried: frozenset[str] = frozenset()

    @property
    def witnesses(self) -> frozenset[str]:
        return self.receivers if self.resolver is None else self.receivers | {self.resolver}

    @property
    def unheard(self) -> frozenset[str]:
        return self.witnesses - self.heard

    @property
    def is_grave(self) -> bool:
        """Whether nothing may be called Original."""
        if self.resolver is not None and self.resolver not in self.heard:
            return True
        return not self.receivers <= self.tried

    @property
    def is_over(self) -> bool:
        return not self.unheard

    def after(self, witness: str, *, heard: bool) -> Doubt:
        told = self.heard | {witness} if heard else self.heard
        return replace(self, heard=told, tried=self.tried | {witness})

    def with_receivers(self, others: Iterable[str]) -> Doubt:
        """Others who may have received something: a resolver names all Archives that it knows."""
        return replace(self, receivers=self.receivers | frozenset(others))
