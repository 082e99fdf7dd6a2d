"""Slow hashes of what people choose."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from ibi.people.service.secret_hasher import SecretHasher


class Watched(PasswordHasher):
    """Costs next to nothing, and tells what it was asked to compare with."""

    def __init__(self) -> None:
        super().__init__(1, 8, 1)
        self.compared: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]
        self.compared.append(str(hash))
        return super().verify(hash, password)


async def test_what_was_hashed_agrees_and_nothing_else_does() -> None:
    hasher = SecretHasher(PasswordHasher(1, 8, 1))
    kept = await hasher.hash("um cavalo correto")

    assert await hasher.agrees(kept, "um cavalo correto")
    assert not await hasher.agrees(kept, "outro")
    assert not await hasher.agrees("no hash at all", "um cavalo correto")
    hasher.close()


async def test_without_a_hash_as_much_is_computed_and_the_answer_is_no() -> None:
    watched = Watched()
    hasher = SecretHasher(watched)

    assert not await hasher.agrees(None, "um cavalo correto")

    (decoy,) = watched.compared
    assert decoy.split("$")[:4] == watched.hash("any").split("$")[:4]  # the same costs
    with pytest.raises(VerifyMismatchError):  # a true comparison, not a hash that is refused at once
        watched.verify(decoy, "um cavalo correto")
    hasher.close()
