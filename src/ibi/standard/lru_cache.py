"""The only cache of the package: it keeps the most recently used values, bounded in number and in size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterator
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """A cache of at most `most` values. Values with a given size together fit into `room`.

    Strangers may choose the keys and the sizes. The least recently used value is evicted first.

    A value larger than `room` is not kept, and evicts nothing. With `keeps_last` it is kept alone: for values that are
    expensive to compute, and known to be needed again at once.

    Not thread-safe; `SharedLruCache` is.
    """

    __slots__ = ("_keeps_last", "_kept", "_most", "_room", "_size", "_sizes")

    def __init__(self, most: int, room: int = 0, *, keeps_last: bool = False) -> None:
        self._most, self._room, self._keeps_last = most, room, keeps_last
        self._sizes: dict[Key, int] = {}
        self._size = 0
        # OrderedDict, because finding the oldest key of a plain dict must skip all keys deleted before it.
        self._kept: OrderedDict[Key, Value] = OrderedDict()

    @property
    def size(self) -> int:
        """The total of the given sizes."""
        return self._size

    def find(self, key: Key) -> Value | None:
        """Return the value under `key`, and mark it as used; None if there is none."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: Key, value: Value, size: int = 0) -> None:
        """Store a value. `size` estimates the size of key and value, in the unit of `room`, if it may be large."""
        self.forget(key)
        if self._most <= 0 or (size > self._room and not self._keeps_last):
            return
        while self._kept and (len(self._kept) >= self._most or self._size + size > self._room):
            self.forget(next(iter(self._kept)))
        self._kept[key] = value
        if size:
            self._sizes[key] = size
            self._size += size

    def forget(self, key: Key) -> None:
        self._kept.pop(key, None)
        if self._sizes:
            self._size -= self._sizes.pop(key, 0)

    def clear(self) -> None:
        self._kept.clear()
        self._sizes.clear()
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)


class SharedLruCache(LruCache[Key, Value]):
    """An `LruCache` that keeps the last value whatever its size, for any thread.

    `lock` must be reentrant, because `keep` calls `forget`.
    """

    __slots__ = ("_lock",)

    def __init__(self, most: int, room: int, lock: AbstractContextManager[object]) -> None:
        super().__init__(most, room, keeps_last=True)
        self._lock = lock

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


Tags = Collection[Hashable]


class TaggedLruCache(LruCache[Key, Value]):
    """A cache of values with tags for their sources: when a source changes, exactly its values are dropped."""

    __slots__ = ("_by_tag", "_tags")

    def __init__(self, most: int, room: int = 0, *, keeps_last: bool = False) -> None:
        super().__init__(most, room, keeps_last=keeps_last)
        self._tags: dict[Key, Tags] = {}
        self._by_tag: dict[Hashable, set[Key]] = {}

    def keep_tagged(self, key: Key, value: Value, tags: Tags, size: int = 0) -> None:
        """Store a value with tags, which must not be changed afterwards."""
        self.keep(key, value, size)
        if key in self._kept:
            self._tags[key] = tags
            for tag in tags:
                self._by_tag.setdefault(tag, set()).add(key)

    def tags(self, key: Key) -> Tags:
        """Return the tags of the value under `key`; none if there is no such value."""
        return self._tags.get(key, ())

    def find_tagged(self, tag: Hashable) -> Iterator[Value]:
        """Yield every value with the tag, without marking it as used."""
        return (self._kept[key] for key in self._by_tag.get(tag, ()))

    def forget_tagged(self, tag: Hashable, with_any: Tags = ()) -> None:
        """Drop every value that has the tag, and one of `with_any` if given."""
        for key in tuple(self._by_tag.get(tag, ())):
            if not with_any or any(other in self._tags[key] for other in with_any):
                self.forget(key)

    def forget(self, key: Key) -> None:
        super().forget(key)
        for tag in self._tags.pop(key, ()):
            keys = self._by_tag[tag]
            keys.discard(key)
            if not keys:
                del self._by_tag[tag]

    def clear(self) -> None:
        super().clear()
        self._tags.clear()
        self._by_tag.clear()
