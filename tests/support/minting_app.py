"""The web application on a minter with nothing on disk and clocks that tests set."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette

from ibi.minting.ports import Ticks
from ibi.minting.rules.minter import Rules
from ibi.minting.service.queue import MintQueue
from ibi.people.model.account import Scope
from ibi.people.ports import Tokens
from ibi.people.rules.sign_in import TOKEN_BYTES, new_token
from ibi.standard.identity import Identity
from ibi.standard.instant import Instant
from tests.support.asgi_client import Answer, ask
from tests.support.memory.ticks import MemoryTicks
from tests.support.memory.tokens import MemoryTokens
from tests.support.served import Served
from tests.support.set_clocks import SetClocks

IDENTITY = Identity("sid.inpe.br", "150.163.34.243")
CREATED = Instant.parse("2026-11-16T00:00:00Z")
ONE = b'{"count": 1}'


def add_token(tokens: Tokens, scope: Scope) -> str:
    text, token = new_token(secrets.token_bytes(TOKEN_BYTES), scope, CREATED)
    tokens.add(token)
    return text


@dataclass
class MintingApp:
    """Everything a test may want to look at. `who` names a token by its scope."""

    app: Starlette
    queue: MintQueue
    ticks: Ticks
    tokens: Tokens
    clocks: SetClocks
    texts: dict[Scope, str] = field(default_factory=dict)

    def bearer(self, scope: Scope = Scope.DEPOSIT) -> dict[str, str]:
        if scope not in self.texts:
            self.texts[scope] = add_token(self.tokens, scope)
        return {"authorization": f"Bearer {self.texts[scope]}"}

    async def get(self, path: str) -> Answer:
        return await ask(self.app, "GET", path)

    async def mint(self, count: object = 1, headers: Mapping[str, str] | None = None) -> Answer:
        """Ask for labels as a well-behaved client."""
        sent = {**self.bearer(), "content-type": "application/json", **(headers or {})}
        return await ask(self.app, "POST", "/api/labels", sent, json.dumps({"count": count}).encode())

    def nothing_minted(self) -> bool:
        return self.ticks.state().last is None


def made(
    rules: Rules | None = None,
    identity: Identity = IDENTITY,
    *,
    clocks: SetClocks | None = None,
    ticks: Ticks | None = None,
    tokens: Tokens | None = None,
    **options: Any,
) -> MintingApp:
    clocks, ticks, tokens = clocks or SetClocks(), ticks or MemoryTicks(), tokens or MemoryTokens()
    if ticks.identity() is None:
        ticks.freeze(identity)
    queue = MintQueue(ticks, identity, rules or Rules(), clocks, sleep=clocks.sleep)
    app = Served(queue=queue, ticks=ticks, tokens=tokens, clocks=clocks, **options).app()
    return MintingApp(app, queue, ticks, tokens, clocks)


@asynccontextmanager
async def minting_app(
    rules: Rules | None = None, identity: Identity = IDENTITY, **options: Any
) -> AsyncIterator[MintingApp]:
    """Started, and stopped at the end."""
    minting = made(rules, identity, **options)
    async with minting.app.router.lifespan_context(minting.app):
        yield minting
