"""Whether a minter would mint, judged without minting."""

from __future__ import annotations

from structlog.testing import capture_logs

from ibi.minting.rules.errors import ClockBehind, QueueTooLong
from ibi.minting.rules.minter import Rules
from ibi.minting.service.queue import MintQueue
from ibi.standard.identity import Identity
from ibi.standard.storage_errors import StoreDamaged
from ibi.web.readiness import CheckedPart, Readiness, ReadinessCheck, StoreUnwritable, clock_refusal
from tests.support.memory.ticks import MemoryTicks
from tests.support.set_clocks import SetClocks
from tests.support.slow_storage import SlowStorage

IDENTITY = Identity("sid.inpe.br", "150.163.34.243")


class Watch:
    """Seconds that a test lets pass."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Asked(MemoryTicks):
    times = 0
    failure: Exception | None = None

    def advance(self, decide):  # type: ignore[no-untyped-def]
        self.times += 1
        if self.failure:
            raise self.failure
        return super().advance(decide)


def readiness_in_memory() -> tuple[Readiness, Asked, SetClocks, Watch]:
    ticks, clocks, watch = Asked(), SetClocks(), Watch()
    ticks.freeze(IDENTITY)
    queue = MintQueue(ticks, IDENTITY, Rules(), clocks)
    return Readiness(queue, ticks, clocks, now=watch), ticks, clocks, watch


async def test_asking_mints_nothing() -> None:
    readiness, ticks, _, _ = readiness_in_memory()
    before = list(ticks.log())
    assert await readiness.reasons() == ()
    assert list(ticks.log()) == before
    assert ticks.state().last is None


async def test_an_answer_stands_for_a_second() -> None:
    readiness, ticks, clocks, watch = readiness_in_memory()
    for now, times in ((100.0, 1), (100.9, 1), (101.0, 2), (101.5, 2), (200.0, 3)):
        watch.now = now
        await readiness.reasons()
        assert ticks.times == times
    clocks.jump(-(10**9))
    watch.now = 201.0
    assert [each.code for each in await readiness.reasons()] == ["clock-before-build"]


async def test_a_failed_write_counts_for_half_a_minute() -> None:
    readiness, _, _, watch = readiness_in_memory()
    assert readiness._queue is not None
    readiness._queue.failed_at = watch.now
    assert [type(each) for each in await readiness.reasons()] == [StoreUnwritable]
    watch.now += 29
    assert len(await readiness.reasons()) == 1
    watch.now += 1
    assert await readiness.reasons() == ()


async def test_a_store_that_fails_is_a_reason_whatever_the_failure() -> None:
    readiness, ticks, _, _ = readiness_in_memory()
    ticks.failure = ZeroDivisionError()
    assert [type(each) for each in await readiness.reasons()] == [StoreUnwritable]


def test_a_long_queue_is_no_fault_of_the_clock() -> None:
    long = QueueTooLong(count=1, granularity="1", wait="9", most="6")
    behind = ClockBehind(now="", last="", behind="7")
    assert clock_refusal((long, StoreUnwritable())) is None
    assert clock_refusal((long, behind)) is behind


async def test_files_that_cannot_be_relied_on_are_reasons_and_are_logged_once() -> None:
    damage: list[StoreDamaged] = [StoreDamaged(path="accounts.sqlite", reason="it is empty")]

    def check() -> None:
        if damage:
            raise damage[0]

    ticks, clocks, watch = Asked(), SetClocks(), Watch()
    ticks.freeze(IDENTITY)
    queue = MintQueue(ticks, IDENTITY, Rules(), clocks)
    readiness = Readiness(queue, ticks, clocks, checks=(lambda: None, check), now=watch)
    with capture_logs() as logs:
        for _ in range(3):
            watch.now += 2
            assert [each.code for each in await readiness.reasons()] == ["store-damaged"]
    assert [(each["event"], each["code"]) for each in logs] == [("not ready", "store-damaged")]
    damage.clear()
    watch.now += 2
    assert await readiness.reasons() == ()


async def test_each_part_is_told_by_its_name_with_what_is_wrong_of_it() -> None:
    damage = StoreDamaged(path="accounts.sqlite", reason="it is empty")

    def check() -> None:
        raise damage

    checks = (ReadinessCheck("tokens", lambda: None), ReadinessCheck("people", check), lambda: None)
    readiness = Readiness(None, None, SetClocks(), checks=checks)
    assert await readiness.parts() == (
        CheckedPart("tokens", ()),
        CheckedPart("people", (damage,)),
        CheckedPart("storage", ()),
    )
    minting, _, _, _ = readiness_in_memory()
    assert await minting.parts() == (CheckedPart("minting", ()),)


async def test_a_report_does_not_wait_for_slow_storage() -> None:
    storage, ticks, clocks, watch = SlowStorage(0.0), Asked(), SetClocks(), Watch()
    ticks.freeze(IDENTITY)
    slow = storage.slow(ticks)
    queue = MintQueue(slow, IDENTITY, Rules(), clocks)
    readiness = Readiness(queue, slow, clocks, is_prompt=False, now=watch)
    ticks.failure = OSError(28, "No space left on device")
    storage.hold()
    assert await readiness.reported_reasons() == ()  # nothing is known yet
    storage.let_go()
    (unwritable,) = await readiness.reasons()
    assert await readiness.reported_reasons() == (unwritable,)
    assert storage.on_loop == []
