"""Drafts published: once, whatever dies between; and what is left when the disk is full."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import shutil
import threading
from collections.abc import Iterator
from hashlib import sha512
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from ibi.deposits.model import DraftRecord
from ibi.deposits.rules.drafts import (
    DepositTooLarge,
    DraftBusy,
    DraftOutdated,
    DraftPublished,
    DraftRules,
    Holding,
    UnknownDraft,
)
from ibi.deposits.service import uploads as draft_uploads
from ibi.deposits.service.drafts import Drafts
from ibi.deposits.service.ledger import Depositor, DraftView
from ibi.deposits.store import draft_files
from ibi.deposits.store.draft_files import DraftFiles
from ibi.items.model.item import Description, Item
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.opening.archive_store import open_store
from ibi.items.ports.archive_store import ContentChanged, UploadDamaged
from ibi.items.rules.errors import SecondSuccessor
from ibi.items.rules.life_cycle import Updated
from ibi.items.service.deposits import Deposits
from ibi.people.model.account import Scope
from ibi.standard.storage_errors import DiskFull, DraftDamaged
from ibi.storage.errors import DiskRefused
from tests.support.deposit_samples import CountedLabels
from tests.support.running_jobs import running
from tests.support.set_clocks import SetClocks

ANA, OTHER, LIBRARIAN = (
    Depositor("service:ana", "ana"),
    Depositor("service:o", "o"),
    Depositor("service:l", "l", Scope.EDIT),
)
DESCRIBED = Description(metadata=DescriptiveMetadata(title=(Text("Uma tese"),)))


class Died(BaseException):
    """Stands for SIGKILL: nothing catches it."""


class Desk:
    """A store, its drafts, and a step at which everything ends."""

    def __init__(self, data: Path) -> None:
        self.data, self.clocks, self.labels = data, SetClocks(), CountedLabels()
        self.dies_at: str | None = None
        self.open()

    def open(self) -> None:
        self.store = open_store(self.data, on_step=self._step, boot="boot")
        self.files = DraftFiles(self.data, self.clocks)
        self.drafts = Drafts(self.files, self.store, self.clocks, DraftRules(10_000, 30))

    def _step(self, step: str) -> None:
        if step == self.dies_at:
            self.dies_at = None
            raise Died

    def restart(self) -> None:
        self.store.close()
        self.open()

    def begin(self, description: Description = DESCRIBED, *names: str) -> str:
        view = self.drafts.begin(ANA, description)
        for name in names or ("a.txt",):
            self.send(view.record.id, name)
        return view.record.id

    def send(self, draft: str, name: str, content: bytes = b"content") -> None:
        upload = self.drafts.uploads.begin(ANA, draft, name, len(content))
        upload.write(content)
        upload.finish(None)

    def publish(self, draft: str, key: str | None = None) -> Item:
        return self.drafts.publish(ANA, draft, self.labels, key=key).item

    @property
    def items(self) -> list[Item]:
        return list(self.store.catalog.items())


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.store.close()


STEPS = ["labels reserved", "change noted", "create: durable", "content kept", "item listed", "change done"]


@pytest.mark.parametrize("step", STEPS)
def test_a_publication_that_died_is_asked_for_again_and_makes_one_item(desk: Desk, step: str) -> None:
    draft = desk.begin()
    desk.dies_at = step
    with pytest.raises(Died):
        desk.publish(draft)
    desk.restart()
    item = desk.publish(draft)
    assert desk.items == [item]
    assert desk.labels.given == 1
    assert [verified.problems for verified in desk.store.verify()] == [()]
    assert desk.publish(draft) == item


@pytest.mark.parametrize("step", STEPS)
def test_a_publication_of_an_edition_that_died_makes_one_item_when_asked_for_again(desk: Desk, step: str) -> None:
    old = desk.publish(desk.begin())
    draft = desk.begin(Description(metadata=DESCRIBED.metadata, edition_of=old.labels))
    desk.dies_at = step
    with pytest.raises(Died):
        desk.publish(draft)
    desk.restart()
    new = desk.publish(draft)
    assert len(desk.items) == 2
    assert desk.store.find(old.rep).next_edition == new.labels


@pytest.mark.parametrize("size", [7, 100_000, 3_000_000])
@pytest.mark.parametrize("is_old", [False, True], ids=["", "received by an earlier version"])
def test_an_upload_that_the_disk_has_changed_is_not_published(desk: Desk, size: int, is_old: bool) -> None:
    desk.drafts = Drafts(desk.files, desk.store, desk.clocks, DraftRules(10_000_000, 30))
    draft, content = desk.drafts.begin(ANA, DESCRIBED).record.id, b"c" * size
    desk.send(draft, "a.txt", content)
    (record,) = (desk.data / "drafts" / draft / "files").iterdir()
    (place,) = (desk.data / "drafts" / draft / "bytes").iterdir()
    if is_old:
        said = json.loads(record.read_text())
        del said["seal"]
        record.write_text(json.dumps(said))
    for changed in (content[:-1] + b"x", content[:-1], content + b"c"):
        place.write_bytes(changed)
        with pytest.raises(UploadDamaged, match=r"^'a\.txt': what is kept of this file is not what was sent"):
            desk.publish(draft)
    assert desk.items == []
    place.write_bytes(content)
    assert desk.publish(draft).files[0].sha512 == sha512(content).hexdigest()
    assert [verified.problems for verified in desk.store.verify()] == [()]


def test_the_digest_in_the_record_of_an_upload_is_not_believed_either(desk: Desk) -> None:
    draft = desk.begin()
    (record,) = (desk.data / "drafts" / draft / "files").iterdir()
    record.write_text(json.dumps({**json.loads(record.read_text()), "sha512": "0" * 128}))
    with pytest.raises(UploadDamaged):
        desk.publish(draft)
    assert desk.items == []


def test_the_record_of_a_publication_may_be_lost(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = desk.begin()
    monkeypatch.setattr(desk.files, "conclude", _refuse)
    item = desk.publish(draft)
    monkeypatch.undo()
    assert desk.publish(draft) == item
    assert desk.items == [item]


def _refuse(_: DraftRecord) -> None:
    raise DiskRefused(path="draft.json", reason="no")


def test_a_published_draft_leaves_the_list_and_gives_its_item_again(desk: Desk) -> None:
    draft, other = desk.begin(), desk.begin()
    item = desk.publish(draft)
    assert [view.record.id for view in desk.drafts.list(ANA)] == [other]
    assert [path.name for path in desk.data.glob("drafts/draft-*")] == [other]
    desk.restart()
    assert desk.publish(draft) == item
    assert desk.drafts.find(ANA, draft).record.publication is not None


def test_a_published_draft_whose_folder_was_left_gives_its_item_and_is_swept(desk: Desk) -> None:
    """By a crash between the two."""
    draft = desk.begin()
    folder, aside = desk.data / "drafts" / draft, desk.data / "aside"
    shutil.copytree(folder, aside)
    item = desk.publish(draft)
    aside.rename(folder)
    desk.restart()
    assert (desk.publish(draft), desk.drafts.list(ANA)) == (item, ())
    assert desk.drafts.holding(ANA) == Holding()
    desk.drafts.sweep()
    assert not folder.exists()
    assert desk.publish(draft) == item


def test_a_draft_that_an_earlier_version_has_published_gives_its_item(desk: Desk) -> None:
    """It was left in its folder, without files."""
    draft = desk.begin()
    folder = desk.data / "drafts" / draft
    item = desk.publish(draft)
    folder.mkdir()
    (desk.data / "drafts" / "published" / f"{draft}.json").rename(folder / "draft.json")
    desk.restart()
    for _ in range(2):
        assert (desk.publish(draft), desk.drafts.list(ANA)) == (item, ())
        assert desk.drafts.holding(ANA) == Holding()
        desk.drafts.sweep()
    assert not folder.exists()
    desk.clocks.advance(49 * 3600)
    assert desk.drafts.sweep() == 1


def test_the_record_of_an_update_may_be_lost_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    item = desk.publish(desk.begin())
    draft = desk.drafts.begin_update(ANA, item.rep).record.id
    desk.send(draft, "b.txt")
    monkeypatch.setattr(desk.files, "conclude", _refuse)
    assert desk.publish(draft).version == 2
    monkeypatch.undo()
    assert desk.publish(draft).version == 2
    assert desk.store.find(item.rep).version == 2


def test_an_update_whose_answer_was_lost_is_known_by_what_it_made(desk: Desk) -> None:
    item = desk.publish(desk.begin())
    draft = desk.drafts.begin_update(ANA, item.rep).record.id
    desk.send(draft, "b.txt")
    desk.dies_at = "content kept"
    with pytest.raises(Died):
        desk.publish(draft)
    desk.restart()
    assert desk.publish(draft).version == 2
    assert desk.store.find(item.rep).version == 2


def test_what_another_caller_has_changed_meanwhile_is_not_overwritten(desk: Desk) -> None:
    item = desk.publish(desk.begin())
    mine, theirs = (desk.drafts.begin_update(ANA, item.rep).record.id for _ in range(2))
    desk.send(theirs, "theirs.txt")
    desk.publish(theirs)
    with pytest.raises(DraftOutdated):
        desk.publish(mine)
    desk.send(mine, "mine.txt")
    with pytest.raises(DraftOutdated):
        desk.publish(mine)


def test_an_item_that_changes_after_the_last_look_at_it_is_not_overwritten(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = desk.publish(desk.begin())
    mine, theirs = (desk.drafts.begin_update(ANA, item.rep).record.id for _ in range(2))
    desk.send(theirs, "theirs.txt")
    desk.send(mine, "mine.txt")
    update = Deposits.update

    def late(deposits: Deposits, *given: Any, **named: Any) -> Updated:
        monkeypatch.setattr(Deposits, "update", update)
        desk.publish(theirs)
        return update(deposits, *given, **named)

    monkeypatch.setattr(Deposits, "update", late)
    with pytest.raises(ContentChanged):
        desk.publish(mine)

    assert [file.path for file in desk.store.find(item.rep).files] == ["a.txt", "theirs.txt"]
    with pytest.raises(DraftOutdated):  # and nothing of it is lost: its bytes are there for another draft
        desk.publish(mine)
    assert [file.path for file in desk.drafts.find(ANA, mine).files] == ["a.txt", "mine.txt"]


def test_a_refused_draft_spends_no_label_and_stays_as_it_is(desk: Desk) -> None:
    old = desk.publish(desk.begin())
    edition = Description(metadata=DESCRIBED.metadata, edition_of=old.labels)
    desk.publish(desk.begin(edition))
    second = desk.begin(edition)
    with pytest.raises(SecondSuccessor):
        desk.publish(second)
    assert desk.labels.given == 2
    assert [file.path for file in desk.drafts.find(ANA, second).files] == ["a.txt"]


def test_while_a_draft_is_being_published_no_caller_changes_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_files, "_PATIENCE", 0.0)
    draft, told = desk.begin(), []

    def meanwhile() -> None:
        for work in (
            lambda: desk.drafts.describe(ANA, draft, DESCRIBED),
            lambda: desk.drafts.uploads.remove(ANA, draft, "a.txt"),
            lambda: desk.drafts.discard(ANA, draft),
            lambda: desk.drafts.publish(ANA, draft, desk.labels),
        ):
            try:
                work()
            except DraftBusy:
                told.append("busy")

    with desk.files.alone_on(draft):
        thread = threading.Thread(target=meanwhile)
        thread.start()
        thread.join()
    assert told == ["busy"] * 4
    assert desk.publish(draft).version == 1


def test_bytes_are_moved_into_the_item_not_copied(desk: Desk) -> None:
    draft = desk.begin()
    (uploaded,) = desk.files.uploads(draft).values()
    inode = Path(uploaded.place).stat().st_ino
    rep = desk.publish(draft).rep
    (kept,) = (desk.data / "store" / str(rep)).rglob("a.txt")
    assert kept.stat().st_ino == inode
    assert not Path(uploaded.place).exists()


# --- a disk without room ---


def full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_refuses_a_file_and_keeps_the_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = desk.begin()
    upload = desk.drafts.uploads.begin(ANA, draft, "b.txt", 1)
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DiskFull):
        upload.write(b"x")
    upload.abandon()
    monkeypatch.undo()
    assert [file.path for file in desk.drafts.find(ANA, draft).files] == ["a.txt"]
    assert len(list(desk.data.glob("drafts/*/bytes/*"))) == 1
    desk.send(draft, "b.txt")
    assert len(desk.publish(draft).files) == 2


def test_a_full_disk_refuses_a_publication_which_succeeds_later(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = desk.begin()
    monkeypatch.setattr(os, "link", full)
    with pytest.raises(DiskFull):
        desk.publish(draft)
    monkeypatch.undo()
    assert desk.items == []
    assert len(desk.drafts.find(ANA, draft).files) == 1
    assert desk.publish(draft) == desk.items[0]


# --- whose, and for how long ---


def test_a_draft_of_another_person_is_not_there(desk: Desk) -> None:
    draft = desk.begin()
    for work in (
        lambda: desk.drafts.find(OTHER, draft),
        lambda: desk.drafts.discard(OTHER, draft),
        lambda: desk.drafts.publish(OTHER, draft, desk.labels),
        lambda: desk.drafts.uploads.begin(OTHER, draft, "x", 0),
        lambda: desk.drafts.find(ANA, "draft-aaaaaaaaaaaaaaaa"),
        lambda: desk.drafts.find(ANA, "../../store"),
    ):
        with pytest.raises(UnknownDraft):
            work()
    assert isinstance(desk.drafts.find(LIBRARIAN, draft), DraftView)


def test_what_a_crash_left_of_an_upload_goes_and_what_is_on_its_way_does_not(desk: Desk) -> None:
    draft = desk.begin()
    left = desk.data / "drafts" / draft / "bytes" / ("0" * 32)
    left.write_bytes(b"half")
    upload = desk.drafts.uploads.begin(ANA, draft, "b.txt", 0)
    desk.drafts.sweep()
    upload.write(b"half of it")
    assert desk.drafts.sweep() == 0
    assert not left.exists()
    upload.write(b", and the rest")
    upload.finish(None)
    desk.drafts.sweep()
    assert [file.size for file in desk.publish(draft).files] == [7, 24]


async def test_a_sweep_that_fails_is_told_and_tried_again_and_no_depositor_notices(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept, loop, outcomes = asyncio.Event(), asyncio.get_running_loop(), [OSError("the disk is gone"), None]

    def sweep_removed() -> None:
        desk.begin()
        error = outcomes.pop(0)
        if error is not None:
            raise error
        loop.call_soon_threadsafe(swept.set)

    monkeypatch.setattr(desk.files, "sweep_removed", sweep_removed)
    (job,) = desk.drafts.jobs()
    job.first, job.first_rest = 0.0, 0.01
    with capture_logs() as logs:
        async with running(job) as runner, asyncio.timeout(60):
            await swept.wait()
            assert runner.health()[0].failures == 1
    assert [str(each["exc_info"]) for each in logs if each["event"] == "a job failed"] == ["the disk is gone"]


def test_a_sweep_leaves_what_has_come_and_is_about_to_be_recorded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    draft, keep = desk.begin(), desk.files.keep

    def late(*given: Any) -> None:
        desk.drafts.sweep()
        keep(*given)

    monkeypatch.setattr(desk.files, "keep", late)
    desk.send(draft, "b.txt")
    assert len(desk.publish(draft).files) == 2


def test_an_upload_begins_anew_if_its_file_was_taken_for_one_that_was_left(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, lock = desk.begin(), fcntl.flock
    swept: list[int] = []

    def late(descriptor: int, operation: int) -> None:
        if not swept:
            swept.append(operation)
            desk.drafts.sweep()
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    upload = desk.drafts.uploads.begin(ANA, draft, "b.txt", 3)
    upload.write(b"abc")
    upload.finish(None)
    assert swept
    assert [file.size for file in desk.publish(draft).files] == [7, 3]


def test_a_draft_that_never_came_to_be_goes_after_a_day(desk: Desk) -> None:
    begun = desk.data / "drafts" / "draft-aaaaaaaaaaaaaaaa"
    (begun / "bytes").mkdir(parents=True)
    desk.drafts.sweep()
    assert begun.exists()
    os.utime(begun, (0, 0))
    desk.drafts.sweep()
    assert not begun.exists()


def test_a_damaged_draft_is_no_obstacle_to_others(desk: Desk) -> None:
    damaged, whole = desk.begin(), desk.begin()
    (desk.data / "drafts" / damaged / "draft.json").write_text("{")
    assert [view.record.id for view in desk.drafts.list(ANA)] == [whole]
    assert desk.drafts.sweep() == 0
    with pytest.raises(DraftDamaged):
        desk.drafts.find(ANA, damaged)


def test_a_published_draft_does_not_change(desk: Desk) -> None:
    draft = desk.begin()
    desk.publish(draft)
    with pytest.raises(DraftPublished):
        desk.drafts.uploads.begin(ANA, draft, "b.txt", 0)


def test_of_two_uploads_at_once_together_too_large_one_is_refused(desk: Desk) -> None:
    draft = desk.begin()
    uploads = [desk.drafts.uploads.begin(ANA, draft, name, 6000) for name in ("x", "y")]
    for upload in uploads:
        upload.write(b"x" * 6000)
    with pytest.raises(DepositTooLarge):
        uploads[0].finish(None)
    uploads[0].abandon()
    assert uploads[1].finish(None)[0].path == "y"
    assert [file.path for file in desk.drafts.find(ANA, draft).files] == ["a.txt", "y"]


def test_uploads_at_once_are_refused_before_each_of_them_has_come(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_uploads, "_BETWEEN_LOOKS", 1000)
    draft = desk.begin()
    uploads = [desk.drafts.uploads.begin(ANA, draft, name, 0) for name in "uvwxyz"]

    def all_come() -> None:
        for _ in range(9):
            for upload in uploads:
                upload.write(b"x" * 1000)

    with pytest.raises(DepositTooLarge):
        all_come()

    assert desk.files.totals(draft)[1] <= 10_000 + 6 * 1000


def test_an_upload_into_what_is_gone_is_told_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, done = desk.begin(), desk.begin()
    uploads = {draft: desk.drafts.uploads.begin(ANA, draft, "b.txt", 5) for draft in (gone, done)}
    for upload in uploads.values():
        upload.write(b"bytes")
    desk.drafts.discard(ANA, gone)
    desk.publish(done)

    with pytest.raises(UnknownDraft):
        uploads[gone].finish(None)
    with pytest.raises(DraftPublished):
        uploads[done].finish(None)
    monkeypatch.setattr(draft_uploads, "_BETWEEN_LOOKS", 1)
    with pytest.raises(UnknownDraft):
        uploads[gone].write(b"more")
