"""An answer that nobody takes is given up: by a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ibi.server.connection import TAKING_PATIENCE, WriteWatchdog


class Timer:
    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self.when, self.callback, self.is_cancelled = when, callback, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Line:
    """A loop and a transport in one: time goes by when the test says so, and bytes go where it says so."""

    def __init__(self, waiting: int) -> None:
        self.now, self.waiting, self.is_broken = 0.0, waiting, False
        self.timers: list[Timer] = []

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        self.timers.append(Timer(self.now + delay, callback))
        return self.timers[-1]

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def get_extra_info(self, _: str) -> None:
        return None

    def abort(self) -> None:
        self.is_broken = True

    def go_on(self, seconds: float) -> None:
        self.now += seconds
        for timer in [each for each in self.timers if each.when <= self.now]:
            self.timers.remove(timer)
            if not timer.is_cancelled:
                timer.callback()


@pytest.fixture
def line() -> Line:
    return Line(1_000_000)


@pytest.fixture
def taking(line: Line) -> WriteWatchdog:
    both: Any = line
    return WriteWatchdog(both, both)


def test_a_connection_over_which_nothing_goes_is_broken(line: Line, taking: WriteWatchdog) -> None:
    taking.watch()
    line.go_on(TAKING_PATIENCE - 1)
    assert not line.is_broken
    line.go_on(1)
    assert line.is_broken


def test_a_reader_that_takes_little_at_a_time_is_waited_for(line: Line, taking: WriteWatchdog) -> None:
    taking.watch()
    for _ in range(100):
        line.waiting -= 1
        line.go_on(TAKING_PATIENCE)
    assert not line.is_broken
    line.go_on(TAKING_PATIENCE)
    assert line.is_broken


def test_one_timer_is_enough(line: Line, taking: WriteWatchdog) -> None:
    taking.watch()
    taking.watch()
    assert len(line.timers) == 1


def test_what_is_not_watched_has_any_time(line: Line, taking: WriteWatchdog) -> None:
    taking.watch()
    taking.end()
    line.go_on(10 * TAKING_PATIENCE)
    assert not line.is_broken


@pytest.mark.parametrize("waiting", [0, 1])
def test_a_connection_that_is_to_be_closed_waits_for_its_last_bytes_alone(
    line: Line, taking: WriteWatchdog, waiting: int
) -> None:
    line.waiting = waiting
    taking.see_off()
    line.go_on(TAKING_PATIENCE)
    assert line.is_broken == bool(waiting)
