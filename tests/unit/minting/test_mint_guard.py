"""A server mints only while no other instance answers at its own address, and while its log is whole (E58)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from ibi.jobs.promptness import end_tasks
from ibi.jobs.runner import JobRunner
from ibi.minting.client import NoIdentity
from ibi.minting.rules.errors import AnotherInstance, DoubtUnreadable
from ibi.minting.rules.mint_log import LogBroken
from ibi.minting.rules.minter import Rules
from ibi.minting.service.guard import Finding, MintGuard, OwnAddress
from ibi.minting.service.queue import MintQueue
from ibi.standard.errors import IbiError
from ibi.standard.identity import Identity
from ibi.web.readiness import Readiness
from tests.support.memory.ticks import MemoryTicks
from tests.support.running_jobs import drive, running
from tests.support.set_clocks import SetClocks

IDENTITY = Identity("sid.inpe.br", "150.163.34.243")
URL = "http://sid.inpe.br"
PREFIXES = {"rep": "inpe.br/sid", "ibip": "8JMKD3MGP8W"}


class World:
    """What answers at the address, and the pauses between two questions, which the test ends."""

    def __init__(self) -> None:
        self.ticks = MemoryTicks()
        self.ticks.freeze(IDENTITY)
        self.answer: Callable[[], Mapping[str, object]] = self.silent
        self.asked = 0
        self._next = asyncio.Semaphore(0)
        self._has_looked = asyncio.Semaphore(0)

    def itself(self) -> Mapping[str, object]:
        return {"prefixes": PREFIXES, "instance": self.ticks.epoch()}

    @staticmethod
    def another() -> Mapping[str, object]:
        return {"prefixes": PREFIXES, "instance": "another"}

    @staticmethod
    def silent() -> Mapping[str, object]:
        raise NoIdentity(url=URL, reason="no answer within 2 seconds")

    async def ask(self, url: str) -> Mapping[str, object]:
        assert url == URL
        self.asked += 1
        return self.answer()

    async def sleep(self, seconds: float) -> None:
        self._has_looked.release()
        await self._next.acquire()

    async def look_again(self, answer: Callable[[], Mapping[str, object]]) -> None:
        self.answer = answer
        self._next.release()
        await self._has_looked.acquire()

    @asynccontextmanager
    async def minting(self) -> AsyncIterator[MintQueue]:
        guard = MintGuard(self.ticks, OwnAddress(URL, IDENTITY, self.ask))
        clocks = SetClocks()
        queue = MintQueue(self.ticks, IDENTITY, Rules(), clocks, guard=guard, sleep=clocks.sleep)
        minting, log, address = queue.jobs()
        async with running(minting, log):
            driven = asyncio.create_task(drive(address, self.sleep))
            await self._has_looked.acquire()
            yield queue
            await end_tasks(driven)


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (World.another(), Finding.ANOTHER),
        ({"prefixes": PREFIXES}, Finding.ANOTHER),  # an earlier version, which does not say
        ({"prefixes": {"rep": "inpe.br/sid", "ibip": None}, "instance": "x"}, Finding.ANOTHER),
        ({"prefixes": {"rep": "inpe.br/other", "ibip": "8JMKD3MGP8W"}, "instance": "x"}, Finding.ANOTHER),
        ({"prefixes": {"rep": "inpe.br/other", "ibip": None}, "instance": "x"}, Finding.UNKNOWN),
        ({"prefixes": {"rep": "inpe.br/other"}, "instance": "mine"}, Finding.ITSELF),
        ({"prefixes": {}, "instance": "x"}, Finding.UNKNOWN),
    ],
)
async def test_an_answer_is_judged_by_instance_and_prefixes(answer: Mapping[str, object], finding: Finding) -> None:
    async def ask(url: str) -> Mapping[str, object]:
        return answer

    assert (await OwnAddress(URL, IDENTITY, ask).look(lambda: "mine")).finding is finding


async def test_silence_lets_minting_go_on_and_is_remembered() -> None:
    world = World()
    world.ticks.set_doubt(in_doubt=True)
    async with world.minting() as queue:
        await queue.mint(1, "ana")
        assert world.asked == 1
    assert not world.ticks.is_in_doubt()


async def test_another_instance_stops_minting_until_the_address_leads_here() -> None:
    world = World()
    world.answer = world.another
    async with world.minting() as queue:
        for answer in (world.another, world.silent):  # silence after that may be a restart of the other
            with pytest.raises(AnotherInstance, match=r"mints as inpe\.br/sid at http://sid\.inpe\.br"):
                await queue.mint(1, "ana")
            assert world.ticks.is_in_doubt()
            await world.look_again(answer)
        assert world.ticks.state().last is None
        await world.look_again(world.itself)
        await queue.mint(1, "ana")
        assert not world.ticks.is_in_doubt()


async def test_another_instance_that_appears_later_stops_minting_too() -> None:
    world = World()
    world.answer = world.itself
    async with world.minting() as queue:
        await queue.mint(1, "ana")
        await world.look_again(world.another)
        with pytest.raises(AnotherInstance):
            await queue.mint(1, "ana")
        readiness = Readiness(queue, world.ticks, SetClocks())
        assert [reason.code for reason in await readiness.reasons()] == ["another-instance"]


async def test_in_doubt_nothing_is_minted_before_the_address_was_asked() -> None:
    world, answered = World(), asyncio.Event()
    world.ticks.set_doubt(in_doubt=True)

    async def ask(url: str) -> Mapping[str, object]:
        await answered.wait()
        return world.another()

    guard = MintGuard(world.ticks, OwnAddress(URL, IDENTITY, ask))
    queue = MintQueue(world.ticks, IDENTITY, Rules(), SetClocks(), guard=guard)
    async with running(*queue.jobs()):
        asking = asyncio.create_task(queue.mint(1, "ana"))
        done, _ = await asyncio.wait([asking], timeout=0.05)
        assert not done
        answered.set()
        with pytest.raises(AnotherInstance):
            await asking
    assert world.ticks.state().last is None


async def test_out_of_doubt_nothing_waits_for_the_address() -> None:
    world = World()

    async def ask(url: str) -> Mapping[str, object]:
        await asyncio.Event().wait()
        raise AssertionError

    clocks = SetClocks()
    guard = MintGuard(world.ticks, OwnAddress(URL, IDENTITY, ask))
    queue = MintQueue(world.ticks, IDENTITY, Rules(), clocks, guard=guard, sleep=clocks.sleep)
    async with running(*queue.jobs()):
        await queue.mint(1, "ana")


async def test_a_log_found_broken_stops_minting() -> None:
    class Broken(MemoryTicks):
        checked = asyncio.Event()

        def check_log(self, pause: Callable[[], None] | None = None) -> None:
            raise LogBroken(line=2, reason="it was changed")

    ticks = Broken()
    ticks.freeze(IDENTITY)
    queue = MintQueue(ticks, IDENTITY, Rules(), SetClocks(), guard=MintGuard(ticks, None))
    async with running(*queue.jobs()) as runner, asyncio.timeout(20):
        while not any(each.name == "mint log" and each.last_success for each in runner.health()):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        with pytest.raises(LogBroken, match="Line 2"):
            await queue.mint(1, "ana")
        refusal: IbiError | None = queue.refusal()
    assert isinstance(refusal, LogBroken)


@pytest.mark.parametrize(
    "answer",
    [None, 7, "text", [1], {}, {"prefixes": None}, {"prefixes": {"rep": ["inpe.br/sid"]}}, {"prefixes": {"rep": {}}}],
)
async def test_an_answer_of_another_kind_names_no_minter(answer: Any) -> None:
    async def ask(url: str) -> Mapping[str, object]:
        found: Mapping[str, object] = answer
        return found

    assert (await OwnAddress(URL, IDENTITY, ask).look(lambda: "mine")).finding is Finding.UNKNOWN


async def test_an_error_that_was_not_foreseen_is_a_reason_and_keeps_nobody_waiting() -> None:
    world = World()
    world.ticks.set_doubt(in_doubt=True)

    def broken() -> Mapping[str, object]:
        raise ZeroDivisionError("nought")

    world.answer = broken
    with capture_logs() as logs:
        async with world.minting() as queue:
            await queue.mint(1, "ana")
    assert any("ZeroDivisionError: nought" in each.get("reason", "") for each in logs)


class Unreadable(MemoryTicks):
    """A store whose doubt cannot be read, nor the epoch with which an answer is compared."""

    is_broken = True

    def is_in_doubt(self) -> bool:
        if self.is_broken:
            raise OSError("no disk")
        return super().is_in_doubt()

    def epoch(self) -> str:
        if self.is_broken:
            raise OSError("no disk")
        return super().epoch()


async def test_while_the_doubt_cannot_be_read_nothing_is_minted_and_nobody_waits() -> None:
    world = World()
    world.ticks = ticks = Unreadable()
    ticks.freeze(IDENTITY)
    world.answer = world.another
    guard = MintGuard(ticks, OwnAddress(URL, IDENTITY, world.ask))
    clocks = SetClocks()
    queue = MintQueue(ticks, IDENTITY, Rules(), clocks, guard=guard, sleep=clocks.sleep)
    minting, log, address = queue.jobs()
    address.first_rest = address.longest_rest = 0.01

    async def failed(runner: JobRunner, times: int) -> None:
        while runner.health()[2].failures < times:  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0.001)

    with capture_logs() as logs:
        async with running(minting, log, address) as runner, asyncio.timeout(60):
            for times in (1, 2):
                await failed(runner, times)
                with pytest.raises(DoubtUnreadable, match=r"may mint \(OSError: no disk\)"):
                    await queue.mint(1, "ana")
                assert not guard.is_open
            ticks.is_broken = False
            while not ticks.is_in_doubt():  # noqa: ASYNC110 (nothing tells of it)
                await asyncio.sleep(0.001)
            with pytest.raises(AnotherInstance):
                await queue.mint(1, "ana")
            world.answer = world.itself
            while await asyncio.to_thread(lambda: ticks.is_in_doubt()):
                address.wake()
            await queue.mint(1, "ana")
    assert {"error"} == {each["log_level"] for each in logs if each["event"].startswith("nothing is minted")}


async def test_a_doubt_that_cannot_be_read_once_does_not_stop_minting_when_nobody_answers() -> None:
    ticks, clocks = Unreadable(), SetClocks()
    ticks.freeze(IDENTITY)
    guard = MintGuard(ticks, OwnAddress(URL, IDENTITY, World().ask))
    queue = MintQueue(ticks, IDENTITY, Rules(), clocks, guard=guard, sleep=clocks.sleep)
    with pytest.raises(OSError, match="no disk"):
        await cast("Awaitable[float]", guard.jobs()[1].step())
    with pytest.raises(DoubtUnreadable):
        await guard.wait_for_check()
    ticks.is_broken = False
    async with running(*queue.jobs()), asyncio.timeout(60):
        while not guard.is_open:  # noqa: ASYNC110 (nothing tells of it)
            await asyncio.sleep(0.001)
        await queue.mint(1, "ana")


@pytest.mark.parametrize("answer", [7, {}, {"prefixes": None}])
async def test_an_answer_that_cannot_be_read_is_logged_as_an_error(answer: Any) -> None:
    world = World()
    world.answer = lambda: answer
    with capture_logs() as logs:
        async with world.minting() as queue:
            await queue.mint(1, "ana")
    (told,) = (each for each in logs if "own address" in each["event"])
    assert (told["log_level"], "something else" in told["reason"]) == ("error", True)
