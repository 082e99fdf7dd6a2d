"""Drafts on a disk that is full, or nearly: a clear refusal, what was sent is whole, and nothing half sent is left."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ibi.deposits.rules.drafts import DraftQuota, DraftRules
from ibi.deposits.service.drafts import Drafts
from ibi.deposits.service.ledger import Depositor
from ibi.deposits.store.draft_files import DraftFiles
from ibi.items.model.item import Description
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.opening.archive_store import open_store
from ibi.items.rules.errors import DiskNearlyFull
from ibi.items.service.archive_store import ArchiveStore
from ibi.standard.storage_errors import DiskFull
from tests.support.deposit_samples import CountedLabels
from tests.support.set_clocks import SetClocks

ANA = Depositor("service:ana", "ana")
DESCRIBED = Description(metadata=DescriptiveMetadata(title=(Text("Uma tese"),)))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def send(drafts: Drafts, draft: str, path: str, content: bytes, announced: int = 0) -> None:
    upload = drafts.uploads.begin(ANA, draft, path, announced)
    try:
        for start in range(0, len(content), 65_536):
            upload.write(content[start : start + 65_536])
        upload.finish(None)
    except BaseException:
        upload.abandon()
        raise


def fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


def test_a_full_disk_refuses_and_loses_nothing(small_disk: Path) -> None:
    clocks = SetClocks()
    with open_store(small_disk) as store:
        drafts = Drafts(DraftFiles(small_disk, clocks), store, clocks, DraftRules(10**9, 30))
        draft = drafts.begin(ANA, DESCRIBED).record.id
        send(drafts, draft, "a.bin", b"a" * 1_000_000)
        with pytest.raises(DiskFull):
            send(drafts, draft, "b.bin", b"b" * 8_000_000)
        assert [file.path for file in drafts.find(ANA, draft).files] == ["a.bin"]
        assert [path.stat().st_size for path in small_disk.glob("drafts/*/bytes/*")] == [1_000_000]
        filling = small_disk / "filling"
        fill(filling)
        with pytest.raises(DiskFull):
            drafts.publish(ANA, draft, CountedLabels())
        with pytest.raises(DiskFull):
            drafts.begin(ANA, DESCRIBED)
        assert len(list((small_disk / "drafts").glob("*draft-*"))) == 1
        assert list(store.catalog.items()) == []
        filling.unlink()
        item = drafts.publish(ANA, draft, CountedLabels()).item
        assert [(file.path, file.size) for file in item.files] == [("a.bin", 1_000_000)]
        assert [verified.problems for verified in store.verify()] == [()]


RESERVE = 1_000_000


def with_reserve(disk: Path, store: ArchiveStore) -> Drafts:
    clocks = SetClocks()
    return Drafts(DraftFiles(disk, clocks), store, clocks, DraftRules(10**9, 30, DraftQuota(reserve=RESERVE)))


def free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


@pytest.mark.parametrize("announced", [0, 8_000_000])
def test_uploads_end_before_the_disk_is_full(small_disk: Path, announced: int) -> None:
    with open_store(small_disk) as store:
        drafts = with_reserve(small_disk, store)
        draft = drafts.begin(ANA, DESCRIBED).record.id
        send(drafts, draft, "a.bin", b"a" * 500_000, 500_000)
        with pytest.raises(DiskNearlyFull):
            send(drafts, draft, "b.bin", b"b" * 8_000_000, announced)
        assert [path.stat().st_size for path in small_disk.glob("drafts/*/bytes/*")] == [500_000]
        assert free(small_disk) > RESERVE
        with (small_disk / "others").open("wb") as file:
            file.write(b"x" * (free(small_disk) - RESERVE // 2))
        with pytest.raises(DiskNearlyFull):
            drafts.begin(ANA, DESCRIBED)
        # What is there can still be published: for that, among others, the reserve is.
        item = drafts.publish(ANA, draft, CountedLabels()).item
        assert [(file.path, file.size) for file in item.files] == [("a.bin", 500_000)]
        assert [verified.problems for verified in store.verify()] == [()]


@pytest.mark.parametrize("says_how_large", [True, False])
def test_many_uploads_at_once_leave_the_reserve_free(small_disk: Path, says_how_large: bool) -> None:
    with open_store(small_disk) as store:
        drafts = with_reserve(small_disk, store)
        draft = drafts.begin(ANA, DESCRIBED).record.id
        size, least, kept, start = 400_000, [free(small_disk)], [], threading.Barrier(12)

        def work(number: int) -> None:
            start.wait()
            with suppress(DiskNearlyFull):
                send(drafts, draft, f"{number}.bin", b"x" * size, size if says_how_large else 0)
                kept.append(number)
            least.append(free(small_disk))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # Records of files are written without asking, one page each; the bytes of files never without.
        assert min(least) > RESERVE - 12 * 3 * 4096
        assert len(drafts.find(ANA, draft).files) == len(kept) < 12
        # Those that do not say how large they are may keep each other from becoming whole; the others may not.
        assert kept or not says_how_large


def test_drafts_are_discarded_on_a_disk_without_a_byte_left(small_disk: Path) -> None:
    with open_store(small_disk) as store:
        drafts = with_reserve(small_disk, store)
        draft = drafts.begin(ANA, DESCRIBED).record.id
        send(drafts, draft, "a.bin", b"a" * 1_500_000)
        fill(small_disk / "filling")
        drafts.discard(ANA, draft)
        assert drafts.list(ANA) == ()
        assert free(small_disk) > 1_400_000
        drafts.begin(ANA, DESCRIBED)


def test_one_of_which_nothing_was_ever_changed_too(small_disk: Path) -> None:
    with open_store(small_disk) as store:
        drafts = with_reserve(small_disk, store)
        draft = drafts.begin(ANA, DESCRIBED).record.id
        fill(small_disk / "filling")
        drafts.discard(ANA, draft)
        assert drafts.list(ANA) == ()
