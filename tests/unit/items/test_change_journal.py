"""The files of the journal; its contract is in `tests/contract/test_journal.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.items.ports.archive_store import Abandoned
from ibi.items.store.change_journal import ChangeJournal
from ibi.storage.errors import DiskRefused

OPEN = Path("/proc/self/fd")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "changes"


def left(place: Path, boot: str = "boot") -> tuple[Abandoned, ...]:
    journal = ChangeJournal(place, boot)
    with journal.take_abandoned() as found:
        return found


def files(place: Path) -> list[Path]:
    return [path for path in place.iterdir() if path.name != "lock"]


def test_nothing_is_written_before_the_first_change(place: Path) -> None:
    journal = ChangeJournal(place, "boot")
    assert left(place) == ()
    journal.close()
    assert not place.exists()


def test_a_clean_end_leaves_nothing(place: Path) -> None:
    journal = ChangeJournal(place, "boot")
    journal.begin(["a/b/c/d", "e/f/g/h"])
    journal.end(["a/b/c/d", "e/f/g/h"])
    journal.close()
    assert files(place) == []
    assert left(place) == ()


def test_what_has_ended_is_cut_off_later_and_still_told(place: Path) -> None:
    journal = ChangeJournal(place, "boot")
    journal.begin(["one"])
    journal.begin(["two", "three"])
    journal.end(["one"])
    journal.close()
    # To look at `one` does no harm.
    assert left(place) == (Abandoned(("one", "two", "three"), whole=True),)
    assert left(place) == ()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", Abandoned((), whole=True)),
        (b"bo", Abandoned((), whole=True)),
        (b"boot\n", Abandoned((), whole=True)),
        (b"boot\none\ntw", Abandoned(("one",), whole=False)),
        (b"\x00\xff\n\x00", Abandoned((), whole=False)),
    ],
)
def test_half_a_file(place: Path, content: bytes, found: Abandoned) -> None:
    place.mkdir()
    (place / "0123").write_bytes(content)
    assert left(place) == (found,)
    assert files(place) == []


def test_one_item_under_way_twice_ends_twice(place: Path) -> None:
    journal = ChangeJournal(place, "boot")
    journal.begin(["one"])
    journal.begin(["one"])
    journal.end(["one"])
    assert journal.under_way() == ("one",)
    journal.end(["one"])
    journal.close()
    assert files(place) == []


def test_the_file_of_a_busy_server_stays_short(place: Path) -> None:
    journal = ChangeJournal(place, "boot")
    for _ in range(3000):
        journal.begin(["sid.inpe.br/mtc-m18@80/2009/02.16.17.46"])
        journal.end(["sid.inpe.br/mtc-m18@80/2009/02.16.17.46"])
    (file,) = files(place)
    assert file.stat().st_size < 70_000
    journal.begin(["last"])
    journal.close()
    assert left(place)[0].names[-1] == "last"


def test_a_place_that_cannot_be_written_is_told(place: Path) -> None:
    place.write_text("a file")
    with pytest.raises(DiskRefused):
        ChangeJournal(place, "boot").begin(["one"])


@pytest.mark.skipif(not OPEN.exists(), reason="this system does not tell what a process has open")
def test_descriptors_are_given_back(place: Path) -> None:
    before = len(list(OPEN.iterdir()))
    for _ in range(5):
        journal = ChangeJournal(place, "boot")
        journal.begin(["one"])
        journal.close()
        left(place)
    assert len(list(OPEN.iterdir())) == before
