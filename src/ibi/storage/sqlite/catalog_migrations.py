"""The migrations of the catalogue, in their order. Each module owns its tables."""

from __future__ import annotations

from typing import Final

from ibi.storage.sqlite.catalog_rows import ITEM_MIGRATIONS, NUMBER_VERSIONS
from ibi.storage.sqlite.connection import Migration
from ibi.storage.sqlite.integrity import BEGIN_INTEGRITY
from ibi.storage.sqlite.previews import BEGIN_PREVIEWS
from ibi.storage.sqlite.texts import begin_texts

MIGRATIONS: Final[tuple[Migration, ...]] = (
    *ITEM_MIGRATIONS,
    NUMBER_VERSIONS,
    begin_texts,
    BEGIN_PREVIEWS,
    BEGIN_INTEGRITY,
)
