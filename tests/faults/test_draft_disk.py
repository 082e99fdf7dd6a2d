"""Drafts on a disk that is full: a clear refusal, what was sent before is whole, and nothing half sent is left."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ibi.archive.drafts import DraftRules
from ibi.model.draft_record import Description
from ibi.model.metadata import DescriptiveMetadata, Text
from ibi.services.archive_store import ArchiveStore
from ibi.services.drafts import Depositor, Drafts
from ibi.storage.draft_files import DraftFiles
from ibi.storage.incoming import DiskFull
from tests.deposits_by_hand import CountedLabels
from tests.set_clocks import SetClocks

ANA = Depositor("name:ana", "ana")
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


def send(drafts: Drafts, draft: str, path: str, content: bytes) -> None:
    upload = drafts.upload(ANA, draft, path, 0)
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
    with ArchiveStore(small_disk) as store:
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
        assert len(list((small_disk / "drafts").iterdir())) == 1
        assert list(store.catalog.items()) == []
        filling.unlink()
        item = drafts.publish(ANA, draft, CountedLabels()).item
        assert [(file.path, file.size) for file in item.files] == [("a.bin", 1_000_000)]
        assert [verified.problems for verified in store.verify()] == [()]
