"""An item has one metadata item at most, and metadata has none."""

from __future__ import annotations

import pytest

from ibi.items.rules.errors import (
    DescribedMetadata,
    MetadataOfItself,
    MetadataOfMetadata,
    OriginalNeeded,
    SecondMetadataItem,
)
from ibi.items.rules.life_cycle import copy
from ibi.items.rules.related_items import check_described, described_by, record_metadata_item, withdraw_metadata_item
from ibi.standard.languages import LanguageTag
from tests.support.archive_catalog import PlainCatalog
from tests.support.standards_archives import forms, item

ITEM, META, OTHER = (f"lab.br/arq/2020/01.02.03.{minute:02}" for minute in range(3))
AT = "2020-01-02T03:04:05Z"
described = item(ITEM, at=AT, files=("a",))
metadata = item(META, at=AT, files=("m.xml",), language=LanguageTag("en"), describes=forms(ITEM))
translated = item(OTHER, at=AT, files=("m.xml",), language=LanguageTag("pt"), translation_of=forms(META))
NOTHING = PlainCatalog()


def test_a_metadata_item_is_recorded_once_and_can_be_withdrawn() -> None:
    known = record_metadata_item(NOTHING, described, forms(META))
    assert known.metadata_item == forms(META)
    assert record_metadata_item(NOTHING, known, forms(META)) == known
    with pytest.raises(SecondMetadataItem, match=META):
        record_metadata_item(NOTHING, known, forms(OTHER))
    assert withdraw_metadata_item(known) == described


def test_an_item_is_not_its_own_metadata() -> None:
    with pytest.raises(MetadataOfItself):
        record_metadata_item(NOTHING, described, forms(ITEM))


def test_metadata_has_no_metadata_nor_has_a_translation_of_it() -> None:
    catalog = PlainCatalog(described, metadata, translated)
    for each in (metadata, translated):
        with pytest.raises(MetadataOfMetadata, match=f"{each.rep} is itself the metadata of {ITEM}"):
            record_metadata_item(catalog, each, forms("lab.br/arq/2020/01.02.03.09"))
        with pytest.raises(MetadataOfMetadata):
            check_described(catalog, each.labels)
    check_described(catalog, described.labels)
    check_described(NOTHING, metadata.labels)  # of what is elsewhere its own Archive knows


def test_what_has_metadata_is_not_the_metadata_of_another() -> None:
    known = record_metadata_item(NOTHING, described, forms(META))
    with pytest.raises(DescribedMetadata, match=META):
        record_metadata_item(PlainCatalog(known), item(OTHER, at=AT, files=("a",)), known.labels)


def test_a_translation_of_metadata_describes_what_its_source_does() -> None:
    catalog = PlainCatalog(described, metadata, translated)
    assert described_by(catalog, metadata) == described_by(catalog, translated) == forms(ITEM)
    assert described_by(catalog, described) is None
    assert described_by(NOTHING, translated) is None


def test_only_the_original_is_changed() -> None:
    with pytest.raises(OriginalNeeded):
        record_metadata_item(NOTHING, copy(described, "a.br"), forms(META))
