"""A cache that stays within its bounds."""

from __future__ import annotations

from ibi.storage.bounded_cache import BoundedCache


def kept(cache: BoundedCache[str, str], *keys: str) -> list[str]:
    return [key for key in keys if cache.get(key) is not None]


def test_the_one_wanted_longest_ago_goes_first() -> None:
    cache: BoundedCache[str, str] = BoundedCache(2, 100)
    cache.keep("a", "A", 1)
    cache.keep("b", "B", 1)
    assert cache.get("a") == "A"
    cache.keep("c", "C", 1)
    assert kept(cache, "a", "b", "c") == ["a", "c"]


def test_size_counts_as_well_as_number() -> None:
    cache: BoundedCache[str, str] = BoundedCache(100, 10)
    for key in "abc":
        cache.keep(key, key, 4)
    assert kept(cache, "a", "b", "c") == ["b", "c"]


def test_the_last_one_stays_however_large() -> None:
    cache: BoundedCache[str, str] = BoundedCache(100, 10)
    cache.keep("a", "A", 4)
    cache.keep("b", "B", 1_000)
    assert kept(cache, "a", "b") == ["b"]
    cache.keep("c", "C", 10)
    assert kept(cache, "b", "c") == ["c"]


def test_the_same_key_counts_once() -> None:
    cache: BoundedCache[str, str] = BoundedCache(100, 10)
    for value in ("A", "AA", "AAA"):
        cache.keep("a", value, 5)
    cache.keep("b", "B", 5)
    assert (cache.get("a"), cache.get("b"), len(cache)) == ("AAA", "B", 2)


def test_a_cache_can_be_emptied() -> None:
    cache: BoundedCache[str, str] = BoundedCache(100, 10)
    cache.keep("a", "A", 10)
    cache.clear()
    cache.keep("b", "B", 5)
    cache.keep("c", "C", 5)
    assert kept(cache, "a", "b", "c") == ["b", "c"]


def test_what_is_dropped_leaves_its_room() -> None:
    cache: BoundedCache[str, str] = BoundedCache(100, 10)
    cache.keep("a", "A", 5)
    cache.keep("b", "B", 5)
    cache.drop("a")
    cache.drop("never kept")
    cache.keep("c", "C", 5)
    assert kept(cache, "a", "b", "c") == ["b", "c"]
