"""Refusals in the audit log, as many as are bearable."""

from __future__ import annotations

import pytest

from ibi.jobs.limits import MemoryRows
from ibi.people.model.account import Actor, Scope
from ibi.people.service.refusals import (
    LINES_OF_ACCOUNT,
    LINES_OF_NETWORK,
    LINES_OF_STRANGERS,
    STRANGER,
    Refusal,
    RefusalLog,
)
from ibi.standard.instant import Instant
from tests.support.people_site import KeptAudit
from tests.support.set_clocks import SetClocks

ANA = Actor("person:ana", Scope.READ, "abc")


def refusal(network: str = "192.0.2.0/24", who: Actor | None = None) -> Refusal:
    return Refusal("path:/x", "GET /x: 403", "192.0.2.1", network, who)


class Desk:
    def __init__(self, rows: MemoryRows | None = None) -> None:
        self.audit, self.seconds = KeptAudit(), 0.0
        clocks = SetClocks(Instant.parse("2026-11-16T12:00:00Z"))
        self.log = RefusalLog(self.audit, clocks, rows=rows, monotonic=lambda: self.seconds)

    def note(self, times: int, **others: object) -> int:
        return sum(self.log.note(refusal(**others)) for _ in range(times))  # type: ignore[arg-type]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_line_says_who_was_refused_what_and_from_where(desk: Desk) -> None:
    desk.note(1, who=ANA)
    desk.note(1)
    known, unknown = desk.audit.lines
    assert (known.account, known.token, known.address, known.subject) == ("person:ana", "abc", "192.0.2.1", "path:/x")
    assert (unknown.account, unknown.token, unknown.act) == (STRANGER, None, "refuse")


def test_a_network_is_written_down_ever_more_seldom_and_what_was_left_out_is_said(desk: Desk) -> None:
    assert desk.note(50) == LINES_OF_NETWORK
    desk.seconds += 1.5
    assert desk.note(50) == 1
    assert "; 45 more were not written" in desk.audit.lines[-1].detail
    day = 0
    for _ in range(24 * 60):
        desk.seconds += 60
        day += desk.note(10)
    assert day < 24 * 4 + 15


def test_many_networks_are_bounded_together(desk: Desk) -> None:
    written = sum(desk.note(1, network=f"10.{number}.0.0/24") for number in range(200))
    assert written == LINES_OF_STRANGERS
    desk.seconds += 60
    assert sum(desk.note(1, network=f"11.{number}.0.0/24") for number in range(200)) == LINES_OF_STRANGERS


def test_an_account_that_is_known_is_not_kept_out_by_strangers_and_bounded_too(desk: Desk) -> None:
    for number in range(200):
        desk.note(1, network=f"10.{number}.0.0/24")
    assert desk.note(LINES_OF_ACCOUNT + 100, who=ANA) == LINES_OF_ACCOUNT
    assert desk.note(1, who=Actor("person:bia", Scope.READ)) == 1


def test_several_processes_count_together() -> None:
    rows = MemoryRows(1000)
    desks = [Desk(rows), Desk(rows)]
    assert sum(desk.note(20) for desk in desks) == LINES_OF_NETWORK
