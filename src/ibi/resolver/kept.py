"""A bounded number of things remembered by key; what was not looked at for longest is forgotten first."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Kept"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """At most `most` at a time, so that nobody fills the memory by asking."""

    __slots__ = ("_kept", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Key, Value] = {}

    def find(self, key: Key) -> Value | None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._kept[key] = found  # the last one again
        return found

    def keep(self, key: Key, value: Value) -> None:
        self._kept.pop(key, None)
        if len(self._kept) >= self._most:
            if not self._kept:  # there is room for nothing
                return
            del self._kept[next(iter(self._kept))]
        self._kept[key] = value

    def forget(self, key: Key) -> None:
        self._kept.pop(key, None)

    def clear(self) -> None:
        self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)
