"""Why somebody is not let in, or may not do something. None of these ever carries a secret."""

from __future__ import annotations

from ibi.errors import IbiError

__all__ = [
    "InvalidExpiry",
    "InvalidScope",
    "InvalidTokenName",
    "NotAllowed",
    "NotAuthenticated",
    "TokenExists",
    "UnknownToken",
]


class NotAuthenticated(IbiError):
    """This needs a valid token. It is missing, wrong, expired or revoked."""

    # Deliberately one sentence for every cause: whoever guesses learns nothing about which tokens exist.
    code = "not-authenticated"


class NotAllowed(IbiError):
    """This needs a token of the scope {needed}; yours has the scope {scope}."""

    code = "not-allowed"


class UnknownToken(IbiError):
    """There is no token {id}: `ibi token list` shows those there are."""

    code = "unknown-token"


class TokenExists(IbiError):
    """There is a token {id} already."""

    code = "token-exists"


class InvalidScope(IbiError):
    """scope: {scope} is not one of {scopes}."""

    code = "invalid-scope"


class InvalidTokenName(IbiError):
    """name: a token's name has at most {most} characters, all of them visible ones or spaces."""

    code = "invalid-token-name"


class InvalidExpiry(IbiError):
    """expires: {expires} is not after now, {now}."""

    code = "invalid-expiry"
