"""`ibi.lru_cache` for several threads. Short, because the cache itself is there: it may not know of threads."""

from __future__ import annotations

from threading import RLock

from ibi.lru_cache import Key, LruCache, Value


class SharedLruCache(LruCache[Key, Value]):
    """An `LruCache` that keeps the last value whatever its size, from any thread."""

    __slots__ = ("_lock",)

    def __init__(self, most: int, room: int) -> None:
        super().__init__(most, room, keeps_last=True)
        self._lock = RLock()  # to keep is also to forget

    def find(self, key: Key) -> Value | None:
        with self._lock:
            return super().find(key)

    def keep(self, key: Key, value: Value, size: int = 0) -> None:
        with self._lock:
            super().keep(key, value, size)

    def forget(self, key: Key) -> None:
        with self._lock:
            super().forget(key)

    def clear(self) -> None:
        with self._lock:
            super().clear()
