"""Editions follow one another in one line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.items.model.item import Item
from ibi.items.rules import life_cycle
from ibi.items.rules import related_items as editions
from ibi.items.rules.errors import EditionLoop, NotAllowedNow, OriginalNeeded, SecondSuccessor
from ibi.standard.instant import Instant
from tests.support.archive_catalog import PlainCatalog
from tests.support.standards_archives import forms, item

NAMES = [f"lab.br/arq/2020/01.02.03.{minute:02}" for minute in range(5)]


def edition(number: int, **others: object) -> Item:
    return item(NAMES[number], at="2020-01-02T03:04:05Z", files=("a.pdf",), **others)


def line(length: int) -> PlainCatalog:
    return PlainCatalog(
        *(
            edition(
                number,
                next_edition=forms(NAMES[number + 1]) if number + 1 < length else None,
                edition_of=forms(NAMES[number - 1]) if number else None,
            )
            for number in range(length)
        )
    )


def test_the_last_edition_is_the_end_of_the_line() -> None:
    catalog = line(3)
    for name in NAMES[:3]:
        found = editions.find_forms(catalog, forms(name))
        assert found is not None
        last = editions.last_edition(catalog, found)
        assert last is not None
        assert last.labels == forms(NAMES[2])


def test_the_last_edition_is_not_known_if_one_between_is_elsewhere_or_gone() -> None:
    catalog = line(3)
    first, middle = (editions.find_forms(catalog, forms(name)) for name in NAMES[:2])
    assert first is not None
    assert middle is not None
    catalog.put(life_cycle.delete(middle, Instant.parse("2021-01-01T00:00:00Z"), "why"))
    assert editions.last_edition(catalog, first) is None
    catalog.remove(middle.rep)
    assert editions.last_edition(catalog, first) is None


def test_a_line_that_was_tied_into_a_loop_has_no_end() -> None:
    """E23."""
    catalog = PlainCatalog(
        edition(0, next_edition=forms(NAMES[1])),
        edition(1, next_edition=forms(NAMES[2])),
        edition(2, next_edition=forms(NAMES[1])),
    )
    assert editions.last_edition(catalog, edition(0, next_edition=forms(NAMES[1]))) is None


def test_a_next_edition_is_recorded_once_and_a_second_one_refused() -> None:
    catalog = PlainCatalog(edition(0))
    linked = editions.record_next_edition(catalog, edition(0), forms(NAMES[1]))
    assert linked.next_edition == forms(NAMES[1])
    assert editions.record_next_edition(catalog, linked, forms(NAMES[1])) == linked
    with pytest.raises(SecondSuccessor, match=NAMES[1]):
        editions.record_next_edition(catalog, linked, forms(NAMES[2]))
    assert editions.withdraw_next_edition(linked) == edition(0)


@pytest.mark.parametrize("new", [0, 1, 2])
def test_a_line_cannot_be_closed(new: int) -> None:
    catalog = line(3)
    last = editions.find_forms(catalog, forms(NAMES[2]))
    assert last is not None
    with pytest.raises(EditionLoop):
        editions.record_next_edition(catalog, last, forms(NAMES[new]))


def test_only_the_archive_of_the_original_records_it() -> None:
    with pytest.raises(OriginalNeeded):
        editions.record_next_edition(PlainCatalog(), life_cycle.copy(edition(0), "a.br"), forms(NAMES[1]))


def test_what_is_deleted_has_no_next_edition_any_more() -> None:
    gone = life_cycle.delete(edition(0), Instant.parse("2021-01-01T00:00:00Z"), "why")
    with pytest.raises(NotAllowedNow):
        editions.record_next_edition(PlainCatalog(), gone, forms(NAMES[1]))


def test_recording_it_changes_nothing_else() -> None:
    linked = editions.record_next_edition(PlainCatalog(), edition(0), forms(NAMES[1]))
    assert replace(linked, next_edition=None) == edition(0)
