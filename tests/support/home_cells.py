"""What a reader may ask for beside a lying Archive, and what the home's word makes of it: the rules as a table.

A `Plan` is one item (or a label without one), the speed of its home, who lies about it, and how. Each is asked for in
both forms of its label, before and after the resolver is killed. `expected` says what has to come of it; it knows the
rules of the home's word and nothing of how they are implemented.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from itertools import combinations, product
from typing import Final, NamedTuple

from tests.support.lying_archive import Lie


class Speed(Enum):
    """Of the home; the value is its delay in seconds."""

    QUICK = 0.0
    SLOW = 0.6
    VERY_SLOW = 2.0
    DEAD = None
    MUTE = 3600.0
    """It takes the request and never answers."""

    @property
    def is_tried_with_all(self) -> bool:
        """Each question to a mute one takes all the time there is for one, so that it is tried with few."""
        return self is not Speed.MUTE


class Liar(StrEnum):
    OLDER = "older than the home"
    NEWER = "newer than the home"
    BOTH = "two that claim the same"


class Kind(StrEnum):
    """What is asked for; of those with a second line, the lie is about something that the home does not have."""

    ORIGINAL = "Original"
    REQUIRED = "Original required"
    EDITION = "next edition"
    LAST = "last edition without a next one"
    TRANSLATION = "translation"
    NO_TRANSLATION = "translation that the home does not offer"
    FORMAT = "metadata format"
    NO_FORMAT = "metadata format that the home does not offer"
    FILE = "file"
    NO_FILE = "file that the item does not have"
    LAST_METADATA = "metadata of the last edition"
    EARLY = "item asked for before it was deposited"
    EARLY_GIVEN_OUT = "item under a label given out before, asked for before it was deposited"
    RESERVED = "label minted for a deposit and not deposited"
    GIVEN_OUT = "label minted for use elsewhere and not deposited"
    NEVER = "label that was never minted"
    FUTURE = "label dated in the future"
    TRANSFERRED = "transferred item"
    TRANSFERRED_COPY = "transferred item of which the home keeps a Copy"
    TRANSFERRED_UNKNOWN = "transferred item that was not asked for before"
    DELETED = "deleted item"
    CAPITALS = "Original under its label in capitals"
    OTHER_PORT = "label of the same host with the port written out"
    EDITION_TRANSLATION = "translation of the last edition that the home does not offer"
    COPIED = "item of which the home says who holds Copies"
    COPIED_FORMAT = "metadata format that only a holder of Copies offers"

    @property
    def link(self) -> str:
        """What follows the label."""
        return _LINKS.get(self, "")


_LINKS: Final = {
    Kind.REQUIRED: "?ibiurl.requireditemstatus=Original",
    Kind.EDITION: "!",
    Kind.LAST: "!",
    Kind.TRANSLATION: "+(pt)",
    Kind.NO_TRANSLATION: "+(pt)",
    Kind.FORMAT: ":(oai_dc)",
    Kind.NO_FORMAT: ":(marcxml)",
    Kind.FILE: "/a.txt",
    Kind.NO_FILE: "/b.txt",
    Kind.LAST_METADATA: "!:",
    Kind.COPIED_FORMAT: ":(marcxml)",
    Kind.EDITION_TRANSLATION: "!+(pt)",
}
NOT_OFFERED: Final = (Kind.NO_TRANSLATION, Kind.NO_FORMAT, Kind.EDITION_TRANSLATION)
GIVEN_AWAY: Final = (Kind.TRANSFERRED, Kind.TRANSFERRED_COPY, Kind.TRANSFERRED_UNKNOWN)
EARLY: Final = (Kind.EARLY, Kind.EARLY_GIVEN_OUT)


@dataclass
class Plan:
    kind: Kind
    speed: Speed
    liar: Liar
    lie: Lie
    forms: tuple[str, ...] = ()
    """The label to ask for, in each of its forms."""
    target: str = ""
    """The repository name of the item to which the link has to lead at the home."""
    related: tuple[str, ...] = field(default=())
    """Labels of the items that the home relates to it: asked for on the way."""

    @property
    def name(self) -> str:
        return f"{self.kind} | home {self.speed.name} | {self.liar} | {self.lie}"

    def paths(self) -> tuple[str, ...]:
        return tuple(f"/{label}{self.kind.link}" for label in self.forms)


class Place(StrEnum):
    """Where a redirect leads."""

    HOME = "home"
    HOLDER = "new holder"
    MIRROR = "holder of Copies"
    LIAR = "lying Archive"


class Expected(NamedTuple):
    """The statuses that are right, where a redirect may lead, and whose claims a page has to show."""

    statuses: frozenset[int]
    places: frozenset[Place] = frozenset()
    claimants: frozenset[Place] = frozenset()


LEADS_HOME: Final = Expected(frozenset({302}), frozenset({Place.HOME}))
LEADS_TO_HOLDER: Final = Expected(frozenset({302}), frozenset({Place.HOLDER}))
LEADS_TO_MIRROR: Final = Expected(frozenset({302}), frozenset({Place.MIRROR}))
SHOWN: Final = Expected(frozenset({300}), frozenset(), frozenset({Place.LIAR}))
NOT_FOUND: Final = Expected(frozenset({404}))
GONE: Final = Expected(frozenset({410}))
UNHEARD: Final = Expected(frozenset({502, 504}))
LATE: Final = Expected(frozenset({504}))


class Moment(Enum):
    """When it is asked for."""

    BEFORE_DEPOSIT = "before the deposit"
    BEFORE_KILL = "before the resolver is killed"
    AFTER_KILL = "after the resolver was killed"
    REVIVED = "after the dead home came back"
    SWITCHED_OFF = "after that home was switched off"


def expected(plan: Plan, moment: Moment) -> Expected:
    is_dead = plan.speed is Speed.DEAD and moment is not Moment.REVIVED
    if is_dead or plan.speed is Speed.MUTE:
        return _by_silence(plan, moment)
    if plan.kind in GIVEN_AWAY:
        return LEADS_TO_HOLDER
    if plan.kind is Kind.COPIED_FORMAT:
        return LEADS_TO_MIRROR
    if plan.kind is Kind.COPIED and plan.speed in (Speed.SLOW, Speed.VERY_SLOW):
        return Expected(frozenset({302}), frozenset({Place.HOME, Place.MIRROR}))  # it was waited for half a second
    if plan.kind is Kind.EARLY and moment is Moment.BEFORE_DEPOSIT:
        return NOT_FOUND
    if plan.kind is Kind.GIVEN_OUT or (plan.kind is Kind.EARLY_GIVEN_OUT and moment is Moment.BEFORE_DEPOSIT):
        return _by_claims(plan)
    if plan.kind in (Kind.RESERVED, Kind.NEVER, Kind.FUTURE, Kind.NO_FILE, Kind.OTHER_PORT):
        return NOT_FOUND
    if plan.kind is Kind.DELETED:
        return GONE
    if plan.kind in NOT_OFFERED:
        return SHOWN if _has_claim(plan) else NOT_FOUND
    return LEADS_HOME


def _has_claim(plan: Plan) -> bool:
    """Whether a lying Archive says anything that could be shown."""
    if plan.lie is Lie.DELETED:
        return False
    return plan.lie is not Lie.COPY or plan.kind is not Kind.REQUIRED


def _by_silence(plan: Plan, moment: Moment) -> Expected:
    """Rule 3: shown, or nothing to show; a successor that the home named before has its standing."""
    was_heard = moment is Moment.SWITCHED_OFF or plan.kind is not Kind.TRANSFERRED_UNKNOWN
    if plan.kind in GIVEN_AWAY and was_heard:
        return LEADS_TO_HOLDER
    if plan.kind in (Kind.COPIED, Kind.COPIED_FORMAT):
        return LEADS_TO_MIRROR
    if plan.kind is Kind.DELETED and moment is Moment.SWITCHED_OFF:
        return GONE  # as the home has said while it was back
    if plan.kind is Kind.FUTURE:
        return UNHEARD
    if plan.speed is Speed.MUTE and not _has_claim(plan):
        return LATE
    claimants = {Place.LIAR} if _has_claim(plan) else set()
    if plan.kind is Kind.TRANSFERRED_UNKNOWN:
        claimants.add(Place.HOLDER)
    return Expected(frozenset({300}), frozenset(), frozenset(claimants)) if claimants else UNHEARD


def _by_claims(plan: Plan) -> Expected:
    """Rule 5: the home has nothing, and says that this is not final. What is claimed is shown."""
    return NOT_FOUND if plan.lie is Lie.DELETED else SHOWN


# --- which of them are tried -----------------------------------------------------------------------------------------


def full_product() -> tuple[Plan, ...]:
    speeds = [speed for speed in Speed if speed.is_tried_with_all]
    return (*(Plan(*each) for each in product(Kind, speeds, Liar, Lie)), *_with_a_mute_home())


def covering_selection() -> tuple[Plan, ...]:
    """Every pair of values of any two factors: each kind with each speed, and the others in turn beside them; and each
    lie about editions to a home that is slow enough for the lie to be heard before it."""
    heard = (Plan(Kind.LAST, Speed.VERY_SLOW, Liar.OLDER, lie) for lie in Lie)
    return (*_selected(), *heard, *_with_a_mute_home())


def _with_a_mute_home() -> Iterator[Plan]:
    """Fewer than failures make the resolver give the home a rest."""
    for lie in (Lie.ORIGINAL, Lie.DELETED):
        yield Plan(Kind.ORIGINAL, Speed.MUTE, Liar.OLDER, lie)


def _selected() -> Iterator[Plan]:
    liars, lies = tuple(Liar), tuple(Lie)
    for number, kind in enumerate(Kind):
        for index, speed in enumerate(each for each in Speed if each.is_tried_with_all):
            yield Plan(kind, speed, liars[(number // 4 + index) % 3], lies[(number + index) % 4])


def missing_pairs(plans: tuple[Plan, ...]) -> set[tuple[Enum, Enum]]:
    """Pairs of values that no plan has."""
    speeds = [speed for speed in Speed if speed.is_tried_with_all]
    factors: tuple[Iterable[Enum], ...] = (Kind, speeds, Liar, Lie)
    wanted = {pair for one, other in combinations(factors, 2) for pair in product(one, other)}
    had = {pair for plan in plans for pair in combinations((plan.kind, plan.speed, plan.liar, plan.lie), 2)}
    return wanted - had
