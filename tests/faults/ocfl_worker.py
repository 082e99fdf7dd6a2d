"""A depositor as light as can be, made to be killed: `ocfl_worker.py ROOT ORDERS`.

Opens the store, sweeps, makes changes, and prints each one's number as soon as it is made: what it has printed, others
may rely on. The orders are in JSON, see `Orders`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from ibi.items.model.content import Bytes, Change, Derived, Source, Stream
from ibi.items.store.ocfl import sweep
from ibi.items.store.ocfl.store import OcflStore
from ibi.standard.instant import Instant
from tests.faults.killer import Killer
from tests.support.content_samples import making

NAMES = tuple(f"sid.inpe.br/worker/20{number:02}/02.16.17.46" for number in range(10, 13))


@dataclass(frozen=True)
class Orders:
    changes: tuple[tuple[str, int], ...]
    """Each `create`, `update`, `purge` or `remove`, and the number of a name."""
    step: str = ""
    visit: int = 1
    """Die at this step, when it is come to for so many times."""
    exchange: bool = True
    """Whether two names can be exchanged in one step."""

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def expected(number: int) -> dict[str, bytes]:
    """The files of the version that the change of this number makes; some are those of the change before."""
    return {
        "item.json": b'{"change": %d}' % number,
        "doc/a/part.bin": b"%d" % (number // 2) * 1000,
        f"doc/only-{number}.bin": b"%d " % number * 50,
    }


def sources(number: int) -> dict[str, Source]:
    files: dict[str, Source] = {path: Bytes(content) for path, content in expected(number).items()}
    chunks = iter([expected(number)["doc/a/part.bin"]])
    record = Derived(lambda taken: expected(number)["item.json"])
    return {**files, "doc/a/part.bin": Stream(lambda length: next(chunks, b"")), "item.json": record}


def main(root: Path, orders: Orders) -> None:
    if not orders.exchange:
        vars(sweep)["exchange"] = lambda one, other: False
    store = OcflStore(root, on_step=Killer(orders.step, orders.visit))
    store.sweep()
    for number, (kind, name) in enumerate(orders.changes):
        change = Change("worker", str(number), Instant(1_800_000_000 + number), "urn:x:1")
        if kind == "remove":
            store.remove(NAMES[name])
        else:
            making(store, kind)(NAMES[name], sources(number), change)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
    store.close()


if __name__ == "__main__":
    read = json.loads(sys.argv[2])
    main(Path(sys.argv[1]), Orders(**{**read, "changes": tuple(map(tuple, read["changes"]))}))
