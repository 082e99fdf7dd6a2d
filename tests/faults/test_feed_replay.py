"""Three processes change one Archive at random and are killed at random steps; the feed stays true all the while.

A reader that polls misses no number and sees none twice with other content. In the end, what the feed tells from its
first entry on is what the catalogue has, and what the objects have. `SOAK_FEED=1000` tries that many seeds.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from ibi.items.model.change import ChangeKind, ChangePage, ItemChange, kind_of
from ibi.items.opening.archive_store import CATALOGUE, open_store
from ibi.items.ports.catalog import ChangeFeed
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.stored_item import name_of
from ibi.items.store.catalogue.catalog import SqliteCatalog
from tests.support.forked_command import ForkedProcess

SCRIPT = Path(__file__).with_name("feed_worker.py")
SEEDS = int(os.environ.get("SOAK_FEED", "20"))
PROCESSES = 3
MOST_STEPS = 400


class Reader:
    """Polls a feed from its beginning, and again from there when another epoch begins."""

    def __init__(self) -> None:
        self._epochs: dict[str, list[ItemChange]] = {}

    def poll(self, feed: ChangeFeed) -> None:
        page = self._read(feed, "")
        while page.changes:
            seen = self._epochs.setdefault(page.epoch, [])
            for change in page.changes:
                assert change.number == len(seen) + 1, "a number is missing"
                seen.append(change)
            page = self._read(feed, page.epoch)
        self.check(feed)

    def _read(self, feed: ChangeFeed, epoch: str) -> ChangePage:
        page = feed.since(len(self._epochs.get(epoch, ())), 5)
        while page.epoch != epoch:  # its number is of another epoch, as it may be again
            epoch = page.epoch
            page = feed.since(len(self._epochs.get(epoch, ())), 5)
        return page

    def check(self, feed: ChangeFeed) -> None:
        """What was read once is still there."""
        page = feed.since(0, 100_000)
        seen = self._epochs.get(page.epoch, [])
        assert list(page.changes[: len(seen)]) == seen, "an entry has other content than before"


def run_all(data: Path, seed: int, reader: Reader) -> None:
    chance = random.Random(seed)
    steps = [chance.randrange(1, MOST_STEPS) for _ in range(PROCESSES)]
    workers = [
        ForkedProcess((str(data), str(number), str(seed), str(step)), data, os.environ, script=SCRIPT)
        for number, step in enumerate(steps)
    ]
    catalog = SqliteCatalog(data / CATALOGUE)
    try:
        while any(worker.poll() is None for worker in workers):
            reader.poll(catalog.changes)
    finally:
        catalog.close()
    for worker in workers:
        _, said = worker.communicate()
        assert worker.returncode in (0, -9), said


def replay(feed: ChangeFeed) -> dict[str, ItemChange]:
    told: dict[str, ItemChange] = {}
    number = 0
    while page := feed.since(number, 7).changes:
        for change in page:
            told[change.label] = change
        number = page[-1].number
    return {label: change for label, change in told.items() if change.kind is not ChangeKind.REMOVED}


def check_replay(store: ArchiveStore) -> None:
    told = replay(store.changes)
    listed = {name_of(item): item for item in store.catalog.items()}
    assert told.keys() == listed.keys()
    for label, item in listed.items():
        head = store.content.read(label).head
        assert (told[label].kind, told[label].head) == (kind_of(item), head.number)
        assert told[label].at == str(head.change.at)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_feed_replays_to_the_catalogue_whatever_is_killed(tmp_path: Path, seed: int) -> None:
    data, reader = tmp_path / "data", Reader()
    open_store(data).close()
    run_all(data, seed, reader)
    with open_store(data) as store:  # which finishes what the dead have left
        reader.poll(store.changes)
        check_replay(store)
