"""When a server writes its dump."""

from __future__ import annotations

import pytest

from ibi.settings import InvalidSetting, load_settings


@pytest.mark.parametrize(("given", "second"), [("00:00", 0), ("03:30", 12_600), ("23:59", 86_340), ("off", None)])
def test_a_time_of_day_is_a_second_of_it(given: str, second: int | None) -> None:
    assert load_settings({}, {"IBI_ARCHIVE_DUMP": given}).archive.dump == second


def test_without_a_time_no_dump_is_written() -> None:
    assert load_settings({}, {}).archive.dump is None


@pytest.mark.parametrize("given", ["24:00", "3:30", "03:60", "03:30:00", "noon", "٠٣:٣٠", "on"])
def test_what_is_no_time_of_day_is_refused(given: str) -> None:
    with pytest.raises(InvalidSetting, match="IBI_ARCHIVE_DUMP"):
        load_settings({}, {"IBI_ARCHIVE_DUMP": given})
