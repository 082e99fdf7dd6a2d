"""The cache for several threads stays within its bounds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import RLock

from ibi.standard.lru_cache import SharedLruCache


def kept(cache: SharedLruCache[str, str], *keys: str) -> list[str]:
    return [key for key in keys if cache.find(key) is not None]


def test_the_one_wanted_longest_ago_goes_first() -> None:
    cache: SharedLruCache[str, str] = SharedLruCache(2, 100, RLock())
    cache.keep("a", "A", 1)
    cache.keep("b", "B", 1)
    assert cache.find("a") == "A"
    cache.keep("c", "C", 1)
    assert kept(cache, "a", "b", "c") == ["a", "c"]


def test_size_counts_as_well_as_number() -> None:
    cache: SharedLruCache[str, str] = SharedLruCache(100, 10, RLock())
    for key in "abc":
        cache.keep(key, key, 4)
    assert kept(cache, "a", "b", "c") == ["b", "c"]


def test_the_last_one_stays_however_large() -> None:
    cache: SharedLruCache[str, str] = SharedLruCache(100, 10, RLock())
    cache.keep("a", "A", 4)
    cache.keep("b", "B", 1_000)
    assert kept(cache, "a", "b") == ["b"]
    cache.keep("c", "C", 10)
    assert kept(cache, "b", "c") == ["c"]


def test_the_same_key_counts_once() -> None:
    cache: SharedLruCache[str, str] = SharedLruCache(100, 10, RLock())
    for value in ("A", "AA", "AAA"):
        cache.keep("a", value, 5)
    cache.keep("b", "B", 5)
    assert (cache.find("a"), cache.find("b"), len(cache)) == ("AAA", "B", 2)


def test_a_cache_can_be_emptied() -> None:
    cache: SharedLruCache[str, str] = SharedLruCache(100, 10, RLock())
    cache.keep("a", "A", 10)
    cache.clear()
    cache.keep("b", "B", 5)
    cache.keep("c", "C", 5)
    assert kept(cache, "a", "b", "c") == ["b", "c"]


def test_what_is_dropped_leaves_its_room() -> None:
    cache: SharedLruCache[str, str] = SharedLruCache(100, 10, RLock())
    cache.keep("a", "A", 5)
    cache.keep("b", "B", 5)
    cache.forget("a")
    cache.forget("never kept")
    cache.keep("c", "C", 5)
    assert kept(cache, "a", "b", "c") == ["b", "c"]


def test_several_threads_leave_it_with_the_sizes_of_what_it_has() -> None:
    cache: SharedLruCache[int, int] = SharedLruCache(20, 1_000, RLock())

    def use(seed: int) -> None:
        for number in range(2_000):
            key = (number * seed) % 50
            if cache.find(key) is None:
                cache.keep(key, key, 1 + key)
            if number % 7 == 0:
                cache.forget(key)

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(use, seed) for seed in (3, 7, 11, 13)]:
            done.result()
    left = [key for key in range(50) if cache.find(key) is not None]
    assert (len(cache), cache.size) == (len(left), sum(1 + key for key in left))
