"""Tokens in memory."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

from ibi.accounts.errors import TokenExists
from ibi.instant import Instant
from ibi.model.account import Token

__all__ = ["MemoryTokens"]


class MemoryTokens:
    """The port `Tokens` without a disk."""

    prompt = True

    def __init__(self) -> None:
        self._tokens: dict[str, Token] = {}
        self._lock = Lock()

    def add(self, token: Token) -> None:
        with self._lock:
            if token.id in self._tokens:
                raise TokenExists(id=token.id)
            self._tokens[token.id] = token

    def find(self, identity: str) -> Token | None:
        return self._tokens.get(identity)

    def list(self) -> tuple[Token, ...]:
        with self._lock:
            return tuple(sorted(self._tokens.values(), key=lambda token: (token.created, token.id)))

    def revoke(self, identity: str, at: Instant) -> Token | None:
        with self._lock:
            token = self._tokens.get(identity)
            if token is not None and token.revoked is None:
                token = self._tokens[identity] = replace(token, revoked=at)
            return token

    def close(self) -> None:
        """Nothing to let go of."""
