"""Who asks the same at the same time shares the answer, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ibi.net.address_guard import SingleFlight


class Sky:
    """Counts what takes off, and lands it when told."""

    def __init__(self) -> None:
        self.flights: SingleFlight[str, int] = SingleFlight()
        self.landings: list[Callable[[int], None]] = []

    def board(self, key: str = "a") -> asyncio.Future[int]:
        return self.flights.join(key, self.landings.append)


async def test_the_same_is_asked_once_and_told_to_all() -> None:
    sky = Sky()
    seats = [sky.board() for _ in range(3)]
    assert len(sky.landings) == 1
    sky.landings[0](7)
    assert await asyncio.gather(*seats) == [7, 7, 7]
    assert not sky.flights


async def test_something_else_is_another_flight() -> None:
    sky = Sky()
    one, other = sky.board("a"), sky.board("b")
    sky.landings[1](2)
    assert await other == 2
    assert not one.done()
    one.cancel()


async def test_what_has_landed_is_asked_again() -> None:
    sky = Sky()
    first = sky.board()
    sky.landings[0](1)
    second = sky.board()
    sky.landings[1](2)
    assert [await first, await second] == [1, 2]


@pytest.mark.parametrize("cancelled", [0, 1, 2])
async def test_one_that_is_cancelled_takes_no_other_along(cancelled: int) -> None:
    sky = Sky()

    async def passenger() -> int:
        return await sky.board()

    tasks = [asyncio.create_task(passenger()) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[cancelled].cancel()
    await asyncio.sleep(0)
    sky.landings[0](7)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results.pop(cancelled), asyncio.CancelledError)
    assert results == [7, 7]
    assert len(sky.landings) == 1


async def test_a_flight_may_land_before_it_is_boarded() -> None:
    sky = Sky()
    assert await sky.flights.join("a", lambda finish: finish(3)) == 3
    assert not sky.flights
