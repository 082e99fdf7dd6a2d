from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.model.search import FacetCounts, Order, SearchPage, SearchQuery
from ibi.items.service.searching import Searching
from ibi.storage.errors import StoreClosed
from tests.support.catalog_samples import item


class Counting:
    """Finds nothing, counts how often it is asked and by which threads, and waits until it may answer."""

    def __init__(self) -> None:
        self.asked: list[SearchQuery] = []
        self.threads: set[int] = set()
        self.counted = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.failure: Exception | None = None

    def search(self, query: SearchQuery) -> SearchPage:
        self.asked.append(query)
        self.threads.add(threading.get_ident())
        assert self.may_answer.wait(10)
        if self.failure is not None:
            raise self.failure
        return SearchPage(total=len(self.asked))

    def facets(self, query: SearchQuery) -> FacetCounts:
        self.counted += 1
        return FacetCounts()

    def suggest(self, query: SearchQuery) -> str | None:
        return None


class Version:
    number = 0

    def __call__(self) -> int:
        return self.number


@asynccontextmanager
async def searching(search: Counting, version: Version | None) -> AsyncIterator[Searching]:
    service = Searching(search, version)
    try:
        yield service
    finally:
        search.may_answer.set()
        service.close()


async def test_what_was_found_is_given_again_until_the_catalogue_changes() -> None:
    search, version = Counting(), Version()
    async with searching(search, version) as service:
        pages = [await service.search(SearchQuery(text=text)) for text in ("a", "a", "b", " a ")]
        version.number += 1
        pages.append(await service.search(SearchQuery(text="a")))
    assert [page.total for page in pages] == [1, 1, 2, 1, 3]
    assert threading.get_ident() not in search.threads


async def test_facets_are_counted_once_for_all_pages_and_orders() -> None:
    search = Counting()
    async with searching(search, Version()) as service:
        for page in (1, 2):
            for order in Order:
                await service.page(SearchQuery(text="a", page=page, order=order))
    assert (len(search.asked), search.counted) == (8, 1)


async def test_without_a_version_nothing_is_kept() -> None:
    search = Counting()
    async with searching(search, None) as service:
        await service.search(SearchQuery())
        await service.search(SearchQuery())
    assert len(search.asked) == 2


async def test_who_asks_the_same_at_once_waits_for_one_search() -> None:
    search = Counting()
    search.may_answer.clear()
    async with searching(search, Version()) as service:
        waiting = [asyncio.ensure_future(service.search(SearchQuery(text="a"))) for _ in range(5)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # who goes away takes the answer from nobody
        search.may_answer.set()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(answers[0], asyncio.CancelledError)
    assert answers[1:] == [SearchPage(total=1)] * 4


async def test_a_failure_is_not_kept() -> None:
    search = Counting()
    search.failure = StoreClosed(path="catalogue.sqlite")
    async with searching(search, Version()) as service:
        with pytest.raises(StoreClosed):
            await service.search(SearchQuery())
        search.failure = None
        assert (await service.search(SearchQuery())).total == 2


async def test_not_everything_is_kept_for_ever() -> None:
    search = Counting()
    async with searching(search, Version()) as service:
        for number in range(300):
            await service.search(SearchQuery(text=str(number)))
        await service.search(SearchQuery(text="299"))
        assert len(search.asked) == 300
        await service.search(SearchQuery(text="0"))
    assert len(search.asked) == 301


async def test_what_is_kept_is_bounded_by_its_size_too() -> None:
    """Of descriptions of a mebibyte, twenty a page, no two hundred pages are kept."""
    long = item(1, metadata=DescriptiveMetadata(description=(Text("word " * 20_000),) * 10))

    class Long(Counting):
        def search(self, query: SearchQuery) -> SearchPage:
            super().search(query)
            return SearchPage((long,), 1)

    search = Long()
    async with searching(search, Version()) as service:
        for number in range(20):
            await service.search(SearchQuery(text=str(number)))
        await service.search(SearchQuery(text="19"))
        assert len(search.asked) == 20
        await service.search(SearchQuery(text="0"))
        assert len(search.asked) == 21


async def test_what_is_no_text_is_looked_for_all_the_same() -> None:
    search = Counting()
    async with searching(search, Version()) as service:
        assert await service.search(SearchQuery(text="\ud800")) == SearchPage(total=1)
