"""What one depositor may have in drafts: counted with what is on its way, and found again after a restart."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from ibi.deposits.rules.drafts import DraftQuota, DraftRules, DraftShareUsed, DraftsTooLarge, Holding, TooManyDrafts
from ibi.deposits.service.drafts import Drafts
from ibi.deposits.service.ledger import STEP, Depositor
from ibi.deposits.service.uploads import Upload
from ibi.deposits.store.draft_files import DraftFiles
from ibi.items.model.item import Description
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.opening.archive_store import open_store
from ibi.items.rules.errors import DiskNearlyFull
from ibi.people.model.account import Scope
from ibi.standard.errors import IbiError
from ibi.storage.errors import DiskRefused
from tests.support.deposit_samples import CountedLabels
from tests.support.set_clocks import SetClocks

ANA, BIA, LIBRARIAN = (
    Depositor("service:ana", "ana"),
    Depositor("service:bia", "bia"),
    Depositor("service:l", "l", Scope.EDIT),
)
DESCRIBED = Description(metadata=DescriptiveMetadata(title=(Text("Uma tese"),)))
DAY = 86_400
Made = TypeVar("Made")


class Desk:
    """Drafts of which one depositor may have three, with 1000 bytes together. Time passes when it is told to."""

    def __init__(self, data: Path) -> None:
        self.data, self.clocks, self.labels = data, SetClocks(), CountedLabels()
        self.quota, self.monotonic = DraftQuota(3, 1000), 0.0
        self.store = open_store(data)
        self.files, self.drafts = self.server()

    def server(self) -> tuple[DraftFiles, Drafts]:
        """What a process has open."""
        files = DraftFiles(self.data, self.clocks)
        rules = DraftRules(100_000, 30, self.quota)
        return files, Drafts(files, self.store, self.clocks, rules, monotonic=lambda: self.monotonic)

    def restart(self) -> None:
        self.files, self.drafts = self.server()

    def begin(self, who: Depositor = ANA, *files: tuple[str, int]) -> str:
        draft = self.drafts.begin(who, DESCRIBED).record.id
        for name, size in files:
            self.send(draft, name, size, who)
        return draft

    def upload(self, draft: str, name: str, announced: int, who: Depositor = ANA) -> Upload:
        return self.drafts.uploads.begin(who, draft, name, announced)

    def send(self, draft: str, name: str, size: int, who: Depositor = ANA) -> None:
        upload = self.upload(draft, name, size, who)
        try:
            upload.write(b"x" * size)
            upload.finish(None)
        except BaseException:
            upload.abandon()
            raise

    def held(self, who: Depositor = ANA) -> tuple[int, int]:
        held = self.drafts.holding(who)
        return held.drafts, held.size


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.store.close()


# --- how many ---


def test_no_account_has_more_drafts_than_allowed(desk: Desk) -> None:
    first, *_ = [desk.begin() for _ in range(3)]
    with pytest.raises(TooManyDrafts):
        desk.begin()
    desk.begin(BIA)
    desk.drafts.discard(ANA, first)
    desk.begin()
    assert (desk.held(), desk.held(BIA)) == ((3, 0), (1, 0))


def test_a_draft_that_was_published_counts_no_more(desk: Desk) -> None:
    first, *_ = [desk.begin(ANA, ("a.txt", 300)) for _ in range(3)]
    rep = desk.drafts.publish(ANA, first, desk.labels).item.rep
    assert desk.held() == (2, 600)
    desk.drafts.begin_update(ANA, rep)
    with pytest.raises(TooManyDrafts):
        desk.drafts.begin_update(ANA, rep)
    desk.restart()
    assert desk.held() == (3, 600)


def test_librarians_have_the_same_bounds_and_fill_those_of_others(desk: Desk) -> None:
    for _ in range(3):
        desk.begin(LIBRARIAN)
    with pytest.raises(TooManyDrafts):
        desk.begin(LIBRARIAN)
    draft = desk.begin(ANA)
    desk.send(draft, "a.txt", 900, LIBRARIAN)
    assert (desk.held(LIBRARIAN), desk.held(ANA)) == ((3, 0), (1, 900))
    with pytest.raises(DraftsTooLarge, match="The drafts of ana hold 900 bytes"):
        desk.send(draft, "b.txt", 101, LIBRARIAN)


def test_a_draft_that_could_not_be_made_does_not_count(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise DiskRefused(path="drafts", reason="no")

    monkeypatch.setattr(desk.files, "create", refuse)
    for _ in range(5):
        with pytest.raises(DiskRefused):
            desk.begin()
    monkeypatch.undo()
    assert [len(desk.begin()) for _ in range(3)] == [22] * 3


def test_one_that_was_left_alone_for_too_long_counts_no_more(desk: Desk) -> None:
    for _ in range(3):
        desk.begin(ANA, ("a.txt", 300))
    desk.clocks.advance(31 * DAY)
    desk.begin(ANA, ("a.txt", 1000))  # though nothing was swept since
    assert desk.held() == (1, 1000)


def test_one_that_cannot_be_read_belongs_to_no_account(desk: Desk) -> None:
    damaged, *_ = [desk.begin() for _ in range(3)]
    (desk.data / "drafts" / damaged / "draft.json").write_text("{")
    desk.begin()
    assert desk.held() == (3, 0)


# --- how much ---


def test_no_account_has_more_bytes_than_allowed_in_all_drafts_together(desk: Desk) -> None:
    one, two = desk.begin(ANA, ("a.txt", 500)), desk.begin(ANA, ("a.txt", 400))
    with pytest.raises(DraftsTooLarge):
        desk.upload(two, "b.txt", 101)
    desk.send(two, "b.txt", 100)
    desk.send(two, "empty", 0)
    desk.send(desk.begin(BIA), "a.txt", 1000, BIA)
    desk.drafts.uploads.remove(ANA, one, "a.txt")
    desk.send(two, "c.txt", 500)
    assert desk.held() == (2, 1000)


def test_what_is_too_large_is_refused_before_a_byte_of_it_is_there(desk: Desk) -> None:
    draft = desk.begin()
    with pytest.raises(DraftsTooLarge):
        desk.upload(draft, "a.txt", 1001)
    assert list(desk.data.glob("drafts/*/bytes/*")) == []


def test_what_comes_without_a_length_is_refused_as_soon_as_it_is_too_much(desk: Desk) -> None:
    upload = desk.upload(desk.begin(), "a.txt", 0)
    for _ in range(10):
        upload.write(b"x" * 100)
    with pytest.raises(DraftsTooLarge, match=r"hold 1000 bytes, .* with 1 of 'a.txt'"):
        upload.write(b"x")
    upload.abandon()
    assert desk.held() == (1, 0)


def test_several_uploads_without_a_length_have_no_more_together(desk: Desk) -> None:
    uploads = [desk.upload(desk.begin(), "a.txt", 0) for _ in range(3)]
    for number in range(33):
        uploads[number % 3].write(b"x" * 30)
    for upload in uploads:
        with pytest.raises(DraftsTooLarge):
            upload.write(b"x" * 30)
    assert sum(path.stat().st_size for path in desk.data.glob("drafts/*/bytes/*")) == 990


def test_a_small_file_on_its_way_counts_with_all_that_was_announced(desk: Desk) -> None:
    one, two = desk.begin(), desk.begin()
    coming = desk.upload(one, "a.txt", 800)
    assert desk.held() == (2, 800)
    with pytest.raises(DraftsTooLarge):
        desk.upload(two, "b.txt", 201)
    coming.write(b"x" * 300)
    assert desk.held() == (2, 800)
    coming.write(b"x" * 500)
    coming.finish(None)
    assert desk.held() == (2, 800)


def test_what_does_not_come_leaves_its_room_to_others(desk: Desk) -> None:
    draft = desk.begin()
    coming = desk.upload(draft, "a.txt", 1000)
    coming.write(b"x" * 10)
    coming.abandon()
    desk.send(draft, "b.txt", 1000)
    assert desk.held() == (1, 1000)


def test_an_upload_that_is_no_longer_held_leaves_its_room_to_others(desk: Desk) -> None:
    draft = desk.begin()
    coming = desk.upload(draft, "a.txt", 1000)
    assert desk.held() == (1, 1000)
    del coming
    gc.collect()
    desk.send(draft, "b.txt", 1000)


def test_a_file_sent_anew_counts_once_it_has_come_as_what_it_is(desk: Desk) -> None:
    draft = desk.begin(ANA, ("a.txt", 400))
    desk.send(draft, "a.txt", 500)
    assert desk.held() == (1, 500)
    desk.send(draft, "b.txt", 500)
    with pytest.raises(DraftsTooLarge):  # until then both are on the disk
        desk.send(draft, "a.txt", 1)
    assert [(file.path, file.size) for file in desk.drafts.find(ANA, draft).files] == [("a.txt", 500), ("b.txt", 500)]


def test_the_files_of_the_item_that_is_changed_do_not_count(desk: Desk) -> None:
    item = desk.drafts.publish(ANA, desk.begin(ANA, ("a.txt", 1000)), desk.labels).item
    update = desk.drafts.begin_update(ANA, item.rep)
    assert (desk.held(), update.size) == ((1, 0), 0)
    desk.send(update.record.id, "b.txt", 1000)
    assert desk.drafts.find(ANA, update.record.id).size == 1000


# --- found again ---


def test_the_figures_are_found_again_after_a_restart(desk: Desk) -> None:
    desk.begin(ANA, ("a.txt", 500), ("b.txt", 200))
    desk.begin(BIA, ("a.txt", 10))
    desk.restart()
    with pytest.raises(DraftsTooLarge, match="hold 700 bytes"):
        desk.upload(desk.begin(), "c.txt", 301)
    assert (desk.held(), desk.held(BIA)) == ((2, 700), (1, 10))


def test_nothing_is_read_for_it(desk: Desk) -> None:
    desk.begin(ANA, ("a.txt", 1))
    (path,) = desk.data.glob("drafts/*/bytes/*")
    os.truncate(path, 4 * 10**12)  # which takes no room, and hours to read
    desk.restart()
    assert desk.held() == (1, 4 * 10**12)


def test_what_a_crash_has_left_of_an_upload_counts_until_it_is_swept(desk: Desk) -> None:
    draft = desk.begin()
    (desk.data / "drafts" / draft / "bytes" / ("0" * 32)).write_bytes(b"x" * 600)
    desk.restart()
    assert desk.held() == (1, 600)
    desk.drafts.sweep()
    assert desk.held() == (1, 0)


async def test_abandoned_drafts_are_swept_by_a_job(desk: Desk) -> None:
    left = desk.begin()
    desk.clocks.advance(31 * DAY)
    desk.begin(BIA)
    assert (desk.data / "drafts" / left).exists()
    (job,) = desk.server()[1].jobs()
    assert (job.name, job.interval, job.first) == ("drafts", 3600.0, 3600.0)
    job.step()
    assert not (desk.data / "drafts" / left).exists()


def test_another_server_on_the_same_data_is_seen_at_once(desk: Desk) -> None:
    desk.begin(ANA, ("a.txt", 100))
    there = desk.server()[1]
    other = there.begin(ANA, DESCRIBED).record.id
    upload = there.uploads.begin(ANA, other, "a.txt", 800)
    upload.write(b"x" * 800)
    upload.finish(None)
    with pytest.raises(DraftsTooLarge, match="hold 900 bytes"):
        desk.upload(other, "b.txt", 101)
    desk.drafts.discard(ANA, other)
    assert there.holding(ANA) == Holding(1, 100)


def test_what_was_removed_by_hand_is_no_reason_to_refuse(desk: Desk) -> None:
    drafts = [desk.begin(ANA, ("a.txt", 300)) for _ in range(3)]
    desk.files.remove(drafts[0])
    desk.begin(ANA, ("a.txt", 400))


def test_no_bound_is_no_bound(desk: Desk) -> None:
    desk.quota = DraftQuota()
    desk.restart()
    for _ in range(5):
        desk.begin(ANA, ("a.txt", 2000))
    assert desk.held() == (5, 10_000)


# --- at the same time ---


def at_once(works: list[Callable[[], Made]]) -> tuple[list[Made], list[IbiError]]:
    """What they gave, and what they were refused with, after a start that they all waited for."""
    gave: list[Made] = []
    refused: list[IbiError] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], Made]) -> None:
        start.wait()
        try:
            gave.append(work())
        except IbiError as error:
            refused.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return gave, refused


def test_of_many_drafts_begun_at_once_as_many_are_as_are_allowed(desk: Desk) -> None:
    gave, refused = at_once([desk.begin] * 16)
    assert (len(gave), {type(error) for error in refused}) == (3, {TooManyDrafts})
    assert desk.held() == (3, 0)


@pytest.mark.parametrize("announced", [100, 0])
def test_of_many_files_sent_at_once_as_many_come_as_there_is_room_for(desk: Desk, announced: int) -> None:
    drafts = [desk.begin() for _ in range(3)]

    def send(number: int) -> None:
        upload = desk.upload(drafts[number % 3], f"{number}.txt", announced)
        try:
            for _ in range(10):
                upload.write(b"x" * 10)
                assert not announced or sum(desk.files.totals(draft)[1] for draft in drafts) <= 1000
            upload.finish(None)
        except BaseException:
            upload.abandon()
            raise

    gave, refused = at_once([partial(send, number) for number in range(16)])
    assert {type(error) for error in refused} == {DraftsTooLarge}
    # Those that do not say how large they are may keep each other from becoming whole; the others may not.
    assert len(gave) == 10 if announced else len(gave) <= 10
    assert desk.held() == (3, 100 * len(gave))
    left = [path.stat().st_size for path in desk.data.glob("drafts/*/bytes/*")]
    assert left == [100] * len(gave)


def test_begun_sent_and_discarded_at_once_the_figures_are_right_in_the_end(desk: Desk) -> None:
    desk.quota = DraftQuota(8, 10_000)
    desk.restart()

    def work() -> None:
        for _ in range(5):
            draft = desk.begin(ANA, ("a.txt", 100), ("b.txt", 100))
            desk.drafts.uploads.remove(ANA, draft, "a.txt")
            desk.drafts.holding(ANA)
            desk.drafts.discard(ANA, draft)

    refused = at_once([work] * 8)[1]
    assert refused == []
    assert desk.held() == (0, 0)


# --- what the disk has left ---


def test_the_reserve_of_the_disk_is_kept_from_every_sender(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.quota = DraftQuota(reserve=1000)
    desk.restart()
    free = 2000
    monkeypatch.setattr(desk.files, "free", lambda: free)
    one, two = desk.begin(ANA), desk.begin(BIA)
    coming = desk.upload(one, "a.txt", 600)
    with pytest.raises(DiskNearlyFull, match="has room for 400 more bytes"):
        desk.upload(two, "a.txt", 401, BIA)
    other = desk.upload(two, "a.txt", 400, BIA)
    other.abandon()
    coming.write(b"x" * 300)
    free = 1299
    with pytest.raises(DiskNearlyFull):  # though it was promised: somebody else has taken it
        coming.write(b"x" * 300)
    coming.abandon()
    free = 999
    with pytest.raises(DiskNearlyFull):
        desk.begin(ANA)


def test_below_the_reserve_drafts_are_published_and_discarded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.quota = DraftQuota(reserve=1000)
    desk.restart()
    one, two = desk.begin(ANA, ("a.txt", 10)), desk.begin(ANA, ("a.txt", 10))
    monkeypatch.setattr(desk.files, "free", lambda: 0)
    with pytest.raises(DiskNearlyFull):
        desk.upload(one, "b.txt", 0)
    assert desk.drafts.publish(ANA, one, desk.labels).item.version == 1
    desk.drafts.discard(ANA, two)
    assert desk.held() == (0, 0)


MANY = 4 * STEP


def with_disk(desk: Desk, monkeypatch: pytest.MonkeyPatch, free: int, **quota: int) -> None:
    """A disk that had so much free when it was empty of drafts."""
    desk.quota = DraftQuota(**quota)
    monkeypatch.setattr("ibi.deposits.rules.drafts.DraftRules.check_room", lambda *_: None)
    desk.restart()

    def left() -> int:
        return free - sum(path.stat().st_size for path in desk.data.glob("drafts/*/bytes/*"))

    monkeypatch.setattr(desk.files, "free", left)


def test_an_announcement_alone_keeps_no_other_depositor_out(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with_disk(desk, monkeypatch, MANY + 1000, reserve=1000)
    announced = desk.upload(desk.begin(ANA), "large.bin", MANY)
    assert desk.held() == (1, STEP)
    desk.send(desk.begin(BIA), "b.bin", 2 * STEP, BIA)
    announced.write(b"x" * STEP)
    announced.abandon()


def test_what_has_come_and_a_step_beyond_it_is_kept_free(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with_disk(desk, monkeypatch, MANY + 1000, reserve=1000)
    coming = desk.upload(desk.begin(ANA), "large.bin", MANY)
    coming.write(b"x" * (STEP + 1))
    assert desk.held() == (1, 2 * STEP + 1)
    draft = desk.begin(BIA)
    with pytest.raises(DiskNearlyFull, match=f"has room for {2 * STEP - 1} more bytes"):
        desk.upload(draft, "b.bin", 2 * STEP, BIA)
    desk.send(draft, "b.bin", 2 * STEP - 1, BIA)
    coming.abandon()


def test_near_the_end_of_the_room_a_step_is_not_insisted_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with_disk(desk, monkeypatch, 3 * STEP + 1000, reserve=1000)
    coming = desk.upload(desk.begin(ANA), "large.bin", 3 * STEP)
    desk.send(desk.begin(BIA), "b.bin", STEP, BIA)
    for _ in range(2):
        coming.write(b"x" * STEP)  # all that is left, though with a step beyond it there is not enough
    with pytest.raises(DiskNearlyFull):
        coming.write(b"x")
    coming.abandon()
    desk.send(desk.begin(ANA), "a.bin", STEP)


def test_one_depositor_leaves_a_share_to_the_next(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with_disk(desk, monkeypatch, 9000, reserve=1000, share=50)
    one, two = desk.begin(ANA), desk.begin(BIA)
    with pytest.raises(DraftShareUsed):
        desk.upload(one, "a.txt", 4001)
    desk.send(one, "a.txt", 4000)
    with pytest.raises(DraftShareUsed, match="The drafts of ana hold 4000 bytes"):
        desk.send(one, "b.txt", 1)
    desk.send(two, "b.txt", 2000, BIA)
    with pytest.raises(DraftShareUsed):
        desk.send(two, "c.txt", 1, BIA)
    desk.drafts.discard(ANA, one)
    desk.send(two, "c.txt", 2000, BIA)


def test_without_a_length_a_share_is_bounded_while_it_comes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with_disk(desk, monkeypatch, 2000, reserve=0, share=50)
    upload = desk.upload(desk.begin(), "a.txt", 0)
    upload.write(b"x" * 1000)
    with pytest.raises(DraftShareUsed):
        upload.write(b"x")
    upload.abandon()
