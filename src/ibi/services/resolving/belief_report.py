"""Who is believed about a label or a prefix, and why, as facts for people and programs.

Nothing is asked of any Archive: this is what the next resolution begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol

from ibi.errors import InvalidInput, InvalidLabel
from ibi.instant import Instant
from ibi.label import Label, parse
from ibi.label.search import home_prefix, parse_home_prefix
from ibi.model.registration import FalseClaim, LabelBeliefs, Registration
from ibi.persistent_url import PersistentUrl
from ibi.ports.federation import HOLDER_AGE, Beliefs, Registry
from ibi.resolver.authority import ArchiveRef

_MOST_CLAIMS: Final = 2_000
"""Claims, those seen last, that are looked through for those about one prefix."""
_SHOWN: Final = 100


class BeliefReason(StrEnum):
    """Why one Archive is believed about an item before all others."""

    HOME = "home"
    """It is the home of the label: the Archive registered for its prefix."""
    SUCCESSOR = "successor"
    """The home named it, or one whom the home had named, as the new holder of the Original (E63)."""
    HOLDER = "holder"
    """The label has no home, and it held the Original when the item was last resolved (E55)."""
    RULING = "ruling"
    """The administrator of the resolver said so when two Archives claimed the Original (E93)."""
    NONE = "none"
    """No one is: the label has no home, and who holds the Original is not known."""


class BeliefSource(Protocol):
    """Tells what is believed, here or on another server."""

    def about(self, text: str) -> dict[str, Any]:
        """The facts about a label, a persistent URL or a prefix; `InvalidInput` if the text is none of them."""


class BeliefReport:
    """The beliefs of one data directory. `own` is the Archive of the same server, which counts as registered; `wall`
    the time of day in POSIX seconds."""

    def __init__(self, registry: Registry, beliefs: Beliefs, own: ArchiveRef | None, wall: Callable[[], float]) -> None:
        self._registry, self._beliefs, self._own, self._wall = registry, beliefs, own, wall

    @property
    def prompt(self) -> bool:
        return self._registry.prompt and self._beliefs.prompt

    def own_facts(self) -> dict[str, Any] | None:
        """The Archive of the same server as the list of registered ones shows it; None if there is none."""
        own = self._own
        if own is None:
            return None
        rep, ibip = own.service.rep, own.service.ibip
        return {
            "rep": None if rep is None else rep.spelling,
            "ibip": None if ibip is None else ibip.spelling,
            "included": True,
            "confirmed": True,
            "address": own.address,
            "prefixes": sorted(own.prefixes),
            "failure": None,
        }

    def about(self, text: str) -> dict[str, Any]:
        label, prefix = _read(text)
        registered = self._registry.all()
        homes = [*self._own_home(prefix), *(self._home(each) for each in registered if prefix in each.home_prefixes)]
        vouched = [each.labels[0].spelling for each in registered if each.vouched]
        facts = {"prefix": prefix, "homes": homes, "vouched": vouched}
        if label is None:
            claims = [each for each in self._beliefs.claims(_MOST_CLAIMS) if home_prefix(each.label) == prefix]
            return {
                "label": None,
                **facts,
                "believed": None,
                "successors": [],
                "given_on": self._beliefs.given_on(prefix),
                "deleted": None,
                "claims": [claim_facts(claim) for claim in claims[:_SHOWN]],
            }
        known = self._beliefs.about(label)
        return {
            "label": label.spelling,
            **facts,
            "believed": self._describe_belief(homes, known),
            "successors": [each.spelling for each in known.successors],
            "given_on": None,
            "deleted": self._deletion(label),
            "claims": [claim_facts(claim) for claim in known.claims[:_SHOWN]],
        }

    def _describe_belief(self, homes: Sequence[dict[str, Any]], known: LabelBeliefs) -> dict[str, Any]:
        ruling = known.ruling
        if ruling is not None and (known.successors[-1] if known.successors else ruling.holder) == ruling.holder:
            return _believe(BeliefReason.RULING, ruling.holder.spelling, ruling.at)
        if homes and known.successors:
            return _believe(BeliefReason.SUCCESSOR, known.successors[-1].spelling, known.named_at)
        if homes:
            first = homes[0]
            return {"why": BeliefReason.HOME.value, "archive": first["archive"], "since": first["registered"]}
        if known.holder is not None and known.held_at is not None and self._wall() < known.held_at + HOLDER_AGE:
            return _believe(BeliefReason.HOLDER, known.holder.spelling, known.held_at)
        return {"why": BeliefReason.NONE.value, "archive": None, "since": None}

    def _deletion(self, label: Label) -> dict[str, Any] | None:
        known = self._beliefs.deletion(label)
        if known is None:
            return None
        return {"archive": known.by.spelling, "when": None if known.when is None else str(Instant(known.when))}

    def _own_home(self, prefix: str) -> Iterable[dict[str, Any]]:
        own = self._own
        if own is not None and prefix in own.home_prefixes:
            yield {
                "archive": own.service.labels[0].spelling,
                "own": True,
                "included": True,
                "address": own.address,
                "registered": None,
                "shared": False,
                "successor": None,
                **self._copies(own.service.labels[0]),
            }

    def _home(self, registration: Registration) -> dict[str, Any]:
        inclusion, successor = registration.inclusion, registration.successor
        return {
            "archive": registration.labels[0].spelling,
            "own": False,
            "included": inclusion is not None,
            "address": None if inclusion is None else inclusion.address,
            "registered": str(registration.registered),
            "shared": registration.shared,
            "successor": None if successor is None else successor.labels[0].spelling,
            **self._copies(registration.labels[0]),
        }

    def _copies(self, home: Label) -> dict[str, Any]:
        named = self._beliefs.named_copies(home)
        at = None if named.at is None else str(Instant(named.at))
        return {
            "copies_at": sorted(map(str, named.holders)),
            "copies_named": at,
            "copies_signed": named.is_signed,
        }


def claim_facts(claim: FalseClaim) -> dict[str, object]:
    return {
        "label": claim.label.spelling,
        "claimant": claim.claimant.spelling,
        "home": claim.home.spelling,
        "claim": claim.kind.value,
        "first_seen": str(Instant(claim.first_seen)),
        "last_seen": str(Instant(claim.last_seen)),
        "times": claim.times,
    }


def _believe(why: BeliefReason, archive: str, since: int | None) -> dict[str, Any]:
    return {"why": why.value, "archive": archive, "since": None if since is None else str(Instant(since))}


def _read(text: str) -> tuple[Label | None, str]:
    """A label and its prefix, or a prefix alone."""
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
