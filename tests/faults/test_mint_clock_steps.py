"""The time of day is set forward and back by anything from a second to fifteen years, the machine starts anew, the
minter dies in between, and an operator accepts the clock now and then: no label leaves twice."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

from ibi.minting.model import BatchShare, MintRequest
from ibi.minting.rules.errors import ClockRefused
from ibi.minting.rules.minter import Rules
from ibi.minting.store.ticks import STEPS, SqliteTicks
from ibi.standard.clock import Granularity
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from tests.support.minting_samples import IDENTITY, START, accept, labels_on_record, mint
from tests.support.set_clocks import SetClocks

YEAR = 365 * 86_400
STEP_SIZES = [1, 2, 4, 6, 60, 3600, 86_400, YEAR, 15 * YEAR]
# Granularity under load: chosen for each queue, with and without waiting, and fixed.
RULES = [
    Rules(wait_bound=Fraction(0)),
    Rules(wait_bound=Fraction(1)),
    Rules(granularity=Granularity.parse("0.001")),
    Rules(granularity=Granularity.parse("1"), behind_limit=Fraction(20)),
    Rules(wait_bound=Fraction(3), behind_limit=Fraction(1)),
]


class Death(BaseException):
    """Nothing of this process goes on."""


class Story:
    """A random one, the same for each seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.clocks = SetClocks(START)
        self.eras: list[list[Instant]] = [[]]
        """The dates that left, a new list after each time the clock was accepted."""
        self.refusals = self.deaths = 0
        self._doom = ""
        self._ticks: SqliteTicks | None = None

    @property
    def ticks(self) -> SqliteTicks:
        if self._ticks is None:
            self._ticks = SqliteTicks(
                self.folder / "data",
                machine="m",
                lock_directory=self.folder / "locks",
                clocks=self.clocks,
                on_step=self._on_step,
            )
            self._ticks.freeze(IDENTITY)
        return self._ticks

    def _on_step(self, step: str) -> None:
        if step == self._doom:
            self._doom = ""
            raise Death

    def die(self) -> None:
        self.deaths += 1
        if self._ticks is not None:
            self._ticks.close()
        self._ticks = None

    def happen(self) -> None:
        """One of the things that happen."""
        event = self.random.random()
        if event < 0.12:
            self.clocks.jump(self.random.choice([-1, 1]) * self.random.choice(STEP_SIZES))
        elif event < 0.15:
            self.clocks.boot(str(self.random.random()))
        elif event < 0.22:
            self._accept()
        elif event < 0.30:
            self._doom = self.random.choice(STEPS)
        elif event < 0.32:
            self.die()
        else:
            self.clocks.advance(Fraction(self.random.randrange(5_000), 1000))

    def _accept(self) -> None:
        if self.clocks.read().wall < parse("sid.inpe.br/mtc-m18/1996/01.01.00.00").instant:
            return  # no IBIp is as old as that
        self.eras.append([])  # it may be accepted even if the minter dies before it can say so
        accept(self.ticks, self.clocks)

    def mint(self) -> None:
        requests = [MintRequest(self.random.choice([1, 1, 2, 30]), "ana") for _ in range(self.random.choice([1, 3]))]
        decision = mint(self.ticks, self.clocks, *requests, rules=self.random.choice(RULES))
        for outcome in decision.outcomes:
            if isinstance(outcome, BatchShare):
                self.eras[-1] += [label.instant for label in outcome.labels()]
            else:
                assert isinstance(outcome, ClockRefused)
                self.refusals += 1

    def go_on(self, rounds: int) -> None:
        for _ in range(rounds):
            try:
                self.happen()
                self.mint()
            except Death:
                self.die()


@pytest.mark.parametrize("seed", range(12))
def test_every_label_leaves_once(tmp_path: Path, seed: int) -> None:
    story = Story(tmp_path, seed)
    story.go_on(250)
    acknowledged = [date for era in story.eras for date in era]
    print(f"{len(acknowledged)} labels, {story.refusals} refusals, {story.deaths} deaths, {len(story.eras)} eras")
    assert len(set(acknowledged)) == len(acknowledged)
    for era in story.eras:
        assert era == sorted(era)
    names = list(labels_on_record(story.ticks))
    assert len(set(names)) == len(names)
    assert set(acknowledged) <= {parse(name).instant for name in names}
    assert acknowledged
    assert story.refusals
    assert story.deaths
    story.ticks.close()
