"""A disk that is full under a whole deposit: a clear refusal, nothing lost, and all is well with space again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ibi.items.opening.archive_store import CATALOGUE, open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.stored_item import ChangeUnfinished
from ibi.standard.errors import IbiError
from ibi.storage.errors import DiskRefused
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, dump, kept_in, sources
from tests.support.ibi_command import IbiCommand, Outcome

PAGE = 4096
IDENTITY = {
    "IBI_MINT_HOST": "ibi.localhost",
    "IBI_MINT_IP": "127.0.0.1",
    "IBI_MINT_HOST_PORT": "8765",
    "IBI_MINT_IP_PORT": "8765",
    "IBI_MINT_SANDBOX": "true",
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


class Filling:
    """A file that takes all the space there is, and gives it back in pieces."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "filling"

    def take_all(self) -> None:
        with self._path.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * PAGE)

    def give(self, pages: int) -> bool:
        """Whether there was anything left to give."""
        size = self._path.stat().st_size
        os.truncate(self._path, max(0, size - pages * PAGE))
        return size > 0

    def give_all(self) -> None:
        self._path.unlink()


def check(store: ArchiveStore) -> None:
    """Catalogue and content say the same, and all of it can be read."""
    assert dump(store.catalog) == kept_in(store.content, store)
    assert [one for one in store.verify() if one.problems] == []


def test_every_amount_of_space_is_enough_or_refused(small_disk: Path) -> None:
    """Page by page: too little for a name, for the files, for the catalogue, and at last for nothing."""
    filling, refused, unfinished = Filling(small_disk), 0, set()
    with open_store(small_disk / "data") as store:
        made = deposits(store, CountedLabels())
        before = made.deposit(draft("a.txt"), sources(a=b"before"), WHO)
        for number in range(200):
            filling.take_all()
            filling.give(number)
            try:
                last = made.deposit(draft("a.txt"), sources(a=b"%d" % number * 3000), WHO)
                break
            except ChangeUnfinished as error:
                unfinished.add(str(error.parameters["label"]))
            except DiskRefused as error:
                refused += 1
                assert "No space left" in str(error) or "full" in str(error)
            assert store.find(before.rep) == before
            assert not any(one.problems for one in store.verify([before.rep]))
        else:
            pytest.fail("there was never enough")
        assert refused > 3
        assert unfinished
        filling.give_all()
        made.deposit(draft("a.txt"), sources(a=b"after"), WHO)
        check(store)
        # What was kept and could not be listed is listed by now; nothing that was refused has come back.
        assert len(dump(store.catalog)) == 3 + len(unfinished)
        assert {str(item.rep) for item in dump(store.catalog)} >= {*unfinished, str(last.rep)}
    with open_store(small_disk / "data") as store:
        assert store.swept.looked_at == 0
        check(store)


def test_an_archive_is_opened_on_a_full_disk_or_refuses(small_disk: Path) -> None:
    """What was kept is still there when there is space again, even if the catalogue has to be made anew."""
    filling = Filling(small_disk)
    with open_store(small_disk / "data") as store:
        item = deposits(store).deposit(draft("a.txt"), sources(a=b"a"), WHO)
    for path in (small_disk / "data").glob(f"{CATALOGUE}*"):
        path.unlink()
    filling.take_all()
    opened = False
    while not opened and filling.give(1):
        try:
            with open_store(small_disk / "data"):
                opened = True
        except IbiError as error:
            assert isinstance(error, DiskRefused), error
    filling.give_all()
    with open_store(small_disk / "data") as store:
        assert dump(store.catalog) == [item]
        check(store)


def test_the_command_says_so_in_one_line_and_works_again(small_disk: Path, tmp_path: Path) -> None:
    """With real labels: the log of the minter is on the same disk."""
    command, filling = IbiCommand(small_disk), Filling(small_disk)
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("a thesis" * 2000)

    def deposit(title: str) -> Outcome:
        return command("deposit", str(thesis), "--title", title, **IDENTITY)

    assert deposit("before").code == 0
    filling.take_all()
    for pages in (0, 4, 16):
        filling.take_all()
        filling.give(pages)
        outcome = deposit("refused")
        assert outcome.code != 0, outcome
        assert len(outcome.err.strip().splitlines()) == 1, outcome.err
        assert "Traceback" not in outcome.err
    filling.give_all()
    assert deposit("after").code == 0
    verified = command("verify", **IDENTITY)
    assert verified.code == 0, verified
    with open_store(command.data) as store:
        assert {str(item.metadata.title[0].value) for item in dump(store.catalog)} >= {"before", "after"}
        check(store)
