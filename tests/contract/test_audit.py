"""The port `AuditLog`, tried on its adapter."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree

import pytest
from structlog.testing import capture_logs

from ibi.jobs.runner import write_later
from ibi.people.model.account import AuditBroken, AuditEntry, AuditIncomplete
from ibi.people.ports import AuditLog
from ibi.people.store import audit_log
from ibi.people.store.audit_log import FileAuditLog
from ibi.standard.instant import Instant
from ibi.standard.storage_errors import StorageError
from tests.support.running_jobs import running

NOW = Instant.parse("2026-11-15T12:00:00Z")


_NUMBERED = (
    b'{"number":%s,"at":"2026-11-15T12:00:00Z","account":null,"token":null,"from":"x","act":"x","subject":"x",'
    b'"detail":"","previous":""}\n'
)


def entry(number: int, **others: object) -> AuditEntry:
    said = {"account": "service:ana", "token": "abc", "address": "192.0.2.1", **others}
    return AuditEntry(NOW, "publish", f"lab.br/arq/2026/{number}", **said)  # type: ignore[arg-type]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[AuditLog]:
    opened = FileAuditLog(tmp_path)
    yield opened
    opened.close()


def file(data: Path) -> Path:
    return data / "audit" / "audit.log"


def read(data: Path) -> list[AuditEntry]:
    return list(FileAuditLog(data).entries())


def test_a_log_without_lines_is_empty_and_makes_no_file(log: AuditLog, tmp_path: Path) -> None:
    log.append(())
    assert list(log.entries()) == []
    assert list(tmp_path.iterdir()) == []


def test_what_was_added_comes_back_in_order(log: AuditLog, tmp_path: Path) -> None:
    given = [entry(1), entry(2, account=None, token=None, detail='São "José"\n\0'), entry(3)]
    log.append(given[:2])
    log.append(given[2:])
    assert list(log.entries()) == given
    assert read(tmp_path) == given


def test_two_writers_continue_one_chain(log: AuditLog, tmp_path: Path) -> None:
    other = FileAuditLog(tmp_path)
    for number in range(6):
        (log, other)[number % 2].append([entry(number)])
    other.close()
    assert list(log.entries()) == [entry(number) for number in range(6)]


def test_threads_and_processes_write_at_once(log: AuditLog, tmp_path: Path) -> None:
    others = [get_context("spawn").Process(target=_write, args=(tmp_path, first)) for first in (100, 200)]
    for process in others:
        process.start()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: log.append([entry(number)]), range(40)))
    for process in others:
        process.join()
    assert len(list(log.entries())) == 40 + 2 * 20


def _write(data: Path, first: int) -> None:
    log = FileAuditLog(data)
    for number in range(20):
        log.append([entry(first + number)])
    log.close()


@pytest.mark.parametrize("name", ["audit.log", "head"])
def test_flipping_any_byte_of_the_trail_is_found(log: AuditLog, tmp_path: Path, name: str) -> None:
    """Of the lines and of what says where they end: each bit of each byte of the short one, some of the other."""
    log.append([entry(1), entry(2, detail="São José")])
    log.append([entry(3), entry(4)])  # 4 and 0, as digits, are one bit apart
    log.close()
    path = tmp_path / "audit" / name
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in (1, 2, 4, 8, 16, 32, 64, 128) if name == "head" else (1 << place % 8, 32):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            with pytest.raises((AuditBroken, AuditIncomplete)):
                read(tmp_path)
    path.write_bytes(whole)
    assert len(read(tmp_path)) == 4


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_changed_line_breaks_the_chain(log: AuditLog, tmp_path: Path, place: int) -> None:
    log.append([entry(1), entry(2), entry(3)])
    log.close()
    lines = file(tmp_path).read_bytes().splitlines(keepends=True)
    lines[place] = lines[place].replace(b"service:ana", b"service:bia")
    file(tmp_path).write_bytes(b"".join(lines))
    with pytest.raises(AuditBroken, match=f"Line {place + 1} "):
        read(tmp_path)


@pytest.mark.parametrize("place", range(12))
def test_the_line_that_was_changed_is_the_one_that_is_named(log: AuditLog, tmp_path: Path, place: int) -> None:
    """Whichever byte of it is another, that of its number and of its hash of the line before it among them."""
    log.append([entry(number) for number in range(12)])
    log.close()
    lines = file(tmp_path).read_bytes().splitlines(keepends=True)
    changed = lines[place]
    for at in range(0, len(changed) - 1, 7):
        lines[place] = changed[:at] + bytes([changed[at] ^ 1]) + changed[at + 1 :]
        file(tmp_path).write_bytes(b"".join(lines))
        with pytest.raises(AuditBroken, match=f"Line {place + 1} "):
            read(tmp_path)


@pytest.mark.parametrize(("left", "line"), [((1, 2), 1), ((0, 2), 2), ((0, 1), 3), ((), 3), ((1, 0, 2), 1)])
def test_a_line_that_is_missing_or_elsewhere_breaks_the_chain(
    log: AuditLog, tmp_path: Path, left: tuple[int, ...], line: int
) -> None:
    log.append([entry(1), entry(2), entry(3)])
    log.close()
    lines = file(tmp_path).read_bytes().splitlines(keepends=True)
    file(tmp_path).write_bytes(b"".join(lines[index] for index in left))
    with pytest.raises(AuditBroken, match=f"Line {line} "):
        read(tmp_path)


def test_a_lost_file_is_noticed(log: AuditLog, tmp_path: Path) -> None:
    log.append([entry(1)])
    log.close()
    file(tmp_path).unlink()
    with pytest.raises(AuditBroken, match="Line 1 "):
        read(tmp_path)


@pytest.mark.parametrize(
    "spoilt",
    [
        b"{}\n",
        b"[" * 5000 + b"\n",
        b"\xff\n",
        b'{"number": "x"}\n',
        b"\n",
        _NUMBERED % b"1.5",
        _NUMBERED % b"-3",
        _NUMBERED % (b"9" * 90),
    ],
)
def test_a_line_that_is_none_is_told_and_writing_goes_on(log: AuditLog, tmp_path: Path, spoilt: bytes) -> None:
    log.append([entry(1)])
    log.close()
    with file(tmp_path).open("ab") as opened:
        opened.write(spoilt)
    again = FileAuditLog(tmp_path)
    again.append([entry(2)])
    again.close()
    found = FileAuditLog(tmp_path).entries()
    assert next(found) == entry(1)
    with pytest.raises(AuditBroken, match="Line 2 "):
        next(found)


def test_a_torn_line_is_cut_off_before_the_next_one(log: AuditLog, tmp_path: Path) -> None:
    log.append([entry(1)])
    log.close()
    with file(tmp_path).open("ab") as opened:
        opened.write(b'{"number":2,"at"')
    assert read(tmp_path) == [entry(1)]
    again = FileAuditLog(tmp_path)
    again.append([entry(2)])
    again.close()
    assert read(tmp_path) == [entry(1), entry(2)]


def test_the_log_belongs_to_its_owner_alone(log: AuditLog, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        log.append([entry(1)])
    finally:
        os.umask(old)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "audit").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((tmp_path / "audit").stat().st_mode) == 0o700


def test_a_closed_log_may_be_closed_again_and_written_anew(log: AuditLog) -> None:
    log.append([entry(1)])
    log.close()
    log.close()
    log.append([entry(2)])
    assert list(log.entries()) == [entry(1), entry(2)]


def head(data: Path) -> Path:
    return data / "audit" / "head"


def cut_last_line(data: Path) -> None:
    lines = file(data).read_bytes().splitlines(keepends=True)
    with file(data).open("r+b") as opened:
        opened.truncate(sum(map(len, lines[:-1])))


def acts(data: Path) -> list[str]:
    return [found.act for found in read(data)]


@pytest.mark.parametrize("is_running", [True, False])
def test_lines_cut_off_stay_visible_after_the_next_one(
    log: AuditLog, tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_running: bool
) -> None:
    log.append([entry(1), entry(2), entry(3)])
    if not is_running:
        log.close()
    expected = head(tmp_path).read_text().split()[1]
    cut_last_line(tmp_path)
    writer = log if is_running else FileAuditLog(tmp_path)
    writer.append([entry(4)])
    writer.append([entry(5)])
    writer.close()
    found = read(tmp_path)
    assert [one.act for one in found] == ["publish", "publish", "log-broken", "publish", "publish"]
    assert f"expected line 3 (SHA-256 {expected})" in found[2].detail
    assert "to end with line 2 " in found[2].detail
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@pytest.mark.parametrize("spoilt", [None, b"", b"garbage", b"1 2 3", b"\xff" * 500])
def test_a_head_that_is_missing_or_unreadable_is_told_and_noted(
    log: AuditLog, tmp_path: Path, spoilt: bytes | None
) -> None:
    log.append([entry(1), entry(2)])
    log.close()
    head(tmp_path).unlink()
    if spoilt is not None:
        head(tmp_path).write_bytes(spoilt)
    with pytest.raises(AuditIncomplete, match="head"):
        read(tmp_path)
    again = FileAuditLog(tmp_path)
    again.append([entry(3)])
    again.append([entry(4)])
    again.close()
    assert acts(tmp_path) == ["publish", "publish", "log-broken", "publish", "publish"]


def test_a_process_that_wrote_the_lost_line_knows_it_without_a_head(log: AuditLog, tmp_path: Path) -> None:
    log.append([entry(1), entry(2)])
    cut_last_line(tmp_path)
    head(tmp_path).unlink()
    log.append([entry(3)])
    assert acts(tmp_path) == ["publish", "log-broken", "publish"]
    assert "expected line 2 " in read(tmp_path)[1].detail


@pytest.mark.parametrize("is_running", [True, False])
def test_a_log_that_was_removed_whole_is_told_and_noted(log: AuditLog, tmp_path: Path, *, is_running: bool) -> None:
    log.append([entry(1)])
    if not is_running:
        log.close()
    rmtree(tmp_path / "audit")
    with pytest.raises(AuditIncomplete, match="had a log"):
        read(tmp_path)
    writer = log if is_running else FileAuditLog(tmp_path)
    writer.append([entry(2)])
    writer.close()
    assert acts(tmp_path) == ["log-broken", "publish"]


def test_a_replaced_file_with_the_same_lines_is_written_on(log: AuditLog, tmp_path: Path) -> None:
    log.append([entry(1)])
    for path in (file(tmp_path), head(tmp_path)):
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes())
        copy.replace(path)
        log.append([entry(2)])
    assert read(tmp_path) == [entry(1), entry(2), entry(2)]


def test_a_replaced_file_with_other_lines_is_noted(log: AuditLog, tmp_path: Path) -> None:
    log.append([entry(1), entry(2)])
    file(tmp_path).rename(tmp_path / "rotated")
    log.append([entry(3)])
    assert acts(tmp_path) == ["log-broken", "publish"]
    assert len((tmp_path / "rotated").read_bytes().splitlines()) == 2


@pytest.mark.parametrize("lines", [0, 1])
def test_a_head_left_behind_by_a_killed_process_is_no_break(log: AuditLog, tmp_path: Path, lines: int) -> None:
    log.append([entry(1)])
    earlier = head(tmp_path).read_bytes() if lines else b"%020d %s\n" % (0, b"0" * 64)
    log.append([entry(2), entry(3)])
    log.close()
    head(tmp_path).write_bytes(earlier)
    assert len(read(tmp_path)) == 3
    again = FileAuditLog(tmp_path)
    again.append([entry(4)])
    again.close()
    assert acts(tmp_path) == ["publish"] * 4


def test_a_log_of_an_earlier_version_is_continued_and_noted_as_begun(log: AuditLog, tmp_path: Path) -> None:
    log.append([entry(1)])
    log.close()
    (tmp_path / "directory.json").unlink()
    again = FileAuditLog(tmp_path)
    assert not again.was_begun()
    again.append([entry(2)])
    again.close()
    assert again.was_begun()
    assert read(tmp_path) == [entry(1), entry(2)]


def test_a_break_that_could_not_be_written_is_written_later(
    log: AuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append([entry(1), entry(2)])
    cut_last_line(tmp_path)
    head(tmp_path).unlink()
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", lambda *_: 0)
        log.append([entry(3)])
    log.append([entry(4)])
    assert acts(tmp_path) == ["publish", "log-broken", "publish", "publish"]


def test_lines_that_a_full_disk_refuses_come_before_the_next_ones(
    log: AuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append([entry(1)])
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", lambda *_: 0)
        log.append([entry(2), entry(3)])
        log.append([entry(4)])
        assert read(tmp_path) == [entry(1)]
    log.append([entry(5)])
    assert read(tmp_path) == [entry(number) for number in range(1, 6)]


def test_lines_that_a_full_disk_refused_are_written_at_the_end_or_named(
    log: AuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log.append([entry(1)])
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", lambda *_: 0)
        log.append([entry(2)])
    log.close()
    assert read(tmp_path) == [entry(1), entry(2)]
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", lambda *_: 0)
        log.append([entry(3)])
        log.close()
    assert "1 lines are lost (publish lab.br/arq/2026/3)" in caplog.text
    assert read(tmp_path) == [entry(1), entry(2)]


def test_lines_that_are_kept_in_memory_are_bounded(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append([entry(0)])
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", lambda *_: 0)
        log.append([entry(number) for number in range(1, 10_001)])
        with pytest.raises(StorageError):
            log.append([entry(10_001)])
    log.append([entry(10_002)])
    assert [each.subject for each in log.entries()][-2:] == [entry(10_000).subject, entry(10_002).subject]


async def test_the_disk_is_made_to_keep_lines_by_a_job_which_also_writes_what_the_disk_has_refused(
    log: FileAuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = list[int]()
    monkeypatch.setattr(audit_log, "sync_file", synced.append)
    (tmp_path / "audit").write_text("no directory")
    job = write_later("audit log", 0.0, log.watch, log.sync)
    job.first_rest = 0.01
    with capture_logs() as logs:
        async with running(job) as runner, asyncio.timeout(20):
            await asyncio.to_thread(log.append, [entry(1)])
            while not runner.health()[0].failures:  # noqa: ASYNC110 - in a thread
                await asyncio.sleep(0.001)
            (tmp_path / "audit").unlink()
            while not synced or runner.health()[0].failing_since:  # noqa: ASYNC110 - in a thread
                await asyncio.sleep(0.001)
    assert read(tmp_path) == [entry(1)]
    assert any(each["event"] == "a job failed" for each in logs)


def test_several_lines_before_a_sync_are_told_of_once(log: FileAuditLog) -> None:
    told = list[str]()
    log.watch(lambda: told.append("lines"))
    for number in range(3):
        log.append([entry(number)])
    assert told == ["lines"]
    log.sync()
    log.append([entry(4)])
    assert told == ["lines", "lines"]
