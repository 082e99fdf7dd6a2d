"""How many come in a minute, and when one that was refused is taken."""

from __future__ import annotations

import time
from threading import RLock
from typing import cast

import pytest

from ibi.jobs.limits import MOST_TURNS, LimitExceeded, LimitScope, RateLimiter
from ibi.server.worker_state import ProcessLock, SharedRows


class Refused(LimitExceeded):
    """Wait {retry_after} seconds."""

    code = "refused"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def limiter(most: int, most_of_one: int) -> tuple[RateLimiter, Clock]:
    clock = Clock()
    return RateLimiter(most, most_of_one, Refused, clock), clock


def refusal(limits: RateLimiter, network: str) -> Refused | None:
    try:
        limits.count(network)
    except Refused as error:
        return error
    return None


def test_one_network_that_waits_as_long_as_it_is_told_is_taken_and_a_second_earlier_it_is_not() -> None:
    for earlier, is_taken in ((0.0, True), (1.01, False)):
        limits, clock = limiter(60, 20)
        assert [refusal(limits, "a") for _ in range(20)] == [None] * 20
        refused = refusal(limits, "a")
        assert refused is not None
        assert refused.bound is LimitScope.NETWORK
        clock.now += refused.retry_after - earlier
        assert (refusal(limits, "a") is None) is is_taken


@pytest.mark.parametrize("networks", [61, 200, 600])
def test_each_of_many_networks_is_taken_when_it_was_told_to_come_while_the_others_go_on(networks: int) -> None:
    limits, clock = limiter(60, 20)
    promised = dict[str, float]()
    early = 0
    for _ in range(900):
        for number in range(networks):
            name = f"flood {number}"
            if name in promised and clock.now < promised[name]:
                early += 1
                refused = refusal(limits, name)
                assert refused is not None
                assert abs(clock.now + refused.retry_after - promised[name]) <= 1
                continue
            refused = refusal(limits, name)
            if name in promised and clock.now <= promised[name] + 1:
                assert refused is None, "it came when it was told to"
            promised.pop(name, None)
            if refused is not None:
                promised[name] = clock.now + refused.retry_after
        clock.now += 1.0
    assert early > 1000


def test_a_newcomer_gets_a_turn_in_a_flood() -> None:
    limits, clock = limiter(60, 20)
    for second in range(120):
        for number in range(100):
            refusal(limits, f"flood {number}")
        clock.now += 1.0
        assert second < 120
    refused = refusal(limits, "newcomer")
    assert refused is not None
    assert refused.bound is LimitScope.SERVER
    assert refused.retry_after <= 120
    left = refused.retry_after
    while left > 0:
        for number in range(100):
            refusal(limits, f"flood {number}")
        clock.now += 1.0
        left -= 1
    assert refusal(limits, "newcomer") is None


def test_a_turn_that_is_not_taken_is_gone_after_a_minute() -> None:
    limits, clock = limiter(2, 2)
    assert [refusal(limits, name) for name in "ab"] == [None, None]
    refused = refusal(limits, "c")
    assert refused is not None
    clock.now += refused.retry_after + 61
    assert [refusal(limits, name) for name in "cd"] == [None, None]
    assert refusal(limits, "e") is not None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the limiter and of the rows that workers share."""
    clock = Clock()
    monkeypatch.setattr(time, "monotonic_ns", lambda: int(clock.now * 1e9))
    return clock


@pytest.mark.parametrize("has_workers", [False, True])
@pytest.mark.parametrize("networks", [4500, 8000])
def test_each_of_several_thousand_networks_is_taken_when_it_was_told_to_come(
    clock: Clock, networks: int, *, has_workers: bool
) -> None:
    rows = SharedRows(cast("ProcessLock", RLock())) if has_workers else None
    limits, began = RateLimiter(60, 20, Refused, clock, rows), clock.now
    told = {name: refused.retry_after for name in map(str, range(networks)) if (refused := refusal(limits, name))}
    assert len(told) == networks - 60
    due = dict[int, list[str]]()
    for name, wait in told.items():
        due.setdefault(wait, []).append(name)
    for second in range(max(due) + 1):
        clock.now = began + second
        for name in due.get(second, ()):
            assert refusal(limits, name) is None
        refusal(limits, f"a newcomer {second}")  # whose rows drop none of those that wait


@pytest.mark.parametrize("has_workers", [False, True])
def test_a_turn_is_not_dropped_for_networks_that_were_taken(clock: Clock, *, has_workers: bool) -> None:
    rows = SharedRows(cast("ProcessLock", RLock())) if has_workers else None
    limits = RateLimiter(60, 20, Refused, clock, rows)
    for number in range(60):
        refusal(limits, f"n {number}")
    waiting = {name: refused.retry_after for name in "abc" if (refused := refusal(limits, name))}
    left = limits._left
    for number in range(100_000):
        left.put(f"taken {number}", (19.0, clock.now, float("-inf")))
    for name, wait in waiting.items():
        clock.now = 1000.0 + wait
        assert refusal(limits, name) is None


def test_beyond_so_many_that_wait_one_is_told_of_the_last_turn_and_the_others_keep_theirs() -> None:
    limits, clock = limiter(60, 20)
    waits = [refused.retry_after for number in range(20_000) if (refused := refusal(limits, f"n {number}"))]
    assert max(waits) == MOST_TURNS + 1
    assert len(limits._left) == MOST_TURNS + 60 + 1  # one row is of all together
    for number in (60, 61, 9000, 60 + MOST_TURNS - 1):
        clock.now = 1000.0 + number - 59
        assert refusal(limits, f"n {number}") is None


def test_no_more_are_taken_in_a_minute_than_is_said() -> None:
    limits, clock = limiter(60, 60)
    taken = 0
    for tenth in range(6000):
        taken += refusal(limits, f"n {tenth % 40}") is None
        clock.now += 0.1
    assert taken <= 60 + 600 + 1
