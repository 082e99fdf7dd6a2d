"""An item has one metadata item at most."""

from __future__ import annotations

import pytest

from ibi.archive.errors import OriginalNeeded, SecondMetadataItem
from ibi.archive.life_cycle import copy
from ibi.archive.metadata_items import record_metadata_item, withdraw_metadata_item
from ibi.model.errors import InvalidItem
from tests.standards_archives import forms, item

ITEM, META, OTHER = (f"lab.br/arq/2020/01.02.03.{minute:02}" for minute in range(3))
described = item(ITEM, at="2020-01-02T03:04:05Z", files=("a",))


def test_it_is_recorded_once_and_can_be_withdrawn() -> None:
    known = record_metadata_item(described, forms(META))
    assert known.metadata_item == forms(META)
    assert record_metadata_item(known, forms(META)) == known
    with pytest.raises(SecondMetadataItem, match=META):
        record_metadata_item(known, forms(OTHER))
    assert withdraw_metadata_item(known) == described


def test_an_item_is_not_its_own_metadata() -> None:
    with pytest.raises(InvalidItem):
        record_metadata_item(described, forms(ITEM))


def test_only_the_original_is_changed() -> None:
    with pytest.raises(OriginalNeeded):
        record_metadata_item(copy(described, "a.br"), forms(META))
