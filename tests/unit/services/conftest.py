"""Items kept in memory, and deposits among them."""

from __future__ import annotations

import pytest

from ibi.services.deposits import Deposits
from ibi.services.kept_items import KeptItems
from ibi.storage.memory.catalog import MemoryCatalog
from ibi.storage.memory.content import MemoryContent
from tests.deposits_by_hand import deposits


@pytest.fixture
def kept() -> KeptItems:
    return KeptItems(MemoryContent(), MemoryCatalog())


@pytest.fixture
def made(kept: KeptItems) -> Deposits:
    return deposits(kept)
