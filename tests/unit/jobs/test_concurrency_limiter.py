"""Turns at what asks Archives whoever wants it."""

from __future__ import annotations

import pickle
from ipaddress import ip_address

import pytest

from ibi.jobs.limits import (
    ConcurrencyLimiter,
    LimitExceeded,
    LimitScope,
    TooManyLinks,
    TooManyTraces,
    link_limiter,
    trace_limiter,
)

HERE, NEXT_DOOR, ELSEWHERE = map(ip_address, ("192.0.2.1", "192.0.2.200", "198.51.100.1"))


def test_a_network_has_its_share_and_others_have_theirs() -> None:
    turns = trace_limiter(most=10, most_of_one=2)
    given = [turns.acquire(HERE, 5), turns.acquire(NEXT_DOOR, 5)]
    with pytest.raises(TooManyTraces) as refusal:
        turns.acquire(HERE, 5)
    assert refusal.value.bound is LimitScope.NETWORK
    given.append(turns.acquire(ELSEWHERE, 5))
    assert len(turns) == 3
    for give_back in given:
        give_back()
    assert len(turns) == 0


def test_all_together_have_no_more_than_there_are() -> None:
    turns = trace_limiter(most=3, most_of_one=2)
    given = [turns.acquire(ip_address(f"2001:db8:{last}::1"), 5) for last in range(3)]
    with pytest.raises(TooManyTraces) as refusal:
        turns.acquire(ELSEWHERE, 7)
    assert (refusal.value.bound, refusal.value.retry_after) == (LimitScope.SERVER, 7)
    given.pop()()
    turns.acquire(ELSEWHERE, 5)
    assert len(turns) == 3


def test_those_whose_address_is_not_known_are_one() -> None:
    turns = trace_limiter(most=3, most_of_one=1)
    turns.acquire(None, 5)
    with pytest.raises(TooManyTraces):
        turns.acquire(None, 5)


@pytest.mark.parametrize(
    ("turns", "refusal"), [(trace_limiter(0, 0), TooManyTraces), (link_limiter(0, 0), TooManyLinks)]
)
def test_a_caller_that_is_refused_learns_what_there_is_too_much_of(
    turns: ConcurrencyLimiter, refusal: type[LimitExceeded]
) -> None:
    with pytest.raises(refusal):
        turns.acquire(HERE, 5)


@pytest.mark.parametrize("kind", [TooManyTraces, TooManyLinks])
def test_the_refusal_can_be_sent_between_processes(kind: type[LimitExceeded]) -> None:
    refusal = pickle.loads(pickle.dumps(kind(bound=LimitScope.SERVER, retry_after=5)))
    assert (type(refusal), refusal.bound, refusal.retry_after) == (kind, LimitScope.SERVER, 5)
