"""What a backup has and keeps, what is refused, and from when on a restored directory mints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from ibi.backup.model.backup import RESTORE_MARK, BackupManifest, InvalidBackup, KeptItem
from ibi.backup.opening import SKEW, PutBack, back_up, restore, verify_backup
from ibi.backup.ports import BackupDamaged, BackupIncomplete, BackupRefused
from ibi.backup.service.backing_up import BackupOfAnother, BackupReport
from ibi.backup.store.packing import unpack_item
from ibi.backup.store.restored_directory import RestoredFiles
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store
from ibi.minting.model import MintRequest, TickState
from ibi.minting.ports import Remembered
from ibi.minting.rules.errors import ClockBehind
from ibi.minting.rules.minter import Decision, Rules, decide
from ibi.minting.store.ticks import SqliteTicks
from ibi.settings import load_settings
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.storage.errors import IdentityInUse
from ibi.storage.machine import MachineClocks
from ibi.transfers.store.transfers import SqliteTransferLedger
from tests.support.deposit_samples import CountedLabels, deposits, draft, dump, put, sources
from tests.support.minting_samples import IDENTITY

HERE = "machine"
NEVER = Instant.parse("2999-01-01T00:00:00Z")


class Place:
    """A data directory with three items, and what is done with it."""

    def __init__(self, home: Path) -> None:
        self.home, self.data = home, home / "data"
        self.items: list[Item] = []

    def begin(self) -> None:
        with open_store(self.data) as store:
            made = deposits(store, CountedLabels())
            self.items = [put(made, sources(a=f"text {number}".encode())) for number in range(3)]

    def back_up(self, name: str = "backup") -> BackupReport:
        return back_up(self.data, str(self.home / name), {})

    def restore(self, data: str = "new", name: str = "backup", **options: object) -> PutBack:
        settings = replace(load_settings({"data": str(self.home / data)}, {}), lock_dir=self.home / "locks")
        return restore(self.home / data, str(self.home / name), {}, reload=lambda: settings, **options)  # type: ignore[arg-type]

    def manifest(self, name: str = "backup") -> BackupManifest:
        return BackupManifest.decode(next((self.home / name / "manifests").iterdir()).read_bytes())

    def archives(self, name: str = "backup") -> list[bytes]:
        return [path.read_bytes() for path in (self.home / name / "items").rglob("*.tar")]

    def mint(self, data: str = "data") -> Instant:
        """The date of a label of the data directory."""

        def decision(state: TickState, remembered: Remembered) -> Decision:
            request = MintRequest(1, "ana")
            return decide(IDENTITY, Rules(), state, [request], MachineClocks().read(), remembered)

        with closing(SqliteTicks(self.home / data, machine=HERE, lock_directory=self.home / "locks")) as ticks:
            ticks.freeze(IDENTITY)
            made = ticks.advance(decision)
        if made.batch is None and isinstance(made.outcomes[0], IbiError):
            raise made.outcomes[0]
        assert made.batch is not None
        return made.batch.span().last

    def titles(self, data: str = "new") -> list[str]:
        with open_store(self.home / data) as store:
            assert not store.is_rebuilt
            assert all(not verified.problems for verified in store.verify())
            return [f"{item.rep} {item.version} {item.state}" for item in dump(store.catalog)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr("ibi.backup.opening.machine_id", lambda: HERE)
    place = Place(tmp_path)
    place.begin()
    return place


def test_a_second_backup_adds_what_is_new_and_what_was_purged_leaves(place: Place) -> None:
    first = place.back_up()
    assert (first.versions, first.manifest.items, first.manifest.number) == (3, 3, 1)
    second = place.back_up()
    assert (second.versions, second.manifest.number) == (0, 2)
    with open_store(place.data) as store:
        made = deposits(store, CountedLabels(10))
        changed, purged, deleted = (item.rep for item in place.items)
        made.update(changed, draft("a.txt"), sources(a=b"another text"), "ana")
        made.delete(purged, "withdrawn", "ana", purge=True)
        made.delete(deleted, "withdrawn", "ana")
        put(made, sources(a=b"text 3"))
        expected = [f"{item.rep} {item.version} {item.state}" for item in dump(store.catalog)]
    third = place.back_up()
    assert (third.versions, third.manifest.items) == (4, 4)
    kept = [sum(f"text {number}".encode() in archive for archive in place.archives()) for number in range(4)]
    assert kept == [1, 0, 1, 1]
    assert len(list((place.home / "backup" / "manifests").iterdir())) == 1
    verify_backup(str(place.home / "backup"), {})
    assert place.restore().report.items == 4
    assert place.titles() == expected


def test_the_archives_of_an_item_unpacked_in_order_are_its_object(place: Place) -> None:
    name = str(place.items[0].rep)
    with open_store(place.data) as store:
        made = deposits(store, CountedLabels(10))
        made.update(place.items[0].rep, draft("ã/b.txt"), sources(ã__b=b"another text"), "ana")
    place.back_up()
    for archive in sorted((place.home / "backup" / "items" / name).iterdir()):
        shutil.unpack_archive(archive, place.home / "object", "tar", filter="data")
    assert files_of(place.home / "object") == files_of(place.data / "store" / name)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_of_what_is_damaged_or_lost_the_backup_keeps_what_it_has(place: Place) -> None:
    place.back_up()
    before = place.archives()
    damaged, lost, _ = (str(item.rep) for item in place.items)
    next((place.data / "store" / damaged).rglob("a.txt")).write_bytes(b"tampered")
    shutil.rmtree(place.data / "store" / lost)
    # What was backed up is not read again.
    assert [name for name, _ in place.back_up().damaged] == [lost]
    assert place.archives() == before
    assert [name for name, _ in place.back_up("other").damaged] == [damaged]
    for inventory in (place.data / "store" / damaged).rglob("inventory.json"):
        inventory.write_bytes(b"{}")
        inventory.with_name("inventory.json.sha512").write_bytes(b"")
    assert {name for name, _ in place.back_up().damaged} == {damaged, lost}
    assert len(place.archives()) == 3
    place.restore()
    assert len(place.titles()) == 3


def test_an_item_that_was_dropped_leaves(place: Place) -> None:
    place.back_up()
    with open_store(place.data) as store:
        store.forget(place.items[0])
    assert place.back_up().damaged == []
    assert len(place.archives()) == 2


def test_a_damaged_database_stays_in_the_backup_as_it_was(place: Place) -> None:
    with closing(SqliteTransferLedger(place.data)) as ledger:
        ledger.note_untold(place.items[0].rep)
    place.back_up()
    with (place.data / "state.sqlite").open("r+b") as file:
        file.seek(4096)
        file.write(b"damage" * 500)
    again = place.back_up()
    assert [name for name, _ in again.damaged] == ["state.sqlite"]
    verify_backup(str(place.home / "backup"), {})
    place.restore()
    with closing(SqliteTransferLedger(place.home / "new")) as ledger:
        assert ledger.untold(10) == (place.items[0].rep,)
        assert ledger.has_lost_track()


def test_a_store_that_is_not_mounted_leaves_the_backup_alone(place: Place) -> None:
    place.back_up()
    held = files_of(place.home / "backup")
    (place.data / "store").rename(place.home / "elsewhere")
    (place.data / "store").mkdir()
    with pytest.raises(BackupRefused, match="see whether its disk is mounted"):
        place.back_up()
    assert files_of(place.home / "backup") == held


def test_a_directory_without_a_store_is_put_back_without_one(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.data.mkdir()
    (place.data / "ibi.toml").write_text("")
    (place.data / "keys").mkdir()
    (place.data / "keys" / "resolver.pem").touch(0o600)
    for name in (".partial", "a.lock", "x.sqlite-wal", "catalogue.sqlite.damaged-2026-01-01-1"):
        (place.data / name).write_text("not copied")
    place.back_up()
    place.restore()
    assert files_of(place.home / "new") == {"ibi.toml": b"", "keys/resolver.pem": b""}
    assert (place.home / "new" / "keys" / "resolver.pem").stat().st_mode & 0o777 == 0o600
    assert (place.home / "new").stat().st_mode & 0o777 == 0o700


def test_a_place_that_has_something_else_is_refused(place: Place) -> None:
    place.mint()
    place.back_up()
    other = Place(place.home / "other")
    other.begin()
    shutil.copytree(place.data / "mint", other.data / "mint")
    shutil.copytree(place.home / "backup", other.home / "backup")
    other.back_up()  # the same minter: its directory on another disk, say
    shutil.rmtree(other.data / "mint")
    with closing(SqliteTicks(other.data, machine=HERE, lock_directory=other.home / "locks")) as ticks:
        ticks.freeze(replace(IDENTITY, host="another.inpe.br"))
    with pytest.raises(BackupOfAnother, match="mtc-m18"):
        other.back_up()
    (place.home / "letters").mkdir()
    (place.home / "letters" / "a.txt").write_text("dear reader")
    with pytest.raises(BackupRefused, match=r"other files \(a.txt\)"):
        place.back_up("letters")
    for inside in ("data/backup", "."):
        with pytest.raises(BackupRefused, match="lie in each other"):
            place.back_up(inside)
    with pytest.raises(BackupRefused, match="is not empty"):
        place.restore("letters")
    with pytest.raises(BackupRefused, match="no complete backup"):
        place.restore("new", "letters")
    assert not (place.home / "new").exists()


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


Spoiling = pytest.mark.parametrize("spoil", [lambda file, at: flip(file, at), lambda file, _: file.unlink()])


def archive_of(place: Place, number: int, version: int = 1) -> Path:
    """The part of the backup that has a version of an item."""
    return next((place.home / "backup" / "items" / str(place.items[number].rep)).glob(f"v{version}-*.tar"))


def pieces_of(place: Place, content: bytes) -> list[Path]:
    """The parts of the backup that have a file of this content."""
    return list((place.home / "backup").rglob(sha256(content).hexdigest()))


def damaged_parts(place: Place) -> list[str]:
    return [part.key.rpartition("/")[2] for part in verify_backup(str(place.home / "backup"), {}).damaged]


@Spoiling
def test_a_check_names_every_damaged_part_and_the_next_backup_writes_it_again(
    place: Place, spoil: Callable[[Path, int], None]
) -> None:
    (place.data / "notes.txt").write_text("some notes")
    with open_store(place.data) as store:
        made = deposits(store, CountedLabels(10))
        made.update(place.items[1].rep, draft("a.txt"), sources(a=b"another text"), "ana")
    place.back_up()
    (notes,) = pieces_of(place, b"some notes")
    spoiled = [archive_of(place, 0), archive_of(place, 1), archive_of(place, 1, 2), notes]
    for file in spoiled:
        spoil(file, 3)
    assert damaged_parts(place) == [file.name for file in spoiled]
    with pytest.raises(BackupDamaged, match=r"4 damaged.*without 2 items and 1 files") as raised:
        place.restore()
    assert [part.key.rpartition("/")[2] for part in raised.value.parts] == [file.name for file in spoiled]
    assert (place.home / "new" / RESTORE_MARK).exists()
    again = place.back_up()
    assert (again.mended, again.damaged) == (4, [])
    assert damaged_parts(place) == []
    assert not (place.home / "backup" / "damaged.json").exists()
    done = place.restore()  # goes on where it broke off
    assert (done.report.items, done.report.there, done.report.damaged) == (3, 1, [])
    assert len(place.titles()) == 3
    assert (place.home / "new" / "notes.txt").read_text() == "some notes"


def test_what_is_damaged_in_the_data_directory_too_stays_in_the_backup_as_it_is(place: Place) -> None:
    place.back_up()
    file = archive_of(place, 0)
    flip(file, 3)
    spoiled = file.read_bytes()
    next((place.data / "store" / str(place.items[0].rep)).rglob("a.txt")).write_bytes(b"tampered")
    assert damaged_parts(place) == [file.name]
    again = place.back_up()
    assert (again.mended, [name for name, _ in again.damaged]) == (0, [str(place.items[0].rep)])
    assert file.read_bytes() == spoiled


@Spoiling
def test_what_everything_else_depends_on_is_there_twice(place: Place, spoil: Callable[[Path, int], None]) -> None:
    place.mint()
    (place.data / "keys").mkdir()
    (place.data / "keys" / "archive.pem").write_bytes(b"the key")
    place.back_up()
    backup = place.home / "backup"
    manifest = next((backup / "manifests").iterdir())
    listing = BackupManifest.decode(manifest.read_bytes()).listing.chunks[0]
    log, key = (place.data / "mint" / "mint.log").read_bytes(), b"the key"
    firsts = [
        manifest,
        *(
            backup / "chunks" / name[:2] / name
            for name in (listing, *(sha256(each).hexdigest() for each in (log, key)))
        ),
    ]
    for file in firsts:
        spoil(file, 3)
    assert sorted(damaged_parts(place)) == sorted(file.name for file in firsts)
    assert len(place.restore().report.manifest.files) > 2
    assert (place.home / "new" / "keys" / "archive.pem").read_bytes() == key
    assert len(place.titles()) == 3
    place.back_up()
    assert damaged_parts(place) == []


@pytest.mark.parametrize("path", ["keys/archive.pem", "mint/mint.log"])
def test_a_backup_without_what_must_not_be_lost_is_refused_before_anything_is_written(place: Place, path: str) -> None:
    (place.data / path).parent.mkdir(exist_ok=True)
    (place.data / path).write_bytes(b"the one and only\n")
    place.back_up()
    for file in pieces_of(place, b"the one and only\n"):
        flip(file, 3)
    for without_damaged in (False, True):
        with pytest.raises(BackupIncomplete, match=path):
            place.restore(without_damaged=without_damaged)
    assert not (place.home / "new").exists()


def test_a_restore_leaves_out_what_is_damaged_and_keeps_its_names(place: Place) -> None:
    with closing(SqliteTransferLedger(place.data)) as ledger:
        ledger.note_untold(place.items[0].rep)
    for name, content in (("one", b"record"), ("one/bytes", b"bytes of the draft"), ("two", b"another")):
        (place.data / "drafts" / name).mkdir(parents=True)
        (place.data / "drafts" / name / "file").write_bytes(content)
    with open_store(place.data) as store:
        made = deposits(store, CountedLabels(10))
        made.delete(place.items[1].rep, "withdrawn", "ana")
    place.back_up()
    flip(archive_of(place, 1, 2), 3)  # which says that the item is deleted
    database = next(file for file in place.manifest().files if file.path == "state.sqlite")
    for piece in (place.home / "backup").rglob(f"{database.chunks[0]}*"):  # with its twin
        flip(piece, 3)
    flip(pieces_of(place, b"bytes of the draft")[0], 3)
    done = place.restore(without_damaged=True)
    lost = str(place.items[1].rep)
    assert (done.report.items, list(done.report.left_out)) == (2, [lost])
    assert sorted(done.report.left_out_files) == ["drafts/one", "state.sqlite"]
    new = place.home / "new"
    assert json.loads((new / "left-out.json").read_bytes()) == {
        "items": [lost],
        "files": ["drafts/one", "state.sqlite"],
    }
    assert not (new / RESTORE_MARK).exists()
    assert len(place.titles()) == 2
    assert [path.name for path in (new / "drafts").iterdir()] == ["two"]
    with closing(SqliteTransferLedger(new)) as ledger:
        assert ledger.has_lost_track()
    # The next backup keeps what there is of it, until its name is removed from the list.
    place.data = new
    held = archive_of(place, 1).read_bytes()
    assert [name for name, _ in place.back_up().damaged] == [lost]
    assert archive_of(place, 1).read_bytes() == held
    (new / "left-out.json").unlink()
    assert place.back_up().damaged == []
    assert not (place.home / "backup" / "items" / lost).exists()


def test_a_backup_whose_list_of_items_is_lost_is_brought_up_to_date(place: Place) -> None:
    place.back_up()
    for file in (place.home / "backup").rglob(place.manifest().listing.chunks[0]):
        flip(file, 3)
    assert set(damaged_parts(place)) == {place.manifest().listing.chunks[0], "items"}
    for without_damaged in (False, True):
        with pytest.raises(BackupIncomplete, match="of items"):
            place.restore(without_damaged=without_damaged)
    lost = str(place.items[0].rep)
    shutil.rmtree(place.data / "store" / lost)
    assert [name for name, _ in place.back_up().damaged] == [lost]
    assert damaged_parts(place) == []
    assert len(place.archives()) == 3


def test_every_bit_of_an_archive_that_is_unpacked_counts(place: Place) -> None:
    """One that is neither noticed nor changes what is unpacked is padding."""
    place.back_up()
    file = min((place.home / "backup" / "items").rglob("*.tar"))
    whole = file.read_bytes()
    item = KeptItem(str(place.items[0].rep), (file.stem.partition("-")[2],))

    def unpacked(content: bytes) -> dict[str, bytes] | None:
        found: dict[str, bytes] = {}

        def keep(path: str, pieces: Iterator[bytes]) -> None:
            found[path] = b"".join(pieces)

        try:
            unpack_item(item, lambda _: iter((content,)), keep, "the backup")
        except BackupIncomplete:
            return None
        return found

    right = unpacked(whole)
    assert right == files_of(place.data / "store" / item.name)
    noticed = 0
    for at in range(0, len(whole), 31):
        content = bytearray(whole)
        content[at] ^= 1
        found = unpacked(bytes(content))
        assert found in (None, right), at
        noticed += found is None
    assert noticed > 100
    assert unpacked(whole[:-3000]) is None
    assert unpacked(b"") is None


def test_a_restored_directory_goes_on_with_a_newer_backup(place: Place) -> None:
    place.back_up()

    class Interrupted(Exception):
        pass

    def stop(step: str) -> None:
        if step == "files settled":
            raise Interrupted

    with pytest.raises(Interrupted):
        place.restore(on_step=stop)
    (place.home / "new" / "from-the-old-one").touch()
    with open_store(place.data) as store:
        made = deposits(store, CountedLabels(10))
        made.update(place.items[0].rep, draft("a.txt"), sources(a=b"another text"), "ana")
        store.forget(place.items[1])
        expected = [f"{item.rep} {item.version} {item.state}" for item in dump(store.catalog)]
    place.back_up()
    done = place.restore()
    assert (done.report.items, done.report.there) == (2, 1)
    assert place.titles() == expected
    assert not (place.home / "new" / "from-the-old-one").exists()


def test_a_database_is_put_back_without_what_a_killed_run_left_beside_it(place: Place) -> None:
    place.mint()
    place.back_up()

    class Interrupted(Exception):
        pass

    def stop(step: str) -> None:
        if step == "files settled":
            raise Interrupted

    with pytest.raises(Interrupted):
        place.restore(on_step=stop)
    left = list((place.home / "new").rglob("*.sqlite"))
    assert left
    for path in left:
        path.with_name(f"{path.name}-wal").write_bytes(b"what belongs to another state of it")
        path.with_name(f"{path.name}-journal").write_bytes(b"what belongs to another state of it")

    found: list[Path] = []

    def look(step: str) -> None:
        if step == "files settled":
            found.extend(path for path in (place.home / "new").rglob("*") if path.name.endswith(("-wal", "-journal")))

    place.restore(on_step=look)

    assert found == []
    assert len(place.titles()) == 3


def test_a_restore_that_waited_for_the_lock_of_one_that_has_finished_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.back_up()
    hold = RestoredFiles._hold

    def hold_late(files: RestoredFiles) -> None:
        monkeypatch.setattr(RestoredFiles, "_hold", hold)
        place.restore()
        hold(files)

    monkeypatch.setattr(RestoredFiles, "_hold", hold_late)
    with pytest.raises(BackupRefused, match="not empty"):
        place.restore()

    assert len(place.titles()) == 3


def test_labels_go_on_after_all_that_this_machine_has_seen(place: Place) -> None:
    place.mint()
    place.back_up()
    last = [place.mint() for _ in range(5)][-1]
    done = place.restore(old=place.data)
    assert done.minted_until == last
    assert done.mints_after is not None
    assert done.mints_after > last
    with pytest.raises(IdentityInUse, match=str(place.data)):
        place.mint("new")
    known = (place.data / "mint" / "mint.log").read_bytes()
    assert (place.home / "new" / "mint" / "mint.log").read_bytes().startswith(known)
    shutil.rmtree(place.data)
    assert place.mint("new") > done.mints_after


def test_a_log_that_was_tampered_with_is_taken_over_up_to_there(place: Place) -> None:
    place.mint()
    place.back_up()
    for _ in range(3):
        place.mint()
    log = place.data / "mint" / "mint.log"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:-2], lines[-2].replace(b"ana", b"eva"), lines[-1]]))
    place.restore(old=place.data)
    restored = (place.home / "new" / "mint" / "mint.log").read_bytes().splitlines(keepends=True)
    assert restored[: len(lines) - 1] == [*lines[:-2], lines[-2].replace(b"ana", b"eva")]
    assert lines[-1] not in restored
    shutil.rmtree(place.data)
    log.parent.mkdir(parents=True)
    log.write_bytes(b"another log\n")
    shutil.rmtree(place.home / "new")
    place.restore(old=place.data)
    assert (place.home / "new" / "mint" / "mint.log").read_bytes().startswith(b"".join(lines[:2]))


def test_where_nothing_is_known_of_the_old_server_its_clock_may_have_been_ahead(place: Place) -> None:
    place.mint()
    place.back_up()
    place.mint()
    shutil.rmtree(place.home / "locks")
    before = MachineClocks().read().wall
    done = place.restore()
    assert done.mints_after is not None
    assert done.mints_after.as_fraction() >= before.as_fraction() + SKEW
    assert done.minted_until == done.report.manifest.issued


def test_a_clock_behind_what_an_operator_says_was_issued_refuses(place: Place) -> None:
    place.mint()
    place.back_up()
    shutil.rmtree(place.home / "locks")
    assert place.restore(issued_until=NEVER).mints_after == NEVER
    shutil.rmtree(place.data)
    with pytest.raises(ClockBehind, match="2999"):
        place.mint("new")


def test_what_is_left_of_the_old_directory_is_compared(place: Place) -> None:
    place.back_up()
    with open_store(place.data) as store:
        made = deposits(store, CountedLabels(10))
        made.update(place.items[1].rep, draft("a.txt"), sources(a=b"another text"), "ana")
        newest = put(made, sources(a=b"text 3"))
    assert place.restore(old=place.data).newer == [str(place.items[1].rep), str(newest.rep)]


def test_what_is_added_to_while_it_is_read_is_taken_in_whole_lines(place: Place) -> None:
    place.mint()
    log = place.data / "mint" / "mint.log"
    whole = log.read_bytes()
    with log.open("ab") as file:
        file.write(b'{"number":')
    place.back_up()
    place.restore()
    assert (place.home / "new" / "mint" / "mint.log").read_bytes().startswith(whole)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"schema": 2, "issued": null}', b"\xff", b"[" * 100_000, b'{"schema": "x", "issued": null}'],
)
def test_a_manifest_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidBackup):
        BackupManifest.decode(content)


def test_a_manifest_leads_nowhere_else(place: Place) -> None:
    manifest = place.back_up().manifest
    assert BackupManifest.decode(manifest.encode()) == manifest
    for path in ("../etc/passwd", "/etc/passwd", "a/../../b", ""):
        outside = replace(manifest, files=(replace(manifest.files[0], path=path),))
        with pytest.raises(InvalidBackup):
            BackupManifest.decode(outside.encode())


@pytest.mark.parametrize(
    "line", [b"", b"a b", b"../../x/y " + b"0" * 32, b"sid.inpe.br/mtc-m18@80/2009/02.16.17.46 00"]
)
def test_a_line_that_lists_no_item_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidBackup):
        KeptItem.decode(line)
