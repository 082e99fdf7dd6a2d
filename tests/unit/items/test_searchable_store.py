"""What is deposited is found, through every change and however the catalogue was made."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ibi.items.model.search import FacetCounts, SearchPage, SearchQuery
from ibi.items.opening.archive_store import CATALOGUE, open_store, rebuild_catalogue
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.store.catalogue.migrations import MIGRATIONS
from ibi.storage.connection import connect
from tests.support.deposit_samples import WHO, deposits, draft, put, sources
from tests.support.memory.search import MemorySearch

QUERIES = [SearchQuery(text=text) for text in ("", "title", "tit", "gone", "-x")]


def found(store: ArchiveStore) -> list[tuple[SearchPage, FacetCounts]]:
    """What it finds, which is what looking at every item finds."""
    plain = MemorySearch(store.catalog)
    answers = [(store.search.search(query), store.search.facets(query)) for query in QUERIES]
    assert answers == [(plain.search(query), plain.facets(query)) for query in QUERIES]
    return answers


def test_deposits_updates_deletions_and_relations_are_found(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        made = deposits(store)
        first = put(made, language="pt")
        assert found(store)[0][0].total == 1
        second = put(made, edition_of=first.labels, language="en")
        made.update(second.rep, draft("b.txt"), sources(b=b"other"), WHO)
        assert found(store)[0][0].total == 2
        made.delete(first.rep, "gone", WHO)
        assert found(store)[0][0].total == 1
        assert store.search.search(SearchQuery(text=str(first.rep))).items == (store.find(first.rep),)


def test_rebuilding_makes_the_search_anew(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        made = deposits(store)
        for _ in range(3):
            put(made)
        before = found(store)
    with closing(connect(tmp_path / CATALOGUE, MIGRATIONS)) as connection:
        connection.execute("DELETE FROM search WHERE rowid = (SELECT min(rowid) FROM search)")
        connection.execute("UPDATE listed SET facets = 'x' WHERE number = (SELECT max(number) FROM listed)")
    rebuild_catalogue(tmp_path)
    with open_store(tmp_path) as store:
        assert found(store) == before


def test_a_damaged_index_is_set_aside_by_rebuilding(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        put(deposits(store))
        before = found(store)
    with closing(connect(tmp_path / CATALOGUE, MIGRATIONS)) as connection:
        connection.execute("UPDATE search_data SET block = zeroblob(length(block)) WHERE id > 10")
    rebuild_catalogue(tmp_path)
    with open_store(tmp_path) as store:
        assert found(store) == before
