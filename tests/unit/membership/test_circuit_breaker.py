"""When an Archive is left alone, and when it is tried again."""

from __future__ import annotations

from ibi.membership.client.archive_connections import CircuitBreaker


def failing(times: int, now: float = 0.0) -> CircuitBreaker:
    breaker = CircuitBreaker(threshold=3, first_rest=1.0, longest_rest=4.0)
    for _ in range(times):
        assert breaker.is_closed
        breaker.failed(now)
    return breaker


def test_a_few_failures_are_forgiven() -> None:
    breaker = failing(2)
    assert breaker.is_closed
    assert breaker.probe_at is None


def test_failures_in_a_row_open_it_until_a_probe_is_due() -> None:
    breaker = failing(3, now=5.0)
    assert not breaker.is_closed
    assert breaker.probe_at == 6.0


def test_a_success_in_between_begins_the_count_anew() -> None:
    breaker = failing(2)
    breaker.succeeded()
    breaker.failed(0.0)
    breaker.failed(0.0)
    assert breaker.is_closed


def test_no_other_probe_is_due_while_one_is_under_way() -> None:
    breaker = failing(3)
    breaker.begin_probe()
    assert breaker.probe_at is None
    assert not breaker.is_closed


def test_a_probe_that_is_answered_closes_it() -> None:
    breaker = failing(3)
    breaker.begin_probe()
    breaker.answered_probe()
    assert breaker.is_closed


def test_a_request_that_fails_after_the_probe_makes_it_rest_at_once_and_longer() -> None:
    breaker = failing(3)
    breaker.begin_probe()
    breaker.answered_probe()
    breaker.failed(10.0)
    assert breaker.probe_at == 12.0


def test_a_request_that_succeeds_after_the_probe_makes_all_be_forgiven() -> None:
    breaker = failing(3)
    breaker.begin_probe()
    breaker.answered_probe()
    breaker.succeeded()
    breaker.failed(10.0)
    breaker.failed(10.0)
    assert breaker.is_closed
    breaker.failed(10.0)
    assert breaker.probe_at == 11.0


def test_each_probe_that_fails_doubles_the_rest_up_to_the_longest() -> None:
    breaker, now, rests = failing(3), 1.0, []
    for _ in range(4):
        breaker.begin_probe()
        breaker.failed(now)
        assert breaker.probe_at is not None
        rests.append(breaker.probe_at - now)
        now = breaker.probe_at
    assert rests == [2.0, 4.0, 4.0, 4.0]


def test_what_was_sent_before_the_rest_does_not_prolong_it() -> None:
    breaker = failing(3)
    for _ in range(50):
        breaker.failed(0.5)
    assert breaker.probe_at == 1.0


def test_a_probe_that_was_never_sent_is_due_again_after_as_long_a_rest() -> None:
    breaker = failing(3)
    breaker.begin_probe()
    breaker.unused(1.0)
    assert breaker.probe_at == 2.0


def test_a_request_that_was_never_sent_changes_nothing() -> None:
    breaker = failing(3)
    breaker.unused(0.5)
    assert breaker.probe_at == 1.0


def test_an_earlier_request_that_succeeds_late_closes_it() -> None:
    breaker = failing(3)
    breaker.succeeded()
    assert breaker.is_closed
