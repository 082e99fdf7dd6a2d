"""The resolver among liars, dead and slow Archives: a thousand networks, each from its seed.

A failure names its seed; `World(seed).run()` plays it again. `SIMULATOR_SEEDS` sets how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from ibi.resolver.outcome import OriginalDisputed, Redirect
from ibi.resolver.policy import Policy
from ibi.resolver.validity import RULES, Rule
from tests.simulator.liars import BELIEVABLE
from tests.simulator.world import Run, World

SEEDS = int(os.environ.get("SIMULATOR_SEEDS", "1000"))
CHUNKS = 20


def faults(run: Run) -> Iterator[str]:
    """What must never be, judged without the code that is tried."""
    outcome, world = run.outcome, run.world
    if run.ended_at > Policy().budget:
        yield "it took longer than the budget"
    if isinstance(outcome, Redirect):
        yield from broken_promises(outcome)
    if world.calm:
        yield from wrong(run)


def broken_promises(outcome: Redirect) -> Iterator[str]:
    parts = urlsplit(outcome.url)
    if parts.scheme not in ("http", "https") or parts.username is not None or not outcome.url.isprintable():
        yield "the URL is an odd one"
    if parts.hostname != outcome.archive.address:
        yield "the URL is on a host that the Archive did not declare"
    if len(outcome.url) > 8192:
        yield "the URL is too long"
    if outcome.answer.archive_service != outcome.archive.service:
        yield "the answer is in another's name"
    if "/wrong/" in str(outcome.answer.ibi):
        yield "the answer is about another item"


def wrong(run: Run) -> Iterator[str]:
    world, outcome = run.world, run.outcome
    lies = {liar.__name__ for liar in world.liars.values()}
    if lies & BELIEVABLE.keys():
        if isinstance(outcome, OriginalDisputed):
            return
        # SPEC §7.4 counts those who have the URL. The honest one may have no more than a pointer to it, and one liar
        # may point to an item that only the other has.
        if world.modifier[:1] == "+" or "pointers_without_end" in lies:
            return
    if not isinstance(outcome, Redirect) or outcome.url not in world.right_urls:
        yield f"{outcome} is not the right answer"


def failing(seed: int, policy: Policy | None = None) -> list[str]:
    world = World(seed)
    return [f"seed {seed}, {world.url}: {fault}" for fault in faults(world.run(policy))]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_seed_fails(chunk: int) -> None:
    assert [fault for seed in range(chunk, SEEDS, CHUNKS) for fault in failing(seed)] == []


def test_a_seed_plays_the_same_every_time() -> None:
    for seed in range(20):
        one, other = World(seed).run(), World(seed).run()
        assert (one.outcome, one.ended_at) == (other.outcome, other.ended_at)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_rule_can_be_spared(rule: Rule) -> None:
    policy = Policy(rules=tuple(each for each in RULES if each is not rule))
    assert any(failing(seed, policy) for seed in range(SEEDS))
