"""The journal of changes under way: empty after a clean end, told after any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.storage.change_journal import EVERYTHING, Abandoned, ChangeJournal
from ibi.storage.errors import DiskRefused

OPEN = Path("/proc/self/fd")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "changes"


def left(place: Path, boot: str = "boot") -> tuple[Abandoned, ...]:
    journal = ChangeJournal(place, boot)
    with journal.abandoned() as found:
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


def test_what_was_under_way_at_the_end_is_told_once(place: Path) -> None:
    journal = ChangeJournal(place, "boot")
    journal.begin(["one"])
    journal.begin(["two", "three"])
    journal.end(["one"])
    assert set(journal.under_way()) == {"two", "three"}
    assert left(place) == ()  # of a living process
    journal.close()
    # `one` has ended, and is only not cut off yet: to look at it does no harm.
    assert left(place) == (Abandoned(("one", "two", "three"), whole=True),)
    assert left(place) == ()


def test_what_was_under_way_is_told_again_if_looking_at_it_failed(place: Path) -> None:
    journal = ChangeJournal(place, "boot")
    journal.begin(["one"])
    journal.close()
    with pytest.raises(ZeroDivisionError), ChangeJournal(place, "boot").abandoned():
        raise ZeroDivisionError
    assert left(place) == (Abandoned(("one",), whole=True),)


def test_after_another_boot_the_list_is_not_trusted(place: Path) -> None:
    journal = ChangeJournal(place, "yesterday")
    journal.begin(["one"])
    journal.close()
    assert left(place, "today") == (Abandoned(("one",), whole=False),)


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


def test_everything_may_be_under_way(place: Path) -> None:
    journal = ChangeJournal(place, "boot")
    journal.begin([EVERYTHING])
    journal.close()
    assert left(place) == (Abandoned((), whole=False),)
    journal = ChangeJournal(place, "boot")
    journal.begin([EVERYTHING])
    journal.end([EVERYTHING])
    journal.begin(["one"])
    journal.close()
    assert left(place) == (Abandoned(("one",), whole=True),)


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
