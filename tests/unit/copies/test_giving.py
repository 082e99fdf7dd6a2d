"""What an Archive gives to be copied, and when it gives nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.archive.service.answers import ArchiveInDoubt
from ibi.copies.service.giving import ObjectGiving
from ibi.items.opening.archive_store import open_store
from tests.support.deposit_samples import CountedLabels, deposits, put, sources


def test_nothing_is_given_while_it_is_not_known_what_was_given_away(tmp_path: Path) -> None:
    doubts = [True]

    def require_sure() -> None:
        if doubts:
            raise ArchiveInDoubt()

    with open_store(tmp_path) as store:
        item = put(deposits(store, CountedLabels()), sources(a=b"text"))
        giving = ObjectGiving(store.catalog, store.content, item.labels, require_sure=require_sure)
        with pytest.raises(ArchiveInDoubt):
            giving.read(item.rep, lambda _: None)
        doubts.clear()
        assert giving.read(item.rep, lambda _: None).labels == item.labels
