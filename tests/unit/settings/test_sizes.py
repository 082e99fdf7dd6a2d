"""Sizes and days, as the settings of the Archive have them."""

from __future__ import annotations

import pytest

from ibi.settings import InvalidSetting, load_settings, setting


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("500 kB", 500_000), ("20MB", 20_000_000), ("3 GB", 3 * 10**9), ("2 TB", 2 * 10**12)]
)
def test_a_size_is_read_with_its_unit(text: str, size: int) -> None:
    assert load_settings({}, {"IBI_ARCHIVE_LARGEST_DEPOSIT": text}).archive.largest_deposit == size


@pytest.mark.parametrize("text", ["0", "x", "1 gb", "1.5 GB", "-1", "1 PB", "9" * 16, "1  GB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match="IBI_ARCHIVE_LARGEST_DEPOSIT"):
        load_settings({}, {"IBI_ARCHIVE_LARGEST_DEPOSIT": text})


def test_a_size_in_a_file_is_a_number_or_a_text() -> None:
    size = setting("archive.largest_deposit").kind
    assert (size.as_toml("1000"), size.as_toml("100 GB")) == ("1000", '"100 GB"')


@pytest.mark.parametrize("name", ["MOST_DRAFT_BYTES", "DISK_RESERVE"])
def test_a_bound_may_be_none_at_all(name: str) -> None:
    archive = load_settings({}, {f"IBI_ARCHIVE_{name}": "0"}).archive
    assert getattr(archive, name.lower()) == 0
    assert getattr(load_settings({}, {f"IBI_ARCHIVE_{name}": "2 GB"}).archive, name.lower()) == 2 * 10**9
    for text in ("0 GB", "00", "none", "-1"):
        with pytest.raises(InvalidSetting, match=name):
            load_settings({}, {f"IBI_ARCHIVE_{name}": text})


def test_drafts_are_bounded_unless_told_otherwise() -> None:
    archive = load_settings({}, {}).archive
    assert (archive.most_drafts, archive.most_draft_bytes, archive.disk_reserve) == (100, 10**11, 10**9)
    assert load_settings({}, {"IBI_ARCHIVE_MOST_DRAFTS": "0"}).archive.most_drafts == 0


@pytest.mark.parametrize("text", ["0", "36501", "1.5", "a week"])
def test_drafts_are_kept_for_whole_days(text: str) -> None:
    with pytest.raises(InvalidSetting):
        load_settings({}, {"IBI_ARCHIVE_DRAFT_DAYS": text})
