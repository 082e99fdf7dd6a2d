"""What the port does not tell: how content lies on the disk, and what a hostile disk can do."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from ibi.items.model.content import Bytes, Copy, Keep, Move, Stream
from ibi.items.ports.archive_store import ContentDamaged, ContentExists, ContentMissing, SourceRefused
from ibi.items.store.ocfl import durability
from ibi.items.store.ocfl.durability import FileSystem
from ibi.items.store.ocfl.intake import CHUNK
from ibi.items.store.ocfl.layout import ensure_version, lay_out
from ibi.items.store.ocfl.object import ObjectDirectory
from ibi.items.store.ocfl.store import OcflStore
from ibi.storage.errors import DiskRefused, NotAStore, StoreClosed, StoreForked, StoreNewer
from ibi.storage.machine import sync_file_system
from tests.support.content_samples import (
    NAME,
    OTHER,
    change,
    content_of,
    everything_in,
    files,
    ocfl_py_says,
    prepare_ocfl_py,
    stream,
)


@pytest.fixture(params=["whole file system", "each file"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OcflStore]:
    if request.param == "each file":
        monkeypatch.setattr(durability, "sync_file_system", lambda descriptor: False)
    store = OcflStore(tmp_path / "data" / "content")
    yield store
    store.close()


def test_what_is_read_in_is_closed_again(store: OcflStore, tmp_path: Path) -> None:
    for name in ("copied", "moved"):
        (tmp_path / name).write_bytes(name.encode())
    store.create(OTHER, {"a": Copy(str(tmp_path / "copied")), "b": Move(str(tmp_path / "moved"))}, change())
    opened = {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    assert not [
        path for path in opened if path.startswith(f"{tmp_path}/") and path.endswith(("copied", "moved", "/a", "/b"))
    ]


def tree(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def test_an_object_lies_at_the_four_directories_of_its_name(store: OcflStore) -> None:
    store.create(NAME, files(item=b"{}", doc__a=b"text", doc__same=b"text"), change("first"))
    store.update(NAME, {"item.txt": Bytes(b"[]"), "doc/c.txt": Keep("doc/a.txt"), "d": stream(b"text")}, change("2nd"))
    place = store.root / "sid.inpe.br" / "mtc-m18@80" / "2009" / "02.16.17.46"
    assert tree(place) == {
        "0=ocfl_object_1.1",
        "inventory.json",
        "inventory.json.sha512",
        "v1/inventory.json",
        "v1/inventory.json.sha512",
        "v1/content/item.txt",
        "v1/content/doc/a.txt",
        "v2/inventory.json",
        "v2/inventory.json.sha512",
        "v2/content/item.txt",
    }
    inventory = json.loads((place / "inventory.json").read_bytes())
    assert inventory["id"] == f"ibi:{NAME}"
    assert inventory["versions"]["v1"]["user"] == {"name": "Ana Ávila", "address": "mailto:ana@inpe.br"}
    assert inventory["versions"]["v1"]["message"] == "first"
    assert ocfl_py_says(place) == []


def test_every_kind_of_version_is_valid_elsewhere(store: OcflStore, tmp_path: Path) -> None:
    (tmp_path / "upload").write_bytes(b"upload")
    store.create(NAME, {"doc/ü/1": Move(str(tmp_path / "upload")), "x": stream(b"x" * 2_000_000)}, change())
    store.update(NAME, {"doc/ü/2": Keep("doc/ü/1")}, change())
    store.update(NAME, {}, change())
    assert ocfl_py_says(store.root / NAME) == []
    store.purge_to(NAME, files(item=b"gone"), change())
    assert ocfl_py_says(store.root / NAME) == []
    assert (store.root / NAME / "v1/content/item.txt").stat().st_nlink == 1


def test_the_root_is_valid_elsewhere(store: OcflStore) -> None:
    prepare_ocfl_py()
    from ocfl.storage_root import StorageRoot

    store.create(NAME, files(a=b"1"), change())
    store.create(OTHER, files(a=b"2"), change())
    assert StorageRoot(root=str(store.root)).validate(validate_objects=True)


def test_a_moved_file_is_not_copied(store: OcflStore, tmp_path: Path) -> None:
    upload = tmp_path / "upload"
    upload.write_bytes(b"x")
    upload.chmod(0o600)
    number = upload.stat().st_ino
    store.create(NAME, {"a": Move(str(upload))}, change())
    kept = (store.root / NAME / "v1/content/a").stat()
    assert (kept.st_ino, kept.st_nlink, kept.st_mode & 0o777) == (number, 1, 0o644)


def test_a_file_with_two_names_is_copied(store: OcflStore, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x")
    (tmp_path / "other").hardlink_to(tmp_path / "one")
    store.create(NAME, {"a": Move(str(tmp_path / "one"))}, change())
    (tmp_path / "other").write_bytes(b"y")
    assert content_of(store, NAME, "a") == b"x"
    assert not (tmp_path / "one").exists()


def test_pipes_sockets_and_devices_are_refused(store: OcflStore, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "socket"))
    for place in (tmp_path / "pipe", tmp_path / "socket", Path("/dev/zero"), Path("/dev/null")):
        for kind in (Copy, Move):
            with pytest.raises(SourceRefused, match=place.name):
                store.create(NAME, {"a": kind(str(place))}, change())
    with pytest.raises(SourceRefused):
        store.create(NAME, {"a": Copy("\0")}, change())
    assert nothing_is_left(store)


def nothing_is_left(store: OcflStore) -> bool:
    """Neither in staging nor, as an empty directory, in the root."""
    staged = [path for path in store.root.with_name("content-staging").rglob("*") if path.name != "lock"]
    folders = [path for path in store.root.rglob("*") if path.is_dir() and not any(path.iterdir())]
    return not folders and all(path.parent.name == "content-staging" for path in staged)


def test_nothing_is_left_of_changes_made_or_refused(store: OcflStore) -> None:
    with pytest.raises(SourceRefused):
        store.create(NAME, {"doc/a": Bytes(b"1"), "b": Copy("/nowhere")}, change())
    assert nothing_is_left(store)
    store.create(NAME, files(a=b"1"), change())
    store.update(NAME, files(a=b"2"), change())
    with pytest.raises(SourceRefused):
        store.update(NAME, {"a": Copy("/nowhere")}, change())
    store.purge_to(NAME, files(a=b"3"), change())
    assert nothing_is_left(store)


@pytest.mark.parametrize("depth", range(1, 5))
def test_a_link_in_the_place_of_a_directory_leads_nowhere(store: OcflStore, depth: int, tmp_path: Path) -> None:
    store.create(NAME, files(a=b"1"), change())
    place = store.root.joinpath(*NAME.split("/")[:depth])
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    for call in (lambda: store.read(NAME), lambda: store.open(NAME, "a.txt"), lambda: list(store.verify(NAME))):
        with pytest.raises((ContentMissing, ContentDamaged)):
            call()
    assert list(store.iterate()) == []


@pytest.mark.parametrize("place", ["v1/content/a.txt", "v1/content", "v1"])
def test_content_behind_a_link_is_not_opened(store: OcflStore, place: str, tmp_path: Path) -> None:
    store.create(NAME, files(a=b"1"), change())
    (store.root / NAME / place).rename(tmp_path / "elsewhere")
    (store.root / NAME / place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ContentDamaged, match="E092"):
        store.open(NAME, "a.txt")


def test_an_inventory_that_leads_out_of_the_object_opens_nothing(store: OcflStore, tmp_path: Path) -> None:
    from ibi.items.store.ocfl.object import sidecar_of

    store.create(NAME, files(a=b"1"), change())
    (tmp_path / "secret").write_bytes(b"secret")
    place = store.root / NAME
    hostile = (
        (place / "inventory.json").read_bytes().replace(b"v1/content/a.txt", b"v1/content/../../../../../../secret")
    )
    for folder in (place, place / "v1"):
        (folder / "inventory.json").write_bytes(hostile)
        (folder / "inventory.json.sha512").write_bytes(sidecar_of(hostile))
    with pytest.raises(ContentDamaged, match="E099"):
        store.open(NAME, "a.txt")


def test_what_others_change_is_seen_at_once(store: OcflStore) -> None:
    other = OcflStore(store.root)
    store.create(NAME, files(a=b"1"), change())
    assert content_of(other, NAME, "a.txt") == b"1"
    other.update(NAME, files(a=b"2"), change())
    assert content_of(store, NAME, "a.txt") == b"2"
    store.purge_to(NAME, files(a=b"3"), change())
    assert everything_in(other, NAME) == [{"a.txt": b"3"}]
    other.close()


def test_a_file_opened_while_its_object_is_purged_is_the_new_one(
    store: OcflStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create(NAME, files(a=b"old"), change())
    opening = ObjectDirectory.open

    def purged_just_before(found: ObjectDirectory, place: str) -> int:
        monkeypatch.setattr(ObjectDirectory, "open", opening)
        store.purge_to(NAME, files(a=b"new"), change())
        return opening(found, place)

    monkeypatch.setattr(ObjectDirectory, "open", purged_just_before)
    assert content_of(store, NAME, "a.txt") == b"new"


def test_a_sweep_leaves_alone_what_others_prepare(store: OcflStore) -> None:
    other = OcflStore(store.root)
    seen = []

    def read(length: int) -> bytes:
        seen.append(store.sweep())
        return b"x" if len(seen) == 1 else b""

    from ibi.items.model.content import Stream

    other.create(NAME, {"a": Stream(read)}, change())
    assert content_of(store, NAME, "a") == b"x"
    assert seen == [(), ()]
    other.close()


def test_something_else_in_the_place_of_an_object_is_left_alone(store: OcflStore) -> None:
    place = store.root / NAME
    place.parent.mkdir(parents=True)
    place.write_bytes(b"mine")
    with pytest.raises(ContentExists):
        store.create(NAME, files(a=b"1"), change())
    assert place.read_bytes() == b"mine"


def test_a_directory_that_is_not_a_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "letter.txt").write_bytes(b"dear")
    with pytest.raises(NotAStore, match="not empty"):
        OcflStore(tmp_path / "content")


def test_a_root_that_lost_its_declaration_is_one_again_once_that_is_made_as_the_refusal_says(tmp_path: Path) -> None:
    root = tmp_path / "store"
    lay_out(root)
    (root / "lab.br").mkdir()
    (root / "0=ocfl_1.1").unlink()
    with pytest.raises(
        NotAStore, match=r"no file 0=ocfl_1\.1; if that was lost, make it again with the one line ocfl_1\.1"
    ):
        lay_out(root)
    (root / "0=ocfl_1.1").write_text("ocfl_1.1\n")
    lay_out(root)


def test_a_closed_store_says_so(store: OcflStore) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreClosed):
        store.read(NAME)


def test_each_process_opens_its_own(store: OcflStore) -> None:
    def try_it() -> None:
        try:
            store.read(NAME)
        except StoreForked:
            os._exit(7)

    child = multiprocessing.get_context("fork").Process(target=try_it)
    child.start()
    child.join()
    assert child.exitcode == 7


# Its version.


def version(place: Path) -> object:
    return json.loads((place / "ibi-store.json").read_bytes())["version"]


def test_a_new_store_has_the_version_known(store: OcflStore) -> None:
    assert version(store.root.parent) == 1


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ibi-store.json").write_text('{"version": 2}')
    with pytest.raises(StoreNewer, match="format 2, this one knows 1"):
        OcflStore(tmp_path / "content")
    assert not (tmp_path / "content").exists()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": "1"}', '{"version": 0}', '{"version": true}', "\0"])
def test_a_version_that_makes_no_sense_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "ibi-store.json").write_text(text)
    with pytest.raises(NotAStore):
        OcflStore(tmp_path / "content")


def test_an_older_store_is_brought_up_after_a_backup(store: OcflStore) -> None:
    store.create(NAME, files(item=b"1"), change())
    root, backup, seen = store.root, store.root.with_name("content-backup-of-version-1"), []

    def second(root: Path) -> None:
        seen.append(("second", version(root.parent), (backup / NAME / "inventory.json").is_file()))

    def third(root: Path) -> None:
        seen.append(("third", version(root.parent), version(backup) == 1))

    ensure_version(root, {1: second, 2: third}, 3)
    assert seen == [("second", 1, True), ("third", 2, True)]
    assert version(root.parent) == 3
    assert not (backup / NAME / "v1" / "content").exists()
    ensure_version(root, {}, 3)


def test_a_migration_that_failed_is_tried_again_and_the_first_backup_stays(store: OcflStore) -> None:
    root = store.root

    def fail(root: Path) -> None:
        (root / "half").write_bytes(b"")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ensure_version(root, {1: fail}, 2)
    assert version(root.parent) == 1
    ensure_version(root, {1: lambda root: (root / "half").unlink()}, 2)
    assert version(root.parent) == 2
    assert not (root.with_name("content-backup-of-version-1") / "half").exists()


# Syncing for several at once.


def test_a_failed_sync_fails_every_change_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = OcflStore(tmp_path / "content")
    work = store._work
    with work.change("create") as other:
        monkeypatch.setattr(durability, "sync_file_system", failing)
        with pytest.raises(DiskRefused, match="Input/output error"):
            store.create(NAME, files(a=b"1"), change())
        monkeypatch.undo()
        # The system told of the failure once; it may have been this change's file.
        with pytest.raises(OSError, match="not written"):
            other.batch.sync()
    store.create(NAME, files(a=b"1"), change())
    store.close()


def failing(descriptor: int) -> bool:
    raise OSError(5, "Input/output error")


def test_a_sync_serves_all_who_came_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event

    calls: list[int] = []
    begun, go_on = Event(), Event()

    def slow(descriptor: int) -> bool:
        calls.append(descriptor)
        begun.set()
        return go_on.wait(60)

    monkeypatch.setattr(durability, "sync_file_system", slow)
    file_system = FileSystem(str(tmp_path))
    with ThreadPoolExecutor(16) as pool:
        first = pool.submit(file_system.sync)
        assert begun.wait(60)
        others = [pool.submit(file_system.sync) for _ in range(15)]
        while len(file_system._shared._finish._waiters) < 15:  # type: ignore[attr-defined]
            pass
        go_on.set()
        assert all(each.result(60) for each in (first, *others))
    assert len(calls) == 2  # of the first, and of all who came meanwhile
    file_system.close()


def test_changes_at_the_same_time_share_their_syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the whole for the content of all, then one of the directory that they lie in."""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event

    whole: list[int] = []
    directories: list[str] = []
    begun, go_on = Event(), Event()

    def sync_whole(descriptor: int) -> bool:
        whole.append(descriptor)
        return sync_file_system(descriptor)

    def on_step(step: str) -> None:
        if step == "create: staged":
            begun.set()
            assert go_on.wait(60)

    store = OcflStore(tmp_path / "content", on_step)
    names = [f"sid.inpe.br/mtc-m18@80/2009/02.16.17.{minute}" for minute in (10, 11, 12, 13)]
    monkeypatch.setattr(durability, "sync_file_system", sync_whole)
    with ThreadPoolExecutor(4) as pool:
        made = [pool.submit(store.create, names[0], files(a=b""), change())]
        assert begun.wait(60)
        for number, name in enumerate(names[1:], 1):
            made.append(pool.submit(store.create, name, files(a=name.encode()), change()))
            while len(store._together._waiting) < number:
                pass
        whole.clear()
        monkeypatch.setattr(durability, "_sync_directory", directories.append)
        go_on.set()
        assert [future.result(60).name for future in made] == names
    assert len(whole) == 2  # of the first, and of the three that came meanwhile
    assert directories.count(f"{store.root}/sid.inpe.br/mtc-m18@80/2009") == 2
    assert list(store.iterate()) == names
    assert [list(store.verify(name)) for name in names] == [[]] * 4
    store.close()


def test_a_directory_that_cannot_be_synced_fails_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = OcflStore(tmp_path / "content")
    store.create(NAME, files(a=b"1"), change())
    monkeypatch.setattr(durability, "_sync_directory", failing)
    with pytest.raises(DiskRefused, match="Input/output error"):
        store.create(OTHER, files(a=b"1"), change())
    assert list(store.iterate()) == [NAME]
    monkeypatch.undo()
    store.create(OTHER, files(a=b"1"), change())
    store.close()


def test_what_is_small_is_written_where_it_belongs_whatever_pieces_it_came_in(tmp_path: Path) -> None:
    """And what is large too: as it comes, by way of a file in staging."""
    store = OcflStore(tmp_path / "content")
    sizes = {"none": 0, "small": 3, "limit": CHUNK, "below": CHUNK - 1, "above": CHUNK + 1, "large": 3 * CHUNK}
    contents = {name: Random(name).randbytes(size) for name, size in sizes.items()}
    sources = {name: _in_pieces(content) for name, content in contents.items()}
    store.create(NAME, {**sources, "again/small": Bytes(contents["small"])}, change())
    assert everything_in(store, NAME) == [{**contents, "again/small": contents["small"]}]
    assert list(store.verify(NAME)) == []
    assert ocfl_py_says(store.root / NAME) == []
    store.close()


def _in_pieces(content: bytes) -> Stream:
    pieces = iter([content[start : start + 100_000] for start in range(0, len(content), 100_000)])
    return Stream(lambda length: next(pieces, b""))
