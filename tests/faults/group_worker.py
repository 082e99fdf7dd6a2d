"""An Archive in which several small items are deposited in one go, made to be killed: `group_worker.py DATA ORDERS`.

A first deposit is held up until the others wait; then they are a group. A line is printed as soon as one is made: what
it has printed, somebody relies on. The orders are in JSON, as those of `deposit_worker.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from ibi.items.opening.archive_store import open_store
from tests.faults.deposit_worker import Orders, say
from tests.faults.killer import Killer
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, sources
from tests.support.grouped_deposits import Gate, in_one_group

TITLES = "one", "two", "three"
"""Of the group; `two` is deposited twice, under one key."""


def main(data: Path, orders: Orders) -> None:
    gate = Gate(Killer(orders.step, orders.visit))
    with open_store(data, on_step=gate) as store:
        made = deposits(store, CountedLabels(orders.first))

        def deposit(title: str) -> Callable[[], None]:
            given = sources(a=title.encode(), b=title.encode() * 1000)

            def run() -> None:
                item = made.deposit(draft(*given, title=title), given, WHO, key=title)
                say(f"deposited {item.rep}")

            return run

        group = [deposit(title) for title in (*TITLES, "two")]
        for done in in_one_group(store, gate, deposit("first"), group):
            done.result()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Orders(**json.loads(sys.argv[2])))
