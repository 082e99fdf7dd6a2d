"""Wrong keys counted."""

from __future__ import annotations

from ibi.jobs.limits import FREE, LONGEST_WAIT, Attempts


def tried(attempts: Attempts, times: int, subject: str = "a", now: float = 0.0) -> float:
    """Begin so many attempts, each as soon as it may be; when the last one was."""
    for _ in range(times):
        now += attempts.wait(subject, now)
        attempts.begin(subject, now)
    return now


def test_a_few_cost_nothing() -> None:
    attempts = Attempts()
    assert tried(attempts, FREE - 1) == 0.0
    assert attempts.wait("a", 0.0) == 0.0


def test_each_further_wrong_key_takes_twice_as_long_up_to_a_bound() -> None:
    attempts, now, waits = Attempts(), 0.0, []
    for _ in range(FREE + 8):
        attempts.begin("a", now)
        waits.append(attempts.wait("a", now))
        now += waits[-1]
    assert waits[FREE - 1 :] == [1, 2, 4, 8, 16, 32, LONGEST_WAIT, LONGEST_WAIT, LONGEST_WAIT]


def test_a_thousand_at_once_are_not_one() -> None:
    attempts = Attempts()
    begun = 0
    for _ in range(1000):
        if attempts.wait("a", 0.0) == 0:
            attempts.begin("a", 0.0)
            begun += 1
    assert begun == FREE


def test_subjects_do_not_wait_for_each_other() -> None:
    attempts = Attempts()
    tried(attempts, 20)
    assert attempts.wait("b", 0.0) == 0.0


def test_after_an_hour_all_is_forgotten() -> None:
    attempts = Attempts()
    now = tried(attempts, 20) + 3601
    attempts.begin("a", now)
    assert attempts.wait("a", now) == 0.0


def test_a_right_key_takes_back_itself_and_no_wrong_ones() -> None:
    attempts = Attempts()
    tried(attempts, FREE - 1)
    for _ in range(100):
        attempts.begin("a", 0.0)
        attempts.note_success("a")
    attempts.begin("a", 0.0)
    assert attempts.wait("a", 0.0) > 0
    alone = Attempts()
    alone.begin("a", 0.0)
    alone.note_success("a")
    alone.note_success("a")
    assert len(alone) == 0


def test_no_caller_waits_because_of_a_right_key_however_many_wrong_ones_came_before() -> None:
    attempts = Attempts()
    now = tried(attempts, 20)
    now += attempts.wait("a", now)
    for _ in range(3):
        assert attempts.wait("a", now) == 0.0
        attempts.begin("a", now)
        attempts.note_success("a")
    attempts.begin("a", now)
    assert attempts.wait("a", now) == LONGEST_WAIT


def test_a_right_key_does_not_shorten_the_wait_after_a_wrong_one() -> None:
    attempts = Attempts()
    now = tried(attempts, 20)
    attempts.begin("a", now)  # by somebody who does not have to wait
    attempts.note_success("a")
    assert attempts.wait("a", now) == LONGEST_WAIT


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    attempts = Attempts(most=100)
    tried(attempts, FREE, "old")
    for number in range(99):
        tried(attempts, FREE, f"new{number}")
    assert attempts.wait("old", 0.0) > 0
    tried(attempts, 1, "last")
    assert len(attempts) == 100
    assert attempts.wait("old", 0.0) == 0.0
    assert attempts.wait("new0", 0.0) > 0


def test_any_number_of_failures_can_be_counted() -> None:
    attempts = Attempts(longest_wait=1e9)
    for _ in range(200):
        attempts.begin("a", 0.0)
    assert attempts.wait("a", 0.0) == 1e9
