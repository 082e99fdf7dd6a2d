"""Turns at what asks Archives whoever wants it."""

from __future__ import annotations

import pickle
from contextlib import ExitStack
from ipaddress import ip_address

import pytest

from ibi.services.fresh_turns import FreshTurns, TooManyTraces, TurnBound

HERE, NEXT_DOOR, ELSEWHERE = map(ip_address, ("192.0.2.1", "192.0.2.200", "198.51.100.1"))


def test_a_network_has_its_share_and_others_have_theirs() -> None:
    turns = FreshTurns(most=10, most_of_one=2)
    with turns.taken(HERE, 5), turns.taken(NEXT_DOOR, 5):
        with pytest.raises(TooManyTraces) as refusal, turns.taken(HERE, 5):
            pass
        assert refusal.value.bound is TurnBound.NETWORK
        with turns.taken(ELSEWHERE, 5):
            assert len(turns) == 3
    assert len(turns) == 0


def test_all_together_have_no_more_than_there_are() -> None:
    turns = FreshTurns(most=3, most_of_one=2)
    with ExitStack() as stack:
        for last in range(3):
            stack.enter_context(turns.taken(ip_address(f"2001:db8:{last}::1"), 5))
        with pytest.raises(TooManyTraces) as refusal:
            stack.enter_context(turns.taken(ELSEWHERE, 7))
        assert (refusal.value.bound, refusal.value.retry_after) == (TurnBound.SERVER, 7)
    with turns.taken(ELSEWHERE, 5):
        assert len(turns) == 1


def test_those_whose_address_is_not_known_are_one() -> None:
    turns = FreshTurns(most=3, most_of_one=1)
    with turns.taken(None, 5), pytest.raises(TooManyTraces), turns.taken(None, 5):
        pass


def test_a_turn_is_given_back_when_its_work_fails() -> None:
    turns = FreshTurns(1, 1)
    with pytest.raises(ValueError, match="unforeseen"), turns.taken(HERE, 5):
        raise ValueError("unforeseen")
    assert len(turns) == 0


def test_the_refusal_can_be_sent_between_processes() -> None:
    refusal = pickle.loads(pickle.dumps(TooManyTraces(bound=TurnBound.SERVER, retry_after=5)))
    assert (refusal.bound, refusal.retry_after) == (TurnBound.SERVER, 5)
