"""A process of its own that fills the catalogue of a data directory, and then changes it until its input is closed.

    python -m tests.support.changing_catalogue DATA ITEMS CHANGES_A_SECOND

It writes a line when it has filled it, and one with the number of changes at the end. Items are in the catalogue alone:
for readers that need no bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from threading import Event, Thread

from ibi.items.model.change import Revision
from ibi.items.opening.archive_store import open_store
from ibi.standard.instant import Instant
from tests.support.catalog_samples import item

WHEN = Instant.parse("2024-05-06T07:08:09Z")
LEAST = 20
"""Changes, two of which are removals, however soon the input is closed."""


def wait_for_end(ended: Event) -> None:
    sys.stdin.read()
    ended.set()


def main() -> None:
    data, items, rate = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    chance, ended = Random(items), Event()
    with open_store(data) as store:
        store.catalog.put_all(item(minute) for minute in range(items))
        print("filled", flush=True)
        Thread(target=wait_for_end, args=(ended,), daemon=True).start()
        changes = 0
        while not ended.wait(1 / rate) or changes < LEAST:
            changes += 1
            minute = chance.randrange(items)
            if changes % 10 == 0:
                store.catalog.remove(item(minute).rep)
            else:
                store.catalog.put(item(minute, f"Title {changes}"), Revision(changes + 1, WHEN))
        print(changes, flush=True)


if __name__ == "__main__":
    main()
