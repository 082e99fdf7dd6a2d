"""The migrations of the catalogue, in their order. Each module owns its tables."""

from __future__ import annotations

from typing import Final

from ibi.items.store.catalogue.integrity import BEGIN_INTEGRITY
from ibi.items.store.catalogue.previews import BEGIN_PREVIEWS
from ibi.items.store.catalogue.rows import ITEM_MIGRATIONS, NUMBER_VERSIONS
from ibi.items.store.catalogue.texts import begin_texts
from ibi.storage.connection import Migration

MIGRATIONS: Final[tuple[Migration, ...]] = (
    *ITEM_MIGRATIONS,
    NUMBER_VERSIONS,
    begin_texts,
    BEGIN_PREVIEWS,
    BEGIN_INTEGRITY,
)
