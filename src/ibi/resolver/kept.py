"""A bounded number of things remembered by key; what was not looked at for longest is forgotten first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Kept"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """At most `most` at a time, and those whose size is told in `room` bytes, so that nobody fills the memory by asking
    for much or for something big."""

    __slots__ = ("_kept", "_most", "_room", "_size", "_sizes")

    def __init__(self, most: int, room: int = 0) -> None:
        self._most, self._room = most, room
        self._sizes: dict[Key, int] = {}
        self._size = 0
        # To find the oldest key of a plain dict is to pass all that were forgotten before it.
        self._kept: OrderedDict[Key, Value] = OrderedDict()

    @property
    def size(self) -> int:
        """Bytes of all whose size was told."""
        return self._size

    def find(self, key: Key) -> Value | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: Key, value: Value, size: int = 0) -> None:
        """`size` is a fair estimate of the bytes that both take, if they can be many."""
        self.forget(key)
        if self._most <= 0 or size > self._room:
            return
        while len(self._kept) >= self._most or self._size + size > self._room:
            oldest, _ = self._kept.popitem(last=False)
            self._size -= self._sizes.pop(oldest, 0)
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
