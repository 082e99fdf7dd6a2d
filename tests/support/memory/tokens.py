"""Tokens in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from ibi.people.model.account import Token
from ibi.people.rules.errors import TokenExists
from ibi.standard.instant import Instant

__all__ = ["MemoryTokens"]


class MemoryTokens:
    """The port `Tokens` without a disk."""

    prompt = True

    def __init__(self) -> None:
        self._tokens: dict[str, Token] = {}
        self._lock = Lock()

    def add(self, token: Token, check: Callable[[tuple[Token, ...]], None] | None = None) -> None:
        with self._lock:
            if check is not None:
                check(self._list_of(token.person))
            if token.id in self._tokens:
                raise TokenExists(id=token.id)
            self._tokens[token.id] = token

    def find(self, identity: str) -> Token | None:
        return self._tokens.get(identity)

    def list(self) -> tuple[Token, ...]:
        with self._lock:
            return tuple(sorted(self._tokens.values(), key=lambda token: (token.created, token.id)))

    def list_of(self, person: str) -> tuple[Token, ...]:
        with self._lock:
            return self._list_of(person)

    def _list_of(self, person: str | None) -> tuple[Token, ...]:
        theirs = (token for token in self._tokens.values() if person is not None and token.person == person)
        return tuple(sorted(theirs, key=lambda token: (token.created, token.id)))

    def revoke(self, identity: str, at: Instant) -> Token | None:
        with self._lock:
            token = self._tokens.get(identity)
            if token is not None and token.revoked is None:
                token = self._tokens[identity] = replace(token, revoked=at)
            return token

    def close(self) -> None:
        """Nothing to let go of."""
