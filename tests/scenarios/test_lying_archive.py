"""A lying Archive beside real processes: it is followed nowhere that a label has a home (the home's word).

Older and newer than the home × both forms of the label × before and after the resolver is killed × a home that is
quick, slow, very slow or dead × what is asked for × what the lie is. A covering selection of that, or with
`SOAK_LIES=full` all of it. Processes are started once, and asked for hundreds of links.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ibi.standard.label import parse
from ibi.standard.messages import LabelForms
from tests.support.home_cells import (
    EARLY,
    GIVEN_AWAY,
    Expected,
    Kind,
    Liar,
    Moment,
    Place,
    Plan,
    Speed,
    covering_selection,
    expected,
    full_product,
    missing_pairs,
)
from tests.support.home_world import (
    BROWSER,
    HOLDER,
    NEW_LIAR,
    OLD_LIAR,
    Answer,
    Home,
    HomeStore,
    HomeWorld,
    home_world,
)
from tests.support.lying_archive import BOGUS, EVIL

IS_FULL = os.environ.get("SOAK_LIES") == "full"
PLANS = full_product() if IS_FULL else covering_selection()
FALSE_CLAIM = "an Archive claims what its home contradicts"
HOUR = 3600
LISTED = 200
"""Claims on the page: those seen last."""
KNOWN_BEFORE = (Kind.TRANSFERRED, Kind.TRANSFERRED_COPY)


def test_the_selection_has_every_pair_of_values() -> None:
    assert missing_pairs(covering_selection()) == set()


# --- putting the items there -----------------------------------------------------------------------------------------


def home_of(world: HomeWorld, plan: Plan) -> Home:
    return world.dying if plan.speed is Speed.DEAD else world.living


def prepare(world: HomeWorld, plan: Plan, store: HomeStore) -> None:
    """Have the home and the lying Archives play their parts."""
    forms, related = make(world, plan, store)
    plan.forms = spellings(plan.kind, forms)
    plan.target = str((related[-1] if related else forms).labels[0])
    plan.related = tuple(label.spelling for each in related for label in each.labels)
    liars = {Liar.OLDER: [world.old_liar], Liar.NEWER: [world.new_liar], Liar.BOTH: [world.old_liar, world.new_liar]}
    for label in (*plan.forms, *plan.related):
        for liar in liars[plan.liar]:
            liar.lies[label.lower()] = plan.lie
        if plan.speed.value is not None:
            world.living.proxy.delays[label.lower()] = plan.speed.value


def spellings(kind: Kind, forms: LabelForms) -> tuple[str, ...]:
    rep, ibip = (label.spelling for label in forms.labels)
    if kind is Kind.CAPITALS:
        return rep.upper(), ibip.lower()
    if kind is Kind.OTHER_PORT:  # E3: other labels, and for this purpose one prefix
        subdomain, word, suffix = rep.split("/", 2)
        return f"{subdomain}/{word}.80/{suffix}", f"{subdomain}/{word}@80/{suffix}"
    return rep, ibip


def make(world: HomeWorld, plan: Plan, store: HomeStore) -> tuple[LabelForms, tuple[LabelForms, ...]]:
    """The labels of what is asked for, and of the items to which the home leads from there."""
    match plan.kind:
        case Kind.EARLY | Kind.RESERVED:
            return store.reserve(), ()
        case Kind.EARLY_GIVEN_OUT | Kind.GIVEN_OUT:
            return store.give_out(), ()
        case Kind.NEVER:
            return store.never_minted(), ()
        case Kind.FUTURE:
            return store.never_minted(HOUR), ()
    item = store.deposit(language="en")
    if plan.kind in (Kind.EDITION, Kind.LAST_METADATA, Kind.EDITION_TRANSLATION):
        return item.labels, (store.deposit(edition_of=item.labels).labels,)
    if plan.kind is Kind.TRANSLATION:
        return item.labels, (store.deposit(translation_of=item.labels, language="pt").labels,)
    if plan.kind is Kind.DELETED:
        store.delete(item)
    elif plan.kind in GIVEN_AWAY:
        store.give_away(item, parse(HOLDER), keep_copy=plan.kind is Kind.TRANSFERRED_COPY)
        world.holder.holds |= {label.spelling.lower() for label in item.labels.labels}
    elif plan.kind in (Kind.COPIED, Kind.COPIED_FORMAT):
        world.mirror.holds |= {label.spelling.lower() for label in item.labels.labels}
    return item.labels, ()


def deposit_late(world: HomeWorld, plans: Iterable[Plan]) -> None:
    """What was asked for before it was there."""
    for home in world.homes:
        with home.opened() as store:
            for plan in plans:
                if home_of(world, plan) is home:
                    labels = dict(zip(("rep", "ibip"), map(parse, plan.forms), strict=True))
                    store.deposit(LabelForms(**labels))  # type: ignore[arg-type]


# --- comparing -------------------------------------------------------------------------------------------------------


class Comparison:
    """Asks for plans, and notes whatever is not as the rules say."""

    def __init__(self, world: HomeWorld) -> None:
        self.world = world
        self.deviations: list[str] = []
        self.wrong_redirects = 0
        self.asked = 0

    def ask(self, plans: Sequence[Plan], moment: Moment, accept: str = "*/*") -> None:
        # The slow ones first: they are waited for together.
        plans = sorted(plans, key=lambda plan: plan.speed.value or 0.0, reverse=True)
        wanted = [(plan, path) for plan in plans for path in plan.paths()]
        answers = self.world.ask_all([path for _, path in wanted], accept)
        for (plan, path), answer in zip(wanted, answers, strict=True):
            self.asked += 1
            self._compare(plan, path, moment, answer, accept)

    def conclude(self) -> None:
        numbers = f"{self.wrong_redirects} wrong redirects, {len(self.deviations)} deviations of {self.asked}"
        assert not self.deviations, "\n".join((numbers, *self.deviations))

    def _compare(self, plan: Plan, path: str, moment: Moment, answer: Answer, accept: str) -> None:
        right = expected(plan, moment)
        place = self._place(plan, answer)
        if place is Place.LIAR and Place.LIAR not in right.places:
            self.wrong_redirects += 1
        reasons = [*self._reasons(right, place, answer)]
        if answer.status == 300 and not reasons:
            reasons += (
                self._page_reasons(right, answer) if accept == BROWSER else self._program_reasons(plan, right, answer)
            )
        if reasons:
            told = answer.location or answer.body.decode(errors="replace")[:600]
            self.deviations.append(f"{plan.name} | {path} | {moment.value}: {reasons}: {answer.status} {told}")

    def _place(self, plan: Plan, answer: Answer) -> Place | str | None:
        if answer.location is None:
            return None
        parts = urlsplit(answer.location)
        if parts.hostname == EVIL:
            return Place.LIAR
        if parts.netloc == self.world.holder.address:
            return Place.HOLDER
        if parts.netloc == self.world.mirror.address:
            return Place.MIRROR
        at_home = parts.netloc == home_of(self.world, plan).proxy.address and plan.target in parts.path
        return Place.HOME if at_home else answer.location

    def _reasons(self, right: Expected, place: Place | str | None, answer: Answer) -> Iterable[str]:
        if answer.status not in right.statuses:
            yield f"{set(right.statuses)} was expected"
        if place is not None and place not in right.places:
            yield f"{set(right.places)} was expected"
        if answer.status != 302 and answer.headers.get("location") is not None:
            yield "a Location, which browsers may follow"
        if answer.status in (300, 502, 504) and answer.headers.get("cache-control") != "no-store":
            yield "may be stored"

    def _program_reasons(self, plan: Plan, right: Expected, answer: Answer) -> Iterable[str]:
        problem = answer.problem
        if problem["type"] != "urn:ibi:problem:unproven-claim":
            yield "another problem"
        both = {self.world.old_liar.address, self.world.new_liar.address}
        one = {Liar.OLDER: self.world.old_liar.address, Liar.NEWER: self.world.new_liar.address}
        liars = both if plan.liar is Liar.BOTH else {one[plan.liar]}
        wanted = liars if Place.LIAR in right.claimants else set()
        if Place.HOLDER in right.claimants:
            wanted = wanted | {self.world.holder.address}
        shown = {claim["archive"]["address"] for claim in problem["claims"]}
        if shown != wanted:
            yield f"claims of {wanted} were expected, not of {shown}"

    def _page_reasons(self, right: Expected, answer: Answer) -> Iterable[str]:
        page = answer.body.decode()
        if not answer.headers["content-type"].startswith("text/html"):
            yield "no page"
        places = {
            Place.LIAR: (f"http://{EVIL}", f"http://{self.world.address}/{BOGUS}"),
            Place.HOLDER: (f"http://{self.world.holder.address}/",),
        }
        for claimant in right.claimants:
            if not any(f'href="{place}' in page for place in places[claimant]):
                yield f"no link to what the {claimant} claims"
        if re.search(r'http-equiv="?refresh', page, re.IGNORECASE):
            yield "the page leads on by itself"


# --- the run ---------------------------------------------------------------------------------------------------------


def test_a_lying_archive_is_followed_nowhere_that_a_label_has_a_home(tmp_path: Path) -> None:
    with home_world(tmp_path) as world:
        for home in world.homes:
            with home.opened() as store:
                for plan in PLANS:
                    if home_of(world, plan) is home:
                        prepare(world, plan, store)
        check = Comparison(world)
        dead = [plan for plan in PLANS if plan.speed is Speed.DEAD]
        # What the home says while it lives: to whom it gave items; and with an item that it has, who holds Copies.
        check.ask([plan for plan in dead if plan.kind in KNOWN_BEFORE], Moment.REVIVED)
        assert world.ask(f"/{world.dying.service.labels[0]}").status == 302
        world.dying.proxy.die()
        early = [plan for plan in PLANS if plan.kind in EARLY]
        check.ask(early, Moment.BEFORE_DEPOSIT)
        deposit_late(world, early)
        check.ask(early, Moment.BEFORE_KILL)  # rightly led from the moment it is there
        check.ask([plan for plan in PLANS if plan not in early], Moment.BEFORE_KILL)
        check.conclude()
        check_false_claims(world)
        world.kill_resolver()
        check.ask([plan for plan in PLANS if plan.speed.is_tried_with_all], Moment.AFTER_KILL)
        check.ask(dead, Moment.AFTER_KILL, BROWSER)
        believed = world.beliefs()
        world.dying.proxy.revive()
        world.kill_resolver()
        check.ask(dead, Moment.REVIVED)
        world.switch_off(world.dying)
        check.ask(dead, Moment.SWITCHED_OFF)
    check.conclude()
    check_beliefs(believed)
    assert check.asked >= 4 * len(PLANS)


def check_false_claims(world: HomeWorld) -> None:
    """Each kind of lie, and each liar, is in the log, in the metric, on the page and in the list for programs."""
    logged = [line for line in world.resolver.log_text.splitlines() if FALSE_CLAIM in line]
    counted = world.metrics("ibi_false_claims_total")
    assert counted.keys() == {f'claim="{kind}"' for kind in ("Original", "Deleted", "next edition")}
    assert sum(counted.values()) == len(logged)
    listed = json.loads(world.ask("/api/claims").body)["claims"]
    assert len(listed) == min(len(logged), LISTED)
    if len(logged) <= LISTED:
        assert {each["claim"] for each in listed} == {"Original", "Deleted", "next edition"}
    page = world.ask("/claims", BROWSER)
    assert page.status == 200
    for service in (OLD_LIAR, NEW_LIAR):
        assert any(service in line for line in logged), logged
        assert service in page.body.decode()
    for each in listed:
        assert each["label"] in page.body.decode()


def check_beliefs(found: dict[str, set[tuple[object, ...]]]) -> None:
    """The lying Archives are believed in nothing; the home's word on what it gave away is kept."""
    for name in ("successors", "holders", "copies"):
        assert not [row for row in found[name] if any("evil.org" in str(value) for value in row)], found[name]
    asked = [plan for plan in PLANS if plan.kind in GIVEN_AWAY and _is_known(plan)]
    assert len(found["successors"]) == sum(len(plan.forms) for plan in asked)
    assert {chain for _, chain in found["successors"]} == {HOLDER}


def _is_known(plan: Plan) -> bool:
    return plan.speed is not Speed.DEAD or plan.kind is not Kind.TRANSFERRED_UNKNOWN
