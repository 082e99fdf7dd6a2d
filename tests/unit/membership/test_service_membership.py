"""A membership kept up, with a resolver and a clock that a test holds in its hands."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

from ibi.jobs.promptness import end_tasks
from ibi.membership.model.membership import Membership, Outcome, Phase, RequestFailure
from ibi.membership.ports.archive_state import MembershipState
from ibi.membership.service.membership import MembershipService
from ibi.membership.store.archive_state import MembershipFiles
from ibi.standard.messages import ErrorAnswer, ExclusionRequest, ExclusionStatus, InclusionRequest, InclusionStatus
from ibi.standard.signing import PublicKey, SigningKey
from tests.support.running_jobs import drive
from tests.support.slow_storage import SlowStorage
from tests.unit.membership.test_resolver_gateway import INCLUSION, KEY

IN, OUT, AWAY = InclusionStatus(confirmed=True), ExclusionStatus(), RequestFailure("away", sent=False)


class Resolver:
    """Answers by hand: `asked` gives the next request, `answers` takes its outcome."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.answers: asyncio.Queue[Outcome] = asyncio.Queue()
        self.within: list[float | None] = []

    async def send(self, request: InclusionRequest | ExclusionRequest, *, within: float | None = None) -> Outcome:
        self.within.append(within)
        self.asked.put_nowait(request.subject.value)
        return await self.answers.get()


class Clock:
    """Time passes only when somebody sleeps, and each sleep is waited for by the test."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: asyncio.Queue[float] = asyncio.Queue()
        self.go = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        self.slept.put_nowait(seconds)
        await self.go.acquire()
        self.now += seconds

    async def pass_one(self) -> float:
        slept = await self.slept.get()
        self.go.release()
        return slept


def asked_for(files: MembershipFiles) -> MembershipState:
    """As the service asks; `storage` may have it slow."""
    return files


@pytest.fixture(params=["prompt", "slow"], autouse=True)
def storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    slow = SlowStorage(0.0)
    if request.param == "slow":
        monkeypatch.setattr(sys.modules[__name__], "asked_for", slow.slow)
    yield
    assert slow.on_loop == []


class Kept:
    def __init__(self, data: Path) -> None:
        self.resolver, self.clock, self.files = Resolver(), Clock(), MembershipFiles(data)
        self.known: PublicKey | None = None
        """The key of the resolver."""
        self.service = MembershipService(
            self.resolver,
            INCLUSION,
            asked_for(self.files),
            log=structlog.get_logger(),
            chance=lambda: 0,
            monotonic=lambda: self.clock.now,
            audience=lambda: self.known,
        )
        self._driven: asyncio.Task[None] | None = None

    def start(self) -> None:
        (job,) = self.service.jobs()
        self._driven = asyncio.create_task(drive(job, self.clock.sleep))

    async def stop(self) -> None:
        await end_tasks(self._driven)
        await self.service.stop()

    async def answer(self, subject: str, outcome: Outcome) -> None:
        assert await self.resolver.asked.get() == subject
        self.resolver.answers.put_nowait(outcome)

    async def stopping(self, *outcomes: Outcome) -> list[str]:
        for outcome in outcomes:
            self.resolver.answers.put_nowait(outcome)
        await self.stop()
        return [self.resolver.asked.get_nowait() for _ in range(self.resolver.asked.qsize())]


def state(data: Path) -> str:
    return (data / "membership" / "state.json").read_text()


@asynccontextmanager
async def kept(data: Path) -> AsyncIterator[Kept]:
    one = Kept(data)
    one.start()
    try:
        async with asyncio.timeout(30):
            yield one
    finally:
        one.resolver.answers.put_nowait(OUT)
        await one.stop()


async def test_an_archive_joins_at_the_start_and_leaves_at_the_stop(tmp_path: Path) -> None:
    async with kept(tmp_path) as one:
        await one.answer("inclusionRequest", IN)
        await one.clock.slept.get()
        assert MembershipFiles(tmp_path).read() == Membership(Phase.INCLUDED, confirmed=True, known=True)
        assert await one.stopping(OUT) == ["exclusionRequest"]
        assert one.resolver.within == [None, 3.0]
        assert MembershipFiles(tmp_path).read() == Membership()


async def test_an_archive_tries_again_less_and_less_often(tmp_path: Path) -> None:
    async with kept(tmp_path) as one:
        for wait in (1, 2, 4):
            await one.answer("inclusionRequest", AWAY)
            # It looks at the switch every second meanwhile.
            assert [await one.clock.pass_one() for _ in range(wait)] == [1.0] * wait
        await one.answer("inclusionRequest", IN)
        await one.clock.slept.get()
        assert one.service.membership.phase is Phase.INCLUDED


async def test_an_archive_that_is_not_known_leaves_without_a_word(tmp_path: Path) -> None:
    async with kept(tmp_path) as one:
        await one.answer("inclusionRequest", AWAY)
        await one.clock.slept.get()
        assert await one.stopping() == []


async def test_a_stop_in_the_middle_of_a_request_takes_it_back(tmp_path: Path) -> None:
    async with kept(tmp_path) as one:
        assert await one.resolver.asked.get() == "inclusionRequest"
        assert await one.stopping(OUT) == ["exclusionRequest"]


async def test_the_switch_is_noticed(tmp_path: Path) -> None:
    async with kept(tmp_path) as one:
        await one.answer("inclusionRequest", IN)
        for on, subject, outcome in ((False, "exclusionRequest", OUT), (True, "inclusionRequest", IN)):
            await one.clock.slept.get()
            MembershipFiles(tmp_path).switch(on=on)
            one.clock.go.release()
            await one.answer(subject, outcome)
        await one.clock.slept.get()
        assert one.service.membership.phase is Phase.INCLUDED


async def test_the_switch_is_noticed_while_it_waits_for_another_attempt(tmp_path: Path) -> None:
    async with kept(tmp_path) as one:
        await one.answer("inclusionRequest", RequestFailure("cut"))
        await one.clock.slept.get()
        MembershipFiles(tmp_path).switch(on=False)
        one.clock.go.release()
        await one.answer("exclusionRequest", OUT)
        await one.clock.slept.get()
        MembershipFiles(tmp_path).switch(on=True)
        one.clock.go.release()
        await one.answer("inclusionRequest", IN)
        await one.clock.slept.get()
        assert one.service.membership.phase is Phase.INCLUDED


async def test_switched_off_it_asks_for_nothing(tmp_path: Path) -> None:
    MembershipFiles(tmp_path).switch(on=False)
    async with kept(tmp_path) as one:
        await one.clock.pass_one()
        await one.clock.slept.get()
        assert await one.stopping() == []


async def test_what_a_crash_left_included_is_excluded_if_it_is_switched_off_now(tmp_path: Path) -> None:
    files = MembershipFiles(tmp_path)
    files.write(Membership(Phase.INCLUDED, known=True))
    files.switch(on=False)
    async with kept(tmp_path) as one:
        await one.answer("exclusionRequest", OUT)
        await one.clock.slept.get()
        assert one.service.membership == Membership()


async def test_of_two_servers_on_one_directory_one_speaks_and_then_the_other(tmp_path: Path) -> None:
    first = MembershipFiles(tmp_path)
    assert first.hold()
    async with kept(tmp_path) as one:
        await one.clock.pass_one()
        await one.clock.slept.get()
        assert one.resolver.asked.empty()
        first.release()
        one.clock.go.release()
        await one.answer("inclusionRequest", IN)


@pytest.mark.parametrize("outcome", [AWAY, ErrorAnswer("not registered"), IN, InclusionStatus(confirmed=False)])
async def test_the_key_is_in_no_log_and_no_file(tmp_path: Path, outcome: Outcome) -> None:
    with capture_logs() as logs:
        async with kept(tmp_path) as one:
            await one.answer("inclusionRequest", outcome)
            await one.clock.slept.get()
            await one.stopping(OUT)
    assert logs
    assert KEY not in repr(logs)
    assert KEY not in state(tmp_path)


async def test_a_refusal_is_logged_once(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with kept(tmp_path) as one:
            for wait in (1, 2):
                await one.answer("inclusionRequest", ErrorAnswer("not registered"))
                for _ in range(wait):
                    await one.clock.pass_one()
            await one.answer("inclusionRequest", IN)
            await one.clock.slept.get()
    assert [entry["log_level"] for entry in logs][:2] == ["warning", "info"]


def test_a_state_that_cannot_be_understood_is_none(tmp_path: Path) -> None:
    files = MembershipFiles(tmp_path)
    assert (files.read(), files.switched_on) == (Membership(), True)
    for content in (b"", b"[]", b"{}", b'{"phase": "gone", "confirmed": true, "known": true}', b"\xff", b"null"):
        files.write(Membership())
        (tmp_path / "membership" / "state.json").write_bytes(content)
        assert files.read() == Membership()


async def test_an_archive_that_was_not_reached_asks_until_it_is_and_is_told_of_it_once(tmp_path: Path) -> None:
    with capture_logs() as logs:
        async with kept(tmp_path) as one:
            for wait in (1, 2):
                await one.answer("inclusionRequest", InclusionStatus(confirmed=False))
                for _ in range(wait):
                    assert await one.clock.pass_one() == 1
            assert '"confirmed": false' in state(tmp_path)
            await one.answer("inclusionRequest", IN)
            await one.clock.slept.get()
            assert one.service.membership == Membership(Phase.INCLUDED, confirmed=True, known=True)
    assert [entry["log_level"] for entry in logs][:2] == ["warning", "info"]


async def test_a_call_back_makes_an_archive_that_is_not_included_ask_at_once(tmp_path: Path) -> None:
    """E74: its resolver calls it when it has been registered; a stranger's calls cause two requests a minute."""
    async with kept(tmp_path) as one:
        for seconds in (1, 2, 4, 8):
            await one.answer("inclusionRequest", ErrorAnswer("not registered"))
            for _ in range(seconds if seconds < 8 else 1):
                await one.clock.pass_one()
        await one.clock.slept.get()
        one.service.note_call_back()
        one.clock.go.release()
        await one.answer("inclusionRequest", ErrorAnswer("not registered"))
        one.service.note_call_back()
        for _ in range(3):
            await one.clock.pass_one()
        assert one.resolver.asked.empty()


async def test_an_archive_that_the_register_lacks_asks_again_once(tmp_path: Path) -> None:
    async with kept(tmp_path) as one:
        one.service.renew()  # it is not included yet, and asks at the moment
        await one.answer("inclusionRequest", IN)
        await one.clock.pass_one()
        await one.clock.slept.get()
        one.service.renew()
        one.clock.go.release()
        await one.answer("inclusionRequest", IN)
        for _ in range(3):
            await one.clock.pass_one()
        assert one.resolver.asked.empty()


async def test_a_resolver_that_is_known_by_another_key_is_asked_again_and_a_first_key_is_not_another(
    tmp_path: Path,
) -> None:
    async with kept(tmp_path) as one:
        await one.answer("inclusionRequest", IN)
        one.known = SigningKey(b"r" * 32).public  # its answer told it
        for _ in range(3):
            await one.clock.pass_one()
        assert one.resolver.asked.empty()
        await one.clock.slept.get()
        one.known = SigningKey(b"n" * 32).public  # the administrator trusts another one
        one.clock.go.release()
        await one.answer("inclusionRequest", IN)
        for _ in range(3):
            await one.clock.pass_one()
        assert one.resolver.asked.empty()


async def test_a_resolver_that_is_trusted_anew_is_asked_at_once_after_however_many_failures(tmp_path: Path) -> None:
    async with kept(tmp_path) as one:
        one.known = SigningKey(b"r" * 32).public
        for seconds in (1, 2, 4, 8):
            await one.answer("inclusionRequest", AWAY)
            for _ in range(seconds if seconds < 8 else 1):
                await one.clock.pass_one()
        await one.clock.slept.get()
        one.known = SigningKey(b"n" * 32).public  # the administrator trusts another one
        one.clock.go.release()
        await asyncio.wait_for(one.answer("inclusionRequest", AWAY), 5)
        for _ in range(3):
            await one.clock.pass_one()
        assert one.resolver.asked.empty()
