"""An Archive as light as can be, made to be killed: `deposit_worker.py DATA ORDERS`.

Opens the data directory, does what it is told, and prints a line as soon as a change is made: what it has printed,
somebody relies on. The orders are in JSON, see `Orders`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from ibi.items.model.content import Bytes, Keep, Source, Stream
from ibi.items.opening.archive_store import open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.relating import Relating
from tests.faults.killer import Killer
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, labels

LARGE = b"0123456789abcdef" * 4096


@dataclass(frozen=True)
class Orders:
    act: str
    """What to do: one of `ACTS`."""
    step: str = ""
    visit: int = 1
    """Die at this step, when it is come to for so many times."""
    first: int = 0
    """The number of the first label to give."""

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def files(text: str) -> dict[str, Source]:
    """A small file and one that is read piece by piece."""
    rest = [LARGE, text.encode()]
    return {"small.txt": Bytes(text.encode()), "large/file.bin": Stream(lambda _: rest.pop() if rest else b"")}


class Worker:
    def __init__(self, store: ArchiveStore, first: int) -> None:
        self._store = store
        self._deposits = deposits(store, CountedLabels(first))

    def deposit(self, text: str = "first", **described: object) -> None:
        given = files(text)
        made = draft(*given, title=text, **described)  # type: ignore[arg-type]
        item = self._deposits.deposit(made, given, WHO)
        say(f"deposited {item.rep}")

    def nothing(self) -> None:
        """Opening is enough."""

    def edition(self) -> None:
        """A new edition of item 0, which is its translation's source too."""
        self.deposit("edition", edition_of=labels(0))

    def translation(self) -> None:
        self.deposit("translation", language="en", translation_of=labels(0))

    def describe(self) -> None:
        """Metadata of item 0."""
        self.deposit("metadata", language="en", describes=labels(0))

    def update(self) -> None:
        given: dict[str, Source] = {"small.txt": Keep("small.txt"), "new.txt": Bytes(b"new")}
        updated = self._deposits.update(labels(0).labels[0], draft(*given, title="updated"), given, WHO)
        say(f"updated {updated.item.rep}")

    def delete(self) -> None:
        say(f"deleted {self._deposits.delete(labels(0).labels[0], 'why not', WHO).rep}")

    def purge(self) -> None:
        say(f"purged {self._deposits.delete(labels(0).labels[0], 'by order', WHO, purge=True).rep}")

    def relate(self) -> None:
        relating = Relating(self._store, self._deposits)
        say(f"related {relating.record_next_edition(labels(0).labels[0], labels(1).labels[0], WHO).rep}")

    def unrelate(self) -> None:
        relating = Relating(self._store, self._deposits)
        say(f"unrelated {relating.withdraw_next_edition(labels(0).labels[0], labels(1).labels[0], WHO).rep}")

    def undescribe(self) -> None:
        relating = Relating(self._store, self._deposits)
        say(f"withdrawn {relating.withdraw_metadata_item(labels(0).labels[0], labels(2).labels[0], WHO).rep}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(data: Path, orders: Orders) -> None:
    killer = Killer(orders.step, orders.visit)
    with open_store(data, on_step=killer) as store:
        act: Callable[[], None] = getattr(Worker(store, orders.first), orders.act)
        act()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Orders(**json.loads(sys.argv[2])))
