"""The Archive that is believed about a label or a prefix, with the reason, as facts for people and programs.

The report asks no Archive: it is the state with which the next resolution begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from ibi.membership.model.registration import FalseClaim, LabelBeliefs, Registration
from ibi.membership.ports.registry import Registry
from ibi.membership.resources import RegisteredArchiveResource
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.ports import HOLDER_AGE, Beliefs
from ibi.resolver.resources import (
    BeliefReason,
    BeliefsResource,
    BelievedDeletion,
    BelievedHolder,
    BelievedHome,
    FalseClaimResource,
)
from ibi.standard.errors import InvalidInput, InvalidLabel
from ibi.standard.label import Label, parse
from ibi.standard.label.search import home_prefix, parse_home_prefix
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.resource import time_text

_MOST_CLAIMS: Final = 2_000
"""Claims, the last seen, that are searched for those about one prefix."""
_SHOWN: Final = 100


class BeliefSource(Protocol):
    """Reports beliefs, here or on another server."""

    def about(self, text: str) -> BeliefsResource:
        """Return the beliefs about a label, a persistent URL or a prefix; `InvalidInput` if the text is none of
        them."""


class BeliefReport:
    """The beliefs of one data directory. `own` is the Archive of the same server, which counts as registered. `wall` is
    the time of day in POSIX seconds."""

    def __init__(self, registry: Registry, beliefs: Beliefs, own: ArchiveRef | None, wall: Callable[[], float]) -> None:
        self._registry, self._beliefs, self._own, self._wall = registry, beliefs, own, wall

    @property
    def prompt(self) -> bool:
        return self._registry.prompt and self._beliefs.prompt

    def own_archive(self) -> RegisteredArchiveResource | None:
        """Return the Archive of the same server as the list of registered ones shows it; None if there is none."""
        own = self._own
        if own is None:
            return None
        rep, ibip = own.service.rep, own.service.ibip
        return RegisteredArchiveResource(
            rep=None if rep is None else rep.spelling,
            ibip=None if ibip is None else ibip.spelling,
            included=True,
            address=own.address,
            protocol=None,
            confirmed=True,
            since=None,
            prefixes=sorted(own.prefixes),
            successor=None,
            lost=None,
            key=None,
            former_keys=[],
            failure=None,
            last=None,
        )

    def about(self, text: str) -> BeliefsResource:
        label, prefix = _read(text)
        registered = self._registry.all()
        homes = [*self._own_home(prefix), *(self._home(each) for each in registered if prefix in each.home_prefixes)]
        vouched = [each.labels[0].spelling for each in registered if each.vouched]
        if label is None:
            return BeliefsResource(
                label=None,
                prefix=prefix,
                homes=homes,
                vouched=vouched,
                believed=None,
                successors=[],
                given_on=self._beliefs.given_on(prefix),
                deleted=None,
                claims=_shown_claims(self._claims_about(prefix)),
            )
        known = self._beliefs.about(label)
        return BeliefsResource(
            label=label.spelling,
            prefix=prefix,
            homes=homes,
            vouched=vouched,
            believed=self._describe_belief(homes, known),
            successors=[each.spelling for each in known.successors],
            given_on=None,
            deleted=self._deletion(label),
            claims=_shown_claims(known.claims),
        )

    def _claims_about(self, prefix: str) -> Sequence[FalseClaim]:
        return [each for each in self._beliefs.claims(_MOST_CLAIMS) if home_prefix(each.label) == prefix]

    def _describe_belief(self, homes: Sequence[BelievedHome], known: LabelBeliefs) -> BelievedHolder:
        ruling = known.ruling
        if ruling is not None and (known.successors[-1] if known.successors else ruling.holder) == ruling.holder:
            return BelievedHolder.of(BeliefReason.RULING, ruling.holder.spelling, ruling.at)
        if homes and known.successors:
            return BelievedHolder.of(BeliefReason.SUCCESSOR, known.successors[-1].spelling, known.named_at)
        if homes:
            return BelievedHolder(BeliefReason.HOME.value, homes[0].archive, homes[0].registered)
        if known.holder is not None and known.held_at is not None and self._wall() < known.held_at + HOLDER_AGE:
            return BelievedHolder.of(BeliefReason.HOLDER, known.holder.spelling, known.held_at)
        return BelievedHolder.of(BeliefReason.NONE, None, None)

    def _deletion(self, label: Label) -> BelievedDeletion | None:
        known = self._beliefs.deletion(label)
        return None if known is None else BelievedDeletion(known.by.spelling, time_text(known.when))

    def _own_home(self, prefix: str) -> Iterable[BelievedHome]:
        own = self._own
        if own is not None and prefix in own.home_prefixes:
            copies = self._beliefs.named_copies(own.service.labels[0])
            yield BelievedHome.of_own(own.service.labels[0], own.address, copies)

    def _home(self, registration: Registration) -> BelievedHome:
        return BelievedHome.of(registration, self._beliefs.named_copies(registration.labels[0]))


def _shown_claims(claims: Sequence[FalseClaim]) -> list[FalseClaimResource]:
    return [FalseClaimResource.of(claim) for claim in claims[:_SHOWN]]


def _read(text: str) -> tuple[Label | None, str]:
    """Return a label and its prefix, or a prefix alone."""
    text = text.strip()
    label: Label
    try:
        label = parse(text)
    except InvalidLabel as error:
        try:
            return None, parse_home_prefix(text)
        except InvalidLabel:
            label = _label_of_link(text, error)
    return label, home_prefix(label)


def _label_of_link(text: str, error: InvalidLabel) -> Label:
    try:
        return PersistentUrl.parse(text).label
    except InvalidInput:
        raise error from None
