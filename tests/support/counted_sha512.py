"""What enters SHA-512 in this process, counted."""

from __future__ import annotations

import hashlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Lock
from typing import Any
from unittest.mock import patch

import ibi

_HIGH = bytes(range(0x80, 0x100))
_REAL, _NEW = hashlib.sha512, hashlib.new


def high_bytes(size: int) -> bytes:
    """Content that cannot be taken for records and inventories: none of its bytes is ASCII."""
    return (_HIGH * (size // len(_HIGH) + 1))[:size]


class Sha512Count:
    """How many bytes that are not ASCII have entered SHA-512."""

    def __init__(self) -> None:
        self.entered = 0
        self._lock = Lock()

    def add(self, piece: Any) -> None:
        content = bytes(piece)
        with self._lock:
            self.entered += len(content) - len(content.translate(None, _HIGH))

    def sha512(self, piece: Any = b"", **_: Any) -> _CountedHash:
        return _CountedHash(self, piece)

    def new(self, name: str, piece: Any = b"", **options: Any) -> Any:
        return self.sha512(piece) if name.lower() == "sha512" else _NEW(name, piece, **options)


class _CountedHash:
    def __init__(self, count: Sha512Count, piece: Any) -> None:
        self._count, self._hash = count, _REAL()
        self.update(piece)

    def update(self, piece: Any) -> None:
        self._count.add(piece)
        self._hash.update(piece)

    def digest(self) -> bytes:
        return self._hash.digest()

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


@contextmanager
def counted_sha512() -> Iterator[Sha512Count]:
    """Within the `with`, whatever module of ours hashes is counted. All are imported before: one that were imported
    meanwhile would count for ever."""
    for module in pkgutil.walk_packages(ibi.__path__, "ibi."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    count = Sha512Count()
    ours = [vars(module) for name, module in sys.modules.items() if name.partition(".")[0] == "ibi"]
    names = [(space, name) for space in ours for name, value in space.items() if value is _REAL]
    for space, name in names:
        space[name] = count.sha512
    try:
        with patch.object(hashlib, "sha512", count.sha512), patch.object(hashlib, "new", count.new):
            yield count
    finally:
        for space, name in names:
            space[name] = _REAL
