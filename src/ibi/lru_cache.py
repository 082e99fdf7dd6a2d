"""The one cache of the package: what was used last, bounded in number and in size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterator
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """At most `most` values at a time, and of those whose size is told as many as fit into `room`: what is asked for,
    and how large it is, may be a stranger's choice. The value that was not used for longest goes first.

    A value that is larger than all of `room` is not kept, and drives nothing out. With `keeps_last` it is, alone: for
    values that are dear to make anew, and known to be needed again at once.

    For one thread; `SharedLruCache` is for several.
    """

    __slots__ = ("_keeps_last", "_kept", "_most", "_room", "_size", "_sizes")

    def __init__(self, most: int, room: int = 0, *, keeps_last: bool = False) -> None:
        self._most, self._room, self._keeps_last = most, room, keeps_last
        self._sizes: dict[Key, int] = {}
        self._size = 0
        # To find the oldest key of a plain dict is to pass all that were forgotten before it.
        self._kept: OrderedDict[Key, Value] = OrderedDict()

    @property
    def size(self) -> int:
        """The sizes of all values, as they were told."""
        return self._size

    def find(self, key: Key) -> Value | None:
        """The value kept under `key`, which is the last used then; None if there is none."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: Key, value: Value, size: int = 0) -> None:
        """`size` is a fair estimate of what both take, in the unit of `room`, if that can be much."""
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
    """An `LruCache` that keeps the last value whatever its size, from any thread. `lock` is one that a thread may take
    again while it has it: to keep is also to forget."""

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
    """Values with tags, which say what each was made of: when something changes, what was made of it is forgotten, and
    nothing else."""

    __slots__ = ("_by_tag", "_tags")

    def __init__(self, most: int, room: int = 0, *, keeps_last: bool = False) -> None:
        super().__init__(most, room, keeps_last=keeps_last)
        self._tags: dict[Key, Tags] = {}
        self._by_tag: dict[Hashable, set[Key]] = {}

    def keep_tagged(self, key: Key, value: Value, tags: Tags, size: int = 0) -> None:
        """`tags` are not to be changed afterwards."""
        self.keep(key, value, size)
        if key in self._kept:
            self._tags[key] = tags
            for tag in tags:
                self._by_tag.setdefault(tag, set()).add(key)

    def tags(self, key: Key) -> Tags:
        """The tags of the value under `key`; none if there is no such value."""
        return self._tags.get(key, ())

    def find_tagged(self, tag: Hashable) -> Iterator[Value]:
        """Every value that has the tag, which are not counted as used by that."""
        return (self._kept[key] for key in self._by_tag.get(tag, ()))

    def forget_tagged(self, tag: Hashable, with_any: Tags = ()) -> None:
        """Forget every value that has the tag, and one of the others if there are some."""
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
