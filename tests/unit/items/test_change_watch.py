"""Caches are told which labels changed, from the feed, and everything where that cannot be known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.archive.service.answers import ArchiveAnswers
from ibi.items.model.item import Item
from ibi.items.service import change_watch
from ibi.items.service.change_watch import EVERYTHING, ChangeWatch, Touched
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms, UrlKeys
from ibi.standard.messages.requests import UrlRequest
from ibi.standard.messages.values import ip_addresses
from ibi.standard.relation import Relation
from tests.properties.item_strategies import forms_at
from tests.support.archive_app import BASE, NOW, SERVICE
from tests.support.catalog_samples import item
from tests.support.flat_items import replace
from tests.support.set_clocks import SetClocks


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    with closing(SqliteCatalog(tmp_path / "catalogue.sqlite")) as catalog:
        yield catalog


class Told:
    def __init__(self, catalog: SqliteCatalog) -> None:
        self.watch = ChangeWatch(catalog, catalog.recent_version, catalog.changes)
        self._told: list[Touched] = []
        self.watch.tell(self._told.append)

    def last(self) -> list[Touched]:
        self.watch.check()
        told, self._told[:] = list(self._told), []
        return told


def test_first_everything_then_the_labels_of_what_changed(catalog: SqliteCatalog) -> None:
    told = Told(catalog)
    catalog.put(item(1))
    assert told.last() == [EVERYTHING]
    assert told.last() == []
    catalog.put(item(2))
    assert told.last() == [Touched(frozenset(item(2).labels.labels), related=False)]
    catalog.put(item(3, edition_of=forms_at(2)))
    assert told.last() == [Touched(frozenset((*item(3).labels.labels, *item(2).labels.labels)), related=True)]
    catalog.remove(item(3).labels.labels[1])
    assert told.last() == [Touched(frozenset({item(3).rep}), related=True)]


def test_a_change_by_another_connection_is_told(catalog: SqliteCatalog, tmp_path: Path) -> None:
    told = Told(catalog)
    told.last()
    with closing(SqliteCatalog(tmp_path / "catalogue.sqlite")) as other:
        other.put(item(1))
        while not (found := told.last()):  # at most some milliseconds late
            pass
    assert found == [Touched(frozenset(item(1).labels.labels), related=False)]


def test_a_changed_row_that_cannot_be_read_may_be_any_label(catalog: SqliteCatalog) -> None:
    told = Told(catalog)
    told.last()
    catalog.put(item(2))
    catalog.write(lambda connection: connection.execute("UPDATE items SET item = '{'"))
    assert told.last() == [EVERYTHING]
    assert told.last() == []
    catalog.put(item(3))
    assert told.last() == [Touched(frozenset(item(3).labels.labels), related=False)]


def test_another_epoch_and_very_many_changes_touch_everything(
    catalog: SqliteCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_watch, "MOST_TOLD", 3)
    told = Told(catalog)
    told.last()
    catalog.put_all(item(minute) for minute in range(3))
    assert told.last()[0].labels
    catalog.put_all(item(minute) for minute in range(10, 14))
    assert told.last() == [EVERYTHING]
    catalog.put(item(20))
    assert told.last()[0].labels
    catalog.renew_feed()
    assert told.last() == [EVERYTHING]


class Answers:
    """The answers of an Archive, and how often they were made."""

    def __init__(self, catalog: SqliteCatalog) -> None:
        self.made = 0
        watch = ChangeWatch(catalog, catalog.recent_version, catalog.changes)
        profile = ArchiveProfile("arq.lab.br", SERVICE, ArchiveUrls(BASE, BASE))
        self.answers = ArchiveAnswers(profile, catalog, UrlKeys(b"s" * 32), SetClocks(NOW), watch=watch)
        build = self.answers._build

        def count(*arguments: object) -> object:
            self.made += 1
            return build(*arguments)  # type: ignore[arg-type]

        self.answers._build = count  # type: ignore[method-assign, assignment]

    def makes(self, label: Label, relation: str = "") -> int:
        """How many answers have to be made for one that is asked for."""
        before = self.made
        self.answers.answer(UrlRequest(ip_addresses("8.8.8.8"), label, Relation.from_modifier(relation)))
        return self.made - before


def published(minute: int, **others: LabelForms) -> Item:
    return replace(item(minute), target_url=f"http://example.com/{minute}", **others)


def test_a_deposit_forgets_no_answer_about_another_item(catalog: SqliteCatalog) -> None:
    catalog.put(published(1))
    answers = Answers(catalog)
    label = item(1).labels.labels[1]
    assert [answers.makes(label), answers.makes(label)] == [1, 0]
    catalog.put(published(2))
    assert answers.makes(label) == 0
    catalog.put(replace(published(1), target_url="http://example.com/other"))
    assert [answers.makes(label), answers.makes(label)] == [1, 0]


def test_an_answer_about_a_relation_is_forgotten_when_any_item_on_the_way_changes(catalog: SqliteCatalog) -> None:
    chain = [published(minute, next_edition=forms_at(minute + 1)) for minute in range(1, 5)]
    catalog.put_all([*chain, published(5)])
    answers = Answers(catalog)
    first = item(1).rep
    assert [answers.makes(first, "!"), answers.makes(first, "!")] == [1, 0]
    for changed in (
        replace(chain[2], target_url="http://example.com/other"),
        published(5, next_edition=forms_at(6)),
        published(6, edition_of=forms_at(5)),
    ):
        catalog.put(changed)
        assert [answers.makes(first, "!"), answers.makes(first, "!")] == [1, 0]


def test_an_unknown_label_that_becomes_known_is_not_unknown_any_more(catalog: SqliteCatalog) -> None:
    answers = Answers(catalog)
    unknown, later = forms_at(1).labels[1], forms_at(2).labels[1]
    assert [answers.makes(unknown), answers.makes(unknown), answers.makes(later)] == [1, 0, 1]
    catalog.put(published(1))
    assert [answers.makes(unknown), answers.makes(later)] == [1, 0]
