"""When an Archive is left alone, and when it is tried again."""

from __future__ import annotations

from ibi.transport.archive_connections import CircuitBreaker


def failing(times: int, now: float = 0.0) -> CircuitBreaker:
    breaker = CircuitBreaker(threshold=3, first_rest=1.0, longest_rest=4.0)
    for _ in range(times):
        assert breaker.may_pass(now)
        breaker.failed(now)
    return breaker


def test_a_few_failures_are_forgiven() -> None:
    breaker = failing(2)
    assert breaker.is_closed
    assert breaker.may_pass(0.0)


def test_failures_in_a_row_open_it_for_a_while() -> None:
    breaker = failing(3)
    assert not breaker.is_closed
    assert not breaker.may_pass(0.99)


def test_a_success_in_between_begins_the_count_anew() -> None:
    breaker = failing(2)
    breaker.succeeded()
    breaker.failed(0.0)
    breaker.failed(0.0)
    assert breaker.may_pass(0.0)


def test_after_the_rest_one_may_try_and_no_other() -> None:
    breaker = failing(3)
    assert breaker.may_pass(1.0)
    assert not breaker.may_pass(1.0)
    assert not breaker.may_pass(100.0)


def test_a_trial_that_succeeds_closes_it() -> None:
    breaker = failing(3)
    breaker.may_pass(1.0)
    breaker.succeeded()
    assert breaker.is_closed
    assert breaker.may_pass(1.0)


def test_each_trial_that_fails_doubles_the_rest_up_to_the_longest() -> None:
    breaker, now, rests = failing(3), 1.0, []
    for _ in range(4):
        assert breaker.may_pass(now)
        breaker.failed(now)
        rest = next(each for each in (1.0, 2.0, 4.0, 8.0) if breaker_opens(breaker, now + each))
        rests.append(rest)
        now += rest
    assert rests == [2.0, 4.0, 4.0, 4.0]


def breaker_opens(breaker: CircuitBreaker, now: float) -> bool:
    """Looked at, and left as it was."""
    passes = breaker.may_pass(now)
    if passes:
        breaker.unused()
    return passes


def test_the_next_trouble_begins_with_a_short_rest_again() -> None:
    breaker = failing(3)
    breaker.may_pass(1.0)
    breaker.failed(1.0)
    breaker.may_pass(3.0)
    breaker.succeeded()
    for _ in range(3):
        breaker.failed(10.0)
    assert breaker.may_pass(11.0)


def test_what_was_sent_before_the_rest_does_not_prolong_it() -> None:
    breaker = failing(3)
    for _ in range(50):
        breaker.failed(0.5)
    assert breaker.may_pass(1.0)


def test_a_trial_that_was_never_sent_leaves_room_for_another() -> None:
    breaker = failing(3)
    assert breaker.may_pass(1.0)
    breaker.unused()
    assert breaker.may_pass(1.0)


def test_an_earlier_request_that_succeeds_late_closes_it() -> None:
    breaker = failing(3)
    breaker.succeeded()
    assert breaker.may_pass(0.0)
