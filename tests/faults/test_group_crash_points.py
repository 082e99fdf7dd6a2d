"""An Archive dies while it makes several deposits in one go: each of them is there whole, or not at all."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from ibi.items.model.item import Item
from ibi.items.opening.archive_store import CATALOGUE, open_store
from ibi.items.service import item_repository as kept_items
from ibi.items.service.stored_item import name_of
from ibi.items.store.ocfl import versions
from tests.faults.deposit_worker import Orders
from tests.faults.group_worker import TITLES
from tests.support.content_samples import ocfl_py_says
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, dump, kept_in, labels, sources
from tests.support.forked_command import run_forked_script

SCRIPT = Path(__file__).with_name("group_worker.py")

STEPS = (
    *(step for step in versions.CREATION_STEPS if step != "content half written"),  # that is of files in pieces
    *(step for step in kept_items.STEPS if step != "claim answered"),
)
WRITTEN = {"create: renamed", "create: durable", "content kept", "item listed", "change done"}
"""From here on a killed process, unlike a machine, has written what it wrote."""
GROUP = 2
"""The first deposit comes to each step before the group does."""


def run(data: Path, orders: Orders) -> tuple[int, list[str]]:
    """How it ended, and which items it said were made."""
    code, out, err = run_forked_script(SCRIPT, str(data), orders.text)
    assert not err, err
    return code, re.findall(r"deposited (\S+)", out)


def check(data: Path) -> list[Item]:
    """What is there can be read, to the last byte, and all who tell of it say the same."""
    with open_store(data) as store:
        now = dump(store.catalog)
        assert now == kept_in(store.content, store)
        assert [one for one in store.verify() if one.problems] == []
    for path in (data / "store-staging").iterdir():
        assert path.name == "lock"
    for item in now:
        assert [said for said in ocfl_py_says(data / "store" / name_of(item)) if "W008" not in said] == []
    with open_store(data) as store:
        assert store.swept.looked_at == 0
    return now


def titles(items: list[Item]) -> set[str]:
    return {item.metadata.title[0].value for item in items}


def test_without_a_crash_all_are_made_and_one_key_makes_one(tmp_path: Path) -> None:
    code, said = run(tmp_path / "data", Orders("group"))
    assert code == 0
    assert len(said) == len(TITLES) + 2
    assert titles(check(tmp_path / "data")) == {"first", *TITLES}


@pytest.mark.parametrize("step", STEPS)
def test_each_is_there_whole_or_not_at_all(tmp_path: Path, step: str) -> None:
    data = tmp_path / "data"
    code, said = run(data, Orders("group", step, GROUP))
    assert code == -signal.SIGKILL, f"it never came to the step {step!r} for {GROUP} times"
    now = check(data)
    assert {str(item.rep) for item in now} >= set(said)
    assert titles(now) == ({"first", *TITLES} if step in WRITTEN else {"first"})
    for path in data.glob(f"{CATALOGUE}*"):
        path.unlink()
    with open_store(data) as store:
        assert dump(store.catalog) == now
        # The labels of what is gone were spent, but nothing stands in their place.
        given = sources(a=b"a")
        for number in range(len(TITLES) + 1):
            if labels(number).rep not in {item.rep for item in now}:
                deposits(store, CountedLabels(number)).deposit(draft(*given), given, WHO)
        assert len(dump(store.catalog)) == len(TITLES) + 1
