"""Items kept in memory, and deposits among them."""

from __future__ import annotations

import pytest

from ibi.items.service.deposits import Deposits
from ibi.items.service.item_repository import ItemRepository
from tests.support.deposit_samples import deposits
from tests.support.memory.catalog import MemoryCatalog
from tests.support.memory.content import MemoryContent
from tests.support.memory.item_changes import MemoryItemLocks


@pytest.fixture
def kept() -> ItemRepository:
    return ItemRepository(MemoryContent(), MemoryCatalog(), locks=MemoryItemLocks())


@pytest.fixture
def made(kept: ItemRepository) -> Deposits:
    return deposits(kept)
