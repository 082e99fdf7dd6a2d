"""What is remembered of the wholeness of kept content. All of it can be made anew by reading everything again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ibi.model.content import Problem
from ibi.model.integrity import IntegritySummary, Verification

__all__ = ["BlockDigests", "Verifications"]


class BlockDigests(Protocol):
    """Digests of blocks by the SHA-512 of the whole file. Calls block, from any thread; they never raise for a damaged
    or full disk: what cannot be remembered is computed again."""

    def find_blocks(self, digest: str) -> bytes | None:
        """The digests of all blocks of the content with that digest, one after the other."""

    def keep_blocks(self, digest: str, blocks: bytes) -> None: ...

    def forget_blocks(self, digests: Iterable[str]) -> None: ...


class Verifications(Protocol):
    """When each item was verified, and which are damaged, by the names of their objects. Durable."""

    def record(self, name: str, problems: Sequence[Problem], at: int) -> None:
        """A verification at that second found these problems; none, and the item is whole again."""

    def note_damage(self, name: str, problem: Problem, at: int) -> bool:
        """Damage found without a verification; whether it was not known before."""

    def expect(self, names: Iterable[str]) -> None:
        """Items that there are; of those that are not known yet, it is noted that they were never verified."""

    def forget(self, name: str) -> None:
        """There is no such item any more."""

    def damaged(self) -> Mapping[str, Verification]:
        """Every damaged item by its name. Quick; a change by another process is seen within a second."""

    def next_due(self, before: int, damaged_before: int) -> str | None:
        """The item that was verified longest ago, never being longest, if that was before the second `before`; a
        damaged one is due if it was looked at before `damaged_before`."""

    def summary(self) -> IntegritySummary: ...

    def last_letter(self) -> int | None:
        """The second at which an administrator was last told of damage by mail."""

    def note_letter(self, at: int) -> None: ...
