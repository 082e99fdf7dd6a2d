"""Tokens handed out, listed and taken back, by an operator or over the API."""

from __future__ import annotations

import secrets
from typing import Protocol

from ibi.accounts.tokens import RANDOM_BYTES, new_token, revoke, scope_named
from ibi.instant import Instant
from ibi.model.token import Token
from ibi.ports.clocks import Clocks
from ibi.ports.tokens import Tokens

__all__ = ["LocalTokenDesk", "TokenDesk"]


class TokenDesk(Protocol):
    """What an operator does with tokens, in words that travel: texts in, texts out."""

    def create_token(self, scope: str, name: str, expires: str | None) -> dict[str, object]:
        """A new token; `token` in the answer is the text that is shown this once."""

    def list_tokens(self) -> list[dict[str, object]]: ...

    def revoke_token(self, identity: str) -> dict[str, object]: ...


class LocalTokenDesk:
    """The desk of a data directory."""

    def __init__(self, tokens: Tokens, clocks: Clocks) -> None:
        self._tokens, self._clocks = tokens, clocks

    def create_token(self, scope: str, name: str, expires: str | None) -> dict[str, object]:
        until = None if expires is None else Instant.parse(expires)
        now = self._clocks.read().wall
        text, token = new_token(secrets.token_bytes(RANDOM_BYTES), scope_named(scope), now, name=name, expires=until)
        self._tokens.add(token)
        return {"token": text, **_fields(token)}

    def list_tokens(self) -> list[dict[str, object]]:
        return [_fields(token) for token in self._tokens.list()]

    def revoke_token(self, identity: str) -> dict[str, object]:
        return _fields(revoke(self._tokens, identity, self._clocks.read().wall))


def _fields(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": str(token.scope),
        "created": str(token.created),
        "expires": None if token.expires is None else str(token.expires),
        "revoked": None if token.revoked is None else str(token.revoked),
    }
