"""Authentication of API requests: bearer tokens (RFC 6750), in the Authorization header alone. A token in a URL would
end up in logs."""

from __future__ import annotations

from ibi.accounts.errors import NotAuthenticated
from ibi.accounts.tokens import authenticate, require
from ibi.model.account import Scope, Token
from ibi.ports.accounts import Tokens
from ibi.ports.clocks import Clocks
from ibi.services.promptness import ask
from ibi.web.http.headers import RawHeaders, only_value


class Authentication:
    """Recognises the tokens of one data directory."""

    def __init__(self, tokens: Tokens, clocks: Clocks) -> None:
        self._tokens, self._clocks = tokens, clocks

    async def require(self, headers: RawHeaders, needed: Scope) -> Token:
        """Return the token that came with a request, if it allows what is `needed`; otherwise raise an error that says
        so."""
        try:
            scheme, _, text = (only_value(headers, b"authorization") or "").partition(" ")
        except ValueError:
            raise NotAuthenticated() from None
        if scheme.lower() != "bearer":
            raise NotAuthenticated()
        token = await ask(
            self._tokens, lambda: authenticate(text.strip(" "), self._tokens.find, self._clocks.read().wall)
        )
        require(token, needed)
        return token


def name_of(token: Token) -> str:
    """The permanent identifier of a token in the mint log and the idempotency records, independent of the token's
    name."""
    return f"token:{token.id}"
