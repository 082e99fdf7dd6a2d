"""The register that an Archive keeps of its resolver, in the memory of one process."""

from __future__ import annotations

from collections.abc import Iterable

from ibi.signing import PublicKey

__all__ = ["MemoryRegisterStore"]


class MemoryRegisterStore:
    """The port `RegisterStore`."""

    def __init__(self) -> None:
        self._statement: str | None = None
        self._keys: dict[str, PublicKey] = {}

    def read(self) -> str | None:
        return self._statement

    def write(self, statement: str) -> None:
        self._statement = statement

    def resolver_key(self, resolver: str) -> PublicKey | None:
        return self._keys.get(resolver)

    def pin(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        self._keys[resolver] = key
