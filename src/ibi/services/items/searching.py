"""Searches for an event loop: off it, a few at a time, and not twice while the catalogue stays as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar, cast

import msgspec

from ibi.lru_cache import LruCache
from ibi.model.item_json import item_document
from ibi.model.search import FacetCounts, SearchPage, SearchQuery
from ibi.ports.catalog import Search

_THREADS: Final = 2
"""More would take turns: a search is work for a processor, and each thread has pages of the catalogue in memory."""
_MOST_KEPT: Final = 256
_MOST_BYTES: Final = 48 << 20
"""Of what is kept, about: anybody may search for anything, and a description may have a mebibyte."""
_TIMES: Final = 6
"""How much larger a description is in memory than it is when written."""

T = TypeVar("T")
Key = tuple[Hashable, str, SearchQuery]


class Searching:
    """The port `Search`, asynchronous. For one event loop.

    `changes` gives another value after every change of the catalogue, by whatever process: what was found is given
    again until then. Without it, nothing is kept. Whoever asks what is being looked up already waits for that.
    """

    def __init__(self, search: Search, changes: Callable[[], Hashable] | None = None) -> None:
        self._search, self._changes = search, changes
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="search")
        self._under_way: dict[Key, asyncio.Future[Any]] = {}
        self._kept: LruCache[Key, Any] = LruCache(_MOST_KEPT, _MOST_BYTES, keeps_last=True)

    async def search(self, query: SearchQuery) -> SearchPage:
        return await self._answer("search", query, self._search.search)

    async def facets(self, query: SearchQuery) -> FacetCounts:
        """The same for every page and order of a search, and counted once for all of them."""
        return await self._answer("facets", query.set, self._search.facets)

    async def page(self, query: SearchQuery) -> tuple[SearchPage, FacetCounts]:
        """What a page of results shows."""
        page, facets = await asyncio.gather(self.search(query), self.facets(query))
        return page, facets

    def close(self) -> None:
        """Searches under way are finished, those that wait are not begun."""
        self._threads.shutdown(cancel_futures=True)

    async def _answer(self, kind: str, query: SearchQuery, ask: Callable[[SearchQuery], T]) -> T:
        # Asked before the search: what it finds may be newer than this says, and is then looked up again in vain.
        version = None if self._changes is None else self._changes()
        key = version, kind, query
        kept: T | None = self._kept.find(key)
        if kept is not None:
            return kept
        answer = self._under_way.get(key)
        if answer is None:
            answer = asyncio.get_running_loop().run_in_executor(self._threads, partial(_weighed, ask, query))
            self._under_way[key] = answer
            answer.add_done_callback(partial(self._keep, key))
        # One of those who wait may go away without taking the answer from the others.
        found, _ = await asyncio.shield(answer)
        return cast(T, found)

    def _keep(self, key: Key, answer: asyncio.Future[Any]) -> None:
        """What failed is tried again, and without a version nothing is known to be true any more."""
        del self._under_way[key]
        if self._changes is not None and not answer.cancelled() and answer.exception() is None:
            self._kept.keep(key, *answer.result())


def _weighed(ask: Callable[[SearchQuery], T], query: SearchQuery) -> tuple[T, int]:
    """What is found, and the bytes that it takes."""
    found = ask(query)
    shown = [item_document(item) for item in found.items] if isinstance(found, SearchPage) else found
    # A stranger's text may hold what is no character.
    return found, _TIMES * (len(msgspec.json.encode(shown)) + len(repr(query)))
