"""Errors of refused sign-ins and acts. No error message contains a secret."""

from __future__ import annotations

from collections.abc import Callable

from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.translatable import message


class NotAuthenticated(IbiError):
    """This needs a valid token. It is missing, wrong, expired or revoked."""

    # Deliberately one sentence for every cause: guessing reveals nothing about which tokens exist.
    code = "not-authenticated"
    kind = ErrorKind.UNAUTHENTICATED
    request_field = "Authorization"


class NotAllowed(IbiError):
    """This needs a token of the scope {needed}; yours has the scope {scope}."""

    code = "not-allowed"
    kind = ErrorKind.FORBIDDEN
    request_field = "Authorization"


class NotYourItem(IbiError):
    """{label} belongs to {owner}: {act} needs a token of that account, or one of the scope {needed}. Yours belongs to
    {account} and has the scope {scope}."""

    code = "not-your-item"
    kind = ErrorKind.FORBIDDEN
    request_field = "Authorization"


def _role_word(role: object) -> str:
    return "administrator" if str(role) == "admin" else str(role)


class RoleTooSmall(NotAllowed):
    """This needs the role {needed}; yours is {role}."""

    def message(self, translate: Callable[[str], str] = str) -> str:
        said = {name: translate(_role_word(self.parameters[name])) for name in ("needed", "role")}
        return translate(self.template).format(**said)


class BelongsToAnother(NotYourItem):
    """{label} belongs to {owner}: {act} needs that account, or the role {needed}. Yours is {role}."""

    def message(self, translate: Callable[[str], str] = str) -> str:
        said = {name: translate(_role_word(self.parameters[name])) for name in ("needed", "role", "act")}
        owner = self.parameters["owner"] or translate(message("the Archive itself"))
        return translate(self.template).format(label=self.parameters["label"], owner=owner, **said)


class UnknownToken(IbiError):
    """There is no token {id}: `ibi token list` shows those there are."""

    code = "unknown-token"
    kind = ErrorKind.NOT_FOUND
    request_field = "id"


class TokenExists(IbiError):
    """There is a token {id} already."""

    code = "token-exists"
    kind = ErrorKind.CONFLICT
    request_field = "id"


class InvalidScope(IbiError):
    """scope: {scope} is not one of {scopes}."""

    code = "invalid-scope"
    kind = ErrorKind.MALFORMED
    request_field = "scope"


class InvalidTokenName(IbiError):
    """name: a token's name has at most {most} characters, all of them visible ones or spaces."""

    code = "invalid-token-name"
    kind = ErrorKind.MALFORMED
    request_field = "name"


class InvalidExpiry(IbiError):
    """expires: {expires} is not after now, {now}."""

    code = "invalid-expiry"
    kind = ErrorKind.MALFORMED
    request_field = "expires"


class PersonExists(IbiError):
    """There is a person called {name} already."""

    code = "person-exists"
    kind = ErrorKind.CONFLICT
    request_field = "name"


class UnknownPerson(IbiError):
    """There is no person called {name}: `ibi person list` shows who there is."""

    code = "unknown-person"
    kind = ErrorKind.NOT_FOUND
    request_field = "name"


class UnknownAccount(IbiError):
    """owner: there is no account {account}: `ibi person list` shows people, `ibi token list` the names of tokens."""

    code = "unknown-account"
    kind = ErrorKind.NOT_FOUND
    request_field = "owner"


class BeyondRole(IbiError):
    """scope: {person} is a {role}, and a token of theirs may have the scope {scopes}, not {scope}."""

    code = "beyond-role"
    kind = ErrorKind.MALFORMED
    request_field = "scope"


class InvalidPersonName(IbiError):
    """name: {name} will not do: at most {most} letters of one script, digits, spaces between them, and . _ - ' or @,
    the first of them a letter or digit."""

    code = "invalid-person-name"
    kind = ErrorKind.MALFORMED
    request_field = "name"


class InvalidMail(IbiError):
    """mail: {mail} is not an e-mail address."""

    code = "invalid-mail"
    kind = ErrorKind.MALFORMED
    request_field = "mail"


class MailTaken(IbiError):
    """mail: another person has the address {mail}: `ibi person list` shows who."""

    code = "mail-taken"
    kind = ErrorKind.CONFLICT
    request_field = "mail"


class InvalidRole(IbiError):
    """role: {role} is not one of {roles}."""

    code = "invalid-role"
    kind = ErrorKind.MALFORMED
    request_field = "role"


class WeakPassword(IbiError):
    """password: {reason}."""

    code = "weak-password"
    kind = ErrorKind.MALFORMED
    request_field = "password"


class BadSignIn(IbiError):
    """Name and password do not belong together, or the link was used or is too old."""

    # One sentence for every cause: guessing reveals nothing about who has an account.
    code = "bad-sign-in"
    kind = ErrorKind.FORBIDDEN


class CodeNeeded(IbiError):
    """This account has a second factor: a code of it is needed as well."""

    code = "code-needed"
    kind = ErrorKind.FORBIDDEN

    def __init__(self, secret: str) -> None:
        """Make the error. `secret` goes into the form for the code, never into a message."""
        super().__init__()
        self.secret = secret


class BadInvitation(IbiError):
    """This invitation was already used or withdrawn, or has expired: ask for another one."""

    code = "bad-invitation"
    kind = ErrorKind.FORBIDDEN


class UnknownInvitation(IbiError):
    """There is no such invitation: it was accepted or withdrawn, or is too old."""

    code = "unknown-invitation"
    kind = ErrorKind.NOT_FOUND
    request_field = "invitation"


class LastAdmin(IbiError):
    """{name} is the only administrator who can sign in: give another person that role first."""

    code = "last-admin"
    kind = ErrorKind.CONFLICT
    request_field = "name"


class ProviderAway(IbiError):
    """{name} does not answer: try again later, or sign in by your password."""

    code = "provider-away"
    kind = ErrorKind.UPSTREAM_FAILED


class ProviderBusy(IbiError):
    """Too many people sign in by {name} at the moment: try again soon, or sign in by your password."""

    code = "provider-busy"
    kind = ErrorKind.UNAVAILABLE


class ProviderRefused(IbiError):
    """Signing in by {name} did not work: {reason}."""

    code = "provider-refused"
    kind = ErrorKind.FORBIDDEN


class UnknownIdentity(IbiError):
    """You have no account here that is linked with {name}: sign in by your password, and link it on the page of your
    account, or ask for an invitation."""

    code = "unknown-identity"
    kind = ErrorKind.FORBIDDEN


class IdentityTaken(IbiError):
    """That account at {name} is linked with another person here."""

    code = "identity-taken"
    kind = ErrorKind.CONFLICT
