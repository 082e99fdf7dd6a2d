"""E93: two Archives that claim one Original are a dispute, and the known holder stays."""

from __future__ import annotations

from ibi.membership.model.registration import ClaimKind
from ibi.membership.rules.authority import ArchiveRef, Home, Homes
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import Redirect
from ibi.standard.label import parse
from ibi.standard.reply import Failure
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.scripted_archives import archive, body, drive, resolution

OF_HOME, HOMELESS = "example.org/home/2009/01.01.00.00", "nowhere.org/x/2009/01.01.00.00"
HOME, OLDER, YOUNGER = archive("home"), archive("older", registered=1), archive("younger", registered=2)
ALL = (HOME, OLDER, YOUNGER)


def says(who: ArchiveRef, label: str, state: str = "Original") -> bytes:
    return body(who, f"rep {label}", url=f"http://{who.address}/x", state=state, contenttype="Data")


class World:
    def __init__(self) -> None:
        self.beliefs = MemoryBeliefs()
        self.memory = Memory(self.beliefs)
        homes = Homes([(Home(HOME.service, HOME), HOME.home_prefixes)])
        self.memory.include(ALL, homes, 1_700_000_000)

    def resolve(self, label: str, said: dict[ArchiveRef, bytes | Failure]) -> ArchiveRef | None:
        """The Archive to which the link leads."""
        run = resolution(f"/{label}", ALL, routing=self.memory)
        home, older, younger = (said.get(who, b"") for who in ALL)
        outcome, _ = drive(run, {HOME: lambda _: home, OLDER: lambda _: older, YOUNGER: lambda _: younger})
        self.memory.learn(run.trace, outcome, 0.0)
        return outcome.archive if isinstance(outcome, Redirect) else None

    def disputes(self) -> list[tuple[ArchiveRef, ArchiveRef, ClaimKind]]:
        """Who claims what, and whom the resolver believes."""
        by_label = {each.service.labels[0]: each for each in ALL}
        found = ((each.claim.claimant, each.holder, each.claim.kind) for each in self.beliefs.disputes(100))
        return [(by_label[claimant], by_label[holder], kind) for claimant, holder, kind in found]


def test_the_home_stays() -> None:
    world = World()
    assert world.resolve(OF_HOME, {HOME: says(HOME, OF_HOME), OLDER: says(OLDER, OF_HOME)}) == HOME


def test_the_successor_stays_when_the_home_claims_the_item_again() -> None:
    world = World()
    world.beliefs.record_successors(parse(OF_HOME), (OLDER.service.labels[0],), 1)
    assert world.resolve(OF_HOME, {HOME: says(HOME, OF_HOME), OLDER: says(OLDER, OF_HOME)}) == OLDER
    assert world.disputes() == [(HOME, OLDER, ClaimKind.ORIGINAL)]


def test_the_known_holder_of_an_item_without_a_home_stays() -> None:
    world = World()
    assert world.resolve(HOMELESS, {YOUNGER: says(YOUNGER, HOMELESS)}) == YOUNGER
    both = {OLDER: says(OLDER, HOMELESS), YOUNGER: says(YOUNGER, HOMELESS)}
    run = resolution(f"/{HOMELESS}?ibiurl.requireditemstatus=Original", ALL, routing=world.memory)
    outcome, _ = drive(run, {HOME: lambda _: b"", OLDER: lambda _: both[OLDER], YOUNGER: lambda _: both[YOUNGER]})
    world.memory.learn(run.trace, outcome, 0.0)
    assert world.disputes() == [(OLDER, YOUNGER, ClaimKind.ORIGINAL)]
    assert world.memory.holder(parse(HOMELESS)) == YOUNGER


def test_two_that_claim_what_the_home_gave_away_are_shown_and_in_dispute() -> None:
    world = World()
    both = {OLDER: says(OLDER, OF_HOME), YOUNGER: says(YOUNGER, OF_HOME)}
    assert world.resolve(OF_HOME, {HOME: says(HOME, OF_HOME, "Copy"), **both}) is None
    assert world.disputes() == [(YOUNGER, OLDER, ClaimKind.ORIGINAL)]


def test_a_copy_is_no_claim() -> None:
    world = World()
    world.resolve(OF_HOME, {HOME: says(HOME, OF_HOME), OLDER: says(OLDER, OF_HOME, "Copy")})
    assert world.disputes() == []
