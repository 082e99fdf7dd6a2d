"""Times callables against a reference, in the same run and in turns, so that a busy machine disturbs all alike."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

__all__ = ["Measurement", "Result", "measure", "over"]

_ROUNDS = 25
_ROUND_SECONDS = 0.01


@dataclass(frozen=True)
class Measurement:
    """One callable that does `operations` of something, and how many times the reference one may take at most."""

    name: str
    call: Callable[[], object]
    operations: int = 1
    aim: float | None = None


@dataclass(frozen=True)
class Result:
    name: str
    microseconds: float
    ratio: float
    aim: float | None

    @property
    def is_met(self) -> bool:
        return self.aim is None or self.ratio <= self.aim


def over(name: str, function: Callable[[str], object], inputs: Iterable[str], aim: float | None = None) -> Measurement:
    """The measurement of `function` on each of `inputs` in turn."""
    texts = tuple(inputs)

    def call() -> None:
        for text in texts:
            function(text)

    return Measurement(name, call, len(texts), aim)


def measure(
    reference: Measurement, measurements: Sequence[Measurement], clock: Callable[[], float] = perf_counter
) -> list[Result]:
    """The best of several rounds of each, the reference first."""
    everything = (reference, *measurements)
    loops = [_loops(one, clock) for one in everything]
    best = [float("inf")] * len(everything)
    with _without_collector():
        for _ in range(_ROUNDS):
            for index, one in enumerate(everything):
                best[index] = min(best[index], _seconds(one, loops[index], clock))
    unit = best[0]
    return [Result(one.name, 1e6 * best[index], best[index] / unit, one.aim) for index, one in enumerate(everything)]


def _seconds(measurement: Measurement, loops: int, clock: Callable[[], float]) -> float:
    """Seconds one operation takes."""
    call = measurement.call
    start = clock()
    for _ in range(loops):
        call()
    return (clock() - start) / (loops * measurement.operations)


def _loops(measurement: Measurement, clock: Callable[[], float]) -> int:
    """How many calls fill a round."""
    measurement.call()
    once = _seconds(measurement, 1, clock) * measurement.operations
    return max(1, round(_ROUND_SECONDS / once))


@contextmanager
def _without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
