"""What the commands print of an item."""

from __future__ import annotations

import pytest

from ibi.command.item_output import print_item
from ibi.items.model.item import Tombstone
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.vocabulary import ArchiveProtocol, State
from tests.support.catalog_samples import item


def test_a_copy_says_where_its_original_is_and_what_became_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    gone = Tombstone(Instant.parse("2026-11-16T13:10:00Z"), "withdrawn by its author")
    taken = item(
        state=State.COPY,
        source="archive.example",
        source_protocol=ArchiveProtocol.HTTPS,
        original_tombstone=gone,
    )
    print_item(taken, {}, as_json=False)
    print_item(item(state=State.COPY, transferred_to=parse("8JMKD3MGP8W/34PGRBS")), {}, as_json=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "taken from https://archive.example" in lines
    assert f"original deleted {gone.when}: withdrawn by its author" in lines
    assert "given to 8JMKD3MGP8W/34PGRBS" in lines
