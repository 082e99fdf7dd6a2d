"""A few values that were wanted lately."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Bounded in number and in size, since one item may be a thousand times another. The last to come always stays."""

    def __init__(self, most: int, largest: int) -> None:
        self._most = most
        self._largest = largest
        self._size = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
            return kept[0]

    def keep(self, key: K, value: V, size: int) -> None:
        with self._lock:
            _, before = self._kept.pop(key, (None, 0))
            self._kept[key] = value, size
            self._size += size - before
            while len(self._kept) > 1 and (len(self._kept) > self._most or self._size > self._largest):
                self._size -= self._kept.popitem(last=False)[1][1]

    def drop(self, key: K) -> None:
        with self._lock:
            _, size = self._kept.pop(key, (None, 0))
            self._size -= size

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._size = 0

    def __len__(self) -> int:
        return len(self._kept)
