"""The register that an Archive keeps of its resolver, in the memory of one process."""

from __future__ import annotations

from collections.abc import Iterable

from ibi.membership.model.membership import ResolverStanding
from ibi.standard.signing import PublicKey

__all__ = ["MemoryRegisterStore"]


class MemoryRegisterStore:
    """The port `RegisterStore`."""

    def __init__(self) -> None:
        self._statement: str | None = None
        self._keys: dict[str, PublicKey] = {}
        self._former: dict[str, tuple[PublicKey, ...]] = {}
        self._former_statements: dict[str, tuple[int, int]] = {}
        self.standing: ResolverStanding | None = None

    def read(self) -> str | None:
        return self._statement

    def write(self, statement: str) -> None:
        self._statement = statement

    def keep_former(self, statement: str, issued: int, archives: int) -> None:
        self._former_statements[statement] = archives, issued

    def former(self) -> tuple[str, ...]:
        kept = self._former_statements
        return tuple(sorted(kept, key=lambda text: kept[text], reverse=True))

    def resolver_key(self, resolver: str) -> PublicKey | None:
        return self._keys.get(resolver)

    def note_standing(self, standing: ResolverStanding | None) -> None:
        self.standing = standing

    def former_keys(self, resolver: str) -> tuple[PublicKey, ...]:
        return self._former.get(resolver, ())

    def pin(self, resolver: str, key: PublicKey, former: Iterable[PublicKey] = ()) -> None:
        known = self._keys.get(resolver)
        before = (known, *former, *self._former.get(resolver, ()))
        self._former[resolver] = tuple(each for each in dict.fromkeys(before) if each is not None and each != key)
        self._keys[resolver] = key
