"""Why a sign-in, or an act, is refused. None of these errors ever carries a secret."""

from __future__ import annotations

from ibi.errors import IbiError


class NotAuthenticated(IbiError):
    """This needs a valid token. It is missing, wrong, expired or revoked."""

    # Deliberately one sentence for every cause: guessing reveals nothing about which tokens exist.
    code = "not-authenticated"


class NotAllowed(IbiError):
    """This needs a token of the scope {needed}; yours has the scope {scope}."""

    code = "not-allowed"


class NotYourItem(IbiError):
    """{label} belongs to {owner}: {act} needs a token of that account, or one of the scope {needed}. Yours belongs to
    {account} and has the scope {scope}."""

    code = "not-your-item"


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


class PersonExists(IbiError):
    """There is a person called {name} already."""

    code = "person-exists"


class UnknownPerson(IbiError):
    """There is no person called {name}: `ibi person list` shows who there is."""

    code = "unknown-person"


class UnknownAccount(IbiError):
    """owner: there is no account {account}: `ibi person list` shows people, `ibi token list` the names of tokens."""

    code = "unknown-account"


class BeyondRole(IbiError):
    """scope: {person} is a {role}, and a token of theirs may have the scope {scopes}, not {scope}."""

    code = "beyond-role"


class InvalidPersonName(IbiError):
    """name: {name} will not do: at most {most} letters, digits, . _ - or @, the first of them a letter or digit."""

    code = "invalid-person-name"


class InvalidRole(IbiError):
    """role: {role} is not one of {roles}."""

    code = "invalid-role"


class WeakPassword(IbiError):
    """password: {reason}."""

    code = "weak-password"


class BadSignIn(IbiError):
    """Name and password do not belong together, or the link was used or is too old."""

    # One sentence for every cause: guessing reveals nothing about who has an account.
    code = "bad-sign-in"
