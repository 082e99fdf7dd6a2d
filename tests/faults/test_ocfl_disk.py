"""A full disk and a disk that fails: a clear refusal, nothing half left, and everything kept before is still whole."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ibi.items.model.content import Bytes, Move, Source, Stream
from ibi.items.store.ocfl import durability, intake, store_context, sweep, versions
from ibi.items.store.ocfl import durability as parents
from ibi.items.store.ocfl.store import STEPS, OcflStore
from ibi.storage.errors import DiskRefused
from tests.support.content_samples import NAME, OTHER, change, everything_in, files, making, ocfl_py_says

BEFORE = [{"item.txt": b"1", "doc/a.txt": b"a"}]


def check(store: OcflStore) -> None:
    """As before the failure, with nothing left of it."""
    assert list(store.iterate()) == [NAME]
    assert everything_in(store, NAME) == BEFORE
    assert list(store.verify(NAME)) == []
    assert ocfl_py_says(store.root / NAME) == []
    staging = store.root.with_name(f"{store.root.name}-staging")
    assert {path.name for path in staging.rglob("*") if path.is_file()} <= {"lock"}
    assert [path for path in store.root.rglob("*") if path.is_dir() and not any(path.iterdir())] == []


# A small disk.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,nr_inodes=200", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_refuses_and_loses_nothing(small_disk: Path) -> None:
    store = OcflStore(small_disk / "content")
    store.create(NAME, files(item=b"1", doc__a=b"a"), change())
    endless = Stream(lambda length: b"x" * length)
    changes: tuple[Callable[[], object], ...] = (
        lambda: store.create(OTHER, {"doc/b": Bytes(b"b"), "large": endless}, change()),
        lambda: store.create(OTHER, {"doc/b": Bytes(b"b" * 4_000_000)}, change()),
        lambda: store.update(NAME, {"large": endless}, change()),
        lambda: store.purge_to(NAME, {"large": endless}, change()),
    )
    for make in changes:
        with pytest.raises(DiskRefused, match="No space left"):
            make()
        check(store)
    store.update(NAME, files(item=b"2"), change())
    store.close()


def test_a_disk_without_room_for_names_refuses(small_disk: Path) -> None:
    store = OcflStore(small_disk / "content")
    store.create(NAME, files(item=b"1", doc__a=b"a"), change())
    many: dict[str, Source] = {f"doc/{number}/{number}": Bytes(b"%d" % number) for number in range(300)}
    changes: tuple[Callable[[], object], ...] = (
        lambda: store.create(OTHER, many, change()),
        lambda: store.update(NAME, many, change()),
        lambda: store.purge_to(NAME, many, change()),
    )
    for make in changes:
        with pytest.raises(DiskRefused, match="No space left"):
            make()
        check(store)
    store.close()


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def test_every_amount_of_space_left_is_enough_or_refused(small_disk: Path) -> None:
    store = OcflStore(small_disk / "content")
    store.create(NAME, files(item=b"1", doc__a=b"a"), change())
    filling = small_disk / "filling"
    fill(filling)
    refused = 0
    for _ in range(40):
        try:
            store.create(OTHER, files(item=b"other"), change())
            break
        except DiskRefused:
            refused += 1
            check(store)
        os.truncate(filling, filling.stat().st_size - 4096)
    assert 0 < refused < 39
    assert everything_in(store, OTHER) == [{"item.txt": b"other"}]
    for _ in range(40):
        try:
            store.update(NAME, files(item=b"2"), change())
            break
        except DiskRefused:
            assert everything_in(store, NAME) == BEFORE
            assert list(store.verify(NAME)) == []
        os.truncate(filling, max(0, filling.stat().st_size - 4096))
    assert everything_in(store, NAME) == [*BEFORE, {"item.txt": b"2"}]
    store.close()


# A system call that fails.


@pytest.fixture(params=["whole file system", "each file"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OcflStore]:
    if request.param == "each file":
        monkeypatch.setattr(durability, "sync_file_system", lambda descriptor: False)
    store = OcflStore(tmp_path / "content")
    store.create(NAME, files(item=b"1", doc__a=b"a"), change())
    yield store
    store.close()


class FailingSystem:
    """The module `os`, of which one function fails at its n-th call and only then."""

    def __init__(self, function: str, call: int) -> None:
        self._function = function
        self._left = call

    def __getattr__(self, name: str) -> object:
        if name != self._function:
            return getattr(os, name)
        return self._fail

    def _fail(self, *arguments: object, **options: object) -> object:
        self._left -= 1
        if self._left == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return getattr(os, self._function)(*arguments, **options)

    @property
    def has_failed(self) -> bool:
        return self._left <= 0


@pytest.mark.parametrize("kind", ["create", "update", "purge"])
@pytest.mark.parametrize("function", ["fsync", "write", "mkdir", "rename", "link"])
def test_any_call_that_fails_changes_nothing(
    store: OcflStore, kind: str, function: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first call fails, then the second, and so on until all come through."""
    for call in range(1, 100):
        system = FailingSystem(function, call)
        upload = tmp_path / "upload"
        upload.write_bytes(b"upload")
        sources: dict[str, Source] = {"doc/b/c": Bytes(b"new"), "m": Move(str(upload))}
        with monkeypatch.context() as patch:
            for module in (durability, intake, parents, sweep, store_context, versions):
                patch.setattr(module, "os", system)
            make = making(store, kind)
            try:
                make(OTHER if kind == "create" else NAME, sources, change())
            except DiskRefused as refusal:
                assert "Input/output error" in str(refusal)
            else:
                break
        assert upload.read_bytes() == b"upload"
        check(store)
    assert not system.has_failed
    assert not upload.exists()
    name = OTHER if kind == "create" else NAME
    assert everything_in(store, name)[-1] == {"doc/b/c": b"new", "m": b"upload"}
    assert list(store.verify(name)) == []


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["create", "update", "purge"])
def test_an_interruption_at_any_step_before_the_last_changes_nothing(kind: str, step: str, tmp_path: Path) -> None:
    interrupting = False

    def on_step(name: str) -> None:
        if interrupting and name == step:
            raise KeyboardInterrupt

    store = OcflStore(tmp_path / "content", on_step)
    store.create(NAME, files(item=b"1", doc__a=b"a"), change())
    interrupting = True
    make = making(store, kind)
    done = f"{kind}: durable", "purge: old removed"
    try:
        make(OTHER if kind == "create" else NAME, files(item=b"2"), change())
    except KeyboardInterrupt:
        if step not in done:
            check(store)
    for name in store.iterate():
        assert list(store.verify(name)) == []
    store.close()
