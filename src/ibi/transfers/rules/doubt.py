"""The state of an Archive that may have been restored from a backup.

A restored directory does not know which Originals were given away since the backup. The resolver and the receiving
Archives know it. They return releases that this Archive itself signed, so it believes them from anyone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ibi.items.rules.provenance import (
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
from ibi.standard.label import Label
from ibi.standard.messages.answers import resolver_service
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import State


@dataclass(frozen=True, slots=True)
class Here:
    """One item as this Archive has it, with the identity of this Archive."""

    service: LabelForms
    keys: tuple[PublicKey, ...]
    """The present key, then the former keys."""
    state: State | None = None
    manifest: str | None = None
    chain: Chain = NO_CHAIN
    transferable: bool = True
    resolver_keys: tuple[PublicKey, ...] = ()
    """The present and former keys of this Archive's resolver. A statement that the resolver signs in place of this
    Archive, because it took it for lost, counts as signed by this Archive (E97)."""
    in_doubt: bool = False
    """True if the directory may come from a backup and some witnesses have not answered yet (`Doubt`)."""

    @property
    def is_original(self) -> bool:
        return self.state is State.ORIGINAL

    @property
    def is_owed(self) -> bool:
        """True if the chain gives the Original to this Archive, but it holds at most a Copy. Either it was restored
        from a backup, or its Copy was refreshed after the release."""
        release = self.chain.last_release
        if self.is_original or release is None:
            return False
        return release.to in self.service.labels and release.to_key in self.keys

    def knows_release(self, number: int, giver: PublicKey) -> bool:
        """Return whether the chain goes on from release `number`, and `giver` signed that release or this Archive
        signed the next link. A chain that merely came along with a Copy proves nothing."""
        links = self.chain.links
        return len(links) > number > 0 and (links[number - 1].signer == giver or links[number].signer in self.keys)

    @property
    def has_signed(self) -> bool:
        """True if this Archive signed a link of the chain."""
        return any(link.signer in self.keys for link in self.chain.links)


def recall(here: Here, texts: Iterable[str]) -> Chain | None:
    """Return the chain if it extends the known one by a release of this Archive, else None.

    A chain that extends a release under way is returned too. This Archive, or its resolver in its place, signed the
    release, so it is believed. Of links that others signed, only the order is checked. Raise `InvalidProvenance` if the
    texts are no chain, or contradict the chain here.
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
    """Return whether this Archive, or its resolver in its place, signed the link."""
    return link.signer in here.keys or _is_release_of(here, link)


def _is_release_of(here: Here, link: ProvenanceLink) -> bool:
    if not isinstance(link.said, Release) or link.said.giver not in here.service.labels:
        return False
    return link.signer in here.keys if link.said.by is None else link.signer in here.resolver_keys


def is_key_for(here: Here) -> IsKeyOf:
    """Return the key check for chains of `here`. For this Archive it accepts only its own keys, for the resolver only
    the known ones, and for any other Archive every key."""

    def is_key_of(who: Label, key: PublicKey) -> bool:
        if who == resolver_service():
            return key in here.resolver_keys
        return who not in here.service.labels or key in here.keys

    return is_key_of


@dataclass(frozen=True, slots=True)
class Doubt:
    """The witnesses that an Archive must hear after a restore, before it knows whether it gave Originals away.

    The resolver is told every chain; the receivers know the Originals that they took. The Archive calls no item
    Original until the resolver was heard and every known receiver was tried. It releases nothing and takes nothing over
    until all were heard: two releases of one Original could not be settled automatically.
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
        """True if no item may be called Original."""
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
        """Return the doubt with further possible receivers. A resolver names all Archives that it knows."""
        return replace(self, receivers=self.receivers | frozenset(others))
