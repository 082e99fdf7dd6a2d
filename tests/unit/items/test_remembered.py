"""Inventories that were read lately: not twice while they stay as they are, nor more than the memory has room for."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.items.model.content import Change
from ibi.items.store.ocfl.object import Inventory, RememberedInventories, Version
from ibi.standard.instant import Instant

CHANGE = Change("Ana", "deposit", Instant.parse("2026-11-20T10:00:00Z"))


@dataclass
class Directory:
    """One object, and how often its inventory was read."""

    name: str
    files: int = 10
    status: tuple[int, ...] = (1,)
    reads: int = 0

    def inventory_status(self) -> tuple[int, ...]:
        return self.status

    def inventory(self) -> Inventory:
        self.reads += 1
        files = {f"doc/{number}": f"{number:0128x}" for number in range(self.files)}
        manifest = {digest: (f"v1/content/{path}",) for path, digest in files.items()}
        return Inventory(f"ibi:{self.name}", manifest, (Version(CHANGE, files),))


def read(remembered: RememberedInventories, *directories: Directory) -> None:
    for found in directories:
        remembered.inventory(found)  # type: ignore[arg-type]


def test_one_that_stays_as_it_is_is_read_once() -> None:
    remembered, found = RememberedInventories(), Directory("a/b")
    read(remembered, found, found)
    assert found.reads == 1
    found.status = (2,)
    read(remembered, found, found)
    assert found.reads == 2


def test_one_of_as_many_files_as_an_item_may_have_is_remembered_too() -> None:
    remembered, found = RememberedInventories(), Directory("a/b", 10_002)
    read(remembered, found, found)
    assert found.reads == 1


def test_large_ones_make_room_for_one_another() -> None:
    remembered, large = RememberedInventories(), [Directory(f"a/{number}", 10_002) for number in range(12)]
    read(remembered, *large)
    read(remembered, large[-1], large[0])
    assert (large[-1].reads, large[0].reads) == (1, 2)
