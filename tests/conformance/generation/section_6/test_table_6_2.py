"""G Table 6.2: a temporal distributor of one second at work on seven items, in the order of their requests."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import pytest

from ibi import Instant
from ibi.standard.clock import SECOND, Tick, next_tick
from ibi.standard.label.generate import mount_suffix_of_repository_name


class Row(NamedTuple):
    """A line of the table: item, t_i, t'(i), r_t'(i), t(i) and the suffix; and the wait that follows from them."""

    item: str
    request: str
    creation: int
    before: int
    chosen: int
    date: int
    suffix: str
    wait: Fraction


NONE = Fraction(0)
ROWS = [
    Row("d", "1287587646.394023", 1287587646, 1287587645, 1, 1287587646, "2010/10.20.15.14.06", NONE),
    Row("b", "1287588012.2930", 1287588012, 1287587646, 60, 1287588000, "2010/10.20.15.20", NONE),
    Row("a", "1287588115.186234", 1287588115, 1287588000, 60, 1287588060, "2010/10.20.15.21", NONE),
    Row("c", "1287588115.3462", 1287588115, 1287588060, 1, 1287588115, "2010/10.20.15.21.55", NONE),
    Row("g", "1287588115.99623", 1287588116, 1287588115, 1, 1287588116, "2010/10.20.15.21.56", Fraction(377, 100_000)),
    Row("f", "1287588116.72", 1287588117, 1287588116, 1, 1287588117, "2010/10.20.15.21.57", Fraction(28, 100)),
    Row("e", "1287588539.788342", 1287588539, 1287588117, 60, 1287588480, "2010/10.20.15.28", NONE),
]


def run(rows: list[Row]) -> dict[str, Tick]:
    ticks: dict[str, Tick] = {}
    last = None
    for row in rows:
        ticks[row.item] = next_tick(Instant.from_fraction(Fraction(row.request)), last, SECOND)
        last = ticks[row.item].date
    return ticks


TICKS = run(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"item_{row.item}")
def test_the_item_gets_its_date(row: Row) -> None:
    assert TICKS[row.item].date == Instant(row.date)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"item_{row.item}")
def test_the_item_gets_its_suffix(row: Row) -> None:
    assert mount_suffix_of_repository_name(TICKS[row.item].date) == row.suffix


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"item_{row.item}")
def test_the_item_waits_for_its_date_and_no_longer(row: Row) -> None:
    assert TICKS[row.item].wait == row.wait


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"item_{row.item}")
def test_the_chosen_granularity_is_the_coarsest_that_puts_the_date_after_the_one_before(row: Row) -> None:
    fitting = [r for r in (60, 1) if row.creation // r * r > row.before]
    assert max(fitting) == row.chosen
    assert TICKS[row.item].date == Instant(row.creation // row.chosen * row.chosen)


def test_item_g_waits_3_77_milliseconds_for_its_date() -> None:
    assert TICKS["g"].wait * 1000 == Fraction("3.77")


def test_item_f_waits_0_28_seconds_for_its_date() -> None:
    assert TICKS["f"].wait == Fraction("0.28")


def test_items_a_c_and_g_asked_within_one_second_and_get_three_dates() -> None:
    assert [TICKS[item].date.seconds for item in "acg"] == [1287588060, 1287588115, 1287588116]


def test_the_first_item_has_no_date_before_it() -> None:
    assert TICKS["d"] == next_tick(Instant.from_fraction(Fraction("1287587646.394023")), Instant(1287587645), SECOND)
