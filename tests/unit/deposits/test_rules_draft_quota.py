"""How much drafts may take of a disk."""

from __future__ import annotations

import pytest

from ibi.deposits.rules.drafts import DraftQuota, DraftShareUsed, DraftsTooLarge, Holding, TooManyDrafts
from ibi.items.rules.errors import DiskNearlyFull

QUOTA = DraftQuota(drafts=2, size=100, reserve=1000)


def test_as_many_drafts_as_are_allowed_and_no_more() -> None:
    QUOTA.check_begin(Holding(1, 10**9))
    with pytest.raises(TooManyDrafts) as refused:
        QUOTA.check_begin(Holding(2, 0))
    assert str(refused.value).startswith("You have 2 drafts, and this Archive keeps at most 2 of one depositor")
    assert "publish or discard" in str(refused.value)


def test_as_many_bytes_as_are_allowed_and_no_more() -> None:
    QUOTA.check_send("name:ana", "b.txt", Holding(2, 90), 10)
    with pytest.raises(DraftsTooLarge) as refused:
        QUOTA.check_send("name:ana", "b.txt", Holding(2, 90), 11)
    assert str(refused.value).startswith(
        "The drafts of ana hold 90 bytes, those on their way included, and with 11 of 'b.txt' there would be more than"
        " the 100 that this Archive keeps of one depositor: publish or discard a draft"
    )


def test_a_file_without_bytes_is_never_too_much() -> None:
    QUOTA.check_send("name:ana", "empty", Holding(2, 101), 0)


def test_the_reserve_stays_free() -> None:
    QUOTA.check_disk(1500, 500)
    with pytest.raises(DiskNearlyFull, match="has room for 500 more bytes"):
        QUOTA.check_disk(1500, 501)
    with pytest.raises(DiskNearlyFull, match="has room for 0 more bytes"):
        QUOTA.check_disk(999, 0)


def test_zero_is_no_bound() -> None:
    none = DraftQuota()
    none.check_begin(Holding(10**6, 10**18))
    none.check_send("name:ana", "a", Holding(10**6, 10**18), 10**18)
    none.check_disk(0, 10**18)
    assert not none.bounds_depositors
    assert DraftQuota(drafts=1).bounds_depositors
    assert DraftQuota(size=1).bounds_depositors


def test_a_depositor_leaves_a_share_of_the_disk_to_others() -> None:
    quota = DraftQuota(reserve=1000, share=50)
    none, some = Holding(), Holding(1, 400)
    quota.check_share("name:ana", "a", none, 500, written=0, free=2000)
    with pytest.raises(DraftShareUsed, match="50 %"):
        quota.check_share("name:ana", "a", none, 501, written=0, free=2000)
    # What the depositor has on the disk already belongs to what the disk has for drafts.
    quota.check_share("name:ana", "a", some, 100, written=400, free=1600)
    with pytest.raises(DraftShareUsed, match="of ana hold 400 bytes"):
        quota.check_share("name:ana", "a", some, 101, written=400, free=1600)
    quota.check_share("name:ana", "a", some, 0, written=400, free=0)
    assert quota.bounds_depositors


def test_a_share_of_all_is_no_bound() -> None:
    DraftQuota().check_share("name:ana", "a", Holding(1, 10**9), 10**12, written=0, free=0)
    assert not DraftQuota().bounds_share
