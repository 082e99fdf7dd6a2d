"""The port `UsageLog`, tried on every adapter."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.jobs.runner import write_later
from ibi.standard.instant import Instant, day_number
from ibi.standard.label import RepositoryName
from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.connection import connect
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked, StoreNewer
from ibi.usage.model import ReferrerClass, Usage, UsageDay, UsageKind, UsageOrigin, day_of, month_of
from ibi.usage.ports import UsageLog
from ibi.usage.rules.counting import Recent, counted_download
from ibi.usage.store import FILE_NAME, MemoryUsageLog, SqliteUsageLog
from tests.support.catalog_samples import item
from tests.support.running_jobs import running

ONE, TWO, THREE = (item(minute).rep for minute in (1, 2, 3))
DAY = day_of(Instant.parse("2026-11-15T12:00:00Z"))


def _written_at_once(folder: Path) -> UsageLog:
    usage = SqliteUsageLog(folder / FILE_NAME)
    usage.watch(usage.flush)
    return usage


ADAPTERS: dict[str, Callable[[Path], UsageLog]] = {
    "memory": lambda _: MemoryUsageLog(),
    "sqlite": lambda folder: SqliteUsageLog(folder / FILE_NAME),
    "sqlite, written at once": _written_at_once,
}


@pytest.fixture(params=ADAPTERS)
def usage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UsageLog]:
    with closing(ADAPTERS[request.param](tmp_path)) as usage:
        yield usage


def count(usage: UsageLog, rep: RepositoryName, day: int, **numbers: int) -> None:
    for kind in UsageKind:
        for _ in range(numbers.get(kind.value, 0)):
            usage.count(UsageDay(rep, day), kind)


def test_what_was_never_used_has_no_days(usage: UsageLog) -> None:
    usage.flush()
    assert usage.days(ONE) == ()
    assert list(usage.totals()) == []


@pytest.mark.parametrize("kind", UsageKind)
def test_each_kind_is_counted_apart(usage: UsageLog, kind: UsageKind) -> None:
    usage.count(UsageDay(ONE, DAY), kind)
    usage.count(UsageDay(ONE, DAY), kind)
    assert usage.days(ONE) == ((UsageDay(ONE, DAY), Usage(**{kind.value: 2})),)


def test_items_and_days_are_counted_apart_and_come_in_order(usage: UsageLog) -> None:
    count(usage, TWO, DAY, downloads=3)
    count(usage, ONE, DAY + 1, resolutions=1)
    usage.flush()
    count(usage, ONE, DAY, downloads=2, robot_downloads=1)
    count(usage, ONE, -1, resolutions=1)
    assert [(day.day, counted) for day, counted in usage.days(ONE)] == [
        (-1, Usage(resolutions=1)),
        (DAY, Usage(downloads=2, robot_downloads=1)),
        (DAY + 1, Usage(resolutions=1)),
    ]
    assert list(usage.totals()) == [(ONE, Usage(2, 2, 0, 1)), (TWO, Usage(downloads=3))]
    assert usage.days(THREE) == ()


def test_what_was_written_and_what_was_not_add_up(usage: UsageLog) -> None:
    for number in range(1, 4):
        count(usage, ONE, DAY, downloads=1)
        usage.flush()
        count(usage, ONE, DAY, resolutions=1)
        assert usage.days(ONE) == ((UsageDay(ONE, DAY), Usage(number, number)),)
        assert list(usage.totals()) == [(ONE, Usage(number, number))]


@pytest.mark.parametrize("flushed", [True, False])
@pytest.mark.parametrize(
    ("first", "last", "days"), [(None, None, 5), (1, None, 4), (None, 3, 4), (1, 3, 3), (2, 2, 1), (3, 1, 0)]
)
def test_a_period_has_both_its_ends(
    usage: UsageLog, first: int | None, last: int | None, days: int, flushed: bool
) -> None:
    for day in range(5):
        count(usage, ONE, day, downloads=1)
    if flushed:
        usage.flush()
    assert len(usage.days(ONE, first, last)) == days
    assert list(usage.totals(first, last)) == ([(ONE, Usage(downloads=days))] if days else [])


def test_a_label_counts_in_any_spelling(usage: UsageLog) -> None:
    count(usage, RepositoryName.parse(str(ONE).upper()), DAY, downloads=1)
    usage.flush()
    count(usage, ONE, DAY, downloads=1)
    assert usage.days(RepositoryName.parse(str(ONE).title())) == ((UsageDay(ONE, DAY), Usage(downloads=2)),)
    assert [str(rep) for rep, _ in usage.totals()] == [str(ONE)]


def test_a_usage_log_takes_what_the_rules_of_counting_give(usage: UsageLog) -> None:
    recent, now = Recent(), Instant.parse("2026-11-15T23:59:59Z")
    for seconds in (0, 1, 31):
        counted = counted_download(item(1), "a.pdf", "8.8.8.8", recent, Instant(now.seconds + seconds), robot=False)
        if counted is not None:
            usage.count(*counted)
    assert [(day.date, counted.downloads) for day, counted in usage.days(ONE)] == [("2026-11-15", 1), ("2026-11-16", 1)]


def test_many_threads_lose_no_count(usage: UsageLog) -> None:
    def use(number: int) -> None:
        count(usage, (ONE, TWO)[number % 2], DAY, downloads=5)
        if number % 5 == 0:
            usage.flush()
        assert usage.days(ONE) or number

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(40)))
    assert list(usage.totals()) == [(ONE, Usage(downloads=100)), (TWO, Usage(downloads=100))]


Uses = list[tuple[int, int, UsageKind, bool]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 3), st.sampled_from(UsageKind), st.booleans())))
def test_adapters_agree_with_a_tally(uses: Uses) -> None:
    tally = Counter((item(minute).rep, day, kind) for minute, day, kind, _ in uses)
    for adapter in ADAPTERS.values():
        with TemporaryDirectory() as folder, closing(adapter(Path(folder))) as usage:
            for minute, day, kind, flushed in uses:
                usage.count(UsageDay(item(minute).rep, day), kind)
                if flushed:
                    usage.flush()
            for (rep, day, kind), number in tally.items():
                assert getattr(dict(usage.days(rep))[UsageDay(rep, day)], kind.value) == number
            assert sum(sum(getattr(total, kind.value) for kind in UsageKind) for _, total in usage.totals()) == len(
                uses
            )


# --- what only a disk has ---------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / FILE_NAME


async def test_a_job_writes_counts_a_while_after_the_first_and_again_after_a_failure(path: Path) -> None:
    with closing(SqliteUsageLog(path)) as usage, closing(SqliteUsageLog(path)) as other:
        job = write_later("usage", 0.0, usage.watch, usage.flush)
        job.first_rest = 0.01
        async with running(job) as runner, asyncio.timeout(20):
            for number in (1, 2):
                count(usage, ONE, DAY, downloads=1)
                expected = ((UsageDay(ONE, DAY), Usage(downloads=number)),)
                while other.days(ONE) != expected:  # noqa: ASYNC110 - in a thread
                    await asyncio.sleep(0.001)
            outside = connect(path, ("", ""))
            outside.execute("ALTER TABLE usage RENAME TO away")
            count(usage, ONE, DAY, downloads=1)
            while not runner.health()[0].failures:  # noqa: ASYNC110 - in a thread
                await asyncio.sleep(0.001)
            outside.execute("ALTER TABLE away RENAME TO usage")
            outside.close()
            while other.days(ONE) != ((UsageDay(ONE, DAY), Usage(downloads=3)),):  # noqa: ASYNC110 - in a thread
                await asyncio.sleep(0.001)


def test_closing_writes_what_is_pending(path: Path) -> None:
    usage = SqliteUsageLog(path)
    count(usage, ONE, DAY, downloads=2)
    usage.close()
    usage.close()
    with closing(SqliteUsageLog(path)) as again:
        assert again.days(ONE) == ((UsageDay(ONE, DAY), Usage(downloads=2)),)


def test_processes_count_side_by_side(path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from ibi.standard.label import RepositoryName\n"
        "from ibi.usage.model import UsageDay, UsageKind; from ibi.usage.store import SqliteUsageLog\n"
        "usage = SqliteUsageLog(Path(sys.argv[1]))\n"
        "for _ in range(200): usage.count(UsageDay(RepositoryName.parse(sys.argv[2]), 1), UsageKind.DOWNLOAD)\n"
        "usage.close()"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", script, str(path), str(ONE)]
    processes = [subprocess.Popen(command, env=environ) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    with closing(SqliteUsageLog(path)) as usage:
        assert list(usage.totals()) == [(ONE, Usage(downloads=600))]


def test_what_could_not_be_written_counts_the_next_time(path: Path) -> None:
    with closing(SqliteUsageLog(path)) as usage:
        other = connect(path, ("", ""))
        other.execute("ALTER TABLE usage RENAME TO away")
        count(usage, ONE, DAY, downloads=1)
        with pytest.raises(DiskRefused):
            usage.flush()
        count(usage, ONE, DAY, downloads=1)
        other.execute("ALTER TABLE away RENAME TO usage")
        other.close()
        usage.flush()
        assert usage.days(ONE) == ((UsageDay(ONE, DAY), Usage(downloads=2)),)


def test_a_store_of_a_newer_version_and_what_is_no_store_are_refused(path: Path) -> None:
    SqliteUsageLog(path).close()
    connection = connect(path, ("", ""))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreNewer):
        SqliteUsageLog(path)
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(StoreDamaged):
        SqliteUsageLog(path)
    with pytest.raises(DiskRefused):
        SqliteUsageLog(path / "below a file")


def test_a_closed_one_and_that_of_a_parent_process_say_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SqliteUsageLog(path)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for use in (lambda: count(usage, ONE, DAY, downloads=1), lambda: usage.days(ONE), usage.flush):
        with pytest.raises(StoreForked):
            use()
    usage.close()
    monkeypatch.undo()
    usage.close()
    for use in (lambda: count(usage, ONE, DAY, downloads=1), lambda: usage.days(ONE), usage.flush):
        with pytest.raises(StoreClosed):
            use()


def test_use_is_summed_by_month_archive_and_where_readers_came_from(usage: UsageLog) -> None:
    first, second = day_number(2026, 1, 31), day_number(2026, 2, 1)
    one, other = RepositoryName.parse("lab.br/arq/2026/01.02.03.04"), RepositoryName.parse("lab.br/b/2026/01.02.03.04")
    for day, rep, kind, referrer in (
        (first, one, UsageKind.DOWNLOAD, ReferrerClass.SEARCH),
        (first, one, UsageKind.DOWNLOAD, ReferrerClass.SEARCH),
        (first, one, UsageKind.ROBOT_DOWNLOAD, ReferrerClass.DIRECT),
        (second, one, UsageKind.RESOLUTION, ReferrerClass.RESOLVER),
        (second, other, UsageKind.DOWNLOAD, ReferrerClass.SOCIAL),
    ):
        usage.count(UsageDay(rep, day), kind, referrer)
        usage.flush()
    january = month_of(first)
    assert month_of(second) == january + 1
    expected = (
        (UsageOrigin(january, "lab.br/arq", ReferrerClass.DIRECT), Usage(robot_downloads=1)),
        (UsageOrigin(january, "lab.br/arq", ReferrerClass.SEARCH), Usage(downloads=2)),
        (UsageOrigin(january + 1, "lab.br/arq", ReferrerClass.RESOLVER), Usage(resolutions=1)),
        (UsageOrigin(january + 1, "lab.br/b", ReferrerClass.SOCIAL), Usage(downloads=1)),
    )
    assert usage.origins(january, january + 1) == expected
    assert usage.origins(january + 1, january + 5) == expected[2:]
    assert usage.days(one) == (
        (UsageDay(one, first), Usage(downloads=2, robot_downloads=1)),
        (UsageDay(one, second), Usage(resolutions=1)),
    )


def test_the_most_used_of_a_month_come_first_written_or_not(usage: UsageLog) -> None:
    day, names = (
        day_number(2026, 3, 5),
        [RepositoryName.parse(f"lab.br/arq/2026/01.02.03.0{each}") for each in range(4)],
    )
    for number, rep in enumerate(names):
        for _ in range(number):
            usage.count(UsageDay(rep, day), UsageKind.DOWNLOAD)
    usage.flush()
    for _ in range(5):
        usage.count(UsageDay(names[0], day), UsageKind.RESOLUTION)
        usage.count(UsageDay(names[0], day), UsageKind.ROBOT_DOWNLOAD)
    found = usage.most_used(month_of(day), 2)
    assert found == ((names[0], Usage(resolutions=5, robot_downloads=5)), (names[3], Usage(downloads=3)))
    assert usage.most_used(month_of(day) + 1, 2) == ()


def test_a_walk_goes_through_every_item_and_day_in_order(usage: UsageLog) -> None:
    days = [
        UsageDay(RepositoryName.parse(f"lab.br/arq/2026/01.02.{each % 24:02}.{each % 60:02}"), each)
        for each in range(5000)
    ]
    for day in days:
        usage.count(day, UsageKind.DOWNLOAD)
    wanted = sorted((day for day in days if 10 <= day.day <= 4500), key=lambda day: (day.rep, day.day))
    assert [day for day, _ in usage.walk(10, 4500)] == wanted


def test_a_file_of_an_earlier_version_gets_its_sums(path: Path) -> None:
    rep, day = RepositoryName.parse("lab.br/arq/2026/01.02.03.04.05"), day_number(2025, 12, 31)
    with closing(SqliteUsageLog(path)) as log:
        log.count(UsageDay(rep, day), UsageKind.DOWNLOAD)
    with closing(sqlite3.connect(path)) as file:  # as it was before there were sums
        file.executescript("DROP TABLE item_months; DROP TABLE origin_months; PRAGMA user_version = 1")
    with closing(SqliteUsageLog(path)) as log:
        origin = UsageOrigin(month_of(day), "lab.br/arq", ReferrerClass.UNKNOWN)
        assert log.origins(0, 1 << 40) == ((origin, Usage(downloads=1)),)
        assert log.most_used(month_of(day), 9) == ((rep, Usage(downloads=1)),)
