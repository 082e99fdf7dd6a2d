"""Asynchronous searches: in threads, a few at a time, and cached until the catalogue changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar, cast

import msgspec

from ibi.items.model.item_json import item_document
from ibi.items.model.search import FacetCounts, SearchPage, SearchQuery
from ibi.items.ports.catalog import Search
from ibi.standard.lru_cache import LruCache

_THREADS: Final = 2
"""Searches at a time. More would only take turns: a search needs a processor, and each thread has pages of the
catalogue in memory."""
_MOST_KEPT: Final = 256
_MOST_BYTES: Final = 48 << 20
"""Approximate size of the cache: searches are public, and a description may have a mebibyte."""
_TIMES: Final = 6
"""The factor by which a description is larger in memory than as JSON."""

_DAY: Final = 86_400

T = TypeVar("T")
Key = tuple[Hashable, str, SearchQuery]


class Searching:
    """The port `Search`, asynchronous. For one event loop.

    `changes` returns another value after every change of the catalogue, by any process. Results are cached until then;
    without `changes` nothing is cached. Equal searches at the same time share one result.
    """

    def __init__(self, search: Search, changes: Callable[[], Hashable] | None = None) -> None:
        self._search, self._changes = search, changes
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="search")
        self._walking = asyncio.Semaphore(1)
        self._under_way: dict[Key, asyncio.Future[Any]] = {}
        self._kept: LruCache[Key, Any] = LruCache(_MOST_KEPT, _MOST_BYTES, keeps_last=True)

    async def search(self, query: SearchQuery) -> SearchPage:
        return await self._answer("search", query, self._search.search)

    async def facets(self, query: SearchQuery) -> FacetCounts:
        """Return the facets of a search, counted once for all its pages and orders."""
        return await self._answer("facets", query.set, self._search.facets)

    async def page(self, query: SearchQuery) -> tuple[SearchPage, FacetCounts]:
        """Return a page of results, and the facets of the search."""
        page, facets = await asyncio.gather(self.search(query), self.facets(query))
        return page, facets

    async def walk(self, query: SearchQuery) -> AsyncIterator[SearchPage]:
        """Yield all pages from that of the query on. They are not cached, and all such walks take turns: the searches
        of others come between."""
        following: SearchQuery | None = query
        while following is not None:
            async with self._walking:
                asked = partial(self._search.search, following)
                page = await asyncio.get_running_loop().run_in_executor(self._threads, asked)
            yield page
            following = following.next_page(page, by_number=False)

    async def suggest(self, query: SearchQuery) -> str | None:
        """Return another text that may have been meant; None if there is none."""
        (found,) = await self._answer("suggest", query.set, lambda asked: (self._search.suggest(asked),))
        return found

    def close(self) -> None:
        """Let searches under way finish. Waiting searches are not begun."""
        self._threads.shutdown(cancel_futures=True)

    async def _answer(self, kind: str, query: SearchQuery, ask: Callable[[SearchQuery], T]) -> T:
        # Read before the search: the result may be newer than this version, and is then only looked up once more.
        version = None if self._changes is None else self._changes()
        # Embargoes end with a day, without a change of the catalogue.
        key = (version, int(time.time()) // _DAY), kind, query
        kept: T | None = self._kept.find(key)
        if kept is not None:
            return kept
        answer = self._under_way.get(key)
        if answer is None:
            answer = asyncio.get_running_loop().run_in_executor(self._threads, partial(_weigh, ask, query))
            self._under_way[key] = answer
            answer.add_done_callback(partial(self._keep, key))
        # A caller that is cancelled must not cancel the search for the others.
        found, _ = await asyncio.shield(answer)
        return cast(T, found)

    def _keep(self, key: Key, answer: asyncio.Future[Any]) -> None:
        """Cache a result. Failures are not cached, nor is anything without a version."""
        del self._under_way[key]
        if self._changes is not None and not answer.cancelled() and answer.exception() is None:
            self._kept.keep(key, *answer.result())


def _weigh(ask: Callable[[SearchQuery], T], query: SearchQuery) -> tuple[T, int]:
    """Return the result, and the bytes that it takes in memory."""
    found = ask(query)
    shown = [item_document(item) for item in found.items] if isinstance(found, SearchPage) else found
    # `repr`, since the text of a query may hold surrogates, which JSON cannot encode.
    return found, _TIMES * (len(msgspec.json.encode(shown)) + len(repr(query)))
