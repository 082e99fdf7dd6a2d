"""A process that makes random changes of an Archive, and is killed at the step that it is told, if it comes to it.

Run as a script: the data directory, the number of the process, the seed, and the number of the step to die at.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ibi.items.opening.archive_store import open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from ibi.items.service.relating import Relating
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.standard.languages import LanguageTag
from ibi.storage.machine import MachineClocks
from tests.support.deposit_samples import WHO, CountedLabels, draft, sources

CHANGES = 12
LABELS_APART = 1_000


class Killer:
    def __init__(self, last: int) -> None:
        self._left = last

    def __call__(self, step: str) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def work(store: ArchiveStore, number: int, seed: int) -> None:
    chance = random.Random(f"{seed}-{number}")
    made = Deposits(store, CountedLabels(number * LABELS_APART), MachineClocks())
    relating = Relating(store, made)
    for count in range(CHANGES):
        known = [item.rep for item in store.catalog.items()]
        with suppress(IbiError):  # of another process, which was quicker
            change(chance, made, relating, store, known, f"{number} {count}")


def change(
    chance: random.Random, made: Deposits, relating: Relating, store: ArchiveStore, known: Sequence[Label], title: str
) -> None:
    act = chance.choice(("deposit", "deposit", "edition", "update", "relate", "delete", "purge", "rebuild"))
    if act == "deposit" or not known:
        made.deposit(draft("a.txt", title=title, language="pt"), sources(a=title.encode()), WHO)
        return
    one, other = chance.choice(known), chance.choice(known)
    match act:
        case "edition":
            edition = draft("a.txt", title=title, edition_of=store.find(one).labels)
            made.deposit(edition, sources(a=title.encode()), WHO)
        case "update":
            made.update(one, draft("b.txt", title=title), sources(b=title.encode()), WHO)
        case "relate":
            relating.record_translation(one, LanguageTag.parse("en", registered=True), other, WHO)
        case "rebuild":
            store.rebuild()
        case _:
            made.delete(one, "why", WHO, purge=act == "purge")


if __name__ == "__main__":
    data, process, chosen, step = sys.argv[1:]
    with open_store(Path(data), on_step=Killer(int(step))) as opened:
        work(opened, int(process), int(chosen))
