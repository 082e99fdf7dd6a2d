"""A batch and its shares: the labels that follow from four values."""

from __future__ import annotations

import pytest

from ibi.minting.model import BatchShare, LabelBatch, MintedLabel
from ibi.standard.clock import Granularity
from ibi.standard.instant import Instant
from ibi.standard.label.generate import (
    mount_ibip,
    mount_repository_name,
    mount_suffix_of_ibip,
    mount_suffix_of_repository_name,
)

REP, IBIP = "urlib.net/www", "8JMKD3MGP8W"
NOW = Instant.parse("2027-03-01T12:00:59.99999995Z")
AFTER = Instant.parse("2027-03-01T12:00:59.99999Z")


def written(date: Instant, ibip: str | None) -> MintedLabel:
    """By the algorithms, one after the other."""
    rep = mount_repository_name(REP, mount_suffix_of_repository_name(date))
    return MintedLabel(rep, None if ibip is None else mount_ibip(ibip, mount_suffix_of_ibip(date)), date)


@pytest.mark.parametrize("ibip", [IBIP, None])
@pytest.mark.parametrize("granularity", ["60", "1", "0.1", "0.000001", "0.000000001"])
@pytest.mark.parametrize("count", [1, 100, 1024, 1025, 3000])
@pytest.mark.parametrize("after", [None, AFTER])
def test_shares_are_the_labels_of_their_dates(
    ibip: str | None, granularity: str, count: int, after: Instant | None
) -> None:
    batch = LabelBatch(REP, ibip, False, NOW, after, Granularity.parse(granularity), count)
    expected = [written(tick.date, ibip) for tick in batch.ticks()]
    middle = count // 2
    assert [
        *BatchShare(batch, 0, middle, "ana").labels(),
        *BatchShare(batch, middle, count - middle, "rui").labels(),
    ] == expected
    assert list(BatchShare(batch, middle, 1, "ana").labels()) == expected[middle : middle + 1]


def test_what_is_worked_out_on_the_way_makes_no_other_batch() -> None:
    one, other = (LabelBatch(REP, IBIP, False, NOW, AFTER, Granularity(10), 5) for _ in range(2))
    assert list(BatchShare(one, 0, 5, "ana").labels())
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == repr(other)
