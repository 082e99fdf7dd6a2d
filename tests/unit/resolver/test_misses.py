"""Misses of each network: an allowance, turns when it is used up, and a share of each round of the loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from ipaddress import ip_address
from itertools import pairwise

import pytest

from ibi.jobs.limits import LimitScope, TooManyLinks
from ibi.resolver.service.misses import MISS, QUESTION, MissLimit, TickShare
from ibi.standard.messages.values import IpAddress
from tests.support.virtual_time import in_virtual_time, now

RATE = 20
HONEST = ip_address("198.51.100.7")


def flooder(number: int = 0) -> IpAddress:
    return ip_address(f"203.0.113.{number % 60}")


class Flood:
    """So many connections of one network, each of which asks again as soon as it is answered."""

    def __init__(self, limit: MissLimit, connections: int = 240) -> None:
        self.limit, self.connections, self.found = limit, connections, Counter[str]()

    async def last(self, seconds: float) -> None:
        asking = [asyncio.ensure_future(self._ask(flooder(number))) for number in range(self.connections)]
        await asyncio.sleep(seconds)
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _ask(self, client: IpAddress) -> None:
        while True:
            await asyncio.sleep(0.001)
            if self.limit.is_within(client, now()):
                self.found["at once"] += 1
            else:
                try:
                    await self.limit.turn(client)
                except TooManyLinks as refusal:
                    self.found[str(refusal.bound)] += 1
                    continue
                self.found["in turn"] += 1
            self.limit.charge(client, MISS)


def test_without_a_rate_there_is_no_limit() -> None:
    limit = MissLimit()
    for _ in range(100_000):
        limit.charge(HONEST, MISS)
    assert limit.is_within(HONEST, 0.0)
    assert limit.may_ask_others(HONEST)


def test_a_network_has_a_burst_and_then_its_rate() -> None:
    async def run() -> Counter[str]:
        flood = Flood(MissLimit(RATE, clock=now))
        await flood.last(10)
        first = flood.found.copy()
        await flood.last(60)
        return flood.found - first

    found = in_virtual_time(run())
    assert found["at once"] == 0
    assert found["in turn"] <= 60 * RATE + 1
    assert found["in turn"] >= 58 * RATE  # none of the allowance is lost either


def test_the_first_misses_do_not_wait_and_the_burst_is_given_in_turns() -> None:
    async def run() -> Counter[str]:
        flood = Flood(MissLimit(RATE, clock=now))
        await flood.last(1)
        return flood.found

    found = in_virtual_time(run())
    assert 1 <= found["at once"] <= RATE + 1
    assert 3 * RATE <= found["in turn"] <= 4 * RATE + 1


def test_another_network_does_not_wait_behind_the_flood() -> None:
    async def run() -> tuple[bool, bool]:
        limit = MissLimit(RATE, clock=now)
        flood = asyncio.ensure_future(Flood(limit).last(20))
        await asyncio.sleep(10)
        known = limit.is_within(HONEST, now()), limit.is_within(flooder(), now())
        await flood
        return known

    assert in_virtual_time(run()) == (True, False)


def test_another_address_of_the_same_network_waits_for_one_turn_of_each_address() -> None:
    async def run() -> float:
        limit = MissLimit(RATE, clock=now)
        flood = asyncio.ensure_future(Flood(limit, 140).last(30))
        await asyncio.sleep(15)
        began = now()
        await limit.turn(ip_address("203.0.113.200"))
        waited = now() - began
        await flood
        return waited

    assert in_virtual_time(run()) <= 61 / RATE


def test_what_waits_too_long_is_refused_and_never_many_at_a_time() -> None:
    async def run() -> list[float]:
        limit, refused = MissLimit(RATE, clock=now), list[float]()
        while limit.may_ask_others(flooder()):
            limit.charge(flooder(), MISS)

        async def ask(client: IpAddress) -> None:
            try:
                await limit.turn(client)
                limit.charge(client, MISS)
            except TooManyLinks as refusal:
                assert refusal.bound is LimitScope.RATE
                assert refusal.retry_after >= 1
                refused.append(now())

        await asyncio.gather(*(ask(flooder(number)) for number in range(400)))
        assert len(limit) == 0
        return refused

    refused = in_virtual_time(run())
    assert len(refused) > 100
    assert min(later - sooner for sooner, later in pairwise(refused)) >= 0.9 / (2.5 * RATE)


def test_a_line_has_an_end() -> None:
    async def run() -> LimitScope:
        limit = MissLimit(RATE, clock=now)
        waiting = [asyncio.ensure_future(limit.turn(flooder(number))) for number in range(4096)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyLinks) as raised:
            await limit.turn(flooder())
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert len(limit) == 0
        await asyncio.sleep(1)  # those that are gone take no turns
        began = now()
        await limit.turn(flooder())
        assert now() - began <= 2 / RATE
        return raised.value.bound

    assert in_virtual_time(run()) is LimitScope.NETWORK


def test_new_connections_wait_only_of_a_network_whose_misses_wait() -> None:
    async def run() -> tuple[float | None, list[float | None], float | None]:
        limit = MissLimit(RATE, clock=now)
        before = limit.connection_delay(flooder())
        flood = asyncio.ensure_future(Flood(limit).last(2))
        await asyncio.sleep(1)
        delays = [limit.connection_delay(flooder(number)) for number in range(300)]
        other = limit.connection_delay(HONEST)
        await flood
        return before, delays, other

    before, delays, other = in_virtual_time(run())
    assert (before, other) == (0.0, 0.0)
    assert delays[:3] == pytest.approx([0.0, 0.02, 0.04])
    assert delays[-1] is None
    assert 240 <= len([delay for delay in delays if delay is not None]) <= 252  # five seconds' worth


def test_questions_to_other_archives_use_up_the_allowance_too() -> None:
    async def run() -> int:
        limit, links = MissLimit(RATE, clock=now), 0
        while limit.may_ask_others(HONEST):
            limit.charge(HONEST, MISS)
            for _ in range(40):
                limit.charge(HONEST, QUESTION)
            links += 1
        return links

    assert in_virtual_time(run()) < 40


def test_all_networks_together_are_bounded() -> None:
    async def run() -> bool:
        limit = MissLimit(RATE, clock=now)
        for number in range(300):
            limit.charge(ip_address(f"10.{number % 250}.{number // 250}.1"), MISS)
        return limit.is_within(HONEST, now())

    assert not in_virtual_time(run())


def test_what_is_remembered_of_networks_is_bounded() -> None:
    async def run() -> int:
        limit = MissLimit(RATE, clock=now)
        for number in range(20_000):
            limit.charge(ip_address(0x0A000000 + (number << 8)), MISS)
        return len(limit._used_until)

    assert in_virtual_time(run()) <= 8192


def test_those_held_back_are_counted() -> None:
    async def run() -> int:
        limit, counted = MissLimit(RATE, clock=now), list[None]()
        limit.watch(lambda: counted.append(None))
        await limit.turn(HONEST)
        return len(counted)

    assert in_virtual_time(run()) == 1


def test_a_server_that_stops_leaves_none_waiting() -> None:
    async def run() -> float:
        limit = MissLimit(RATE, clock=now)
        waiting = [asyncio.ensure_future(limit.turn(flooder(number))) for number in range(100)]
        await asyncio.sleep(0.01)
        began = now()
        limit.end()
        ended = await asyncio.gather(*waiting, limit.turn(HONEST), return_exceptions=True)
        assert sum(isinstance(each, TooManyLinks) for each in ended) >= 95
        assert len(limit) == 0
        return now() - began

    assert in_virtual_time(run()) == 0


# --- a share of each round -------------------------------------------------------------------------------------------


async def test_a_bounded_number_begins_in_one_round_and_those_who_ask_take_turns() -> None:
    share, begun = TickShare(2), list[str]()

    async def work(who: str) -> None:
        await share.enter(who)
        begun.append(who)

    working = [asyncio.ensure_future(work(who)) for who in ("many",) * 8 + ("one",)]
    rounds = []
    while len(begun) < 9:
        before = len(begun)
        await asyncio.sleep(0)
        rounds.append(len(begun) - before)
    assert max(rounds) <= 2
    assert begun.index("one") < 5  # not behind all of the others
    await asyncio.gather(*working)


async def test_one_that_is_gone_takes_no_place() -> None:
    share = TickShare(1)
    await share.enter("a")
    gone, waits = asyncio.ensure_future(share.enter("a")), asyncio.ensure_future(share.enter("b"))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait_for(waits, 5)
    assert gone.cancelled() or gone.done()


def test_an_error_at_one_turn_takes_no_turn_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> tuple[int, list[str]]:
        told, limit = list[str](), MissLimit(RATE, clock=now)
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(str(context["exception"])))
        limit.charge(HONEST, 1000 * MISS)
        with monkeypatch.context() as broken:
            broken.setattr(limit, "_has_burst", lambda *_: 1 / 0)
            waiting = [asyncio.ensure_future(limit.turn(each)) for each in (HONEST, HONEST, HONEST, flooder())]
            while not told:  # noqa: ASYNC110 (virtual time)
                await asyncio.sleep(0.001)
        done, _ = await asyncio.wait(waiting, timeout=5)
        for each in waiting:
            each.cancel()
        return len(done), told

    assert in_virtual_time(run()) == (3, ["division by zero"])
