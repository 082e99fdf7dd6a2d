"""Items kept in memory, and deposits among them."""

from __future__ import annotations

import pytest

from ibi.services.deposits import Deposits
from ibi.services.item_repository import ItemRepository
from ibi.storage.memory.catalog import MemoryCatalog
from ibi.storage.memory.content import MemoryContent
from tests.deposits_by_hand import deposits


@pytest.fixture
def kept() -> ItemRepository:
    return ItemRepository(MemoryContent(), MemoryCatalog())


@pytest.fixture
def made(kept: ItemRepository) -> Deposits:
    return deposits(kept)
