"""Tokens of the API."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ibi.people.model import account as model
from ibi.people.model.account import Scope
from ibi.standard.resource import Answer, Request, Time, one_of

ScopeWord = Annotated[str, one_of(Scope)]


class TokenRequest(Request, frozen=True):
    scope: ScopeWord
    name: str = ""
    expires: Time | None = None
    person: Annotated[
        str | None, Meta(description="Whose it is: a person with an account here, whose role allows the scope.")
    ] = None


class TokenResource(Answer, frozen=True):
    id: str
    name: str
    scope: ScopeWord
    account: Annotated[
        str,
        Meta(
            description="What is deposited with it belongs to this account: that of a person (`person:…`), that of all"
            " tokens of its name (`service:…`), or its own (`token:…`)."
        ),
    ]
    created: Time
    expires: Time | None
    revoked: Time | None

    @classmethod
    def of(cls, token: model.Token) -> TokenResource:
        return TokenResource(
            id=token.id,
            name=token.name,
            scope=str(token.scope),
            account=token.account,
            created=str(token.created),
            expires=None if token.expires is None else str(token.expires),
            revoked=None if token.revoked is None else str(token.revoked),
        )


class NewToken(TokenResource, frozen=True):
    token: Annotated[str, Meta(description="The text to be shown to this server.")]

    @classmethod
    def with_text(cls, token: model.Token, text: str) -> NewToken:
        """Return a new token with its text. No other answer has it."""
        return cls(**msgspec.structs.asdict(TokenResource.of(token)), token=text)


class TokensResource(Answer, frozen=True):
    tokens: list[TokenResource]
