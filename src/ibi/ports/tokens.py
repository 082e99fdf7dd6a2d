"""Where tokens are kept."""

from __future__ import annotations

from typing import Protocol

from ibi.instant import Instant
from ibi.model.token import Token

__all__ = ["Tokens"]


class Tokens(Protocol):
    """The tokens of one data directory. Calls come from any thread.

    What one process has added or revoked, every other sees with its next call: nothing is remembered between calls.
    """

    def add(self, token: Token) -> None:
        """Keep a new token, durably. `ibi.accounts.errors.TokenExists` if its id is taken: the first one stays."""

    def find(self, identity: str) -> Token | None:
        """The token with this id, valid or not; None if there is none. Quick: it is asked at every request."""

    def list(self) -> tuple[Token, ...]:
        """Every token, revoked ones too, by date of creation and then by id."""

    def revoke(self, identity: str, at: Instant) -> Token | None:
        """Revoke the token with this id, durably: the token as it is then, None if there is none.

        One that is revoked already keeps its date.
        """

    def close(self) -> None: ...
