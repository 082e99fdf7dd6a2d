"""The port `Journal`, tried on every adapter: empty after a clean end, told after any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ibi.items.ports.archive_store import EVERYTHING, Abandoned, Journal
from ibi.items.store.change_journal import ChangeJournal
from tests.support.memory.item_changes import MemoryJournals

Opened = Callable[[str], Journal]
"""The journal of another process of the machine, which began with that boot."""


def _memory(_: Path) -> Opened:
    return MemoryJournals().open


ADAPTERS: dict[str, Callable[[Path], Opened]] = {
    "memory": _memory,
    "files": lambda folder: lambda boot: ChangeJournal(folder / "changes", boot),
}


@pytest.fixture(params=ADAPTERS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    return ADAPTERS[request.param](tmp_path)


def left(opened: Opened, boot: str = "boot") -> tuple[Abandoned, ...]:
    with opened(boot).take_abandoned() as found:
        return found


def test_a_clean_end_leaves_nothing(opened: Opened) -> None:
    journal = opened("boot")
    assert left(opened) == ()
    journal.begin(["a/b/c/d", "e/f/g/h"])
    journal.end(["a/b/c/d", "e/f/g/h"])
    journal.close()
    assert left(opened) == ()


def test_what_was_under_way_at_the_end_is_told_once(opened: Opened) -> None:
    journal = opened("boot")
    journal.begin(["one"])
    journal.begin(["two", "three"])
    journal.end(["one"])
    assert set(journal.under_way()) == {"two", "three"}
    assert left(opened) == ()  # of a living process
    journal.close()
    (found,) = left(opened)
    # One that has ended may be among them: to look at it does no harm.
    assert {"two", "three"} <= set(found.names) <= {"one", "two", "three"}
    assert found.whole
    assert left(opened) == ()


def test_what_was_left_is_told_again_if_looking_at_it_failed(opened: Opened) -> None:
    journal = opened("boot")
    journal.begin(["one"])
    journal.close()
    with pytest.raises(ZeroDivisionError), opened("boot").take_abandoned():
        raise ZeroDivisionError
    assert left(opened) == (Abandoned(("one",), whole=True),)


def test_after_another_boot_the_list_is_not_trusted(opened: Opened) -> None:
    journal = opened("yesterday")
    journal.begin(["one"])
    journal.close()
    assert left(opened, "today") == (Abandoned(("one",), whole=False),)


def test_everything_may_be_under_way(opened: Opened) -> None:
    journal = opened("boot")
    journal.begin([EVERYTHING])
    journal.close()
    assert left(opened) == (Abandoned((), whole=False),)
    journal = opened("boot")
    journal.begin([EVERYTHING])
    journal.end([EVERYTHING])
    journal.begin(["one"])
    journal.close()
    assert left(opened) == (Abandoned(("one",), whole=True),)


def test_one_item_under_way_twice_ends_twice(opened: Opened) -> None:
    journal = opened("boot")
    journal.begin(["one"])
    journal.begin(["one"])
    journal.end(["one"])
    assert journal.under_way() == ("one",)
    journal.end(["one"])
    assert journal.under_way() == ()
    journal.close()
    assert left(opened) == ()


def test_several_processes_leave_each_its_own(opened: Opened) -> None:
    for name in ("one", "two"):
        journal = opened("boot")
        journal.begin([name])
        journal.close()
    assert {each.names for each in left(opened)} == {("one",), ("two",)}
