"""Archives that have not confirmed, called again (E60)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ibi.membership.model.registration import Registration
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import SILENCE
from ibi.membership.service.inclusion_retries import InclusionRetries
from ibi.membership.store.registry import SqliteRegistry
from ibi.storage.errors import StoreClosed
from tests.support.membership_app import MembershipApp, Post, query
from tests.support.running_jobs import running
from tests.support.set_clocks import SetClocks

HOME, MOVED = "mtc-m21.sid.inpe.br", "mtc-m22.sid.inpe.br"


class Town:
    """A resolver, and the addresses at which nothing answers."""

    def __init__(self, registry: Registry | None = None) -> None:
        self.silent: set[str] = set()
        options = {} if registry is None else {"registry": registry}
        self.resolver = MembershipApp(answers=self._answer, post=Post(), **options)  # type: ignore[arg-type]
        self.retries = self.resolver.admin.retries

    async def _answer(self, archive: ArchiveRef) -> bool:
        return archive.address not in self.silent

    async def begin(self) -> None:
        """Confirmed at one address, and wanted at another that is silent."""
        await self.resolver.register(admin_mail="banon@dpi.inpe.br")
        await self.resolver.send()
        self.silent.add(MOVED)
        assert self.resolver.post is not None
        self.resolver.post.letters.clear()  # that it is registered
        await self.resolver.send(query(archiveaddress=MOVED))
        self.resolver.called.clear()

    async def let_pass(self, seconds: int, step: int = 30) -> None:
        for _ in range(0, seconds, step):
            self.resolver.clocks.advance(step)
            self.resolver.seconds += step
            await self.retries.step()

    @property
    def calls(self) -> list[str]:
        return [archive.address for archive in self.resolver.called]


async def test_a_new_address_counts_when_it_confirms_at_last() -> None:
    town = Town()
    await town.begin()
    await town.let_pass(300)
    assert town.resolver.addresses == [HOME]
    town.silent.clear()
    await town.let_pass(300)
    assert town.resolver.addresses == [MOVED]
    town.resolver.called.clear()
    await town.let_pass(3600)
    assert town.calls == []


async def test_while_the_old_address_answers_the_new_one_never_counts() -> None:
    town = Town()
    await town.begin()
    await town.let_pass(30 * 3600, step=300)
    assert town.resolver.addresses == [HOME]
    found = town.resolver.found()
    assert found is not None
    assert found.pending is not None
    assert found.inclusion is not None
    assert found.inclusion.answered is not None
    assert found.inclusion.answered.seconds >= town.resolver.clocks.seconds() - 1200


async def test_an_hour_of_silence_makes_the_new_one_count_and_is_told() -> None:
    town = Town()
    await town.begin()
    town.silent.add(HOME)
    await town.let_pass(SILENCE - 60)
    assert town.resolver.addresses == [HOME]
    await town.let_pass(1500)
    assert town.resolver.addresses == [MOVED]
    await town.resolver.settle()
    assert town.resolver.post is not None
    first, second = town.resolver.post.letters
    assert (first.to, second.to) == ("banon@dpi.inpe.br", "banon@dpi.inpe.br")
    assert "not confirmed" in first.subject
    assert "replaced" in second.subject


async def test_one_answer_of_the_old_address_begins_the_hour_anew() -> None:
    town = Town()
    await town.begin()
    town.silent.add(HOME)
    await town.let_pass(3000)
    town.silent.discard(HOME)
    await town.let_pass(600)
    town.silent.add(HOME)
    await town.let_pass(2400)
    assert town.resolver.addresses == [HOME]


async def test_calls_become_rarer_and_never_stop() -> None:
    town = Town()
    await town.begin()
    await town.let_pass(3600, step=5)
    first = town.calls.count(MOVED)
    town.resolver.called.clear()
    await town.let_pass(3600, step=5)
    assert 8 <= first <= 40
    assert 6 <= town.calls.count(MOVED) <= 10
    assert abs(town.calls.count(HOME) - town.calls.count(MOVED)) <= 1


async def test_what_is_pending_is_tried_by_the_next_process(tmp_path: Path) -> None:
    registry = SqliteRegistry(tmp_path)
    town = Town(registry)
    await town.begin()
    await town.resolver.admin.close()
    registry.close()
    registry = SqliteRegistry(tmp_path)
    after = Town(registry)
    await after.let_pass(60)
    assert after.resolver.addresses == [MOVED]
    registry.close()


async def test_an_hour_that_passed_while_no_process_ran_is_not_enough(tmp_path: Path) -> None:
    registry = SqliteRegistry(tmp_path)
    await Town(registry).begin()
    after = Town(registry)
    after.silent = {HOME, MOVED}
    after.resolver.clocks.advance(10 * SILENCE)
    await after.let_pass(30)
    assert after.resolver.addresses == [HOME]  # one call without an answer may be chance
    await after.let_pass(1800)
    assert after.resolver.addresses == [MOVED]
    registry.close()


async def test_a_first_inclusion_that_did_not_confirm_is_called_again() -> None:
    town = Town()
    town.silent.add(HOME)
    await town.resolver.register()
    await town.resolver.send()
    town.silent.clear()
    await town.let_pass(60)
    found = town.resolver.found()
    assert found is not None
    assert found.inclusion is not None
    assert found.inclusion.confirmed


async def test_one_that_is_excluded_or_forgotten_is_called_no_more() -> None:
    town = Town()
    await town.begin()
    await town.resolver.send(query(servicesubject="exclusionRequest"))
    await town.let_pass(600)
    assert town.calls == []


async def test_calling_again_runs_beside_a_server_and_ends_with_it() -> None:
    town = Town()
    await town.begin()
    async with running(*town.resolver.admin.jobs()):
        pass
    await town.resolver.admin.close()
    await town.resolver.admin.close()
    assert town.resolver.addresses == [HOME]


async def test_a_register_that_fails_ends_nothing(tmp_path: Path) -> None:
    asked = asyncio.Semaphore(0)

    class Failing(SqliteRegistry):
        def recent_version(self) -> int:
            asked.release()
            raise StoreClosed(path=tmp_path)

    async def retry(registration: Registration, *, may_replace: bool) -> bool:
        raise AssertionError(registration, may_replace)

    registry = Failing(tmp_path)
    (job,) = InclusionRetries(registry, retry, SetClocks()).jobs()
    job.first_rest = 0.01
    async with running(job) as runner, asyncio.timeout(20):
        for _ in range(3):
            await asked.acquire()
    assert runner.health()[0].failures >= 2
    registry.close()
