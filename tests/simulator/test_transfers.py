"""Originals that move between Archives, among crashes, cut lines and backups that are put back: never two of them.

`SOAK_TRANSFER=100000` tries that many seeds. A failure names its seed, which `TRANSFER_SEED` runs alone.
"""

from __future__ import annotations

import os

import pytest

from tests.simulator.transfer_world import World

SEEDS = int(os.environ.get("SOAK_TRANSFER", "200"))
ACTS = 160
GROUPS = 10
"""Tests among which the seeds are divided, so that several processes share them."""


def run(seed: int) -> World:
    world = World(seed)
    for _ in range(ACTS):
        world.act()
        if found := list(world.problems()):
            raise AssertionError(f"seed {seed}, act {len(world.kinds)} ({world.kinds[-1]}): {'; '.join(found)}")
    world.settle()
    if found := list(world.problems_at_rest()):
        raise AssertionError(f"seed {seed}, at rest: {'; '.join(found)}")
    return world


@pytest.mark.parametrize("group", range(GROUPS))
def test_there_is_one_original_whatever_happens(group: int) -> None:
    wanted = os.environ.get("TRANSFER_SEED")
    for seed in [int(wanted)] if wanted else range(group, SEEDS, GROUPS):
        run(seed)


def test_worlds_do_what_they_are_for() -> None:
    worlds = [run(seed) for seed in range(80)]
    chains = [item.chain for world in worlds for each in world.archives for item in each.kept.items.values()]
    assert sum(len(chain.links) >= 2 for chain in chains) > 50
    assert sum(len(chain.links) >= 4 for chain in chains) > 5
    assert any(world.tainted for world in worlds)
    assert sum(world.both_restored for world in worlds) > 60
