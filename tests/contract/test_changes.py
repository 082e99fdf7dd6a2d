"""The port `ChangeFeed`, tried on every adapter, beside the catalogue whose changes it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from ibi.items.model.change import ChangeKind, Revision
from ibi.items.model.metadata import DescriptiveMetadata, ResourceType, Text
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.archive_store import StoreCatalog
from ibi.items.rules import life_cycle
from ibi.items.rules.errors import LabelTaken
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.generation_file import GenerationFile
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages import LabelForms
from tests.properties.item_strategies import forms_at
from tests.support.catalog_samples import item, same_ibip
from tests.support.flat_items import replace

LATER = Instant.parse("2024-05-06T07:08:09.5Z")
MOST = 1_000


@contextmanager
def _in_files(place: Path) -> Iterator[StoreCatalog]:
    place.mkdir(exist_ok=True)
    with ExitStack() as opened:
        generation = opened.enter_context(closing(GenerationFile(place)))
        yield opened.enter_context(closing(SqliteCatalog(place / "catalogue.sqlite", generation)))


ADAPTERS = {"sqlite": _in_files}


@pytest.fixture(params=ADAPTERS)
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreCatalog]:
    with ADAPTERS[request.param](tmp_path / "store") as catalog:
        catalog.end_rebuild()
        yield catalog


def told(catalog: StoreCatalog, after: int = 0) -> list[tuple[int, str, ChangeKind, int]]:
    return [(each.number, each.label, each.kind, each.head) for each in catalog.changes.since(after, MOST).changes]


def test_a_new_feed_is_empty(catalog: StoreCatalog) -> None:
    page = catalog.changes.since(0, MOST)
    assert (page.changes, page.end) == ((), 0)
    assert page.epoch
    assert catalog.changes.last_of(item(1).rep) is None
    assert catalog.changes.before(1 << 40) == 0


def test_each_change_has_one_entry_with_version_and_date_of_the_record(catalog: StoreCatalog) -> None:
    catalog.put(item(1), Revision(1, item(1).updated))
    catalog.put(replace(item(1), next_edition=forms_at(2)), Revision(2, LATER))
    assert told(catalog) == [(1, str(item(1).rep), ChangeKind.PUT, 1), (2, str(item(1).rep), ChangeKind.PUT, 2)]
    first, second = catalog.changes.since(0, MOST).changes
    assert (first.at, second.at) == (str(item(1).updated), str(LATER))
    assert second.rep == item(1).rep


def test_deletion_removal_and_departure_are_kinds_of_their_own(catalog: StoreCatalog) -> None:
    gone = life_cycle.delete(item(1), LATER, "why")
    catalog.put_each([item(1), item(2), item(3)], [Revision(1, LATER)] * 3)
    catalog.put(gone, Revision(2, LATER))
    catalog.remove(item(2).labels.labels[1], LATER)  # by its other label
    catalog.depart(Transfer(item(3).labels, forms_at(77).labels[0], LATER), 4)
    assert told(catalog, after=3) == [
        (4, str(item(1).rep), ChangeKind.DELETED, 2),
        (5, str(item(2).rep), ChangeKind.REMOVED, 0),
        (6, str(item(3).rep), ChangeKind.MOVED, 4),
    ]
    assert {each.at for each in catalog.changes.since(3, MOST).changes} == {str(LATER)}


@pytest.mark.parametrize(
    "change",
    [
        lambda catalog: catalog.put(item(1), Revision(1, LATER)),
        lambda catalog: catalog.put_all([item(1)], [Revision(1, LATER)]),
        lambda catalog: catalog.remove(item(2).rep),
    ],
    ids=["listed already", "read in again", "not there"],
)
def test_what_changes_nothing_has_no_entry(catalog: StoreCatalog, change: Callable[[StoreCatalog], object]) -> None:
    catalog.put(item(1), Revision(1, LATER))
    change(catalog)
    assert catalog.changes.since(0, MOST).end == 1


def test_a_refused_change_has_no_entry_and_leaves_no_gap(catalog: StoreCatalog) -> None:
    catalog.put(item(1))
    with pytest.raises(LabelTaken):
        catalog.put(item(labels=same_ibip(1)))
    refused = catalog.put_each([item(labels=same_ibip(1)), item(2)])
    assert [each is None for each in refused] == [False, True]
    assert [number for number, *_ in told(catalog)] == [1, 2]


def test_pages_follow_each_other_without_gap_or_repetition(catalog: StoreCatalog) -> None:
    catalog.put_all(item(minute) for minute in range(25))
    read: list[int] = []
    while page := catalog.changes.since(read[-1] if read else 0, 7).changes:
        assert len(page) <= 7
        read += (each.number for each in page)
    assert read == list(range(1, 26))


def test_current_entries_leave_out_those_that_were_overtaken(catalog: StoreCatalog) -> None:
    catalog.put_all(item(minute) for minute in range(4))
    catalog.put(replace(item(0), next_edition=forms_at(9)), Revision(2, LATER))
    catalog.remove(item(2).rep, LATER)
    catalog.put(item(2), Revision(1, LATER))  # taken in again
    current = catalog.changes.current(0, MOST).changes
    assert [(each.number, each.label) for each in current] == [
        (2, str(item(1).rep)),
        (4, str(item(3).rep)),
        (5, str(item(0).rep)),
        (7, str(item(2).rep)),
    ]
    assert catalog.changes.last_of(item(0).rep) == current[2]
    assert [each.number for each in catalog.changes.current(4, 1).changes] == [5]


def test_an_entry_says_whether_the_item_has_or_had_relations(catalog: StoreCatalog) -> None:
    catalog.put(item(1), Revision(1, LATER))
    catalog.put(replace(item(1), edition_of=forms_at(2)), Revision(2, LATER))
    catalog.put(item(1), Revision(3, LATER))
    catalog.remove(item(1).rep, LATER)
    assert [each.related for each in catalog.changes.since(0, MOST).changes] == [False, True, True, True]


def test_current_entries_of_a_prefix_are_those_of_its_labels_alone(catalog: StoreCatalog) -> None:
    hosts = ("arq.lab.br", 80), ("arq.lab.br", 8080), ("arq2.lab.br", 80), ("b.arq.lab.br", 80)
    names = [RepositoryName.from_parts(host, port, Instant(1_300_000_000)) for host, port in hosts]
    catalog.put_all(item(labels=LabelForms(name, None)) for name in names)
    for number, name in enumerate(names, 1):
        assert [each.number for each in catalog.changes.current(0, MOST, name.prefix).changes] == [number]
        assert catalog.changes.current(number, MOST, name.prefix).changes == ()
    assert catalog.changes.current(0, MOST, "lab.br/ar").changes == ()
    catalog.remove(names[0])
    assert [each.number for each in catalog.changes.current(0, MOST, names[0].prefix).changes] == [5]


def test_types_are_those_of_the_items_as_they_are(catalog: StoreCatalog) -> None:
    kinds = ResourceType.TEXT, None, ResourceType.DATASET, ResourceType.SOUND
    catalog.put_all(
        item(minute, metadata=DescriptiveMetadata(title=(Text("T"),), resource_type=kind))
        for minute, kind in enumerate(kinds)
    )
    catalog.remove(item(3).rep)
    entries = catalog.changes.current(0, MOST).changes
    assert catalog.changes.types(entries) == [*kinds[:3], None]
    assert catalog.changes.types(()) == []


def test_prefixes_are_listed_once_each_in_pages(catalog: StoreCatalog) -> None:
    hosts = ("b.lab.br", "arq.lab.br", "arq2.lab.br", "arq-3.lab.br")
    names = [RepositoryName.from_parts(host, port, Instant(1_300_000_000)) for host in hosts for port in (80, 8080)]
    assert catalog.changes.prefixes("", MOST) == ()
    catalog.put_all(item(labels=LabelForms(name, None)) for name in names)
    catalog.put_all(item(minute) for minute in range(5))
    catalog.remove(names[0])
    found = catalog.changes.prefixes("", MOST)
    assert sorted(found) == sorted({name.prefix for name in names})
    in_pages: list[str] = []
    while page := catalog.changes.prefixes(in_pages[-1] if in_pages else "", 3):
        in_pages += page
    assert tuple(in_pages) == found


def test_a_label_is_found_in_whatever_case(catalog: StoreCatalog) -> None:
    catalog.put(item(1))
    catalog.put(item(1, "Another title"), Revision(2, LATER))
    assert [each.number for each in catalog.changes.current(0, MOST).changes] == [2]


def test_times_of_listing_never_decrease_though_the_clock_is_set_back(
    catalog: StoreCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minute, now in enumerate((2_000_000_000, 1_900_000_000, 2_000_000_010, 2_000_000_009)):
        monkeypatch.setattr("time.time", lambda now=now: float(now))
        catalog.put(item(minute))
    listed = [each.listed for each in catalog.changes.since(0, MOST).changes]
    assert listed == [2_000_000_000, 2_000_000_000, 2_000_000_010, 2_000_000_010]
    found = [catalog.changes.before(second) for second in (0, 2_000_000_000, 2_000_000_001, 2_000_000_010, 1 << 40)]
    assert found == [0, 0, 2, 2, 4]
    position = catalog.changes.position()
    assert (position.end, position.second) == (4, 2_000_000_010)


def test_a_rebuild_begins_an_epoch_with_one_entry_for_each_item(
    catalog: StoreCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.put_all(item(minute) for minute in range(3))
    catalog.put(replace(item(0), next_edition=forms_at(9)), Revision(2, LATER))
    before = catalog.changes.since(0, MOST)
    catalog.renew_feed()
    after = catalog.changes.since(0, MOST)
    assert after.epoch != before.epoch
    assert [each.number for each in after.changes] == [1, 2, 3]
    assert [each._replace(number=0) for each in after.changes] == [
        each._replace(number=0) for each in before.changes if each.number != 1
    ]
    catalog.put(item(8))
    assert catalog.changes.since(3, MOST).changes[0].number == 4


def test_a_catalogue_made_anew_lists_items_in_the_order_of_their_dates(catalog: StoreCatalog) -> None:
    assert catalog.begin_rebuild(always=True)
    dates = [Instant(1_500_000_000 + (minute * 7) % 5) for minute in range(5)]
    catalog.put_all(
        (item(minute) for minute in range(5)), (Revision(minute + 1, at) for minute, at in enumerate(dates))
    )
    catalog.end_rebuild()
    entries = catalog.changes.since(0, MOST).changes
    assert [each.number for each in entries] == [1, 2, 3, 4, 5]
    assert [each.at for each in entries] == [str(at) for at in sorted(dates)]
    assert [each.listed for each in entries] == sorted(at.seconds for at in dates)
