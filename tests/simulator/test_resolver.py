"""The resolver among liars, dead and slow Archives: a thousand networks, each from its seed.

A failure names its seed; `World(seed).visits()` plays it again. `SIMULATOR_SEEDS` sets how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from ibi.resolver.rules.outcome import (
    Deleted,
    NoArchiveAnswered,
    OriginalDisputed,
    OriginalNotFound,
    Outcome,
    Redirect,
    RelatedItemMissing,
    UnprovenClaims,
)
from ibi.resolver.rules.policy import RULES, Policy, Rule
from ibi.resolver.rules.trace import AskedAgain, Verdict
from tests.simulator.world import NOTICE, Visit, World

SEEDS = int(os.environ.get("SIMULATOR_SEEDS", "1000"))
CHUNKS = 20


def faults(visit: Visit) -> Iterator[str]:
    """What must never be, judged without the code that is tried."""
    outcome = as_for_the_reader(visit)
    if visit.took > Policy().budget + 1e-6:
        yield "it took longer than the budget"
    if isinstance(outcome, Redirect):
        yield from broken_promises(outcome)
        if not visit.has_believable_liars and outcome.url not in visit.honest_urls:
            yield f"{outcome.url} is nowhere"
        if visit.is_protected and outcome.url not in visit.honest_urls:
            yield f"{outcome.url} is a liar's, and the item has a home"
    if (visit.is_certain or visit.is_home_heard) and not is_right(visit):
        yield f"{outcome} is not the right answer"


def as_for_the_reader(visit: Visit) -> Outcome:
    """The outcome; what an Archive said that never heard the whole address, and was asked again, counts as it is."""
    outcome = visit.outcome
    if not isinstance(outcome, Redirect) or not outcome.url.endswith(NOTICE):
        return outcome
    (chosen,) = (each for hop in visit.trace.hops for each in hop.reports if each.verdict is Verdict.CHOSEN)
    if chosen.again not in (AskedAgain.UNHEARD, AskedAgain.NO_TIME):
        return outcome
    return outcome._replace(url=outcome.url.replace(NOTICE, "text.pdf"))


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


def is_right(visit: Visit) -> bool:
    outcome = as_for_the_reader(visit)
    if isinstance(outcome, OriginalDisputed):
        return visit.may_be_disputed
    if isinstance(outcome, Redirect):
        # Of what was deleted, a Copy or an earlier edition is as good.
        return outcome.url in (visit.honest_urls if visit.is_deleted else visit.right_urls)
    # An old Copy of the item may still tell of it, which is shown and not followed (E68).
    told = Deleted | OriginalNotFound | RelatedItemMissing | NoArchiveAnswered | UnprovenClaims
    return visit.is_deleted and isinstance(outcome, told)


def failing(seed: int, policy: Policy | None = None) -> list[str]:
    return [f"seed {seed}, {visit.url}: {fault}" for visit in World(seed).visits(policy) for fault in faults(visit)]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_seed_fails(chunk: int) -> None:
    assert [fault for seed in range(chunk, SEEDS, CHUNKS) for fault in failing(seed)] == []


def test_a_seed_plays_the_same_every_time() -> None:
    for seed in range(20):
        assert list(World(seed).visits()) == list(World(seed).visits())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_rule_can_be_spared(rule: Rule) -> None:
    policy = Policy(rules=tuple(each for each in RULES if each is not rule))
    assert any(failing(seed, policy) for seed in range(SEEDS))
