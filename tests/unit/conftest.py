"""Items kept in memory, deposits among them, and a minter on a fresh directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.items.service.deposits import Deposits
from ibi.items.service.item_repository import ItemRepository
from tests.support.deposit_samples import deposits
from tests.support.memory.catalog import MemoryCatalog
from tests.support.memory.content import MemoryContent
from tests.support.memory.item_changes import MemoryItemLocks
from tests.unit.storage.bench import Bench


@pytest.fixture
def kept() -> ItemRepository:
    return ItemRepository(MemoryContent(), MemoryCatalog(), locks=MemoryItemLocks())


@pytest.fixture
def made(kept: ItemRepository) -> Deposits:
    return deposits(kept)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()
