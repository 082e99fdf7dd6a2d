"""G Table 6.2 end to end: seven items ask a running server of granularity one second, at the table's times."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import pytest

from ibi import Instant, parse
from ibi.minting.rules.minter import Rules
from ibi.standard.clock import SECOND
from tests.conformance.generation.section_6.test_table_6_2 import ROWS, Row
from tests.support.minting_app import ONE, made
from tests.support.running_server import running
from tests.support.set_clocks import SetClocks


class Served(NamedTuple):
    """What one item got, how long it waited, and what the clock showed when it got it."""

    label: dict[str, object]
    waits: list[float]
    when: Instant


@pytest.fixture(scope="module")
def served() -> dict[str, Served]:
    clocks = SetClocks(Instant.from_fraction(Fraction(ROWS[0].request)))
    minting = made(Rules(SECOND, built=Instant(0)), clocks=clocks)
    headers = {**minting.bearer(), "content-type": "application/json"}
    found: dict[str, Served] = {}
    with running(minting.app) as server:
        for row in ROWS:
            clocks.set(Instant.from_fraction(Fraction(row.request)))
            waited_before = len(clocks.slept)
            response, body = server.ask("POST", "/api/labels", ONE, headers)
            assert response.status == 201, body
            found[row.item] = Served(body["labels"][0], clocks.slept[waited_before:], clocks.read().wall)
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"item_{row.item}")
def test_the_item_gets_its_suffix(row: Row, served: dict[str, Served]) -> None:
    assert served[row.item].label["rep"] == f"inpe.br/sid/{row.suffix}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"item_{row.item}")
def test_both_forms_have_the_date_of_the_table(row: Row, served: dict[str, Served]) -> None:
    label = served[row.item].label
    dates = {parse(str(label[form])).instant for form in ("rep", "ibip")} | {Instant.parse(str(label["instant"]))}
    assert dates == {Instant(row.date)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"item_{row.item}")
def test_the_item_waits_for_its_date_and_no_longer(row: Row, served: dict[str, Served]) -> None:
    waits = served[row.item].waits
    assert [Fraction(round(seconds * 10**9), 10**9) for seconds in waits] == ([row.wait] if row.wait else [])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"item_{row.item}")
def test_no_label_leaves_before_its_date(row: Row, served: dict[str, Served]) -> None:
    assert served[row.item].when >= Instant(row.date)
