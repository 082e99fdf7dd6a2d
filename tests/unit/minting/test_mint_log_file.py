"""The file of the mint log."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ibi.minting.rules.mint_log import GENESIS, LogBroken, hash_of
from ibi.minting.store.mint_log_file import BEGINNING, MintLogFile, Position
from ibi.storage.errors import DiskRefused


def chained(*texts: str) -> list[bytes]:
    """Lines as the log has them at their end: each names the hash of the one before it."""
    lines, previous = [], GENESIS
    for text in texts:
        lines.append(f'{{"text":"{text}","previous":"{previous}"}}'.encode())
        previous = hash_of(lines[-1])
    return lines


LINES = chained("one", "the second line", "x" * 100_000, "4")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[MintLogFile]:
    log = MintLogFile(tmp_path / "mint.log")
    yield log
    log.close()


def appended(log: MintLogFile, lines: list[bytes], position: Position = BEGINNING) -> Position:
    for line in lines:
        position = log.append(line, position)
    return position


def test_lines_come_back_in_order(log: MintLogFile) -> None:
    end = appended(log, LINES)
    assert end.number == len(LINES)
    assert list(log.lines(0, end.size)) == LINES
    assert log.read(end.last, end.size - end.last) == LINES[-1] + b"\n"
    assert log.path.read_bytes() == b"".join(line + b"\n" for line in LINES)


def test_an_empty_log_is_at_its_beginning(log: MintLogFile) -> None:
    assert log.is_at(BEGINNING)
    assert not log.path.exists()
    assert list(log.lines(0, 0)) == []


def test_a_log_knows_where_it_ends(log: MintLogFile) -> None:
    middle = appended(log, LINES[:2])
    end = appended(log, LINES[2:], middle)
    assert log.is_at(end)
    assert not log.is_at(middle)
    assert MintLogFile(log.path).is_at(end)
    assert not MintLogFile(log.path).is_at(BEGINNING)


def test_more_than_is_known_is_taken_in(log: MintLogFile) -> None:
    middle = appended(log, LINES[:2])
    end = appended(log, LINES[2:], middle)
    for start, lines in [(BEGINNING, LINES), (middle, LINES[2:]), (end, [])]:
        taken = list(MintLogFile(log.path).take_in(start))
        assert [written.line for written in taken] == lines
        assert not taken or taken[-1].position == end


@pytest.mark.parametrize("torn", [b"t", b"t" * 70_000, b"\0", b"\0" * 70_000 + b"\n", b"a\0b\n", b"\n\0"])
def test_what_a_crash_left_of_a_line_is_cut_off(log: MintLogFile, torn: bytes) -> None:
    middle = appended(log, LINES[:2])
    end = appended(log, LINES[2:], middle)
    with log.path.open("ab") as file:
        file.write(torn)
    for known in (middle, end):
        whole = LINES if torn != b"\n\0" else [*LINES, b""]
        assert [written.line for written in log.take_in(known)] == whole[known.number :]
        assert log.path.stat().st_size == end.size + (torn == b"\n\0")


def test_known_lines_are_never_cut(log: MintLogFile) -> None:
    end = appended(log, chained("odd \0 line"))
    assert list(log.take_in(end)) == []
    assert log.is_at(end)


def test_a_log_that_is_another_than_known_is_broken(log: MintLogFile) -> None:
    end = appended(log, LINES)
    whole = log.path.read_bytes()
    for content in (whole[:-1], b"", whole[:-2] + b"5\n", whole[:-1] + b"x", b"y" + whole[:-1]):
        log.path.write_bytes(content)
        with pytest.raises(LogBroken, match="Line 4"):
            MintLogFile(log.path).is_at(end)


def test_a_changed_line_anywhere_is_noticed_when_the_file_is_not_as_it_was_left(log: MintLogFile) -> None:
    end = appended(log, LINES)
    seen, whole = log.seen, log.path.read_bytes()
    assert MintLogFile(log.path).is_at(end, seen)
    for number, text in enumerate([b"one", b"second", b"xxx"], start=2):
        log.path.write_bytes(whole.replace(text, text.upper(), 1))
        for reader in (log, MintLogFile(log.path)):
            for _ in range(2):
                with pytest.raises(LogBroken, match=f"Line {number} .* before it was changed"):
                    reader.is_at(end, seen)
    log.path.write_bytes(whole)
    assert log.is_at(end, seen)
    assert log.seen != seen


def test_a_file_that_looks_as_it_was_left_is_not_read_again(log: MintLogFile) -> None:
    """What changed without a trace in the times of the file, such as bits that rot, is found by the regular check."""
    end = appended(log, LINES)
    other = MintLogFile(log.path)
    other.lines = lambda start, end: pytest.fail("it was read")  # type: ignore[method-assign]
    assert other.is_at(end, log.seen)


class Disk:
    """Fails once, when told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def fail_once(self, name: str, number: int) -> None:
        real = getattr(os, name)

        def fail(*arguments: object) -> object:
            self._monkeypatch.setattr(os, name, real)
            raise OSError(number, os.strerror(number))

        self._monkeypatch.setattr(os, name, fail)


@pytest.mark.parametrize("name", ["pwrite", "fdatasync"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_failure_leaves_nothing_of_the_line(
    log: MintLogFile, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    end = appended(log, LINES)
    whole = log.path.read_bytes()
    Disk(monkeypatch).fail_once(name, number)
    with pytest.raises(DiskRefused, match=os.strerror(number)):
        log.append(b"never there", end)
    assert log.path.read_bytes() == whole
    assert log.is_at(end)
    assert log.is_at(log.append(b"there", end))


def test_what_cannot_be_undone_is_found_by_who_comes_next(log: MintLogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    end = appended(log, LINES)
    disk = Disk(monkeypatch)
    disk.fail_once("fdatasync", errno.EIO)
    disk.fail_once("ftruncate", errno.EIO)
    with pytest.raises(DiskRefused):
        log.append(b"not wanted", end)
    assert not log.is_at(end)
    assert [written.line for written in log.take_in(end)] == [b"not wanted"]


def test_a_write_cut_short_is_gone_on_with(log: MintLogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda descriptor, content, start: real(descriptor, content[:7], start))
    end = appended(log, LINES[:2])
    assert list(log.lines(0, end.size)) == LINES[:2]


def test_a_file_exchanged_for_another_is_noticed(log: MintLogFile) -> None:
    end = appended(log, LINES)
    whole = log.path.read_bytes()
    log.path.unlink()
    log.path.write_bytes(whole)
    assert log.is_at(end)
    end = log.append(b"in the new one", end)
    assert log.path.read_bytes() == whole + b"in the new one\n"
