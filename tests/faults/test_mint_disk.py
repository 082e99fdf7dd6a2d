"""A full disk and a disk that fails: the caller hears of it, no label leaves, and minting goes on when it is over."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ibi.minting.model import MintRequest
from ibi.minting.rules.mint_log import verify
from ibi.minting.store import mint_log_file
from ibi.minting.store.ticks import SqliteTicks
from ibi.storage.errors import DiskRefused
from tests.faults.workers import check_acknowledged
from tests.support.minting_samples import IDENTITY, START, labels_on_record, mint, share
from tests.support.set_clocks import SetClocks


class Minter:
    """Mints, and writes down what it got."""

    def __init__(self, data: Path, locks: Path) -> None:
        self.ticks = SqliteTicks(data, machine="m", lock_directory=locks)
        self.ticks.freeze(IDENTITY)
        self.clocks = SetClocks(START)
        self.acknowledged: list[str] = []
        self.refused = 0

    def mint(self, who: str = "ana", key: str | None = None) -> None:
        (outcome,) = mint(self.ticks, self.clocks, MintRequest(2, who, key)).outcomes
        self.acknowledged += [label.rep for label in share(outcome).labels()]
        self.clocks.advance(1)

    def mint_until_refused(self, most: int) -> DiskRefused:
        for _ in range(most):
            try:
                self.mint("ana" * 1000, f"key {len(self.acknowledged)}")
            except DiskRefused as refusal:
                return refusal
        raise AssertionError("the disk is not full")

    def check(self) -> None:
        check_acknowledged(self.acknowledged, list(labels_on_record(self.ticks)))
        self.ticks.close()


@pytest.fixture
def minter(tmp_path: Path) -> Iterator[Minter]:
    minter = Minter(tmp_path / "data", tmp_path / "locks")
    yield minter
    minter.ticks.close()


# A failing sync.


@contextmanager
def failing(name: str, number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`os.name` fails, once or more."""

    def fail(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, name, fail)
        yield


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("name", ["fdatasync", "pwrite"])
def test_nothing_leaves_when_the_log_cannot_be_written(
    minter: Minter, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    minter.mint()
    state = minter.ticks.state()
    with failing(name, number, monkeypatch):
        for _ in range(3):
            with pytest.raises(DiskRefused) as refusal:
                minter.mint(key="k")
    assert "mint.log" in str(refusal.value)
    assert os.strerror(number) in str(refusal.value)
    assert ("Free some space" in str(refusal.value)) is (number != errno.EIO)
    assert "what the system says of the disk" in str(refusal.value)
    assert minter.ticks.state() == state
    minter.mint(key="k")
    minter.mint()
    assert len(minter.acknowledged) == 6
    minter.check()


def test_a_line_that_could_not_be_taken_back_counts_as_given_out(
    minter: Minter, monkeypatch: pytest.MonkeyPatch
) -> None:
    minter.mint()
    with (
        failing("fdatasync", errno.EIO, monkeypatch),
        failing("ftruncate", errno.EIO, monkeypatch),
        pytest.raises(DiskRefused),
    ):
        minter.mint()
    minter.mint()
    assert len(list(labels_on_record(minter.ticks))) == 6
    minter.check()


def test_syncs_fail_again_and_again(minter: Minter, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.fdatasync, 0

    def sometimes(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls % 3:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", sometimes)
    for _ in range(30):
        try:
            minter.mint()
        except DiskRefused:
            minter.refused += 1
    monkeypatch.setattr(os, "fdatasync", real)
    minter.mint()
    assert (minter.refused, len(minter.acknowledged)) == (20, 22)
    minter.check()


# A file that may not grow: the log, or the database, or both.


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """As if the disk were full for whoever needs more than so much in one file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_log_that_may_not_grow(minter: Minter, tmp_path: Path) -> None:
    minter.mint("ana" * 40_000)
    log = (tmp_path / "data" / "mint" / "mint.log").stat().st_size
    with file_size_limit(log + 100):  # some of the next line can be written
        for _ in range(2):
            with pytest.raises(DiskRefused, match=r"mint\.log"):
                minter.mint()
        with pytest.raises(DiskRefused, match=r"mint\.log"):
            minter.mint()
    minter.mint()
    minter.check()


def test_a_database_that_may_not_grow(minter: Minter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of the log is there already: it counts, and its labels are lost."""
    minter.mint()
    before = len(list(minter.ticks.log()))
    with monkeypatch.context() as patch:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

        def limit_the_rest(descriptor: int) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))

        patch.setattr(mint_log_file, "sync_file", limit_the_rest)  # when the log is written
        try:
            with pytest.raises(DiskRefused, match=r"ticks\.sqlite"):
                minter.mint(key="k")
            with pytest.raises(DiskRefused):
                minter.mint(key="k")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    minter.mint(key="k")
    minter.mint()
    assert len(minter.acknowledged) == 6
    assert len(list(verify(minter.ticks.log()))) == before + 3
    minter.check()


# A disk that is full.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(path: Path, leave: int = 0) -> None:
    """Write until nothing more fits, then give back so much."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            file.truncate(max(0, file.tell() - leave))


@pytest.mark.parametrize("leave", [0, 4096, 8192, 16_384, 32_768, 65_536])
def test_a_full_disk(small_disk: Path, tmp_path: Path, leave: int) -> None:
    """Whatever it is that does not fit any more, the log, the write-ahead log or the database itself."""
    minter = Minter(small_disk / "data", tmp_path / "locks")
    minter.mint()
    filler = small_disk / "filler"
    for key in ("k", "l"):
        fill(filler, leave)
        refusal = minter.mint_until_refused(100)
        assert refusal.code == "disk-refused"
        for _ in range(3):
            with pytest.raises(DiskRefused):
                minter.mint("ana" * 1000)
        filler.unlink()
        minter.mint()
        minter.mint(key=key)
    minter.check()
    reopened = Minter(small_disk / "data", tmp_path / "locks")
    reopened.clocks.set(minter.clocks.read().wall)
    reopened.mint()
    check_acknowledged(minter.acknowledged + reopened.acknowledged, list(labels_on_record(reopened.ticks)))
    reopened.ticks.close()


def test_a_disk_that_is_full_from_the_start(small_disk: Path, tmp_path: Path) -> None:
    fill(small_disk / "filler")
    for _ in range(2):
        with pytest.raises(DiskRefused):
            Minter(small_disk / "data", tmp_path / "locks")
    (small_disk / "filler").unlink()
    minter = Minter(small_disk / "data", tmp_path / "locks")
    minter.mint()
    minter.check()
