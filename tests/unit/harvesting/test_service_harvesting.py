"""Lists for harvesters over a real catalogue: nothing is lost, whatever changes while they are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.harvesting.rules.harvesting import HarvestRefused, RecordSet, Resumption, Selection
from ibi.harvesting.service import harvesting
from ibi.harvesting.service.harvesting import HarvestBusy, HarvestedRecord, Harvesting, RecordPage
from ibi.items.model.change import ChangePage, Revision
from ibi.items.model.item import Item
from ibi.items.model.metadata import DescriptiveMetadata, ResourceType, Text
from ibi.items.model.transfer_record import Transfer
from ibi.items.rules import life_cycle
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.generation_file import GenerationFile
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages import LabelForms
from tests.properties.item_strategies import forms_at
from tests.support.catalog_samples import item

EVERYTHING = Selection()
WHEN = Instant.parse("2024-05-06T07:08:09Z")


class Clock:
    """What `time.time` says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 2_000_000_000
        monkeypatch.setattr("time.time", lambda: float(self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def catalog(tmp_path: Path, clock: Clock) -> Iterator[SqliteCatalog]:
    with ExitStack() as opened:
        generation = opened.enter_context(closing(GenerationFile(tmp_path)))
        catalog = opened.enter_context(closing(SqliteCatalog(tmp_path / "catalogue.sqlite", generation)))
        catalog.end_rebuild()
        yield catalog


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harvesting, "PAGE", 3)


def typed(minute: int, kind: ResourceType | None) -> Item:
    return item(minute, metadata=DescriptiveMetadata(title=(Text("T"),), resource_type=kind))


def touch(catalog: SqliteCatalog, minute: int, head: int) -> None:
    catalog.put(item(minute, f"Version {head}"), Revision(head, WHEN))


def harvest(
    service: Harvesting, selection: Selection = EVERYTHING, resumed: Resumption | None = None
) -> tuple[list[HarvestedRecord], RecordPage]:
    found: list[HarvestedRecord] = []
    while True:
        page = service.page(selection, resumed)
        found += page.records
        if page.following is None:
            return found, page
        resumed = page.following


def labels(records: list[HarvestedRecord]) -> list[str]:
    return [each.label for each in records]


def reps(*minutes: int) -> list[str]:
    return [str(item(minute).rep) for minute in minutes]


def test_records_come_in_the_order_of_their_entries_with_the_second_of_listing(
    catalog: SqliteCatalog, clock: Clock, small_pages: None
) -> None:
    for minute in range(7):
        clock.now += 1
        catalog.put(item(minute))
    clock.now += 5
    touch(catalog, 2, 2)
    found, page = harvest(Harvesting(catalog.changes, catalog))
    assert labels(found) == reps(0, 1, 3, 4, 5, 6, 2)
    assert [each.second for each in found] == [2_000_000_000 + after for after in (1, 2, 4, 5, 6, 7, 12)]
    assert (page.second, page.cursor) == (2_000_000_012, 6)


def test_the_next_harvest_from_the_date_of_the_answer_gives_what_changed(
    catalog: SqliteCatalog, clock: Clock, small_pages: None
) -> None:
    service = Harvesting(catalog.changes, catalog)
    catalog.put_all(item(minute) for minute in range(5))
    clock.now += 1
    _, page = harvest(service)
    assert page.second == clock.now
    with pytest.raises(HarvestRefused, match="noRecordsMatch"):
        service.page(Selection(since=page.second))
    touch(catalog, 3, 2)  # in the same second, after the answer
    clock.now += 1
    touch(catalog, 1, 2)
    assert labels(harvest(service, Selection(since=page.second))[0]) == reps(3, 1)


def test_an_empty_list_has_the_second_before_it_was_read(
    catalog: SqliteCatalog, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.put(item(1))
    clock.now += 10
    feed, read = catalog.changes, catalog.changes.current

    def current(number: int, most: int, prefix: str | None = None) -> ChangePage:
        """What is read; then an item comes in the same second, and the next one begins."""
        page = read(number, most, prefix)
        catalog.put(item(2))
        clock.now += 1
        return page

    monkeypatch.setattr(feed, "current", current)
    with pytest.raises(HarvestRefused, match="noRecordsMatch") as empty:
        Harvesting(feed, catalog).page(Selection(since=clock.now))
    monkeypatch.undo()
    assert empty.value.second == 2_000_000_010
    assert labels(harvest(Harvesting(feed, catalog), Selection(since=empty.value.second))[0]) == reps(2)


def test_a_clock_that_is_set_back_loses_nothing(catalog: SqliteCatalog, clock: Clock) -> None:
    service = Harvesting(catalog.changes, catalog)
    catalog.put(item(1))
    first = service.page(Selection())
    clock.now -= 86_400
    catalog.put(item(2))
    second = service.page(Selection(since=first.second))
    assert first.second == second.second == 2_000_000_000
    assert labels(list(second.records)) == reps(1, 2)  # what was listed in that second comes again
    clock.now += 86_401
    catalog.put(item(3))
    assert labels(list(service.page(Selection(since=second.second + 1)).records)) == reps(3)


def test_each_record_is_given_though_all_change_while_they_are_harvested(
    catalog: SqliteCatalog, clock: Clock, small_pages: None
) -> None:
    service = Harvesting(catalog.changes, catalog)
    catalog.put_all(item(minute) for minute in range(20))
    found: list[HarvestedRecord] = []
    resumed, dates = None, []
    for step in range(2, 100):
        page = service.page(Selection(), resumed)
        found += page.records
        dates.append(page.second)
        resumed = page.following
        if resumed is None:
            break
        for minute in ((step * 7) % 20, (step * 3) % 20):  # two change with each page of three
            touch(catalog, minute, step)
        clock.now += step % 2
    assert resumed is None
    assert set(labels(found)) == set(reps(*range(20)))
    newest = {each.label: str(each.item.metadata.title[0]) for each in found if each.item is not None}
    for date in dates:  # the date of any of its answers will do for the next harvest
        again, _ = harvest(service, Selection(since=date))
        newest |= {each.label: str(each.item.metadata.title[0]) for each in again if each.item is not None}
        assert newest == {str(each.rep): str(each.metadata.title[0]) for each in catalog.items()}


def test_deleted_removed_and_moved_items_are_deleted_records(catalog: SqliteCatalog) -> None:
    catalog.put_all(item(minute) for minute in range(4))
    catalog.put(life_cycle.delete(item(1), WHEN, "why"), Revision(2, WHEN))
    catalog.remove(item(2).rep, WHEN)
    catalog.depart(Transfer(item(3).labels, forms_at(77).labels[0], WHEN), 4)
    service = Harvesting(catalog.changes, catalog)
    assert [each.is_deleted for each in service.page(Selection()).records] == [False, True, True, True]
    for minute in (1, 2, 3):
        record = service.record(item(minute).rep)
        assert record is not None
        assert record.is_deleted
    assert service.record(item(9).rep) is None


def test_bounds_select_seconds_and_are_inclusive(catalog: SqliteCatalog, clock: Clock) -> None:
    for minute in range(5):
        clock.now += 10
        catalog.put(item(minute))
    service = Harvesting(catalog.changes, catalog)

    def between(since: int | None, until: int | None) -> list[str]:
        first, last = (None if each is None else 2_000_000_000 + each for each in (since, until))
        return labels(list(service.page(Selection(first, last)).records))

    assert between(20, 40) == reps(1, 2, 3)
    assert between(None, 10) == reps(0)
    assert between(41, None) == reps(4)
    with pytest.raises(HarvestRefused, match="noRecordsMatch"):
        between(None, 9)
    assert service.earliest() == 2_000_000_010


def test_a_token_goes_on_after_a_rebuild_from_the_second_where_it_was(
    catalog: SqliteCatalog, clock: Clock, small_pages: None
) -> None:
    for minute in range(9):
        clock.now += minute % 2  # two of a second
        catalog.put(item(minute))
    service = Harvesting(catalog.changes, catalog)
    first = service.page(Selection())
    catalog.renew_feed()
    assert first.following is not None
    rest, _ = harvest(Harvesting(catalog.changes, catalog), first.following.selection, first.following)
    given = labels([*first.records, *rest])
    assert set(given) == set(reps(*range(9)))
    assert len(given) <= 9 + 2


def test_a_rebuild_in_the_middle_of_an_answer_is_noticed(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.put_all(item(minute) for minute in range(5))
    feed, places = catalog.changes, [3, 0]
    page = Harvesting(feed, catalog).page(Selection())

    def before(_: int) -> int:
        if len(places) == 2:
            catalog.renew_feed()
        return places.pop(0)

    monkeypatch.setattr(feed, "before", before)
    again = Harvesting(feed, catalog).page(Selection(since=0))
    assert again.records == page.records


def test_a_prefix_selects_the_items_that_its_host_named(catalog: SqliteCatalog, small_pages: None) -> None:
    others = [
        item(labels=LabelForms(RepositoryName.from_parts(host, port, Instant(1_200_000_000 + 60 * number)), None))
        for number, (host, port) in enumerate((("b.lab.br", 80), ("arq.lab.br", 8080), ("arq2.lab.br", 80)))
    ]
    for number in range(10):
        catalog.put(item(number))
        catalog.put(others[number % 3], Revision(number + 1, WHEN))
    service = Harvesting(catalog.changes, catalog)
    prefixes = {each.rep.prefix for each in (item(0), *others)}
    assert set(service.prefixes("", 10)) == prefixes
    listed = [service.prefixes("", 1)[0]]
    while following := service.prefixes(listed[-1], 1):
        listed += following
    assert len(listed) == len(prefixes)
    assert set(listed) == prefixes
    for prefix in prefixes:
        found, _ = harvest(service, Selection(record_set=RecordSet("prefix", prefix)))
        assert sorted(labels(found)) == sorted(str(each.rep) for each in catalog.items() if each.rep.prefix == prefix)
    assert len(harvest(service, Selection(record_set=RecordSet("prefix")))[0]) == 13
    with pytest.raises(HarvestRefused, match="noRecordsMatch"):
        service.page(Selection(record_set=RecordSet("prefix", "lab.br/ar")))


def test_a_type_selects_its_items_and_what_is_gone(catalog: SqliteCatalog, small_pages: None) -> None:
    kinds = [ResourceType.TEXT, ResourceType.DATASET, None]
    catalog.put_all(typed(minute, kinds[minute % 3]) for minute in range(12))
    service = Harvesting(catalog.changes, catalog)
    texts = Selection(record_set=RecordSet("type", ResourceType.TEXT))
    assert labels(harvest(service, texts)[0]) == reps(0, 3, 6, 9)
    assert len(harvest(service, Selection(record_set=RecordSet("type")))[0]) == 8
    catalog.put(replace(typed(3, ResourceType.DATASET), next_edition=forms_at(99)), Revision(2, WHEN))
    catalog.put(typed(2, ResourceType.TEXT), Revision(2, WHEN))
    catalog.put(life_cycle.delete(typed(0, ResourceType.TEXT), WHEN, "why"), Revision(2, WHEN))
    catalog.remove(item(1).rep, WHEN)
    assert labels(harvest(service, texts)[0]) == reps(6, 9, 2, 0, 1)
    catalog.renew_feed()
    assert labels(harvest(service, texts)[0]) == reps(6, 9, 2, 0, 1)


def test_a_set_that_takes_long_to_count_is_counted_on_by_each_request(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harvesting, "_PATIENCE", -1.0)
    monkeypatch.setattr(harvesting, "_A_READING", 4)
    monkeypatch.setattr(harvesting, "_LOCK_PATIENCE", 1.0)
    catalog.put_all(typed(minute, ResourceType.TEXT) for minute in range(8))
    service, refusals = Harvesting(catalog.changes, catalog), 0
    for _ in range(5):
        try:
            found = service.page(Selection(record_set=RecordSet("type", ResourceType.TEXT)))
            break
        except HarvestBusy:
            refusals += 1
    assert refusals == 2
    assert labels(list(found.records)) == reps(*range(8))


def test_a_record_that_cannot_be_read_does_not_keep_the_others_back(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch, small_pages: None
) -> None:
    catalog.put_all(item(minute) for minute in range(7))
    find = catalog.find

    def damaged(label: Label) -> Item | None:
        if label in {item(minute).rep for minute in (0, 1, 2, 4)}:
            raise IbiError()
        return find(label)

    monkeypatch.setattr(catalog, "find", damaged)
    found, _ = harvest(Harvesting(catalog.changes, catalog))
    assert labels(found) == reps(3, 5, 6)
